"""A fact that a caller sets from a moment that is still to come holds from then on, and what it replaces holds until then."""

from __future__ import annotations

from datetime import timedelta

import pytest

import umi
from umi.sim import SimClock

DAY_S = 86_400


async def told(memory: umi.Memory, question: str, attribute: str) -> tuple[list[str], list[str], list[str]]:
    """What the fact is, by each way to ask for what holds now."""
    facts = [one.value for one in await memory.facts("Ann", attribute=attribute)]
    found = [hit.content for hit in (await memory.recall(question)).hits]
    profile = [str(fact.entity.value) for fact in (await memory.profile("Ann")).facts]
    return facts, found, profile


async def states(memory: umi.Memory) -> dict[str, list[str]]:
    """By value the states that listings tell of it: the history of its subject, the list of everything, and why it stands."""
    found: dict[str, list[str]] = {}
    for step in (*await memory.history("Ann"), *(await memory.list()).items):
        found.setdefault(str(step.entity.value), []).append(str(step.state))
    for step in await memory.history("Ann"):
        found[str(step.entity.value)].append(str((await memory.why(step.entity.id)).state))
    return found


@pytest.mark.parametrize("store", ["dict:", ":memory:"])
async def test_it_holds_once_its_moment_has_come(store: str) -> None:
    clock = SimClock()
    async with umi.Memory.open(store, embedder=None, clock=clock) as memory:
        begins = clock.now() + timedelta(days=60)
        await memory.set_fact("Ann", "rent", "850 EUR")
        await memory.set_fact("Ann", "rent", "990 EUR", at=begins, reason="a letter of the landlord")
        question = "What is the rent of Ann?"
        before = (["850 EUR"], ["Ann, rent: 850 EUR"], ["850 EUR"])
        after = (["990 EUR"], ["Ann, rent: 990 EUR (a letter of the landlord)"], ["990 EUR"])
        assert await told(memory, question, "rent") == before
        assert [hit.score for hit in (await memory.recall(question)).hits] == [0.95], "it was looked up"
        assert [one.value for one in await memory.facts("Ann", as_of=begins)] == ["990 EUR"]
        assert await states(memory) == {"850 EUR": ["current"] * 3, "990 EUR": ["current"] * 3}
        assert (await memory.stats()).states == {"current": 2}
        clock.advance(60 * DAY_S - 1)
        assert await told(memory, question, "rent") == before
        clock.advance(1)
        assert await told(memory, question, "rent") == after
        assert await states(memory) == {"850 EUR": ["superseded"] * 3, "990 EUR": ["current"] * 3}
        assert (await memory.stats()).states == {"superseded": 1, "current": 1}


@pytest.mark.parametrize("store", ["dict:", ":memory:"])
async def test_what_is_set_meanwhile_holds_until_then(store: str) -> None:
    clock = SimClock()
    async with umi.Memory.open(store, embedder=None, clock=clock) as memory:
        await memory.remember("I work at Acme.", speaker="Ann")
        await memory.set_fact("Ann", "employer", "Bolt", at=clock.now() + timedelta(days=30))
        question = "Where does Ann work?"
        assert await told(memory, question, "employer") == (["Acme"], ["I work at Acme."], ["Acme"])
        clock.advance(DAY_S)
        await memory.set_fact("Ann", "employer", "Cray")
        assert await told(memory, question, "employer") == (["Cray"], ["Ann, employer: Cray"], ["Cray"])
        clock.advance(29 * DAY_S)
        assert await told(memory, question, "employer") == (["Bolt"], ["Ann, employer: Bolt"], ["Bolt"])
        assert [one.entity.value for one in await memory.history("Ann")] == ["Acme", "Cray", "Bolt"]

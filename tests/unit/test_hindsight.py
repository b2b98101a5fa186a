"""What was not read as a statement when it was said, and is understood once a change names it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from reading import entities

import umi
from umi._evolution.retroactive_supersession import unread
from umi.types import HitState

JANUARY = datetime(2026, 1, 10, tzinfo=UTC)
MAY = datetime(2026, 5, 10, tzinfo=UTC)
LEFT = "Isolde left Fable Toys and works at Quay Hotels now."


async def states(memory: umi.Memory, before: str, change: str) -> list[HitState]:
    await memory.remember(
        umi.Message(before, at=JANUARY), extract_entities=False
    )  # as a sentence that no reader understood
    await memory.remember(umi.Message(change, at=MAY))
    found = {step.entity.content: step.state for step in (await memory.list()).items}
    return [found[before], found[change]]


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ("Isolde can't come, they have a night shift at Fable Toys.", LEFT),
        ("Isolde works at Fable Toys.", "No more Fable Toys for Isolde, it's Quay Hotels now."),
        ("Home for me is Ghent.", "I've moved from Ghent to Osaka."),
        ("The gym membership is $39.", "The gym membership went up from $39 to $45."),
    ],
)
async def test_what_a_change_names_is_closed(before: str, change: str) -> None:
    async with umi.Memory.open("dict:") as memory:
        assert await states(memory, before, change) == [HitState.SUPERSEDED, HitState.CURRENT]


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ("Isolde bought a doll from Fable Toys.", LEFT),
        ("Isolde works at Emberline.", LEFT),
        ("Oskar works at Fable Toys.", LEFT),
        ("Hey Isolde! I have a night shift at Fable Toys.", LEFT),
        ("I spent a weekend in Ghent.", "I've moved from Ghent to Osaka."),
        ("Would you pay $39 for the gym membership?", "The gym membership went up from $39 to $45."),
    ],
)
async def test_what_only_shares_its_words_stays(before: str, change: str) -> None:
    async with umi.Memory.open("dict:") as memory:
        assert await states(memory, before, change) == [HitState.CURRENT, HitState.CURRENT]


async def test_undo_brings_it_back() -> None:
    before = "Isolde works at Fable Toys."
    async with umi.Memory.open("dict:") as memory:
        await states(memory, before, LEFT)
        change = next(step for step in (await memory.list()).items if step.entity.content == LEFT)
        for row in change.evolutions:
            await memory.undo(row.id)
        assert {step.entity.content: step.state for step in (await memory.list()).items}[before] is HitState.CURRENT


@pytest.mark.parametrize(("text", "ended"), [("I lost my job.", []), ("I left Acme.", ["Acme"])])
def test_only_what_is_named_is_looked_for_in_older_messages(text: str, ended: list[str]) -> None:
    (end,) = entities(text)
    assert end.negated
    assert unread(end, []) == ended

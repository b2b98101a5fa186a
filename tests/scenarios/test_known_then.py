"""As of an earlier moment of knowledge nothing shows what was settled or undone only later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import umi
from umi.sim.clock import SimClock

TOLD = ("The blue lamp hangs in the hall.", "That thing was moved to the attic.")


async def test_a_contradiction_that_was_settled_later_is_open_as_known_before() -> None:
    clock = SimClock(datetime(2030, 1, 1, tzinfo=UTC))
    async with umi.Memory.open("dict:", embedder=None, clock=clock) as memory:
        old, new = [(await memory.remember(words)).entities[0].id for words in TOLD]
        link = await memory.relate(old, new, type="contradict", reason="both cannot be")
        clock.advance(10)
        known_at = clock.now()
        clock.advance(10)
        before = await memory.recall("blue lamp", min_score=0, known_at=known_at)
        await memory.resolve(link.id, keep="new")
        clock.advance(timedelta(days=1).total_seconds())
        after = await memory.recall("blue lamp", min_score=0, known_at=known_at)
        assert [hit.id for hit in before.hits] == [old, new]
        assert after.hits == before.hits
        assert [one.resolved for one in after.hits[0].evolutions] == [None]


async def test_a_fact_that_changed_later_is_looked_up_as_known_before() -> None:
    clock = SimClock(datetime(2030, 1, 1, tzinfo=UTC))
    async with umi.Memory.open("dict:", embedder=None, clock=clock) as memory:
        await memory.remember("I live in Graz.", speaker="Nora", at=datetime(2028, 1, 1, tzinfo=UTC))
        clock.advance(10)
        known_at = clock.now()
        clock.advance(10)
        question = "Where does Nora live?"
        before = await memory.recall(question)
        await memory.remember("I moved to Bergen.", speaker="Nora", at=datetime(2029, 1, 1, tzinfo=UTC))
        clock.advance(10)
        assert [(hit.content, hit.score) for hit in before.hits] == [("I live in Graz.", 0.95)]
        assert (await memory.recall(question, known_at=known_at)).hits == before.hits
        assert [hit.content for hit in (await memory.recall(question)).hits] == ["I moved to Bergen."]


class Down:
    async def complete(self, request: umi.CompletionRequest) -> umi.Completion:
        raise umi.LLMError.NotConfigured(request.task)


async def test_a_message_that_waits_to_be_read_is_of_the_time_at_which_it_was_said() -> None:
    async with umi.Memory.open("dict:", embedder=None, llm=Down()) as memory:
        days = [datetime(2026, month, 5, tzinfo=UTC) for month in (1, 2, 3, 4)]
        for at in days[::2]:
            assert (await memory.remember(f"The quokka of {at:%B} sleeps.", at=at)).deferred
        january, march = "The quokka of January sleeps.", "The quokka of March sleeps."
        for view, wanted in (
            ({"time_range": (days[1], days[3])}, [march]),
            ({"time_range": (days[0], days[1])}, [january]),
            ({"as_of": days[1]}, [january]),
        ):
            found = await memory.recall("quokka", min_score=0, **view)
            assert [hit.content for hit in found.hits] == wanted


async def test_a_claim_that_was_settled_later_stands_behind_what_it_denies_as_known_before() -> None:
    clock = SimClock(datetime(2030, 1, 1, tzinfo=UTC))
    async with umi.Memory.open("dict:", embedder=None, clock=clock) as memory:
        await memory.remember("Alice works at Acme.", origin="user")
        clock.advance(10)
        claim = await memory.remember("Alice works at Globex.", origin="document")
        (row,) = claim.evolutions
        assert not row.acted
        clock.advance(10)
        known_at = clock.now()
        clock.advance(10)
        before = await memory.recall("Globex", min_score=0, known_at=known_at)
        await memory.resolve(row.id, keep="new")
        after = await memory.recall("Globex", min_score=0, known_at=known_at)
        assert len(before.hits) == len(TOLD)
        assert after.hits == before.hits


async def test_what_was_undone_later_stood_as_known_before() -> None:
    clock = SimClock(datetime(2030, 1, 1, tzinfo=UTC))
    async with umi.Memory.open("dict:", embedder=None, clock=clock) as memory:
        old, new = [(await memory.remember(words)).entities[0].id for words in TOLD]
        link = await memory.relate(old, new, type="update", reason="it was moved")
        clock.advance(10)
        known_at = clock.now()
        clock.advance(10)
        before = await memory.recall("blue lamp", min_score=0, known_at=known_at)
        await memory.undo(link.id)
        after = await memory.recall("blue lamp", min_score=0, known_at=known_at)
        assert [hit.id for hit in before.hits] == [new]
        assert after.hits == before.hits

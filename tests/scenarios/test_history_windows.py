"""A long history from its newest end: window after window gives the whole of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import umi

COUNT = 23
START = datetime(2026, 1, 1, tzinfo=UTC)


async def _told(memory: umi.Memory) -> list[str]:
    await memory.remember_many(
        [
            umi.Message(
                f"I like thing{number}. I own book{number}.", speaker="Alice", at=START + timedelta(days=number % 7)
            )
            for number in range(COUNT)
        ]
    )
    return [step.entity.id for step in await memory.history("Alice")]


@pytest.mark.parametrize("limit", [1, 4, 7, 1000])
async def test_windows_from_the_newest_on_are_together_the_whole(limit: int) -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        whole = await _told(memory)
        assert len(whole) >= 2 * COUNT
        found: list[str] = []
        before = None
        while window := [step.entity.id for step in await memory.history("Alice", limit=limit, before=before)]:
            assert len(window) <= limit
            found, before = [*window, *found], window[0]
        assert found == whole


async def test_a_chain_has_windows_too_and_wrong_arguments_are_told() -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        for number in range(4):
            await memory.set_fact("Alice", "badge", f"b{number}", at=START + timedelta(days=number))
        chain = await memory.history((await memory.history("Alice"))[0].entity.id)
        assert [step.entity.value for step in chain] == ["b0", "b1", "b2", "b3"]
        key = chain[0].entity.id
        assert await memory.history(key, limit=2) == chain[2:]
        assert await memory.history(key, limit=2, before=chain[2].entity.id) == chain[:2]
        assert await memory.history("Alice", before="ent_none") == await memory.history(key, before="ent_none") == ()
        with pytest.raises(umi.InvalidInput, match=r"limit is 0, it must lie in 1\.\.10,000"):
            await memory.history("Alice", limit=0)


async def test_counts_of_a_history_are_those_of_its_statements_and_its_parts_can_be_asked_for() -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        whole = await _told(memory)
        counts = await memory.history_counts("Alice", parts=7)
        assert counts.held is not None
        assert counts.known is not None
        assert counts.count == len(whole) == sum(counts.held.counts) == sum(counts.known.counts)
        assert (counts.held.first, counts.held.last) == (START, START + timedelta(days=6))
        day = timedelta(days=1)
        on_first_day = await memory.history("Alice", held=(START, START + day))
        assert len(on_first_day) == counts.held.counts[0]
        assert await memory.history("Alice", held=(START - 2 * day, START - day)) == ()
        assert len(await memory.history("Alice", known=(counts.known.first, "2100-01-01T00:00Z"))) == len(whole)
        assert await memory.history_counts("nobody") == umi.HistoryCounts()


async def test_a_chain_has_times_too() -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        for number in range(4):
            await memory.set_fact("Alice", "badge", f"b{number}", at=START + timedelta(days=number))
        chain = await memory.history((await memory.history("Alice"))[0].entity.id)
        second = START + timedelta(days=1), START + timedelta(days=2)
        assert await memory.history(chain[0].entity.id, held=second) == chain[1:2]
        assert await memory.history("Alice", held=second, limit=1) == chain[1:2]


@pytest.mark.parametrize("parts", [0, 1_001])
async def test_counts_and_times_outside_their_limits_are_told(parts: int) -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        with pytest.raises(umi.InvalidInput, match=rf"parts is {parts:,}, it must lie in 1\.\.1,000"):
            await memory.history_counts("Alice", parts=parts)
        with pytest.raises(umi.InvalidInput, match="held is empty"):
            await memory.history("Alice", held=(START, START))
        with pytest.raises(umi.InvalidInput, match=r"known\[1\]"):
            await memory.history("Alice", known=(START, "yesterday"))

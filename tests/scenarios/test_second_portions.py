"""What stands behind the first portion of an answer, and on the last day of something."""

from datetime import timedelta

import pytest

import umi
from umi.sim.clock import EPOCH, SimClock


@pytest.mark.parametrize("limit", [1, 12, 13, 30, 100])
async def test_a_recall_of_many_hits_leaves_none_out(limit: int) -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        texts = [f"Parcel {number} is late." for number in range(60)]
        await memory.remember_many([umi.Message(text, speaker="Al") for text in texts])
        found = await memory.recall("late parcel", limit=limit, min_score=0)
        assert len({hit.id for hit in found.hits}) == min(limit, len(texts))


@pytest.mark.parametrize(("days", "is_shown"), [(-1, False), (0, True), (1, True)])
async def test_what_is_due_is_shown_until_its_day_is_over(days: int, is_shown: bool) -> None:
    clock = SimClock()
    clock.advance(12 * 3600)
    due = (EPOCH.date() + timedelta(days=days)).isoformat()
    async with umi.Memory.open("dict:", embedder=None, clock=clock) as memory:
        await memory.set_fact("report", "due", due)
        assert (due in (await memory.profile("report")).text) is is_shown
        packed = await memory.context(max_tokens=200, about="report", changes=False)
        assert (due in packed.text) is is_shown

"""A long message takes seconds to read: it is stored before that, so that whoever stops waiting has not lost it.

What was stored and not read is finished behind the next message, or by whoever stores still more.
"""

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import pytest

import umi
from umi._engine import engine
from umi.limits import READ_AT_ONCE_CHARACTERS_MAX

_LONG = "The harbour office asks every skipper to report by noon. " * (2 * READ_AT_ONCE_CHARACTERS_MAX // 57)


async def _given_up(memory: umi.Memory, call: Coroutine[object, object, object]) -> None:
    """Stop waiting for a call as soon as what it stores is there."""
    writing = asyncio.create_task(call)
    while not (await memory.stats()).episodes:
        await asyncio.sleep(0.01)
    assert not writing.done()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing


async def test_a_long_message_is_kept_when_its_caller_stops_waiting(tmp_path: Path) -> None:
    async with umi.Memory.open(f"sqlite:///{tmp_path}/m.db") as memory:
        await _given_up(memory, memory.remember(_LONG, idempotency_key="harbour"))
        again = await memory.remember(_LONG, idempotency_key="harbour")
        assert again.replayed
        assert again.deferred == again.episode_ids
        hits = await memory.recall("harbour office")
        assert [hit.episode.id for hit in hits.hits] == list(again.episode_ids)
        assert (await memory.maintain()).completed == 1
        assert not (await memory.remember(_LONG, idempotency_key="harbour")).deferred


@pytest.mark.parametrize(("beyond", "unread"), [(0, 0), (1, 1)])
async def test_only_beyond_the_bound_a_message_is_there_before_it_is_read(beyond: int, unread: int) -> None:
    text = ("The pilot boat is blue. " * 100).ljust(READ_AT_ONCE_CHARACTERS_MAX + beyond)
    async with umi.Memory.open("dict:") as memory:
        writing = asyncio.create_task(memory.remember(text))
        while not (await memory.stats()).episodes:
            await asyncio.sleep(0)
        assert len(await memory.waiting()) == unread
        assert not (await writing).deferred
        assert not await memory.waiting()


async def test_a_short_message_that_may_be_read_later_is_read_later() -> None:
    async with umi.Memory.open("dict:") as memory:
        receipt = await memory.remember("The pilot boat is blue.", read="later")
        assert receipt.deferred == receipt.episode_ids
        assert not receipt.entities
        assert not (await memory.remember("The tug is red.")).deferred


@pytest.mark.parametrize(
    ("most", "waiting"),
    [(5, [1, 2, 3, 4, 5, 6, 4, 5, 6, 4]), (6, [1, 2, 3, 4, 5, 6, 7, 8, 9, 7])],
)
async def test_who_stores_faster_than_is_read_reads_some(
    monkeypatch: pytest.MonkeyPatch, most: int, waiting: list[int]
) -> None:
    monkeypatch.setattr(engine, "_WAITING_MAX", most)
    monkeypatch.setattr(engine, "_LATER_PER_LOOK", 3)
    async with umi.Memory.open("dict:", embedder=None) as memory:
        found = []
        for number in range(len(waiting)):
            await memory.remember(f"The boat at berth {number} is blue.", read="later")
            found.append(len(await memory.waiting()))
        assert found == waiting


@pytest.mark.parametrize("at_once", [True, False], ids=["remember", "remember_many"])
async def test_what_was_given_up_is_finished_behind_the_next_message(tmp_path: Path, *, at_once: bool) -> None:
    async with umi.Memory.open(f"sqlite:///{tmp_path}/m.db") as memory:
        await _given_up(memory, memory.remember(_LONG) if at_once else memory.remember_many([_LONG]))
        assert len(await memory.waiting()) == 1
        await memory.remember("The pilot boat is blue.")
        async with asyncio.timeout(50):
            while await memory.waiting() or memory._open.draining:  # the task that has ended is let go
                await asyncio.sleep(0.05)

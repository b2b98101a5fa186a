"""A store that fails once the text is stored: the call is acknowledged, and what follows waits. Sending it again would store it twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import pytest

import umi
from umi.ports import Matrix, Vector

Call = Callable[[umi.Memory], Awaitable[umi.RememberReceipt]]
_WAITS = umi.Config(busy_timeout_ms=50)


class Served:
    """An embedder behind a server. While it is asked the next time, another program takes the file's write lock.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.other = apsw.Connection(str(path))
        self.locks_next = False

    @property
    def identity(self) -> umi.EmbedderIdentity:
        return umi.EmbedderIdentity("served", 4, "d1")

    async def embed(self, text: str) -> Vector:
        first: Vector = (await self.embed_many([text]))[0][0]
        return first

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        if self.locks_next:
            self.locks_next = False
            self.other.execute("BEGIN IMMEDIATE")
        return [np.array([[1.0, 0.0, 0.0, 0.0]], dtype=np.float32) for _ in texts]


async def _remember(memory: umi.Memory) -> umi.RememberReceipt:
    return await memory.remember("I moved to Lisbon.", speaker="Dana")


async def _remember_two(memory: umi.Memory) -> umi.RememberReceipt:
    return await memory.remember(["I moved to Lisbon.", "I like tea."], speaker="Dana")


async def _remember_for_later(memory: umi.Memory) -> umi.RememberReceipt:
    return await memory.remember("I moved to Lisbon.", speaker="Dana", read="later")


async def _set_fact(memory: umi.Memory) -> umi.RememberReceipt:
    return await memory.set_fact("Dana", "home", "Lisbon")


@pytest.mark.parametrize("call", [_remember, _remember_two, _remember_for_later, _set_fact])
async def test_what_is_stored_is_acknowledged_and_finished_later(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    served = Served(path)
    with closing(served.other):
        async with umi.Memory.open(str(path), embedder=served, config=_WAITS) as memory:
            await memory.remember("I live in Berlin.", speaker="Dana")
            served.locks_next = True
            receipt = await call(memory)
            assert umi.Degradation.STORE_FAILED in receipt.degraded
            assert receipt.deferred == receipt.episode_ids
            assert [one.id for one in (await memory.episodes()).items][1:] == list(receipt.episode_ids)
            served.other.execute("ROLLBACK")
            await memory.remember("Good night.")
            if call is _remember_for_later:  # for a worker
                await memory.maintain()
            async with asyncio.timeout(20):
                while await memory.waiting():
                    await asyncio.sleep(0.02)
            stats = await memory.stats()
            assert stats.vectors == stats.episodes
            assert await memory.check() == []
            assert "Lisbon" in {entity.value for entity in await _current(memory)}


async def test_of_a_bulk_import_what_came_before_is_kept_and_the_rest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    served = Served(path)
    with closing(served.other):
        async with umi.Memory.open(str(path), embedder=served, config=_WAITS) as memory:
            await memory.remember("I live in Berlin.", speaker="Dana")
            served.locks_next = True
            receipt = await memory.remember_many([f"Note {number}." for number in range(3)])
            assert (receipt.messages, receipt.deferred) == (3, 3)
            with pytest.raises(umi.StoreBusy):
                await memory.remember_many([f"More {number}." for number in range(3)])
            served.other.execute("ROLLBACK")
            assert (await memory.maintain()).waiting_count == 0
            assert (await memory.stats()).episodes == 4


async def _current(memory: umi.Memory) -> list[umi.Entity]:
    listed = (await memory.list()).items
    return [one.entity for one in listed if one.state is umi.HitState.CURRENT]

"""Bulk import: what is said is settled in order while the next is embedded, and what breaks off loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import umi
from umi import HitState, limits
from umi.errors import EmbeddingError, InvalidInput
from umi.ports import EmbedderIdentity, Matrix, Vector

BATCH = limits.BULK_BATCH_COUNT


class Watched:
    """An embedder that notes when it is asked, and fails from some call on."""

    def __init__(self, fails_from: int = 1_000_000) -> None:
        self.identity = EmbedderIdentity("watched", 4, "d")
        self.events: list[object] = []
        self._fails_from = fails_from

    async def embed(self, text: str) -> Vector:
        return np.eye(4, dtype=np.float32)[len(text) % 4]

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        self.events.append("embed")
        if self.events.count("embed") >= self._fails_from:
            raise EmbeddingError("none")
        await asyncio.sleep(0)
        return [np.eye(4, dtype=np.float32)[[len(text) % 4]] for text in texts]


def jobs(count: int) -> Iterator[dict[str, str]]:
    for number in range(count):
        yield {"content": f"I work at Firm{number}.", "speaker": "Alice", "id": f"m{number}"}


async def test_one_batch_is_embedded_before_the_one_ahead_of_it_is_settled(tmp_path: Path) -> None:
    embedder = Watched()
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        done = await memory.remember_many(jobs(2 * BATCH + 5), progress=embedder.events.append)
        assert (done.messages, done.deferred) == (2 * BATCH + 5, 0)
        assert embedder.events == ["embed", "embed", BATCH, "embed", 2 * BATCH, 2 * BATCH + 5]
        steps = await memory.history("Alice")
        assert [step.entity.value for step in steps if step.state is HitState.CURRENT] == [f"Firm{2 * BATCH + 4}"]
        assert len(steps) == 2 * BATCH + 5
        assert (await memory.stats()).waiting == 0
        assert await memory.check() == []


async def test_a_message_that_comes_again_in_the_next_batch_is_known(tmp_path: Path) -> None:
    embedder = Watched()
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        done = await memory.remember_many([*jobs(BATCH), *jobs(3)])
        assert (done.messages, done.replayed) == (BATCH + 3, 3)
        assert (await memory.stats()).episodes == BATCH


async def test_what_was_begun_when_the_source_broke_is_settled_later(tmp_path: Path) -> None:
    def broken() -> Iterator[object]:
        yield from jobs(2 * BATCH)
        yield 7

    embedder = Watched()
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        with pytest.raises(InvalidInput):
            await memory.remember_many(broken())
        stats = await memory.stats()
        assert (stats.episodes, stats.waiting) == (2 * BATCH, BATCH)
        assert (await memory.maintain()).completed == BATCH
        assert (await memory.stats()).waiting == 0
        assert len(await memory.history("Alice")) == 2 * BATCH


async def test_no_embedding_goes_on_behind_a_source_that_broke(tmp_path: Path) -> None:
    class Slow(Watched):
        async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
            found = await super().embed_many(texts)
            if self.events.count("embed") == 2:
                try:
                    await asyncio.Event().wait()
                finally:
                    await asyncio.sleep(0)
                    self.events.append("let go")
            return found

    def broken() -> Iterator[object]:
        yield from jobs(2 * BATCH)
        yield 7

    embedder = Slow()
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        with pytest.raises(InvalidInput):
            await memory.remember_many(broken())
        assert embedder.events == ["embed", "embed", "let go"]


async def test_vectors_that_fail_half_way_wait_and_nothing_else_does(tmp_path: Path) -> None:
    embedder = Watched(fails_from=2)
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        done = await memory.remember_many(jobs(2 * BATCH))
        assert (done.deferred, [str(flag) for flag in done.degraded]) == (BATCH, ["embedding_failed"])
        assert len(await memory.history("Alice")) == 2 * BATCH
        tried = await memory.maintain()  # fails too: what one call deferred is what waits now
        assert (tried.completed, len(tried.waiting), tried.waiting_count) == (0, limits.LIST_LIMIT_DEFAULT, BATCH)
        assert (await memory.stats()).waiting == len(await memory.waiting(limit=1_000)) == BATCH

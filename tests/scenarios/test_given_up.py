"""A call that is cancelled at any moment leaves nothing half done: made again it gives what it would have given, and nothing waits or stays in the file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from conftest import day

import umi
from umi.providers.local import LocalEmbedder

Call = Callable[[umi.Memory, Sequence[umi.RememberReceipt]], Awaitable[object]]
_START = day("2026-01-01")
_STEP_S = 0.0005  # of real time, between two moments at which a call is cancelled
_GONE = ("Grazburg", "Zagreton")  # words that a deletion takes out of the file


async def _remember(memory: umi.Memory, _: object) -> object:
    return await memory.remember("Nora moved to Porto.", at=day("2026-03-01"), idempotency_key="k")


async def _remember_many(memory: umi.Memory, _: object) -> object:
    said = [umi.Message(f"Bram keeps {number} goats.", id=f"m{number}", at=day("2026-03-01")) for number in range(3)]
    return await memory.remember_many(said)


async def _set_fact(memory: umi.Memory, _: object) -> object:
    return await memory.set_fact("Tim", "age", "30")


async def _forget(memory: umi.Memory, told: Sequence[umi.RememberReceipt]) -> object:
    return [await memory.forget(one.episode_ids[0]) for one in told]


async def _erase(memory: umi.Memory, _: object) -> object:
    return await memory.erase("Nora")


async def _erase_namespace(memory: umi.Memory, _: object) -> object:
    return await memory.erase_namespace()


async def _moments(url: str, embedder: LocalEmbedder, call: Call) -> AsyncIterator[umi.Memory]:
    """A memory in which a call was cancelled, sooner or later, and made again; the last one is one in which it ended first."""
    for place in count():
        async with umi.Memory.open(url.format(place), embedder=embedder) as memory:
            lines = ("Nora lives in Grazburg.", "The boiler costs 90 pounds. Nora likes Zagreton.")
            told = [await memory.remember(line, at=_START + timedelta(days=n)) for n, line in enumerate(lines)]
            task = asyncio.ensure_future(call(memory, told))
            for _ in range(place):
                if not task.done():
                    await asyncio.sleep(_STEP_S)
            ended = task.done()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await call(memory, told)
            await memory.remember("A note at the end.", at=day("2026-04-01"))
            async with asyncio.timeout(20):
                while await memory.waiting():
                    await asyncio.sleep(0.02)
            yield memory
        if ended:
            return


@pytest.mark.parametrize("call", [_remember, _remember_many, _set_fact, _forget, _erase, _erase_namespace])
async def test_a_call_may_be_given_up_at_any_moment(call: Call, tmp_path: Path, embedder: LocalEmbedder) -> None:
    ends = []
    async for memory in _moments(f"sqlite:///{tmp_path}/{{}}.db", embedder, call):
        assert not await memory.check()
        ends.append([(one.entity.content, one.state) for one in (await memory.list()).items])
        if call in (_forget, _erase, _erase_namespace):
            there = b"".join(file.read_bytes() for file in tmp_path.glob(f"{len(ends) - 1}.db*"))
            assert [word for word in _GONE if word.encode() in there] == []
    assert len(ends) > 1
    assert all(sorted(end) == sorted(ends[-1]) for end in ends)


async def test_a_backup_may_be_given_up_and_made_again_at_once(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        await memory.remember_many(umi.Message(f"{number} {'late ' * 200}") for number in range(500))
        for place in range(12):
            copy = tmp_path / f"{place}.db"
            task = asyncio.ensure_future(memory.backup(copy))
            await asyncio.sleep(_STEP_S * place**2)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            if not copy.exists():
                await memory.backup(copy)
            async with umi.Memory.open(str(copy), embedder=None) as other:
                assert (await other.stats()).episodes == 500
        assert not list(tmp_path.glob("*.part"))

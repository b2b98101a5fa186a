"""Closing to the end, also where whoever closes loses patience."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from pathlib import Path

import pytest

import umi

_COUNT = 30


async def _closed_impatiently(path: Path, patience_s: float) -> bool:
    """Close a memory with much in its log, at work, with so much patience, and again with all; whether it ended the first time."""
    memory = await umi.Memory.open(str(path), embedder=None)
    await memory.remember_many(
        umi.Message(f"Ann's order {number} is late.", id=f"o{number}") for number in range(_COUNT)
    )
    at_work = [asyncio.ensure_future(memory.check()) for _ in range(4)]
    await asyncio.sleep(0)
    in_time = False
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            await memory.close()
        in_time = True
    await memory.close()
    with pytest.raises(umi.Closed, match="was closed: open it again"):
        await memory.stats()
    await asyncio.gather(*at_work, return_exceptions=True)
    return in_time


async def test_a_close_that_is_cancelled_goes_on_and_the_next_waits_for_it(tmp_path: Path) -> None:
    for place in range(20):
        path = tmp_path / f"{place}.db"
        in_time = await _closed_impatiently(path, 0.001 * 4**place)
        assert [one.name for one in tmp_path.glob(f"{place}.db*")] == [path.name], "the log lies beside the file"
        copy = tmp_path / "copy.db"
        shutil.copy(path, copy)
        async with umi.Memory.open(str(copy), embedder=None) as memory:
            assert (await memory.stats()).episodes == _COUNT
        copy.unlink()
        if in_time:
            return
    pytest.fail("it never closed in time")


async def test_work_behind_a_call_survives_a_close_that_is_cancelled(tmp_path: Path) -> None:
    memory = await umi.Memory.open(str(tmp_path / "umi.db"), embedder=None)
    await memory.remember("Ann lives in Graz.", read="later")
    await memory.remember("Ann likes tea.")  # starts on what waits
    closing = asyncio.ensure_future(memory.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    await memory.close()
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as again:
        assert await again.waiting() == ()

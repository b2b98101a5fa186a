"""Under load, in this process and in others: who recalls after a write was acknowledged finds it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import umi
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.sql.cache import Execute, Head, IndexCache

WRITES = 25
BUSY = 2
# Writes, and tells the number when it is acknowledged; between writes it recalls, so that its own index is warm.
WRITER = """
import asyncio, sys, umi

async def main(path, count):
    async with umi.Memory.open(path, embedder=None) as memory:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(count)):
            await memory.remember(f"Locker {number} opens with code zebra{number}.")
            found = await memory.recall(f"zebra{number}", min_score=0, limit=1)
            print(number, found.hits[0].content, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""
# Recalls and writes without a pause, so that the file is locked and every index is behind most of the time.
BUSYBODY = """
import asyncio, sys, umi

async def main(path, name):
    async with umi.Memory.open(path, embedder=None) as memory:
        print("ready", flush=True)
        number = 0
        while True:
            await memory.remember(f"{name} notes number {number}.")
            await memory.recall("Which number was noted?", min_score=0)
            number += 1

asyncio.run(main(*sys.argv[1:]))
"""


def _start(code: str, *arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


async def _unseen(path: str) -> list[str]:
    """What some reader did not find at once: the writer's own recalls, and those of this process after each acknowledgement."""
    busy = [_start(BUSYBODY, path, f"Busy{number}") for number in range(BUSY)]
    writer = _start(WRITER, path, str(WRITES))
    missed: list[str] = []
    try:
        async with umi.Memory.open(path, embedder=None) as reader:
            assert writer.stdin is not None
            assert writer.stdout is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
            for _ in range(WRITES):
                number, _, shown = (await asyncio.to_thread(writer.stdout.readline)).strip().partition(" ")
                if f"zebra{number}." not in shown:
                    missed.append(f"the writer itself, {number}")
                found = await reader.recall(f"zebra{number}", min_score=0, limit=1)
                if not found.hits or f"zebra{number}." not in found.hits[0].content:
                    missed.append(f"another process, {number}")
            await reader.remember("Locker last opens with code walrus.")
            own = await reader.recall("walrus", min_score=0, limit=1)
            if not own.hits or "walrus" not in own.hits[0].content:
                missed.append("this process")
            missed += await reader.check()
    finally:
        for process in (*busy, writer):
            process.kill()
            process.communicate()
    return missed


async def test_every_acknowledged_write_is_found_by_the_very_next_recall_under_load(tmp_path: Path) -> None:
    assert await _unseen(str(tmp_path / "umi.db")) == []


async def test_a_stale_index_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: an index that is taken as it is, once it is there, misses what came after."""
    current = IndexCache.current

    def stale(self: IndexCache, execute: Execute, head: Head, *touched: frozenset[int]) -> NamespaceIndex:
        entry = self._entries.get(head.ns)
        return current(self, execute, head, *touched) if entry is None else entry.index

    monkeypatch.setattr(IndexCache, "current", stale)
    monkeypatch.setattr(IndexCache, "catch_up", lambda *_: True)
    missed = await _unseen(str(tmp_path / "umi.db"))
    assert [one for one in missed if one.startswith("another process")]
    assert "this process" in missed

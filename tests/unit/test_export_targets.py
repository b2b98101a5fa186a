"""Where an export is written to: never over what is no export, through links, and into pipes."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import umi


@asynccontextmanager
async def told(folder: Path) -> AsyncIterator[umi.Memory]:
    async with umi.Memory.open(str(folder / "umi.db"), namespace="alice", embedder=None) as memory:
        await memory.remember("I live in Berlin.", speaker="Alice")
        yield memory


@pytest.mark.parametrize("name", ["umi.db", "umi.db-wal", "umi.db-shm", "link.db", "notes.txt"])
async def test_what_is_no_export_is_left_as_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "umi.db")
    (tmp_path / "notes.txt").write_text("mine")
    async with told(tmp_path) as memory:
        before = (tmp_path / name).read_bytes()
        with pytest.raises(umi.InvalidInput, match="is there already and is no export"):
            await memory.export(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
        assert await memory.check() == []
        assert [fact.value for fact in await memory.facts("Alice")] == ["Berlin"]


async def test_an_earlier_export_is_replaced_also_through_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "copy.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(target)
    async with told(tmp_path) as memory:
        await memory.export(link)
        first = target.read_bytes()
        await memory.remember("I live in Rome.", speaker="Alice")
        await memory.export(link)
    assert link.is_symlink()
    assert len(target.read_bytes()) > len(first) > 0
    assert not (tmp_path / "copy.jsonl.part").exists()


async def test_an_export_leaves_no_thread_behind(tmp_path: Path) -> None:
    async with told(tmp_path) as memory:
        before = threading.active_count()
        await memory.export(tmp_path / "copy.jsonl")
        assert threading.active_count() <= before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
async def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    reader.start()
    async with told(tmp_path) as memory:
        receipt = await memory.export(pipe)
    reader.join(30)
    assert len(heard[0]) == receipt.bytes
    assert pipe.is_fifo()


@pytest.mark.parametrize("target", ["", ".", "/", "\0", "\ud800"])
async def test_what_names_no_file_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.chdir(tmp_path)
    async with told(tmp_path) as memory:
        with pytest.raises(umi.InvalidInput):
            await memory.export(target)
        with pytest.raises(umi.InvalidInput):
            await memory.restore(target)

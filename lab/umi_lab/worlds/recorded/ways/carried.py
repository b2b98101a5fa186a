"""A run about moving: exports with filters, backups, and restores that are broken off, gone on with, damaged, or refused."""

from __future__ import annotations

import inspect
from io import BytesIO
from typing import Any, Final

from umi.errors import UmiError
from umi.memory import Memory
from umi_lab.worlds.ledger import portions
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.ways.kit import Stage, broken, homes, look, runs, tried


class _Torn:
    """A stream that breaks after so many bytes."""

    def __init__(self, data: bytes, count: int, *, ends: bool = False) -> None:
        self._inner = BytesIO(data)
        self._left = count
        self._ends = ends

    def _take(self, wanted: int) -> int:
        if self._left <= 0 and not self._ends:
            raise broken("the cable is out")
        return self._left if wanted is None or wanted < 0 else min(wanted, self._left)

    def read(self, count: int = -1) -> bytes:
        data = self._inner.read(self._take(count))
        self._left -= len(data)
        return data

    def readline(self, count: int = -1) -> bytes:
        data = self._inner.readline(self._take(count))
        self._left -= len(data)
        return data


async def _carried(stage: Stage) -> None:
    """Exports with filters, backups, and restores that are broken off, gone on with, damaged, or refused."""
    with portions.applied({"RESTORE_BATCH_COUNT": 3}):
        async with stage.memory(stage.url("carried"), embedder=stage.embedder()) as memory:
            await memory.remember_many(homes(10))
            await memory.switch("other").remember("Zoe likes tea.", speaker="Zoe", read="later")
            await memory.set_fact("Ada", "city", "Lima")
            whole, all_of_it = BytesIO(), BytesIO()
            await memory.export(whole, progress=lambda lines: note("progress", lines))
            await memory.export(all_of_it, every_namespace=True)
            for place, more in enumerate(
                (
                    {"where": {"session": "s1"}},
                    {"types": ["location"]},
                    {"where": {"speaker": "nobody"}},
                    {"every_namespace": True, "where": {"session": "s0"}},
                )
            ):
                part = BytesIO()
                await tried(memory.export(part, **more))  # type: ignore[arg-type]
                _note_lines(part.getvalue())
                async with stage.memory(stage.url(f"part{place}")) as there:
                    part.seek(0)
                    await tried(there.restore(part))
                    await look(there, ("Ada",), questions=("Where does Ada live?",))
            await _paths(stage, memory)
            await _copied(stage, memory)
        await _restored(stage, whole.getvalue(), all_of_it.getvalue())


def _note_lines(data: bytes) -> None:
    note("lines", [len(line) for line in data.splitlines()[1:]])


async def _paths(stage: Stage, memory: Memory) -> None:
    (stage.folder / "letter.txt").write_text("Dear Ada", "utf-8")
    for target in (
        stage.folder,
        stage.folder / "letter.txt",
        stage.folder / "no" / "where",
        "a\0b",
        7,
        stage.folder / "saved.jsonl",
        stage.folder / "saved.jsonl",
    ):
        try:
            receipt = await inspect.unwrap(Memory.export)(memory, target)
            note("export", receipt.episodes)
        except UmiError as error:
            note("export", type(error).__name__)


async def _copied(stage: Stage, memory: Memory) -> None:
    """A backup, whose size differs between versions of SQLite, and what is in it."""
    copy = inspect.unwrap(Memory.backup)
    for path in (stage.folder / "copy.db", stage.folder / "copy.db", stage.folder / "no" / "where.db"):
        try:
            note("backup", await copy(memory, path) > 0)
        except UmiError as error:
            note("backup", type(error).__name__)
    async with stage.memory(stage.url("copy"), embedder=stage.embedder()) as there:
        await look(there, ("Ada",), questions=("Where does Ada live?",))
        await there.namespaces()


async def _restored(stage: Stage, whole: bytes, all_of_it: bytes) -> None:
    for place, (data, size) in enumerate(
        ((whole, 900), (whole, len(whole) // 2), (whole, len(whole) - 40), (all_of_it, len(all_of_it) - 700))
    ):
        async with stage.memory(stage.url(f"torn{place}"), embedder=stage.embedder()) as memory:
            for ends in (False, True):
                torn: Any = _Torn(data, size, ends=ends)
                await tried(memory.restore(torn))
                await memory.check()
            if place == 1:
                await tried(memory.remember("Ada lives in between."))
                await tried(memory.restore(BytesIO(all_of_it)))
            await tried(memory.restore(BytesIO(data), progress=lambda done: note("progress", done)))
            await tried(memory.restore(BytesIO(data)))
            await look(memory, ("Ada", "Bob"), questions=("Where does Ada live?",))
            await memory.namespaces()
            await memory.forget("m2")
            await tried(memory.restore(BytesIO(data)))
    middle = len(whole) // 2
    for odd in (
        b"",
        b"{}\n",
        whole[:middle] + b"X" + whole[middle + 1 :],
        whole + whole,
        whole.replace(b'"version":1', b'"version":99', 1),
        b"\xff" + whole,
    ):
        async with stage.memory("dict:") as memory:
            await tried(memory.restore(BytesIO(odd)))
            await memory.check()


CARRIED: Final = runs(carried=_carried)

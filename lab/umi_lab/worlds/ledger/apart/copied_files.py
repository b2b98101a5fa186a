"""The step in which a memory is copied to paths of every kind: what is refused leaves all as it was, and a copy holds everything."""

from __future__ import annotations

import io
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from umi.errors import InvalidInput, StoreUnavailable
from umi.memory import Memory
from umi_lab.worlds.ledger.apart import copies
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_REST: Final = b"half of a copy"
_OTHERS: Final = b"somebody's own"
_EXPORT: Final = b'{"umi_export":'


class CopiedFiles(Journal):
    """Copies a memory of its own, with a second one open on its file."""

    async def _copied(self, step: Step) -> None:
        name, folder = f"copied{step.number}.db", self._opened.folder / f"copies{step.number}"
        folder.mkdir()
        async with AsyncExitStack() as stack:
            memory = await stack.enter_async_context(self._opened.without_model(name))
            second = memory
            if step.arguments["second"] and self._opened.plan.store != "dict":
                second = await stack.enter_async_context(self._opened.without_model(name))
            before = None
            for place, one in enumerate(step.arguments["copies"]):
                teller = second if one["by_second"] else memory
                await teller.remember(one["said"], read=one["read"], session=f"copy{place}")
                target = self._target(folder, one["place"], place, before, name)
                await (self._back_up if one["call"] == "backup" else self._write_out)(memory, target)
                before = target

    def _target(self, folder: Path, kind: str, place: int, before: Path | None, name: str) -> Path:
        """The path of a copy, with what must stand there."""
        path = folder / f"copy{place}"
        if kind == copies.AGAIN and before is not None:
            return before
        if kind == copies.MISSING:
            return folder / "nowhere" / "copy"
        if kind == copies.ITSELF and self._opened.plan.store != "dict":
            return self._opened.folder / name
        if kind == copies.THERE:
            path.write_bytes(_OTHERS)
        if kind == copies.REST:
            path.with_name(f"{path.name}.part").write_bytes(_REST)
        if kind == copies.FOLDER:
            path.mkdir()
            (path / "inside").write_bytes(_OTHERS)
        return path

    async def _back_up(self, memory: Memory, target: Path) -> None:
        """A backup never writes over anything, and needs a file to copy and a folder to write to."""
        was = _below(target)
        refused = self._opened.plan.store == "dict" or was is not None or not _has_folder(target)
        try:
            size = await self._opened.call_of(memory, "backup", target)
        except StoreUnavailable:
            same(f"whether a backup to {target.name} is refused", True, refused)  # noqa: FBT003
            same(f"what is at {target.name} after a refusal", _below(target), was)
            return
        same(f"whether a backup to {target.name} is made", False, refused)  # noqa: FBT003
        same("the rest of a backup", _below(target.with_name(f"{target.name}.part")), None)
        same("the size of a backup", [size], [len(data) for _, data in _below(target) or ()])
        async with self._opened.without_model(str(target.relative_to(self._opened.folder))) as copy:
            same("what a backup holds", await _all_of(copy), await _all_of(memory))
            same("what a backup's own check says", list(await copy.check()), [])

    async def _write_out(self, memory: Memory, target: Path) -> None:
        """An export takes the place of an export, and of nothing else, not of the memory itself; where it is refused all stays as it was."""
        was, stream = _below(target), io.BytesIO()
        await memory.export(stream)
        is_free = was is None or was[0][1].startswith(_EXPORT)
        refused = _is_folder(target) or not _has_folder(target) or not is_free
        try:
            receipt = await self._opened.call_of(memory, "export", target)
        except InvalidInput:
            same(f"whether an export to {target.name} is refused", True, refused)  # noqa: FBT003
            same(f"what is at {target.name} after a refusal", _below(target), was)
            return
        same(f"whether an export to {target.name} is made", False, refused)  # noqa: FBT003
        same("the rest of an export", _below(target.with_name(f"{target.name}.part")), None)
        same("the bytes of an export", receipt.bytes, len(stream.getvalue()))
        if _below(target) != [(target.name, stream.getvalue())]:
            raise Wrong(f"the export to {target.name} is not that of the same rows to a stream")


def _is_folder(path: Path) -> bool:
    return path.is_dir()


def _has_folder(path: Path) -> bool:
    return path.parent.is_dir()


def _below(path: Path) -> list[tuple[str, bytes]] | None:
    """What is at a path: None for nothing, else its files with their bytes; of a database that is open no log."""
    if path.is_dir():
        return [(one.name, one.read_bytes()) for one in sorted(path.iterdir())]
    return [(path.name, path.read_bytes())] if path.exists() else None


async def _all_of(memory: Memory) -> list[Any]:
    """Every message, statement, relation and what waits."""
    said, held = await memory.episodes(limit=100), await memory.list(limit=100)
    return [list(said.items), list(held.items), list(await memory.waiting())]

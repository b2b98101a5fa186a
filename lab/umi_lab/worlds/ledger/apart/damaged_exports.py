"""The step in which exports are damaged: which line a restore names, what stands before it, and that a sound copy completes it."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import umi
from umi._archive import reader
from umi.errors import UmiError
from umi.memory import Memory
from umi_lab.worlds.ledger.apart.archive_reading import Reading, Refusal
from umi_lab.worlds.ledger.apart.damages import Damaged, damaged
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.opened import SPACE
from umi_lab.worlds.ledger.plan import Step

_BATCH: Final = 512  # rows that are restored at once, unless the world says otherwise (docs/limits.md)
_BESIDE: Final = "beside"
_LONGEST: Final = "IMPORT_RECORD_BYTES_MAX"
_LINES: Final = re.compile(r"^lines? ([\d,]+)(?: to ([\d,]+))?")


class DamagedExports(Journal):
    """Restores damaged exports, each into a memory of its own."""

    async def _damaged(self, step: Step) -> None:
        given = step.arguments
        data = await self._written(every=given["every"], waiting=given["waiting"])
        for one in given["damages"]:
            file = damaged(data, one)
            size = self._opened.plan.portions.get("RESTORE_BATCH_COUNT", _BATCH)
            right = Reading(file, size, SPACE).read()
            async with self._opened.without_model(None) as memory:
                await self._restore(memory, file, right, f"a restore of an export with {one}")
                await self._sound(memory, data, right, f"a restore of the sound export after one with {one}")

    async def _written(self, *, every: bool, waiting: bool) -> bytes:
        """An export with lines of every kind."""
        written = io.BytesIO()
        async with self._opened.without_model(None) as memory:
            await memory.remember(umi.Message("Nora lives in Rome.", speaker="Mika", id="m0"))
            await memory.remember("Nora moved to Oslo. Bram owns a boat.", speaker="Mika", idempotency_key="k")
            await memory.remember("My sister Ida plays chess.", speaker="Mika", metadata={"level": 2, "tags": ["a"]})
            await memory.set_fact("Nora", "shelf", "oak")
            await memory.set_fact("Nora", "shelf", "ash", reason="as agreed")
            if waiting:
                await memory.remember("Tilda works at Acme.", read="later", session="dawn")
            if every:
                await memory.switch(_BESIDE).remember("Bram lives in Graz.", speaker="Nora")
            await memory.export(written, every_namespace=every)
        return written.getvalue()

    async def _restore(self, memory: Memory, file: Damaged, right: Reading, what: str) -> None:
        """It is refused by the right line, and what stood before that is there."""
        try:
            with _lines_of(file.longest):
                await self._opened.call_of(memory, "restore", io.BytesIO(file.data))
        except UmiError as refused:
            if right.refusal is None:
                raise Wrong(f"{what} is refused: {refused}") from refused
            _require_refusal(what, refused, right.refusal)
        else:
            same(f"why {what} is refused", right.refusal, None)
        await _require_rows(what, memory, right)

    async def _sound(self, memory: Memory, data: bytes, right: Reading, what: str) -> None:
        """It goes on where the damaged one was broken off, unless that brought something else."""
        lines = data.splitlines(keepends=True)
        begun = right.file.data.splitlines(keepends=True)[: right.end]
        if right.refusal is None or begun != lines[: right.end]:
            await self._refused("RestoreConflict", memory.restore(io.BytesIO(data)))
            await _require_rows(what, memory, right)
            return
        receipt = await self._opened.call_of(memory, "restore", io.BytesIO(data))
        rest = Counter(next(iter(json.loads(line))) for line in lines[right.end :])
        told = (receipt.episodes, receipt.entities, receipt.relations, receipt.resumed)
        same(what, told, (rest["episode"], rest["entity"], rest["relation"], right.end > 0))
        again = io.BytesIO()
        await memory.export(again, every_namespace=b'"scope":"store"' in lines[0])
        if again.getvalue() != data:
            raise Wrong(f"{what} does not give what was exported")


@contextmanager
def _lines_of(longest: int | None) -> Iterator[None]:
    """Let lines be as long as this at most, so that one need not have so many bytes as the documents say."""
    before = getattr(reader, _LONGEST)
    try:
        setattr(reader, _LONGEST, before if longest is None else longest)
        yield
    finally:
        setattr(reader, _LONGEST, before)


def _require_refusal(what: str, refused: UmiError, right: Refusal) -> None:
    same(f"the error of {what}", type(refused).__name__, right.error)
    named, text = _LINES.match(str(refused)), str(refused)
    found = None if named is None else range(_number(named[1]), _number(named[2] or named[1]) + 1)
    exact = None if right.number is None else range(right.number, right.number + 1)
    # Statements are written together, so that several lines may be named: all of statements, and the wrong one among them.
    near = found is not None and right.number in found and set(found) <= set(right.together)
    if found != exact and not near:
        raise Wrong(f"{what} says {text!r}, and must name line {right.number}")
    if right.words not in text:
        raise Wrong(f"{what} says {text!r}, and must say {right.words!r}")


def _number(text: str) -> int:
    return int(text.replace(",", ""))


async def _require_rows(what: str, memory: Memory, right: Reading) -> None:
    """Exactly these messages and statements are there."""
    for name in (SPACE, _BESIDE):
        there = memory.switch(name)
        found = {
            "episode": [one.id for one in (await there.episodes(limit=100)).items],
            "entity": sorted(step.entity.id for step in (await there.list(limit=100)).items),
        }
        for kind, ids in found.items():
            rows = [fields["id"] for _, space, each, fields in right.restored if (space, each) == (name, kind)]
            same(f"each {kind} in {name} after {what}", ids, sorted(rows) if kind == "entity" else rows)

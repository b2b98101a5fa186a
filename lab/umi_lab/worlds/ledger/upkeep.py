"""Steps that change nothing that is remembered: restart, maintenance, backup, export, changes, another namespace."""

from __future__ import annotations

import io

from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step


class Upkeep(Journal):
    """Does the work around the store and requires that the memory stays as it is."""

    async def _restart(self, _step: Step) -> None:
        if self._opened.plan.store != "dict":
            await self._opened.open()

    async def _maintain(self, _step: Step) -> None:
        found = await self._opened.call("maintain")
        right = {"completed": 0, "waiting": (), "waiting_count": 0, "degraded": (), "unclean": False}
        self.compared.record("maintain", found, right)

    async def _reread(self, _step: Step) -> None:
        """Nothing that the model read has changed, so nothing changes."""

    async def _backup(self, _step: Step) -> None:
        if self._opened.plan.store == "dict":
            return
        file = self._opened.folder / f"backup{self.book.next_arrival}.db"
        file.unlink(missing_ok=True)
        size = await self._opened.call("backup", file)
        same("size of the backup", size, file.stat().st_size)

    async def _export(self, _step: Step) -> None:
        """What is written and restored elsewhere is written again as the same bytes."""
        first, second = io.BytesIO(), io.BytesIO()
        found = await self._opened.call("export", first)
        # Own ids and keys of calls stay known when the messages are gone.
        keys_stay = bool(self._buried) or any(keyed for *_, keyed in self._calls.values())
        rows = {
            "namespaces": ("ledger",) if self.book.said or keys_stay else (),
            "episodes": len(self.book.said),
            "entities": len(self.book.statements),
            "relations": len(self.book.links),
        }
        self.compared.record("export", found, {**rows, "bytes": len(first.getvalue())})
        async with self._opened.other("dict:") as elsewhere:
            self._opened.count("restore", {})
            back = await elsewhere.restore(io.BytesIO(first.getvalue()))
            self.compared.record("restore", back, {**rows, "resumed": False})
            await elsewhere.export(second)
            page = await elsewhere.list(limit=10_000)
            self.compared.steps("the list elsewhere", page.items, self.book.arrived())
            if self.book.said:
                await self._refused("RestoreConflict", elsewhere.restore(io.BytesIO(first.getvalue())))
        same("the export elsewhere", second.getvalue() == first.getvalue(), True)  # noqa: FBT003

    async def _changes(self, _step: Step) -> None:
        """Every change is told once, in order, whatever the portion; going on after any of them gives the rest."""
        self._opened.count("changes", {})
        every = [one async for one in self._opened.memory.changes()]
        numbers = [one.sequence for one in every]
        same("the order of changes", numbers, sorted(numbers))
        same("the sequence of the last write", await self._opened.call("sequence") >= max(numbers, default=0), True)  # noqa: FBT003
        for border in sorted(set(numbers)):
            self._opened.count("changes", {"after": border})
            rest = [one async for one in self._opened.memory.changes(border)]
            same(f"changes after {border}", rest, [one for one in every if one.sequence > border])
        self._opened.tally.saw("Change", {"sequence": 0, "kind": 0, "id": 0})
        same("what check says", list(await self._opened.call("check")), [])
        here = {said.id for said in self.book.said}
        told = {one.id for one in every if one.kind == "remembered"}
        same("messages that changes does not tell", sorted(here - told), [])

    async def _switch(self, step: Step) -> None:
        """What another namespace says changes nothing here."""
        self._opened.count("switch", {})
        there = self._opened.memory.switch("elsewhere")
        await there.remember(step.arguments["said"], speaker="Kiba")
        await self._opened.call("stats")  # what has expired here goes with the first call that reads here
        listed = await self._opened.call("namespaces")
        for info in listed:
            if info.name == "ledger":
                counts = {"name": "ledger", "episodes": len(self.book.said), "entities": len(self.book.statements)}
                self.compared.record("the namespace", info, counts)
        names = [info.name for info in listed]
        same("the other namespace is listed", "elsewhere" in names, True)  # noqa: FBT003

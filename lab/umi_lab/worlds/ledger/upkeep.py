"""Steps that change nothing that is remembered: restart, maintenance, backup, changes, another namespace."""

from __future__ import annotations

from typing import Any

from umi.errors import StoreUnavailable
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.exports import Exports
from umi_lab.worlds.ledger.plan import Step


class Upkeep(Exports):
    """Does the work around the store and requires that the memory stays as it is."""

    async def _restart(self, _step: Step) -> None:
        if self._opened.plan.store != "dict":
            await self._opened.open()

    async def _maintain(self, _step: Step) -> None:
        found = await self._opened.call("maintain")
        right = {"completed": 0, "waiting": (), "waiting_count": 0, "degraded": (), "unclean": False}
        self.compared.record("maintain", found, right)

    async def _backup(self, _step: Step) -> None:
        if self._opened.plan.store == "dict":
            return
        if self._opened.address is not None:
            await self._no_backup()
            return
        file = self._opened.folder / f"backup{self.book.next_arrival}.db"
        file.unlink(missing_ok=True)
        told: list[tuple[int, int]] = []
        size = await self._opened.call("backup", file, progress=lambda done, of: told.append((done, of)))
        same("size of the backup", size, file.stat().st_size)
        same("the end of the backup's progress", [done == of for done, of in told[-1:]], [True])
        file.unlink()
        same("size of the next backup", await self._opened.call("backup", file), size)

    async def _no_backup(self) -> None:
        """A server's database is no file: the refusal names what to do instead. As many calls as on SQLite."""
        for more in ({"progress": lambda _done, _of: None}, {}):
            try:
                await self._opened.call("backup", self._opened.folder / "backup.db", **more)
            except StoreUnavailable as error:
                same("whether the refusal says how", "pg_dump" in str(error), True)  # noqa: FBT003
            else:
                raise Wrong("a database of a server was copied as a file")

    async def _changes(self, _step: Step) -> None:
        """Every change is told once, in order, whatever the portion; going on after any of them gives the rest."""
        await self._counted()
        await self.follow("ledger")
        self._opened.count("changes", {})
        every = [one async for one in self._opened.memory.changes()]
        same("changes from the beginning", every, self.told("ledger"))
        self._opened.count("changes", {"follow": True})
        following: Any = self._opened.memory.changes(follow=True)
        same("changes that are followed", [await anext(following) for _ in every], every)
        await following.aclose()
        numbers = [one.sequence for one in every]
        same("the order of changes", numbers, sorted(numbers))
        same("the sequence of the last write", await self._opened.call("sequence") >= max(numbers, default=0), True)  # noqa: FBT003
        for border in sorted(set(numbers)):
            self._opened.count("changes", {"after": border})
            rest = [one async for one in self._opened.memory.changes(border)]
            same(f"changes after {border}", rest, [one for one in every if one.sequence > border])
        await self.follow("elsewhere")
        self._opened.tally.saw("Change", {"sequence": 0, "kind": 0, "id": 0})
        same("what check says", list(await self._opened.call("check")), [])

    async def _switch(self, step: Step) -> None:
        """What another namespace says changes nothing here."""
        self._opened.count("switch", {})
        await self.say_beyond(step.arguments["said"], step.arguments["expires_s"])
        await self._counted()

    async def _counted(self) -> None:
        """Every namespace is counted without what has expired, also those that nobody has read since."""
        counts = {
            "ledger": (len(self.book.said), len(self.book.statements)),
            "elsewhere": (len(self.beyond), len(self.beyond)),
        }
        listed = await self._opened.call("namespaces")
        for info in listed:
            right = dict(zip(("episodes", "entities"), counts.pop(info.name), strict=True))
            self.compared.record("the namespace", info, {"name": info.name, **right})
        same("namespaces that are not listed", [name for name, (episodes, _) in counts.items() if episodes], [])

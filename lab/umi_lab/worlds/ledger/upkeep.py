"""Steps that change nothing that is remembered: restart, maintenance, backup, changes, another namespace."""

from __future__ import annotations

from typing import Any

from umi_lab.worlds.ledger.book import Book, Said
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.exports import Exports
from umi_lab.worlds.ledger.model import SENTENCE, VERDICTS
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

    async def _reread(self, _step: Step) -> None:
        """The model reads each message again as it did before, so nothing changes."""
        book = self.book
        # What the model judged before is judged anew, and what was kept without being read is read: not told here.
        if any(link.detector != "caller" for link in book.links) or not all(
            _is_plainly_read(book, said) for said in book.said
        ):
            return
        told: list[tuple[int, int]] = []
        self._opened.count("reread", {"progress": None})
        self._read_again = True
        found = await self._opened.call("reread", progress=lambda done, left: told.append((done, left)))
        nothing: dict[str, Any] = {"changes": (), "changes_count": 0, "waiting": (), "waiting_count": 0}
        self.compared.record("reread", found, {**nothing, "completed": len(book.said), "degraded": ()})
        same("the progress of reread", told, [(done, len(book.said) - done) for done in range(1, len(book.said) + 1)])
        again = await self._opened.memory.reread()
        same("texts that were read a third time", again.completed, len(book.said))

    async def _backup(self, _step: Step) -> None:
        if self._opened.plan.store == "dict":
            return
        file = self._opened.folder / f"backup{self.book.next_arrival}.db"
        file.unlink(missing_ok=True)
        told: list[tuple[int, int]] = []
        size = await self._opened.call("backup", file, progress=lambda done, of: told.append((done, of)))
        same("size of the backup", size, file.stat().st_size)
        same("the end of the backup's progress", [done == of for done, of in told[-1:]], [True])
        file.unlink()
        same("size of the next backup", await self._opened.call("backup", file), size)

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


def _is_plainly_read(book: Book, said: Said) -> bool:
    """Whether a message has the statements that the model reads in it, and no verdict."""
    read = [match[0] for match in SENTENCE.finditer(said.content)]
    judges = any(f"{verdict}=" in said.content for verdict in VERDICTS)
    mine = book.of(said)
    return not judges and [one.content for one in mine] == read and all(one.subject for one in mine)

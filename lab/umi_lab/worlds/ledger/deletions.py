"""Steps that delete: `forget`, `erase` and `erase_namespace`."""

from __future__ import annotations

from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.filters import passes
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.rules import concluded


class Deletions(Journal):
    """Deletes in the memory and in the book."""

    async def _forget(self, step: Step) -> None:
        one = self._statement(step.arguments["what"])
        if one is None:
            return
        by, said = step.arguments["by"], one.said
        name = {"statement": one.id, "episode": said.id, "own id": said.message_id or said.id}[by]
        preview = await self._opened.call("preview_forget", name)
        rest = [other for other in self.book.of(said) if other is not one]
        going = [one] if by == "statement" and rest else self.book.of(said)
        losing = [other for other in self.book.statements if any(self.book.rests_on(other, gone) for gone in going)]
        same(
            "what forget was to delete",
            sorted(each.id for each in preview.statements),
            sorted(each.id for each in going),
        )
        unsupported = sorted(each.id for each in losing if each not in going)
        same("what was to lose its support", sorted(each.id for each in preview.unsupported), unsupported)
        self.compared.episode(preview.episode, said)
        same("what forget gives", await self._opened.call("forget", name), 1)
        recorder = self.recorder()
        if by == "statement" and rest:
            start, end = one.span
            said.content = f"{said.content[:start]}{' ' * (end - start)}{said.content[end:]}".rstrip()
            self.cut.append(said)
            recorder.delete((), (one,))
            self.compared.record("the preview of forget", preview, {"left": said.content})
        else:
            same("what was to be left of the message", preview.left, None)
            self._bury([said])
            recorder.delete((said,), ())
        self._opened.tally.saw("ForgetPreview", {"episode": 0, "statements": 0, "unsupported": 0})
        self._made[step.number] = recorder.made
        await self.adopt_all()
        if step.arguments["again"]:
            same("what forget gives again", await self._opened.call("forget", name), 0)

    async def _forget_where(self, step: Step) -> None:
        where = step.arguments["where"]
        gone = [said for said in self.book.said if passes(where, said)]
        same("what forget gives", await self._opened.call("forget", where=where), len(gone))
        self._bury(gone)
        self.recorder().delete(gone, ())
        await self.adopt_all()

    async def _erase(self, step: Step) -> None:
        given = dict(step.arguments)
        derived = given["derived"]
        where = {"session": given["session"]} if "session" in given else given["where"]
        gone = [said for said in self.book.said if passes(where, said)]
        gone += concluded(self.book, gone) if derived == "erase" else []
        preview = await self._opened.call("preview_erasure", **given)
        same("what the preview deletes", sorted(one.id for one in preview.deleted), sorted(said.id for said in gone))
        self.compared.record("the preview", preview, {"redacted": (), "aliases": (), "known": bool(gone)})
        self._opened.tally.saw("ErasurePreview", {"deleted": 0})
        found = await self._opened.call("erase", **given)
        self._bury(gone)
        stale = self.recorder().delete(gone, ())
        same("what is deleted", sorted(found.deleted), sorted(said.id for said in gone))
        same("what is stale", sorted(found.stale), sorted(one.id for one in stale))
        right = {"redacted": (), "namespace": "ledger", "at": self.now, "pending": False, "known": bool(gone)}
        self.compared.record(
            "the receipt of erase", found, right | {"selection": "session" if "session" in given else "where"}
        )
        self._opened.tally.saw("ErasureReceipt", {"deleted": 0, "stale": 0})
        await self.adopt_all()
        check = await self._opened.call("verify_erasure", found)
        right = {"remains": 0, "said_before": (), "pending": False, "files_searched": True}
        self.compared.record("verify_erasure", check, right)

    async def _clear(self, _step: Step) -> None:
        preview = await self._opened.call("preview_namespace_erasure")
        same("what the preview counts", preview.counts.get("episodes", 0), len(self.book.said))
        known = self.book.next_arrival > 0
        found = await self._opened.call("erase_namespace")
        self.compared.record("the receipt", found, {"known": known, "deleted": (), "selection": "namespace"})
        self.book.said.clear()
        self.book.statements.clear()
        self.book.links.clear()
        self.book.next_arrival = 0
        self._calls.clear()
        self._buried.clear()

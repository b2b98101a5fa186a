"""Steps that delete: `forget`, `erase` and `erase_namespace`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from umi_lab.worlds.ledger.book import Said, Statement
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.filters import passes
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.model import ITEM
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
            self._cut_out([one])
            recorder.delete((), (one,))
            self.compared.record("the preview of forget", preview, {"left": said.content})
        else:
            self.compared.record("the preview of forget", preview, {"left": None})
            self._bury([said])
            recorder.delete((said,), ())
        self._opened.tally.saw("ForgetPreview", {"episode": 0, "statements": 0, "unsupported": 0})
        self._made[step.number] = recorder.made
        await self.adopt_all()
        if step.arguments["again"]:
            same("what forget gives again", await self._opened.call("forget", name), 0)

    async def _forget_where(self, step: Step) -> None:
        where = step.arguments["where"]
        if "types" in step.arguments:
            await self._forget_types(step.arguments["types"])
            return
        gone = [said for said in self.book.said if passes(where, said)]
        same("what forget gives", await self._opened.call("forget", where=where), len(gone))
        self._bury(gone)
        self.recorder().delete(gone, ())
        await self.adopt_all()

    async def _forget_types(self, types: list[str]) -> None:
        """The statements of some kinds go, and with them the messages that say nothing else."""
        going = [one for one in self.book.statements if one.entity_type in types]
        same("what forget gives", await self._opened.call("forget", types=types), len(going))
        whole = [said for said in self.book.said if self.book.of(said) and set(self.book.of(said)) <= set(going)]
        cut = [one for one in going if one.said not in whole]
        self._cut_out(cut)
        self._bury(whole)
        self.recorder().delete(whole, cut)
        await self.adopt_all()

    def _cut_out(self, statements: Sequence[Statement]) -> None:
        """Put spaces in place of statements in their messages, and nothing at the end."""
        for one in statements:
            start, end = one.span
            text = one.said.content
            one.said.content = f"{text[:start]}{' ' * (end - start)}{text[end:]}".rstrip()
            self.cut_words.append(one.content)
            self.learned.forget(one.said)
            if one.said not in self.cut:
                self.cut.append(one.said)

    async def _erase(self, step: Step) -> None:
        given = {name: value for name, value in step.arguments.items() if name not in ("brought_back", "root")}
        if step.arguments["root"]:
            given = self._root() or given
        kept = io.BytesIO()
        if step.arguments["brought_back"]:
            await self._opened.memory.export(kept)
        receipt = await self._erased(given)
        if step.arguments["brought_back"]:
            await self._brought_back(receipt, kept)

    def _root(self) -> dict[str, Any] | None:
        """An erasure of the message on which most others rest, with those that share its labels, and of all that was concluded from it."""
        resting = {said: len(concluded(self.book, [said])) for said in self.book.said}
        root = max(self.book.said, key=lambda said: resting[said], default=None)
        if root is None or not resting[root]:
            return None
        labels = {name: getattr(root, name) for name in ("session", "speaker", "role", "origin")}
        where = {name: {"exists": False} if value is None else value for name, value in labels.items()}
        return {"where": where, "derived": "erase"}

    async def _brought_back(self, receipt: Any, kept: io.BytesIO) -> None:
        """An export from before the erasure is refused here; where it was restored, the check finds what was erased."""
        if receipt.deleted or self.book.said:
            await self._refused("RestoreConflict", self._opened.memory.restore(io.BytesIO(kept.getvalue())))
            self._was_deferred = True  # rows that were restored might wait, so the background looks for them
        async with self._opened.elsewhere() as elsewhere:
            await elsewhere.restore(io.BytesIO(kept.getvalue()))
            self._opened.count("verify_erasure", {})
            check = await elsewhere.verify_erasure(receipt)
            right = {"said_before": tuple(sorted(receipt.deleted)), "said_since": (), "ok": not receipt.deleted}
            found = {"said_before": tuple(sorted(check.said_before)), "said_since": check.said_since, "ok": check.ok}
            same("the check where the export was restored", found, right)

    async def _erased(self, given: dict[str, Any], beside: Sequence[Said] = ()) -> Any:
        """Erase, with the messages `beside` that wait to be read as conclusions."""
        where = {"session": given["session"]} if "session" in given else given["where"]
        gone = [said for said in self.book.said if passes(where, said)]
        gone += concluded(self.book, gone) if given["derived"] == "erase" else []
        gone += [said for said in beside if said not in gone]
        preview = await self._opened.call("preview_erasure", **given)
        same("what the preview deletes", sorted(one.id for one in preview.deleted), sorted(said.id for said in gone))
        counts = {"episodes": len(gone), "redacted": 0, "aliases": 0}
        fields = {"redacted": (), "aliases": (), "left": (), "known": bool(gone), "counts": counts}
        self.compared.record("the preview", preview, fields)
        doomed = [one for one in self.book.statements if one.said in gone]
        touching = [link for link in self.book.links if link.old in doomed or link.new in doomed]
        self._opened.tally.saw("ErasurePreview", {"deleted": 0})
        outdated = replace(preview, counts={**preview.counts, "episodes": len(gone) + 1})
        await self._refused("PreviewOutdated", self._opened.memory.erase(**given, previewed=outdated))
        by_preview = {"previewed": preview} if "session" in given else {}
        found = await self._opened.call("erase", **given, **by_preview)
        self._bury(gone)
        stale = self.recorder().delete(gone, ())
        same("what is deleted", sorted(found.deleted), sorted(said.id for said in gone))
        same("what is stale", sorted(found.stale), sorted(one.id for one in stale))
        right = {"redacted": (), "namespace": "ledger", "at": self.now, "pending": False, "known": bool(gone)}
        self.compared.record(
            "the receipt of erase", found, right | {"selection": "session" if "session" in given else "where"}
        )
        counts = {what: found.counts.get(what, 0) for what in ("entities", "relations", "vectors", "aliases")}
        right = {"entities": len(doomed), "relations": len(touching), "vectors": 0, "aliases": 0}
        same("what the receipt counts", counts, right)
        same("an erasure with an id of its own", found.id in self._erasures, False)  # noqa: FBT003
        self._erasures.add(found.id)
        self._opened.tally.saw("ErasureReceipt", {"deleted": 0, "stale": 0, "counts": 0, "id": 0, "proof": 0})
        await self.adopt_all()
        check = await self._opened.call("verify_erasure", found)
        right = {
            "remains": 0,
            "said_before": (),
            "said_since": (),
            "pending": False,
            "files_searched": self._opened.address is None,
        }
        self.compared.record("verify_erasure", check, {**right, "is_sample": False})
        self._searched(check, gone)
        return found

    def _searched(self, check: Any, gone: Sequence[Said]) -> None:
        """The words of what was erased were looked for, and those that nobody else says are found nowhere."""
        words = {match[0] for said in gone for match in ITEM.finditer(said.content)}
        others = [*(said.content for said in self.book.said), *self.said_beyond]  # they share the file
        alone = {word for word in words if not any(word in other for other in others)}
        for kind, count in check.searched.items():
            same(f"{kind} found nowhere, at most", 0 <= check.absent[kind] <= count, True)  # noqa: FBT003
        same("words that were looked for", check.searched["words"] >= len(words), True)  # noqa: FBT003
        same("words that are found nowhere", check.absent["words"] >= len(alone), True)  # noqa: FBT003
        self._opened.tally.saw("ErasureCheck", {"searched": 0, "absent": 0})

    async def _clear(self, step: Step) -> None:
        """Namespaces are dropped, one or both, in any order."""
        await self.say_beyond(f"Kiba logged beyond{step.number}.", None)
        await self.follow("elsewhere")
        for which in step.arguments["of"]:
            await (self._clear_here() if which == "here" else self._clear_there())

    async def _clear_there(self) -> None:
        self._opened.count("erase_namespace", {})
        receipt = await self._opened.memory.switch("elsewhere").erase_namespace()
        same("the other namespace was known", receipt.known, True)  # noqa: FBT003
        self.beyond.clear()
        self._followed["elsewhere"].begin_anew()

    async def _clear_here(self) -> None:
        preview = await self._opened.call("preview_namespace_erasure")
        same("what the preview counts", preview.counts.get("episodes", 0), len(self.book.said))
        # Notes of recalls, which learning writes, are there as well.
        known = self.book.next_arrival > 0 or (self._opened.plan.learn and await self._opened.memory.sequence() > 0)
        outdated = replace(preview, counts={**preview.counts, "episodes": len(self.book.said) + 1})
        if preview.known:
            await self._refused("PreviewOutdated", self._opened.memory.erase_namespace(previewed=outdated))
        found = await self._opened.call("erase_namespace", previewed=preview)
        self.compared.record("the receipt", found, {"known": known, "deleted": (), "selection": "namespace"})
        self.book.said.clear()
        self.book.statements.clear()
        self.book.links.clear()
        self.book.next_arrival = 0
        self._calls.clear()
        self._buried.clear()
        self.learned.begin_anew()
        if "ledger" in self._followed:
            self._followed["ledger"].begin_anew()

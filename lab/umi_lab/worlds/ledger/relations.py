"""Steps that relate statements: `relate`, `resolve`, `undo` and `set_fact`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

from umi.sim.clock import EPOCH
from umi_lab.worlds.ledger.book import Link, Statement
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.rules import Recorder, Refused


class Relations(Journal):
    """Makes relations in the memory and in the book."""

    async def _linked(self, step: Step, call: Awaitable[Any], right: Callable[[Recorder], Link]) -> None:
        """Require that a call gives the relation that the oracle says, or is refused as it says."""
        recorder = self.recorder()
        try:
            link = right(recorder)
        except Refused as refused:
            await self._refused(str(refused), call)
            return
        found = await call
        self.compared.link(found, link)
        self._made.setdefault(step.number, []).extend([link, *(one for one in recorder.made if one is not link)])
        await self.adopt_all()

    async def _relate(self, step: Step) -> None:
        old = self._standing(step.arguments["old"])
        new = self._standing(step.arguments["new"], beside=old)
        if old is None or new is None:
            return
        if step.arguments["turn"] and old.order > new.order:
            old, new = new, old
        kind, reason = step.arguments["type"], f"because {step.number}"
        for _ in range(1 + step.arguments["again"]):
            call = self._opened.call("relate", old.id, new.id, type=kind, reason=reason)
            await self._linked(step, call, lambda recorder: recorder.relate(old, new, kind, reason))

    async def _overtake(self, step: Step) -> None:
        """One side of an open change is replaced by the newest statement of all, so there is nothing left to decide."""
        link = self._link(step.arguments["made"], _is_open)
        newest = max(self.book.statements, key=lambda one: one.order, default=None)
        if link is None or newest is None:
            return
        reason, old = f"overtaken {step.number}", link.new if link.new is not newest else link.old
        call = self._opened.call("relate", old.id, newest.id, type="update", reason=reason)
        await self._linked(step, call, lambda recorder: recorder.relate(old, newest, "update", reason))

    async def _chain(self, step: Step) -> None:
        """Statements of which each replaces the one before, or follows from it."""
        kind = step.arguments["type"]
        found = [self._standing(ref) for ref in step.arguments["of"]]
        ordered = sorted(dict.fromkeys(one for one in found if one is not None), key=lambda one: one.order)
        for place, (old, new) in enumerate(pairwise(ordered)):
            reason = f"chain {step.number}.{place}"
            call = self._opened.call("relate", old.id, new.id, type=kind, reason=reason)
            await self._linked(step, call, partial(Recorder.relate, old=old, new=new, kind=kind, reason=reason))

    async def _resolve(self, step: Step) -> None:
        link, keep = self._link(step.arguments["made"], _is_open), step.arguments["keep"]
        if link is None:
            return
        for _ in range(1 + step.arguments["again"]):
            call = self._opened.call("resolve", link.id, keep=keep)
            await self._linked(step, call, lambda recorder: recorder.resolve(link, keep))

    async def _undo(self, step: Step) -> None:
        link = self._link(step.arguments["made"], lambda one: one.undone_at is None)
        if link is None:
            return
        for _ in range(1 + step.arguments["again"]):
            before, preview = self._standings(), None
            if link.undone_at is None:
                preview = await self._opened.call("preview_undo", link.id)
            else:
                await self._refused("EvolutionError", self._opened.call("preview_undo", link.id))
            await self._linked(step, self._opened.call("undo", link.id), lambda recorder: recorder.undo(link))
            if preview is not None:
                self._as_previewed(preview, before)

    def _standings(self) -> dict[str, tuple[str, datetime, datetime | None]]:
        """The state of each statement, since when it holds, and until when."""
        book = self.book
        return {one.id: (book.state(one), book.begins(one), book.validity(one)[0]) for one in book.statements}

    def _as_previewed(self, preview: Any, before: dict[str, tuple[str, datetime, datetime | None]]) -> None:
        """Require that an undo changed what its preview showed, and nothing else."""
        after = self._standings()
        right = {id_: (before[id_][0], after[id_][0]) for id_ in before if before[id_] != after[id_]}
        same("what the undo was to change", {one.entity.id: (one.was, one.becomes) for one in preview.changes}, right)
        for record, names in (
            ("UndoPreview", ("relation", "changes")),
            ("StandingChange", ("entity", "was", "becomes")),
        ):
            self._opened.tally.saw(record, dict.fromkeys(names))

    async def _set_fact(self, step: Step) -> None:
        given = step.arguments
        at = None if given["at_days"] is None else EPOCH - timedelta(days=given["at_days"])
        beside = {name: value for name, value in (("at", at), ("reason", given["reason"])) if value is not None}
        for _ in range(1 + given["again"]):
            found = await self._opened.call("set_fact", given["subject"], given["attribute"], given["value"], **beside)
            self._fact(step, found, at)
            await self.adopt_all()

    def _fact(self, step: Step, found: Any, at: datetime | None) -> None:
        given, recorder = step.arguments, self.recorder()
        moment, slot = at or self.now, f"attr:{given['attribute']}"
        others = [one for one in self.book.statements if (one.subject, one.slot) == (given["subject"].lower(), slot)]
        holding = [one for one in others if recorder.holds(one, moment)]
        latest = max(holding, key=lambda one: one.order, default=None)
        if latest is not None and latest.value == given["value"]:
            told = sorted((link for link in self.book.links if link.new is latest), key=lambda link: link.id)
            self._receipt(found, [latest.said], told, replayed=True)
            return
        words = f"{given['subject']}, {given['attribute']}: {given['value']}"
        content = f"{words} ({given['reason']})" if given["reason"] else words
        told_now: dict[str, Any] = {
            "content": content, "role": "user", "speaker": None, "session": None, "at": at, "id": None, "metadata": {},
            "origin": None, "expires_at": None,
        }  # fmt: skip
        (said,) = self._add(step.number, [told_now], [told_now], found.episode_ids)
        new = Statement(
            found.entities[0].id, said, 0, given["subject"], given["subject"].lower(), "note", words, (0, len(words)), said.at,
            slot=slot, value=given["value"], reason=given["reason"] or "", metadata={"attribute": given["attribute"]},
        )  # fmt: skip
        self.book.statements.append(new)
        recorder.set_fact(new)
        rows = [link for link in recorder.made if link.new is new]
        self._adopt(found.evolutions)
        told = sorted(rows, key=lambda link: link.id)
        self._receipt(found, [said], told, replayed=False, degraded=("no_embedder",))
        self._made.setdefault(step.number, []).extend(recorder.made)


def _is_open(link: Link) -> bool:
    """Whether a relation can be settled."""
    unsettled = link.type == "contradict" or (link.type == "update" and not link.acted)
    return unsettled and link.resolved is None and link.undone_at is None

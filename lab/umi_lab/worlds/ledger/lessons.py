"""What a small world asks of learning: the lesson of each memory by value, in `learning.explain` and `why`, and what was raised and lowered most."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.book import Statement
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.learned import PROVIDER, Opinion, age
from umi_lab.worlds.ledger.opened import OpenedMemory

_NEAR: Final = 2e-6  # values have six digits
_POINTS: Final = 40  # stretches of time that a status tells, at most
_MOST: Final = 5  # memories that a status names as raised, and as lowered


class Lessons:
    """Compares what was learned with the oracle's own arithmetic."""

    def __init__(self, opened: OpenedMemory, journal: Journal) -> None:
        self._opened = opened
        self._journal = journal
        self._book = journal.book
        self._learned = journal.learned

    async def some(self, rng: DeterministicRng) -> None:
        """The lesson of a statement, of its message, and all that was moved."""
        if not self._opened.plan.learn or not self._book.statements:
            return
        counting = [
            one for said, _ in self._learned.moved(self._book, self._journal.now) for one in self._book.of(said)
        ]
        if counting or rng.chance(0.1):
            await self._of(rng.choice(counting or self._book.statements))
            await self._status()

    async def after_judging(self, shown: Sequence[str]) -> None:
        """The lessons of all that was credited, and of what that rests on."""
        for one in [one for one in self._book.statements if one.id in shown]:
            for each in (one, *self._book.sources(one)):
                await self._of(each)
        await self._status()

    async def _of(self, one: Statement) -> None:
        learning, opinion = self._opened.memory.learning, self._learned.about([one], self._journal.now)
        self._lesson(f"the lesson of {one.content!r}", await learning.explain(one.id), one.id, opinion)
        whole = self._learned.about(self._book.of(one.said), self._journal.now)
        self._lesson(f"the lesson of {one.said.content!r}", await learning.explain(one.said.id), one.said.id, whole)
        await self._why(one, opinion)

    async def _why(self, one: Statement, opinion: Opinion) -> None:
        found = (await self._opened.call("why", one.id)).lesson
        if opinion.counted:
            self._lesson(f"the lesson in why of {one.content!r}", found, one.id, opinion)
        else:
            same(f"a lesson of {one.content!r}, of which nothing counts", found, None)
        self._opened.tally.saw("Explanation", {"lesson": 0})

    async def _status(self) -> None:
        """The messages that were raised and lowered most, the most moved first, each with its factor."""
        found = await self._opened.memory.learning.status()
        moved = self._learned.moved(self._book, self._journal.now)
        lowered = [pair for pair in moved if pair[1].factor < 1][:_MOST]
        raised = [pair for pair in reversed(moved) if pair[1].factor > 1][:_MOST]
        owners = {one.id: one.said.key for one in self._book.statements}
        for what, lessons, right in (("raised", found.raised, raised), ("lowered", found.lowered, lowered)):
            same(f"what was {what}", [owners.get(lesson.id) for lesson in lessons], [said.key for said, _ in right])
            for lesson, (said, opinion) in zip(lessons, right, strict=True):
                self._lesson(f"the lesson of {said.content!r}, {what}", lesson, lesson.id, opinion)
        self._opened.tally.saw("LearnStatus", {"raised": 0, "lowered": 0})
        self._counted(found)

    def _counted(self, found: Any) -> None:
        """How much is kept, how much of it counts, and its quality, judgement by judgement."""
        kept = [one for one in self._learned.judgements if one.is_kept(self._book)]
        counting = [one for one in kept if one.counts]
        same("judgements that are kept", found.counts.signals, len(kept))
        credited = [one for one in self._learned.credited if one in self._book.statements]
        same("statements that are credited", found.counts.beliefs, len(credited))
        right = [(PROVIDER, len(counting), round(fmean(one.quality for one in counting), 3), None)] if counting else []
        told = [(one.name, one.signals, one.quality, one.agreement) for one in found.providers]
        same("what each provider has said", told, right)
        if len(counting) <= _POINTS:
            points = [(one.start, one.signals, one.quality) for one in found.over_time]
            same("the quality over time", points, [(one.at, 1, round(one.quality, 4)) for one in counting])
        total = self._learned.total
        totals = found.version.totals if found.version else {}
        same("who has a total", list(totals), [PROVIDER] * bool(total.count))
        weight = age(self._journal.now)
        for one in totals.values():
            same("judgements of the total", one.signals, total.count)
            _near("what the total says for", one.gain / weight, total.gain / weight)
            _near("what the total says against", one.loss / weight, total.loss / weight)
        self._opened.tally.saw("LearnStatus", {"version": 0, "counts": 0, "providers": 0, "over_time": 0})

    def _lesson(self, what: str, found: Any, id_: str, right: Opinion) -> None:
        self._journal.compared.record(what, found, {"id": id_, "counted": right.counted})
        for name in ("factor", "estimate", "usual"):
            _near(f"{name} of {what}", getattr(found, name), getattr(right, name))
        same(f"who has spoken in {what}", list(found.evidence), [PROVIDER] * bool(right.counted))
        for told, wanted in zip(found.evidence.get(PROVIDER, ()), right.evidence, strict=False):
            _near(f"evidence of {what}", told, wanted)
        same(f"whether {what} names judgements", bool(found.signals), bool(right.counted))
        self._opened.tally.saw("Lesson", dict.fromkeys(("factor", "estimate", "usual", "evidence", "signals")))


def _near(what: str, found: float, right: float) -> None:
    if not abs(found - right) <= _NEAR:
        raise Wrong(f"{what} is {found!r}, and must be {right!r}")

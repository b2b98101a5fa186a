"""The step in which recalls of conclusions are judged: what each message has learned, also of those that it was concluded from."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from umi.config import Config
from umi.memory import Memory
from umi_lab.worlds.ledger.apart.previewed import tell_conclusion
from umi_lab.worlds.ledger.book import Book, Statement
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.learned import PROVIDER, Learned, Opinion
from umi_lab.worlds.ledger.plan import Step

_NEAR: Final = 2e-6  # values have six digits
_QUALITIES: Final = {"success": 1.0, "partial_success": 0.5, "failure": 0.0}
_MOST: Final = 5  # memories that a status names as raised, and as lowered


class DerivedLessons(Journal):
    """Judges recalls of conclusions, in a memory of its own that learns."""

    async def _taught(self, step: Step) -> None:
        given, book, learned = step.arguments, Book(), Learned()
        name = f"taught{step.number}.db" if given["restart"] else None
        async with self._opened.without_model(name, config=Config(learn=True)) as memory:
            for place, parents in enumerate(given["parents"]):
                self._opened.clock.advance(1)
                await tell_conclusion(memory, book, self.now, place, parents)
            for one in given["judged"]:
                await self._judge_recall(memory, book, learned, one)
        if given["restart"] and self._opened.plan.store != "dict":
            async with self._opened.without_model(name, config=Config(learn=True)) as memory:
                await self._require_taught(memory, book, learned)

    async def _judge_recall(self, memory: Memory, book: Book, learned: Learned, one: dict[str, Any]) -> None:
        self._opened.clock.advance(timedelta(days=one["days"]).total_seconds())
        found = await memory.recall(f"lamps oil{one['asked']}", limit=one["limit"], min_score=0.0, deep=False)
        shown = [hit.id for hit in found.hits]
        same(
            "the first that was found",
            shown[:1],
            [book.statements[one["asked"]].id] if not learned.judgements else shown[:1],
        )
        used = None if one["used"] is None else [shown[place] for place in one["used"] if place < len(shown)]
        owners = {statement.id: statement.said.id for statement in book.statements}
        named = used if used is None or one["by"] == "statement" else [owners[id_] for id_ in used]
        receipt = await self._opened.call_of(memory, "feedback", found.id, outcome=one["outcome"], used=named)
        same("what was credited", receipt.credited, tuple(shown if used is None else used))
        places = {id_: place for place, id_ in enumerate(shown)}
        learned.judge(book, places, _QUALITIES[one["outcome"]], used, self.now)
        await self._require_taught(memory, book, learned)

    async def _require_taught(self, memory: Memory, book: Book, learned: Learned) -> None:
        """Every lesson by value: of each statement, of its message, in `why`, and of what was moved most."""
        for one in book.statements:
            right = learned.about([one], self.now)
            what = f"of {one.content!r}, which is concluded from {[each.content for each in book.sources(one)]}"
            for id_ in (one.id, one.said.id):
                _require_lesson(await memory.learning.explain(id_), right, f"the lesson {what}")
            why = await self._opened.call_of(memory, "why", one.id)
            if right.counted:
                _require_lesson(why.lesson, right, f"the lesson in why {what}")
            else:
                same(f"a lesson in why {what}", why.lesson, None)
            _require_sources(why, book, one)
        await self._require_status(memory, book, learned)

    async def _require_status(self, memory: Memory, book: Book, learned: Learned) -> None:
        found = await memory.learning.status()
        same("judgements that are kept", found.counts.signals, len(learned.judgements))
        same("statements that are credited", found.counts.beliefs, len(learned.credited))
        moved = learned.moved(book, self.now)
        lowered = [pair for pair in moved if pair[1].factor < 1][:_MOST]
        raised = [pair for pair in reversed(moved) if pair[1].factor > 1][:_MOST]
        for what, lessons, right in (("raised", found.raised, raised), ("lowered", found.lowered, lowered)):
            factors = [round(opinion.factor, 5) for _, opinion in right]
            same(f"by how much the most {what} are", [round(one.factor, 5) for one in lessons], factors)
            for lesson, (_, opinion) in zip(lessons, right, strict=True):
                _require_lesson(lesson, opinion, f"what was {what}")


def _require_sources(why: Any, book: Book, one: Statement) -> None:
    """What it rests on and what rests on it, one step each way."""
    same(
        f"what {one.content!r} rests on",
        [each.id for each in why.derived_from],
        [each.id for each in book.sources(one)],
    )
    same(
        f"what rests on {one.content!r}",
        [each.id for each in why.supports],
        [each.id for each in book.conclusions(one)],
    )


def _require_lesson(found: Any, right: Opinion, what: str) -> None:
    same(f"judgements in {what}", found.counted, right.counted)
    for name in ("factor", "estimate", "usual"):
        _near(f"{name} in {what}", getattr(found, name), getattr(right, name))
    same(f"who has spoken in {what}", list(found.evidence), [PROVIDER] * bool(right.counted))
    for told, wanted in zip(found.evidence.get(PROVIDER, ()), right.evidence, strict=False):
        _near(f"evidence in {what}", told, wanted)


def _near(what: str, found: float, right: float) -> None:
    if not abs(found - right) <= _NEAR:
        raise Wrong(f"{what} is {found!r}, and must be {right!r}")

"""Steps that judge: `feedback` on what a recall has shown, here, in another namespace or in both, also after a restart and again."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.learned import Learned
from umi_lab.worlds.ledger.lessons import Lessons
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.questions import Questions

_OF_OUTCOME: Final = {"success": 1.0, "partial_success": 0.5, "failure": 0.0}


class Judgements(Journal):
    """Judges recalls; where learning is off, a judgement is refused."""

    async def _judge(self, step: Step) -> None:
        given = step.arguments
        if not self._opened.plan.learn:
            await self._refused("InvalidInput", self._opened.call("feedback", "rec_none", outcome=given["outcome"]))
            return
        wanted = {"here": ("ledger",), "there": ("elsewhere",), "both": ("ledger", "elsewhere")}[given["where"]]
        if "elsewhere" in wanted and not self.beyond:
            await self.say_beyond(f"Kiba logged beyond{step.number}.", None)
        # Of a namespace that holds nothing no recall is noted.
        spaces = [name for name in wanted if name != "ledger" or self.book.said]
        if not spaces:
            return
        found, *more = await self._recalled_at_once(spaces, 1 + given["more"])
        if given["restart"] and self._opened.plan.store != "dict":
            await self._opened.open()
        for name in spaces:
            mine = _places(found, name)
            others = [hit.id for hit in found.hits if hit.namespace != name]
            await self._judge_in(name, found.id, mine, others, given)
        if "elsewhere" not in spaces:
            there = self._view("elsewhere")
            await self._refused("NotFound", there.feedback(found.id, outcome="success"))
        for one in more:
            await self._judge_one_of_many(spaces, one)

    async def _recalled_at_once(self, spaces: list[str], count: int) -> list[Any]:
        """The same question so many times at once, which all have the same answer."""
        view = self._view(spaces[0])
        asked = (view.recall("logged", namespaces=spaces, min_score=0.0, deep=False) for _ in range(count))
        found = await asyncio.gather(*asked)
        answers = [[(hit.id, hit.score) for hit in one.hits] for one in found]
        same("answers to the same question at once", answers, answers[:1] * count)
        return found

    async def _judge_one_of_many(self, spaces: list[str], found: Any) -> None:
        """Each recall can be judged, in each of its namespaces, however many were made at once."""
        for name in spaces:
            mine = _places(found, name)
            receipt = await self._view(name).feedback(found.id, outcome="success")
            right = {"recall_id": found.id, "quality": 1.0, "credited": tuple(mine), "replayed": False}
            self.compared.record("feedback on one of many recalls", receipt, right)
            if name == "ledger":
                self.learned.judge(self.book, mine, 1.0, None, self.now)

    async def _judge_in(
        self, name: str, recall: str, mine: dict[str, int], others: list[str], given: dict[str, Any]
    ) -> None:
        """One namespace is credited for its own hits, once, and another judgement of the same recall is refused."""
        memory = self._view(name)
        if others:
            await self._refused("NotFound", memory.feedback(recall, outcome="success", used=others[:1]))
        used = {None: None, "none": [], "first": list(mine)[:1]}[given["used"]]
        said = {name: given[name] for name in ("outcome", "human_verdict", "quality_score")} | {"used": used}
        right = {"recall_id": recall, "quality": _quality(said), "credited": tuple(mine if used is None else used)}
        for replayed in (False, True):
            self._opened.count("feedback", said)
            found = await memory.feedback(recall, **said)
            self.compared.record("feedback", found, right | {"replayed": replayed})
        if name == "ledger":
            self.learned.judge(self.book, mine, _quality(said), used, self.now)
            await Lessons(self._opened, self).after_judging(list(mine))
            await Questions(self._opened, self).of_all()
        if given["otherwise"] is not None:
            await self._refused(
                "IdempotencyConflict", memory.feedback(recall, **(said | _other(said, given["otherwise"])))
            )
        if mine and given["reset"]:
            await memory.learning.reset()
            if name == "ledger":
                self.learned.clear()
            first = next(iter(mine))
            lesson = await memory.learning.explain(first)
            fresh = {
                "id": first,
                "factor": 1.0,
                "counted": 0,
                "evidence": {},
                "estimate": lesson.usual,
                "signals": (),
            }
            self.compared.record("the lesson after a reset", lesson, fresh)
            same("what is usual when nothing counts", lesson.usual, Learned().usual(self.now))
            self._opened.tally.saw("Lesson", {"usual": 0})


def _places(found: Any, namespace: str) -> dict[str, int]:
    """The place of each hit of a namespace among all that a recall shows, by its id."""
    return {hit.id: place for place, hit in enumerate(found.hits) if hit.namespace == namespace}


def _quality(said: dict[str, Any]) -> float:
    """The quality that a judgement counts as (docs/learning.md)."""
    outcome = _OF_OUTCOME[said["outcome"]]
    score = outcome if said["quality_score"] is None else said["quality_score"]
    facts = (0.5 * outcome + 0.2 * score) / 0.7
    if said["human_verdict"] == "rejected":
        facts = min(facts, 0.2)
    if said["human_verdict"] == "approved":
        facts = (1 + facts) / 2 if outcome else min((1 + facts) / 2, 0.5)
    return round(float(facts), 6)


def _other(said: dict[str, Any], name: str) -> dict[str, Any]:
    """Another value of one argument."""
    if name == "used":
        return {"used": [] if said["used"] is None else None}
    if name == "quality_score":
        return {"quality_score": 0.75}
    values = {"outcome": ("success", "failure"), "human_verdict": ("approved", "rejected")}[name]
    return {name: values[1] if said[name] == values[0] else values[0]}

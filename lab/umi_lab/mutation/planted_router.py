"""Faults planted in the router; worlds that route tasks can find them."""
# ruff: noqa: SLF001 - a planted fault sits inside, as a real one would

from __future__ import annotations

from dataclasses import replace
from typing import Final

from umi._learning.routing import router
from umi._learning.routing.complexity import TaskComplexityAnalyzer
from umi._learning.routing.judging import FEEDBACK, quality_of
from umi._learning.routing.router import TierRouter
from umi_lab.mutation.planted import Mutation, Planted, edited, patched


def _bias_added() -> Planted:
    return edited(
        TaskComplexityAnalyzer, "calibrated", "complexity - self.applied_bias()", "complexity + self.applied_bias()"
    )


def _last_credited() -> Planted:
    before = "tx.routed.decisions([decision_id]).get(decision_id)"
    return edited(router, "judge", before, "max(tx.routed.since(0), key=lambda one: (one.at, one.id), default=None)")


def _lost_on_restart() -> Planted:
    """What is said of a decision is taken in, and not kept."""

    async def feedback(
        self: TierRouter,
        decision_id: str,
        outcome: str = "success",
        quality_score: float | None = None,
        *,
        actual: float | None = None,
    ) -> float:
        await self._known.follow(self._storage)
        quality = quality_of(decision_id, outcome, quality_score, self._clock.now())
        row = self._known.rows[decision_id]
        self._known._take_in([replace(row, quality=quality, actual=actual, judge=FEEDBACK, turn=row.turn + 1)])
        return quality

    return patched(TierRouter, "feedback", feedback)


ROUTER: Final[tuple[Mutation, ...]] = (
    Mutation(
        "calibration-bias-added",
        "What a reading was off is added to the next one instead of taken from it.",
        "umi._learning.routing.complexity.TaskComplexityAnalyzer.calibrated",
        _bias_added,
    ),
    Mutation(
        "outcome-credited-to-the-last-decision",
        "An outcome goes to the newest decision, whatever id it names.",
        "umi._learning.routing.judging.judge",
        _last_credited,
    ),
    Mutation(
        "router-feedback-lost-on-restart",
        "How a routed task went is known until the router is closed, and not kept.",
        "umi._learning.routing.router.TierRouter.feedback",
        _lost_on_restart,
    ),
)

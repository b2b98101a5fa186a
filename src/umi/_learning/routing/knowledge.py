"""What a router knows, computed from the decisions in a store and kept up to date with them.

A decision is a row, and everything known follows from the rows. So a restart, and another process, know the same.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final

from umi._learning.routing.classifier import EDGES, MakeIndex, OutcomeClassifier
from umi._learning.routing.complexity import TaskComplexityAnalyzer
from umi.limits import ROUTE_DECISIONS_COUNT_MAX, ROUTE_PRUNE_COUNT
from umi.ports import StorageBackend
from umi.types.routing_rows import TIERS, Decision, RouterStatus

_FOLLOWED_COUNT: Final = 256  # new rows that are added one by one; with more, rebuilding is faster
TOLD: Final = "told"  # the kind of rows that only hold feedback on a complexity; no task was routed


class Knowledge:
    """What is known from the decisions of one namespace. `made` and `explored` count decisions, those in progress included.

    Args:
        models: The model of each tier, cheapest first. Only what these did on their tiers teaches; rows of other models stay.
        make_index: Creates an index of nearest neighbours; None works without.
    """

    def __init__(self, models: Mapping[str, str], make_index: MakeIndex | None) -> None:
        self.analyzer = TaskComplexityAnalyzer()
        self._models = dict(models)
        self._edges = {tier: EDGES[tier] for tier in models}
        self._make_index = make_index
        self.classifier = OutcomeClassifier(self._edges, make_index)
        self.rows: dict[str, Decision] = {}
        self.made = 0
        self.explored = 0
        self._tried = 0  # stored decisions that explored
        self._turn = 0

    async def follow(self, storage: StorageBackend) -> None:
        """Take in what was written since the last call. Where rows were deleted, everything is rebuilt from what is left.

        Raises:
            StoreError: When the store cannot be read; nothing changes then.
        """
        fresh, count = await storage.read(lambda s: (s.routed.since(self._turn), s.routed.count()))
        # Pruned in portions, because every pruning makes all processes rebuild.
        if count > ROUTE_DECISIONS_COUNT_MAX + ROUTE_PRUNE_COUNT:
            await storage.write(lambda tx: tx.routed.prune(ROUTE_DECISIONS_COUNT_MAX))
        # The count agrees only if no known row was deleted.
        elif len(fresh) <= _FOLLOWED_COUNT and len(self.rows) + sum(row.id not in self.rows for row in fresh) == count:
            self._take_in(fresh)
            return
        await self._begin_anew(await storage.read(lambda s: s.routed.since(0)))

    def _take_in(self, fresh: Sequence[Decision]) -> None:
        """Add new and changed rows one by one."""
        for row in fresh:
            before = self.rows.get(row.id)
            if before is not None and before.turn >= row.turn:
                continue  # another task has taken it in already
            self.rows[row.id] = row
            self._tried += before is None and row.explored
            self._turn = max(self._turn, row.turn)
            # A decision teaches once, when its quality becomes known.
            if (before is None or before.quality is None) and _held(row, self._models):
                self.classifier.learn(row)
            if row.actual is not None and (before is None or before.actual is None):
                self.analyzer.record_feedback(row.complexity, row.actual, row.model)
        # Never lowered: decisions in progress are counted before their rows exist.
        self.made, self.explored = max(self.made, len(self.rows)), max(self.explored, self._tried)

    async def _begin_anew(self, rows: Sequence[Decision]) -> None:
        """Rebuild from these rows, in a thread: an index of many rows takes seconds.

        Rows written in the meantime are read by the next `follow`, whose start is the newest turn seen here.
        """
        classifier = OutcomeClassifier(self._edges, self._make_index)
        await asyncio.to_thread(classifier.load, [row for row in rows if _held(row, self._models)])
        self.classifier, self.analyzer = classifier, _told(rows)
        self.rows = {row.id: row for row in rows}
        self._turn = max((row.turn for row in rows), default=0)
        self._tried = sum(row.explored for row in rows)
        self.made, self.explored = max(self.made, len(rows)), max(self.explored, self._tried)


def standing(rows: Sequence[Decision], models: Mapping[str, str] | None = None) -> RouterStatus:
    """The state of routing, computed from the rows.

    Args:
        rows: All decisions of a namespace.
        models: The model of each tier; `mean_quality` is then of what these did on their tiers. None takes all models.
    """
    made = [row for row in rows if row.kind != TOLD]
    qualities: dict[str, list[float]] = {}
    for row in made:
        if row.quality is not None and (models is None or _held(row, models)):
            qualities.setdefault(row.tier, []).append(row.quality)
    chosen = Counter(row.tier for row in made)
    analyzer = _told(rows)
    return RouterStatus(
        decisions=len(made),
        judged=sum(row.quality is not None for row in made),
        explored=sum(row.explored for row in made),
        bias=round(analyzer.applied_bias(), 6),
        feedback=analyzer.feedback_count,
        chosen={tier: chosen[tier] for tier in TIERS if chosen[tier]},
        mean_quality={tier: round(fmean(qualities[tier]), 6) for tier in TIERS if tier in qualities},
    )


def _held(row: Decision, models: Mapping[str, str]) -> bool:
    """Whether a decision went to the model that holds its tier. What another model did says nothing about this one."""
    return models.get(row.tier) == row.model


def _told(rows: Iterable[Decision]) -> TaskComplexityAnalyzer:
    """The calibration that follows from the feedback in these rows."""
    analyzer = TaskComplexityAnalyzer()
    for row in rows:
        if row.actual is not None:
            analyzer.record_feedback(row.complexity, row.actual, row.model)
    return analyzer

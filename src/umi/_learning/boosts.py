"""Apply what was learned to one ranking: reorder the relevant candidates by a bounded factor, and explain each factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from umi._core.ranking import Array, Ranking
from umi._learning.credit import DECIMALS, Judge
from umi.limits import LEARN_RERANKED_COUNT_MAX, LEARN_SIGNALS_SHOWN_COUNT
from umi.ports import Snapshot, Vector
from umi.types import Hit, Lesson
from umi.types.learning_rows import Belief, chain

_SCORE_LEAST: Final = 1e-6  # scores are kept this far from 0 and 1, where odds are undefined


class Lessons:
    """What was learned, for one recall.

    Afterwards `moved` is the number of hits it moved, `reorders` whether it moved any candidate, `embedding` the query's vector and
    `sequence` the namespace's.

    Args:
        now: The moment to which evidence is aged.
    """

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._places: dict[int, int] = {}  # new place by arrival, of candidates that were moved
        self._factors: dict[int, float] = {}  # by arrival, of the relevant candidates
        self.moved = 0
        self.reorders = False
        self.embedding: Vector | None = None
        self.sequence = 0

    def reordered(self, snapshot: Snapshot, ranking: Ranking, floor: float) -> Ranking:
        """Order the candidates at or above the floor by odds times factor. Scores stay with their places; the rest is unchanged.

        Odds are used because probabilities crowd together near 1, where a factor on the probability itself would
        outweigh any difference in relevance.

        Args:
            snapshot: Where beliefs are read.
            ranking: Scores never rise.
            floor: The least score that is relevant enough.
        """
        # Scores never rise along a ranking, so the relevant candidates are its head.
        head = min(int(np.count_nonzero(ranking.scores >= floor)), LEARN_RERANKED_COUNT_MAX)
        # A single candidate cannot be reordered, and without a version nothing was ever learned.
        version = snapshot.learned.open_version() if head > 1 else None
        if version is None:
            return ranking
        keys = ranking.keys[:head]
        beliefs = snapshot.learned.beliefs(int(key) for key in keys)
        if not beliefs:
            return ranking
        judge = Judge(version.totals, self._now)
        factors = np.array([judge.judge(beliefs.get(int(key), ())).factor for key in keys])
        self._factors = {int(key): float(factors[place]) for place, key in enumerate(keys)}
        order = _order(ranking.scores[:head], factors)
        self._places = {int(keys[old]): new for new, old in enumerate(order) if new != old}
        self.reorders = bool(self._places)
        return replace(
            ranking,
            keys=np.concatenate([keys[order], ranking.keys[head:]]),
            scores=np.concatenate([ranking.scores[:head][order], ranking.scores[head:]]),
            parts=np.concatenate([ranking.parts[order], ranking.parts[head:]]),
        )

    def order_of(self, scores: Sequence[float], arrivals: Sequence[int], floor: float) -> list[int]:
        """The order of a ranking's candidates by scores of their own, after `reordered`; places of those given, best first.

        Args:
            scores: One per candidate; they never rise.
            arrivals: Of the candidates' episodes.
            floor: The least score that is relevant enough; candidates below it stay behind.
        """
        values = np.array(scores, dtype=np.float64)
        head = int(np.count_nonzero(values >= floor))
        factors = np.array([self._factors.get(arrival, 1.0) for arrival in arrivals[:head]])
        order = [*map(int, _order(values[:head], factors)), *range(head, len(values))]
        self.reorders |= order != [*range(len(values))]
        return order

    def prefers(self, one: Hit, other: Hit) -> bool:
        """Whether outcomes speak better of one hit's message than of another's."""
        mine, others = (self._factors.get(hit.episode.arrival, 1.0) for hit in (one, other))
        return mine > others

    def noted(self, snapshot: Snapshot, hits: Sequence[Hit], embedding: Vector | None, *, explain: bool) -> list[Hit]:
        """Note the hits that are shown. With `explain`, each hit about which something was learned gets its lesson."""
        self.embedding, self.sequence = embedding, snapshot.sequence
        self.moved = sum(hit.episode.arrival in self._places for hit in hits)
        if not explain:
            return list(hits)
        teller = Teller(snapshot, self._now)
        beliefs = snapshot.learned.beliefs(hit.episode.arrival for hit in hits)
        return [_told(teller, hit, beliefs.get(hit.episode.arrival, ())) for hit in hits]


class Teller:
    """Explains beliefs: the lesson of each memory of one snapshot, as of a moment."""

    def __init__(self, snapshot: Snapshot, now: datetime) -> None:
        self._learned = snapshot.learned
        self.versions = self._learned.versions()
        self.version = next((one for one in self.versions if one.sealed_at is None), None)
        self.counting = chain(self.versions, self.version.number) if self.version else frozenset()
        self.judge = Judge(self.version.totals if self.version else {}, now)

    def lesson(self, arrival: int, id_: str, beliefs: Sequence[Belief]) -> Lesson:
        """The factor of one memory and what is behind it, with its newest signals.

        Args:
            arrival: The arrival of its episode.
            id_: The entity or episode that the lesson is about.
            beliefs: The beliefs that count: those about one entity, or those about all entities of an episode.
        """
        found = self.judge.judge(beliefs)
        signals = {
            row.sequence: row
            for entity_id in dict.fromkeys(belief.entity_id for belief in beliefs)
            for row in self._learned.signals_about(arrival, entity_id, self.counting, LEARN_SIGNALS_SHOWN_COUNT)
        }
        newest = tuple(signals[sequence] for sequence in sorted(signals, reverse=True)[:LEARN_SIGNALS_SHOWN_COUNT])
        # Signals that credit several entities of an episode count once per entity.
        counted = sum(belief.signals for belief in beliefs)
        return Lesson(id_, found.factor, found.estimate, found.usual, found.evidence, counted, newest)


def _order(scores: Array, factors: Array) -> npt.NDArray[np.intp]:
    """Places of candidates, the highest odds times factor first; equal ones keep their order."""
    # Rounded and stable, so that it is the same order on every machine.
    return np.argsort(-np.round(_odds(scores) * factors, DECIMALS), kind="stable")


def _odds(scores: Array) -> Array:
    sure = np.clip(scores, _SCORE_LEAST, 1 - _SCORE_LEAST)
    odds: Array = sure / (1 - sure)
    return odds


def _told(teller: Teller, hit: Hit, beliefs: Sequence[Belief]) -> Hit:
    if not beliefs:
        return hit
    lesson = teller.lesson(hit.episode.arrival, hit.id, beliefs)
    return replace(hit, lesson=lesson, legs={**hit.legs, "learned": lesson.factor})

"""What was learned, brought to bear on one ranking: after the relevance floor, by a bounded factor, and said so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import numpy as np

from umi._core.ranking import Array, Ranking
from umi._learning.credit import DECIMALS, Judge
from umi.limits import LEARN_RERANKED_COUNT_MAX, LEARN_SIGNALS_SHOWN_COUNT
from umi.ports import Snapshot, Vector
from umi.types import Hit, Lesson
from umi.types.learning_rows import Belief, chain

_SCORE_LEAST: Final = 1e-6


class Lessons:
    """For one recall. Afterwards `moved` says how many hits it put elsewhere, and `embedding` is the query's.

    Args:
        now: As of when signals have faded.
    """

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._places: dict[int, int] = {}  # in the ranking as it was, of those that went elsewhere
        self.moved = 0
        self.embedding: Vector | None = None

    def reordered(self, snapshot: Snapshot, ranking: Ranking, floor: float) -> Ranking:
        """The candidates at or above the floor by odds times factor; the others, and all scores, stay as they are.

        Odds, because probabilities crowd together near 1: there a factor on the probability itself would outdo any relevance.

        Args:
            snapshot: Where beliefs are read.
            ranking: Scores never rise.
            floor: The least score that is relevant enough.
        """
        head = min(int(np.count_nonzero(ranking.scores >= floor)), LEARN_RERANKED_COUNT_MAX)
        version = snapshot.learned.open_version() if head > 1 else None
        if version is None:
            return ranking
        keys = ranking.keys[:head]
        beliefs = snapshot.learned.beliefs(int(key) for key in keys)
        if not beliefs:
            return ranking
        judge = Judge(version.totals, self._now)
        factors = np.array([judge.judge(beliefs.get(int(key), ())).factor for key in keys])
        order = np.argsort(-np.round(_odds(ranking.scores[:head]) * factors, DECIMALS), kind="stable")
        self._places = {int(keys[old]): new for new, old in enumerate(order) if new != old}
        parts = ranking.parts.copy()
        seen = order[order < len(parts)]
        if len(seen) == min(head, len(parts)):
            parts[: len(seen)] = parts[seen]
        return replace(
            ranking,
            keys=np.concatenate([keys[order], ranking.keys[head:]]),
            scores=np.concatenate([ranking.scores[:head][order], ranking.scores[head:]]),
            parts=parts,
        )

    def noted(self, snapshot: Snapshot, hits: Sequence[Hit], embedding: Vector | None, *, explain: bool) -> list[Hit]:
        """Take down what is shown; with `explain`, each hit that something was learned of says what."""
        self.embedding = embedding
        self.moved = sum(hit.episode.arrival in self._places for hit in hits)
        if not explain:
            return list(hits)
        teller = Teller(snapshot, self._now)
        beliefs = snapshot.learned.beliefs(hit.episode.arrival for hit in hits)
        return [_told(teller, hit, beliefs.get(hit.episode.arrival, ())) for hit in hits]


class Teller:
    """Tells the lessons of one snapshot, as of a moment."""

    def __init__(self, snapshot: Snapshot, now: datetime) -> None:
        self._learned = snapshot.learned
        self.versions = self._learned.versions()
        self.version = next((one for one in self.versions if one.sealed_at is None), None)
        self.counting = chain(self.versions, self.version.number) if self.version else frozenset()
        self.judge = Judge(self.version.totals if self.version else {}, now)

    def lesson(self, arrival: int, id_: str, beliefs: Sequence[Belief]) -> Lesson:
        """What is behind the factor of one memory, with its newest signals.

        Args:
            arrival: Its episode's.
            id_: The entity, or the episode.
            beliefs: Those that are weighed: of an entity, or of all entities of an episode.
        """
        found = self.judge.judge(beliefs)
        signals = {
            row.sequence: row
            for entity_id in dict.fromkeys(belief.entity_id for belief in beliefs)
            for row in self._learned.signals_about(arrival, entity_id, self.counting, LEARN_SIGNALS_SHOWN_COUNT)
        }
        newest = tuple(signals[sequence] for sequence in sorted(signals, reverse=True)[:LEARN_SIGNALS_SHOWN_COUNT])
        counted = sum(belief.signals for belief in beliefs)
        return Lesson(id_, found.factor, found.estimate, found.usual, found.evidence, counted, newest)


def _odds(scores: Array) -> Array:
    sure = np.clip(scores, _SCORE_LEAST, 1 - _SCORE_LEAST)
    odds: Array = sure / (1 - sure)
    return odds


def _told(teller: Teller, hit: Hit, beliefs: Sequence[Belief]) -> Hit:
    if not beliefs:
        return hit
    lesson = teller.lesson(hit.episode.arrival, hit.id, beliefs)
    return replace(hit, lesson=lesson, legs={**hit.legs, "learned": lesson.factor})

"""The quality to be expected of a task on each tier: a prior from its complexity, corrected by all outcomes and by similar tasks.

    prior      1 / (1 + exp(-((edge - complexity) / 0.15 + logit 0.7)))      edge: the complexity up to which the tier is meant
    believed   prior + the tier's head                                       what judged tasks teach about tasks in general
    expected   (believed + sum(w q)) / (1 + sum(w)),  w = closeness * 0.9 ** newer         what outcomes of similar tasks add

Similar tasks are judged tasks with a cosine above 0.8; closeness is how far above, scaled to 0..1; `newer` is the
number of similar tasks on the same tier that were judged later. So recent outcomes count most, and twenty successes
outweigh twenty earlier failures. Without an embedder, tasks with the same features are similar; without words, tasks of
the same kind.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from umi._learning.routing.complexity import BALANCED_FROM, FEATURES_COUNT, STRONG_FROM
from umi._learning.routing.heads import DECIMALS, Doubles, Head, basis
from umi.limits import ROUTE_NEIGHBOURS_COUNT
from umi.ports import NeighbourIndex
from umi.types.routing_rows import TIERS, Decision, FloatVector

EDGES: Final[Mapping[str, float]] = dict(zip(TIERS, (BALANCED_FROM, STRONG_FROM, 1.0), strict=True))
PRIOR_WIDTH: Final = 0.15  # of the logistic, in complexity
PRIOR_AT_EDGE: Final = 0.7  # expected quality of a tier at its edge
LIKE_COSINE_MIN: Final = 0.8  # from this cosine on a task is similar
LIKE_FADE: Final = 0.9  # weight lost with each newer outcome
BELIEF_STRENGTH: Final = 1.0  # weight of the belief beside the similar outcomes, in outcomes
QUALITY_RANGE: Final = (0.02, 0.98)  # a belief is never quite certain

MakeIndex = Callable[[int], NeighbourIndex]  # takes the dimensions


@dataclass(frozen=True, slots=True)
class _Like:
    """A judged decision about a similar task, and how close it is, 0..1."""

    decision: Decision
    closeness: float


class OutcomeClassifier:
    """Learns from judged decisions; everything it knows follows from them.

    Args:
        edges: The complexity up to which each tier is meant, by tier, cheapest first.
        make_index: Creates an empty index of nearest neighbours; None works without.
    """

    def __init__(self, edges: Mapping[str, float], make_index: MakeIndex | None) -> None:
        self._edges = dict(edges)
        self._make_index = make_index
        self._clear()

    def _clear(self) -> None:
        self._judged: list[Decision] = []
        self._same: dict[str | bytes, deque[Decision]] = {}  # without an embedding: by kind or by features
        self._heads: dict[str, dict[str, Head]] = {}  # by embedder and tier: vectors of two embedders never mix
        self._indexes: dict[str, NeighbourIndex] = {}  # by embedder

    def load(self, decisions: Iterable[Decision]) -> None:
        """Start over with these decisions, in order of their turns."""
        self._clear()
        of: dict[tuple[str, str], list[Decision]] = {}
        for decision in decisions:
            if decision.quality is not None:
                self._remember(decision)
                if decision.vector is not None and decision.tier in self._edges:
                    of.setdefault((decision.embedder, decision.tier), []).append(decision)
        for (embedder, tier), mine in of.items():
            # One fit for all rows is far cheaper than a rank-one update for each.
            phi = basis([decision.vector for decision in mine if decision.vector is not None])
            self._head(embedder, tier, phi).fit(phi, np.array([self._residual(decision) for decision in mine]))

    def learn(self, decision: Decision) -> None:
        """Add one decision; ignored unless it is judged."""
        if decision.quality is None:
            return
        self._remember(decision)
        if decision.vector is not None and decision.tier in self._edges:
            phi = basis([decision.vector])
            self._head(decision.embedder, decision.tier, phi).add(phi[0], self._residual(decision))

    def expect(
        self, kind: str, complexity: float, vector: FloatVector | None = None, embedder: str = ""
    ) -> dict[str, float]:
        """The expected quality by tier, 0..1.

        Args:
            kind: The kind of the task.
            complexity: Its calibrated complexity.
            vector: Its vector, as in `Decision`; None when there is none.
            embedder: The digest of the embedder that made the vector.
        """
        like = self._like(kind, vector, embedder)
        corrections = dict.fromkeys(self._edges, 0.0)
        if vector is not None:
            phi = basis([vector])
            corrections = {tier: float(self._head(embedder, tier, phi).correction(phi)[0]) for tier in self._edges}
        return {tier: self._expected(tier, complexity, corrections[tier], like) for tier in self._edges}

    def _expected(self, tier: str, complexity: float, correction: float, like: Sequence[_Like]) -> float:
        """The expected quality on one tier, from its belief and the outcomes of similar tasks there."""
        believed = _clip(prior(self._edges[tier], complexity) + correction)
        mine = [one for one in like if one.decision.tier == tier]
        # Newest first; the weight fades with each newer outcome.
        mine.sort(key=lambda one: (one.decision.turn, one.decision.id), reverse=True)
        weights = [one.closeness * LIKE_FADE**newer for newer, one in enumerate(mine)]
        found = sum(weight * (one.decision.quality or 0.0) for weight, one in zip(weights, mine, strict=True))
        return round((BELIEF_STRENGTH * believed + found) / (BELIEF_STRENGTH + sum(weights)), DECIMALS)

    def _like(self, kind: str, vector: FloatVector | None, embedder: str) -> list[_Like]:
        """Judged decisions about similar tasks, on any tier."""
        if vector is None or not embedder:
            return [_Like(decision, 1.0) for decision in self._same.get(_name(kind, vector), ())]
        index = self._indexes.get(embedder)
        if index is None:
            return []
        # The index holds embeddings without the features behind them.
        found = index.search(vector[:-FEATURES_COUNT], ROUTE_NEIGHBOURS_COUNT)
        scale = 1.0 - LIKE_COSINE_MIN
        near = ((self._judged[key], round((cosine - LIKE_COSINE_MIN) / scale, DECIMALS)) for key, cosine in found)
        return [_Like(decision, min(1.0, closeness)) for decision, closeness in near if closeness > 0]

    def _remember(self, decision: Decision) -> None:
        if decision.vector is None or not decision.embedder:
            same = self._same.setdefault(_name(decision.kind, decision.vector), deque(maxlen=ROUTE_NEIGHBOURS_COUNT))
            same.append(decision)
        elif self._make_index is not None:
            embedding = decision.vector[:-FEATURES_COUNT]
            if decision.embedder not in self._indexes:
                self._indexes[decision.embedder] = self._make_index(len(embedding))
            self._indexes[decision.embedder].add(len(self._judged), embedding)
            self._judged.append(decision)

    def _residual(self, decision: Decision) -> float:
        return (decision.quality or 0.0) - prior(self._edges[decision.tier], decision.complexity)

    def _head(self, embedder: str, tier: str, phi: Doubles) -> Head:
        return self._heads.setdefault(embedder, {}).setdefault(tier, Head(phi.shape[1]))


def prior(edge: float, complexity: float) -> float:
    """The expected quality of a tier meant for tasks up to `edge`, before anything was judged."""
    return 1.0 / (1.0 + math.exp(-((edge - complexity) / PRIOR_WIDTH + _EDGE_LOGIT)))


def mended(cheap: float, dear: float) -> float:
    """How often the dearer tier succeeds where the cheaper one fails, if both are as good as expected and independent."""
    return (1.0 - cheap) * dear


def climbed(expected: Mapping[str, float], accept: float) -> str:
    """The tier to take: the cheapest one where no dearer tier would mend more failures than are accepted.

    Args:
        expected: Expected quality by tier, cheapest first, at least one.
        accept: 0..1; 1 takes the cheapest tier, 0 the dearest. From 0.25 on, a dearer tier that is expected to do worse
            is never taken.
    """
    tiers = list(expected)
    for place, tier in enumerate(tiers[:-1]):
        if max(mended(expected[tier], expected[dearer]) for dearer in tiers[place + 1 :]) <= accept:
            return tier
    return tiers[-1]


def _name(kind: str, vector: FloatVector | None) -> str | bytes:
    return kind if vector is None else vector.tobytes()


def _clip(value: float) -> float:
    return min(QUALITY_RANGE[1], max(QUALITY_RANGE[0], value))


_EDGE_LOGIT: Final = math.log(PRIOR_AT_EDGE / (1.0 - PRIOR_AT_EDGE))

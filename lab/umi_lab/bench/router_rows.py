"""The rows of the router benchmark: what each way of routing expects of the tiers, learned on some tasks, asked on others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from umi._core.text import analyse
from umi._core.vectors import FloatMatrix
from umi._learning.routing.classifier import EDGES, OutcomeClassifier
from umi._learning.routing.complexity import Reading
from umi.providers.hnsw import HnswIndex
from umi.types.routing_rows import Decision, rounded

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_TFIDF_DIMENSIONS: Final = 2_048
_TFIDF_STRENGTH: Final = 10.0
_MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC)
_EMBEDDER: Final = "bench"


@dataclass(frozen=True)
class Tasks:
    """What a way of routing may see of a set: `scores` only of training tasks. Each of shape (tasks,), embeddings (tasks, dimensions).

    `terms` counts a text's terms, hashed.
    """

    terms: Sequence[Counter[int]]
    readings: Sequence[Reading]
    embeddings: FloatMatrix
    scores: dict[str, Floats]


def umi(tasks: Tasks, train: Mask) -> dict[str, Floats]:
    """What Umi's classifier expects, by tier, of the tasks that are not training; shape (those,)."""
    classifier = _classifier(tasks)
    vectors = [
        rounded(np.concatenate([embedding, reading.features]))
        for embedding, reading in zip(tasks.embeddings, tasks.readings, strict=True)
    ]
    classifier.load(
        Decision(
            id=f"{tier}-{place}",
            at=_MOMENT,
            tier=tier,
            model=tier,
            complexity=tasks.readings[place].complexity,
            expected=0.0,
            quality=float(scores[place]),
            turn=turn,
            embedder=_EMBEDDER,
            vector=vectors[place],
        )
        for turn, place in enumerate(np.flatnonzero(train).tolist())
        for tier, scores in tasks.scores.items()
    )
    return _by_tier(
        [
            classifier.expect("", tasks.readings[place].complexity, vectors[place], _EMBEDDER)
            for place in np.flatnonzero(~train).tolist()
        ]
    )


def never_learn(tasks: Tasks, train: Mask) -> dict[str, Floats]:
    """What Umi's classifier expects when nothing was ever judged."""
    classifier = _classifier(tasks)
    return _by_tier(
        [classifier.expect("", tasks.readings[place].complexity) for place in np.flatnonzero(~train).tolist()]
    )


def tfidf(tasks: Tasks, train: Mask) -> dict[str, Floats]:
    """Ridge regression of each tier's outcomes on the task's words, weighed by tf-idf, hashed; the same terms as Umi's text leg."""
    frequency = np.zeros(_TFIDF_DIMENSIONS)
    for place in np.flatnonzero(train).tolist():
        frequency[list(tasks.terms[place])] += 1
    weight = np.log((1 + train.sum()) / (1 + frequency)) + 1
    rows = np.zeros((len(tasks.terms), _TFIDF_DIMENSIONS))
    for row, count in zip(rows, tasks.terms, strict=True):
        for column, times in count.items():
            row[column] = (1 + math.log(times)) * weight[column]
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    middle = rows[train].mean(axis=0)
    # A term that no training task has weighs nothing, so it needs no place in the equations.
    held = rows[train].any(axis=0)
    known, asked = (rows[train] - middle)[:, held], (rows[~train] - middle)[:, held]
    scores = np.stack([each[train] for each in tasks.scores.values()], axis=1)
    mean = scores.mean(axis=0)
    weights = np.linalg.solve(known.T @ known + _TFIDF_STRENGTH * np.eye(known.shape[1]), known.T @ (scores - mean))
    found = np.clip(asked @ weights + mean, 0.02, 0.98)
    return {tier: found[:, place] for place, tier in enumerate(tasks.scores)}


def hashed(text: str) -> Counter[int]:
    """The terms of a text, as numbers, with how often each is there."""
    return Counter(crc32(term.encode()) % _TFIDF_DIMENSIONS for term in analyse(text))


def _classifier(tasks: Tasks) -> OutcomeClassifier:
    return OutcomeClassifier({tier: EDGES[tier] for tier in tasks.scores}, HnswIndex)


def _by_tier(expected: Sequence[dict[str, float]]) -> dict[str, Floats]:
    return {tier: np.array([each[tier] for each in expected]) for tier in expected[0]}

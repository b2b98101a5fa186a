"""Whether routing is worth it: `umi bench router --data DIR`.

Public sets say of many tasks how each of several models did. A way of routing learns on some of the tasks and is asked on the others: once on
subjects of which it has seen nothing (one subject left out at a time; clusters of like tasks where a set names no subjects), once on tasks
of known subjects (five folds). From what it expects follows a curve: what share of the dearest tier's extra cost is spent, and what share of
the tasks is done well. The measure is APGR, the mean over that curve of (accuracy - cheapest's) / (dearest's - cheapest's): 0.5 is chance.
Source: Ong et al., "RouteLLM: Learning to Route LLMs with Preference Data" (2024).

Umi gets no help: its constants are the product's, the same for every set.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi._core.vectors import FloatMatrix
from umi._learning.routing.complexity import read
from umi._learning.routing.router import ACCEPT_DEFAULT
from umi.ports import EmbeddingProvider
from umi.providers.hnsw import require
from umi.providers.local import LocalEmbedder
from umi_lab.bench import router_rows as rows
from umi_lab.bench.intervals import Interval, draws, interval
from umi_lab.bench.router_data import RoutingSet, folds_of_subjects, folds_of_tasks, load_routing_sets, noise

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Progress = Callable[[str, int, int], None]

UMI: Final = "umi"
ORACLE: Final = "oracle"
RANDOM: Final = "random"
LENGTH: Final = "prompt length"
TFIDF: Final = "tf-idf"
NEVER: Final = "umi, never learning"
ROWS: Final = (RANDOM, LENGTH, TFIDF, NEVER, UMI, ORACLE)
UNSEEN: Final = "unseen subjects"
SEEN: Final = "seen subjects"
_POINTS_COUNT: Final = 101
_EMBEDDED_AT_ONCE_COUNT: Final = 256
_SURE: Final = 0.98


async def run(
    data: Path,
    *,
    make_embedder: Callable[[], EmbeddingProvider] = LocalEmbedder,
    cache: Path | None = None,
    progress: Progress = lambda _what, _done, _of: None,
) -> dict[str, Any]:
    """Measure every row on the sets below `data`.

    Args:
        data: Holds router/routellm/ or router/llmrouter/.
        make_embedder: Makes the embedder.
        cache: A folder that keeps embeddings from run to run; None keeps none.
        progress: Called as work goes on.

    Returns:
        Per set and protocol what `measured` gives.

    Raises:
        InvalidInput: When `data` holds none of the sets.
        InvalidOptions: Without the extra `learn`.
    """
    require()
    embedder = make_embedder()
    figures: dict[str, Any] = {}
    for tasks in load_routing_sets(data):
        embeddings = await _embedded(embedder, tasks, cache, progress)
        protocols = {UNSEEN: folds_of_subjects(tasks, embeddings), SEEN: folds_of_tasks(len(tasks.texts))}
        figures[tasks.name] = {}
        for protocol, folds in protocols.items():
            step = partial(progress, f"{tasks.name}, {protocol}")
            figures[tasks.name][protocol] = await asyncio.to_thread(measured, tasks, embeddings, folds, step)
    return {"sets": figures, "rows": list(ROWS)}


def measured(
    tasks: RoutingSet, embeddings: FloatMatrix, folds: Places, step: Callable[[int, int], None] = lambda _d, _o: None
) -> dict[str, Any]:
    """Learn on all folds but one and ask that one, for each.

    Returns:
        `{"tasks", "folds", "tiers": {tier: [accuracy, cost]}, "rows": {row: {"apgr": [value, low, high], "within": value, "curve":
        [[cost share, accuracy], ...]}}, "against": {row: [difference of APGR, low, high]}, "default": {"accuracy", "cost", "random_accuracy"}}`.
        `within` is APGR inside each fold, averaged: what is left when differences between subjects do not count.
    """
    expected, scores = _expectations(tasks, embeddings, folds, step)
    costs = np.array([tasks.costs[tier] for tier in tasks.scores])
    share = (costs - costs[0]) / (costs[-1] - costs[0])
    weights = draws(len(folds))
    curves = {row: _curves(found, scores, share, weights) for row, found in expected.items()}
    apgr = {row: _area(*curve) for row, curve in curves.items()}
    made = {
        row: {
            "apgr": _rounded(interval(float(area[0]), area[1:])),
            "within": round(_within(expected[row], scores, share, folds), 3),
            "curve": [
                [round(float(x), 4), round(float(y), 4)]
                for x, y in zip(curves[row][0][0], curves[row][1][0], strict=True)
            ],
        }
        for row, area in apgr.items()
    }
    against = {
        row: _rounded(interval(float(apgr[UMI][0] - apgr[row][0]), apgr[UMI][1:] - apgr[row][1:]))
        for row in ROWS
        if row not in {UMI, ORACLE}
    }
    return {
        "tasks": len(folds),
        "folds": len(np.unique(folds)),
        "tiers": {
            tier: [round(float(scores[:, place].mean()), 4), round(float(share[place]), 4)]
            for place, tier in enumerate(tasks.scores)
        },
        "rows": made,
        "against": against,
        "default": _default(expected[UMI], scores, share),
    }


def chosen(expected: Floats, accept: float) -> Places:
    """The tier of each task, as `umi._learning.routing.classifier.climbed` chooses it.

    Args:
        expected: Shape (tasks, tiers), cheapest first.
        accept: As there.

    Returns:
        Shape (tasks,).
    """
    last = expected.shape[1] - 1
    tier = np.full(len(expected), last)
    for place in reversed(range(last)):
        dearer = expected[:, place + 1 :].max(axis=1)
        tier[(1.0 - expected[:, place]) * dearer <= accept] = place
    return tier


def _expectations(
    tasks: RoutingSet, embeddings: FloatMatrix, folds: Places, step: Callable[[int, int], None]
) -> tuple[dict[str, Floats], Floats]:
    """Every row's expectation of each tier, and how each tier did: shape (tasks, tiers)."""
    readings, terms = [read(text) for text in tasks.texts], [rows.hashed(text) for text in tasks.texts]
    learners = {TFIDF: rows.tfidf, NEVER: rows.never_learn, UMI: rows.umi}
    shape = (len(folds), len(tasks.scores))
    scores, expected = np.zeros(shape), {row: np.zeros(shape) for row in learners}
    numbers = np.unique(folds)
    for done, number in enumerate(numbers):
        step(done, len(numbers))
        asked = folds == number
        known = tasks.tier_scores(~asked)
        seen = rows.Tasks(terms, readings, embeddings, known)
        scores[asked] = np.stack(list(known.values()), axis=1)[asked]
        for row, learn in learners.items():
            expected[row][asked] = np.stack(list(learn(seen, ~asked).values()), axis=1)
    lengths = np.array([len(text) for text in tasks.texts])
    expected[RANDOM] = _ranked(noise(len(folds)), shape)
    expected[LENGTH] = _ranked(lengths, shape)
    expected[ORACLE] = scores
    return {row: expected[row] for row in ROWS}, scores


def _ranked(wants: npt.NDArray[Any], shape: tuple[int, int]) -> Floats:
    """Expectations that send the tasks that want it most to the dearest tier first, and none to one between."""
    made = np.zeros(shape)
    made[np.argsort(wants, kind="stable"), 0] = 1.0 - (np.arange(shape[0]) + 1.0) / (shape[0] + 1.0)
    made[:, -1] = _SURE
    return made


def _curves(expected: Floats, scores: Floats, share: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Cost shares and accuracies from all on the cheapest to all on the dearest tier, each shape (1 + resamples, points)."""
    mends = np.concatenate([(1.0 - expected[:, 0]) * expected[:, place] for place in range(1, expected.shape[1])])
    accepts = np.unique(np.quantile(mends, np.linspace(0, 1, _POINTS_COUNT)))[::-1]
    places = np.arange(len(scores))
    tiers = np.stack(
        [
            np.zeros(len(scores), np.int64),
            *(chosen(expected, accept) for accept in accepts),
            np.full(len(scores), len(share) - 1),
        ],
        axis=1,
    )
    cost, done = share[tiers], scores[places[:, None], tiers]
    paths = [np.concatenate([part.mean(axis=0)[None, :], weights @ part]) for part in (cost, done)]
    return paths[0], paths[1]


def _area(cost: Floats, accuracy: Floats) -> Floats:
    """APGR of each curve, shape (curves,)."""
    order = np.argsort(cost, axis=1, kind="stable")
    x, y = np.take_along_axis(cost, order, axis=1), np.take_along_axis(accuracy, order, axis=1)
    y = (y - accuracy[:, :1]) / (accuracy[:, -1:] - accuracy[:, :1])
    return np.asarray(((y[:, 1:] + y[:, :-1]) / 2 * np.diff(x, axis=1)).sum(axis=1), dtype=np.float64)


def _within(expected: Floats, scores: Floats, share: Floats, folds: Places) -> float:
    """APGR inside each fold in which the dearest tier does better, averaged by tasks."""
    total = count = 0.0
    for number in np.unique(folds):
        mine = folds == number
        if scores[mine, -1].mean() > scores[mine, 0].mean():
            area = _area(*_curves(expected[mine], scores[mine], share, np.zeros((0, int(mine.sum())))))
            total, count = total + float(area[0]) * mine.sum(), count + mine.sum()
    return total / count if count else 0.0


def _default(expected: Floats, scores: Floats, share: Floats) -> dict[str, float]:
    """Where the product's own setting lies, and what a coin that spends as much would reach."""
    tier = chosen(expected, ACCEPT_DEFAULT)
    cost = float(share[tier].mean())
    ends = scores.mean(axis=0)
    return {
        "accuracy": round(float(scores[np.arange(len(tier)), tier].mean()), 4),
        "cost": round(cost, 4),
        "random_accuracy": round(float(ends[0] + cost * (ends[-1] - ends[0])), 4),
    }


async def _embedded(
    embedder: EmbeddingProvider, tasks: RoutingSet, cache: Path | None, progress: Progress
) -> FloatMatrix:
    """The embedding of each task as the router would ask for it, from the cache where it is there."""
    digest = hashlib.sha256("\0".join((embedder.identity.digest, *tasks.texts)).encode("utf-8", "replace")).hexdigest()
    kept = cache / f"{tasks.name}-{digest[:16]}.npy" if cache is not None else None
    if kept is not None and kept.exists():
        found: FloatMatrix = np.load(kept)
        return found
    parts: list[FloatMatrix] = []
    for start in range(0, len(tasks.texts), _EMBEDDED_AT_ONCE_COUNT):
        progress(f"embedding {tasks.name}", start, len(tasks.texts))
        windows = await embedder.embed_many(tasks.texts[start : start + _EMBEDDED_AT_ONCE_COUNT])
        parts.extend(each[0] for each in windows)
    made: FloatMatrix = np.stack(parts).astype(np.float32)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, made)
    return made


def _rounded(found: Interval) -> Interval:
    return Interval(*(round(value, 3) for value in found))

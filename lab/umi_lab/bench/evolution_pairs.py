"""Is the newer statement of a pair noticed as an update of the older? Umi's answer, beside what the words alone give away.

Umi is told both statements, a week apart, in a namespace of their own. The rows beside it are fitted to nine tenths of the same pairs and judge
the last tenth, ten times over: from the newer statement alone, and from both. What the newer one alone gives away (people say "now") is no
knowledge of the older one, so a figure near that row shows little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi._core.text import analyse
from umi.memory import Memory
from umi.ports import EmbeddingProvider
from umi.types import EvolutionType
from umi_lab.bench.evolution_data import Pair
from umi_lab.bench.intervals import Interval, draws, interval

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Tell = Callable[[int], None]

RECORDED: Final = "Umi: recorded"
ACTED: Final = "Umi: acted on"
NEW_ONLY: Final = "fitted, new statement only"
BOTH: Final = "fitted, both statements"
_FOLDS: Final = 10
_RIDGE: Final = 1.0
_FIRST_AT: Final = datetime(2026, 1, 5, 9, tzinfo=UTC)
_APART: Final = timedelta(days=7)
_CONFLICTS: Final = frozenset({EvolutionType.UPDATE, EvolutionType.CONTRADICT})


@dataclass(frozen=True, slots=True)
class Noticed:
    """What Umi made of a pair: whether it recorded that they conflict, whether it acted, and its reasons."""

    pair: Pair
    recorded: bool
    acted: bool
    reasons: tuple[str, ...]


async def notice(memory: Memory, pairs: Sequence[Pair], tell: Tell) -> list[Noticed]:
    """Tell Umi each pair.

    Args:
        memory: Any memory; each pair gets a namespace of its own.
        pairs: What to tell.
        tell: Called with how many are done.
    """
    found = []
    for done, pair in enumerate(pairs, 1):
        apart = memory.switch(f"pair-{pair.id}")
        old = await apart.remember(pair.old, at=_FIRST_AT)
        new = await apart.remember(pair.new, at=_FIRST_AT + _APART)
        # Read back, not off the receipt: whoever settled the second message, what counts is what the memory holds.
        steps = (await apart.list()).items
        ids = {step.entity.id for step in steps if step.entity.episode_id in old.episode_ids}
        mine = {step.entity.id for step in steps if step.entity.episode_id in new.episode_ids}
        found_rows = {row.id: row for step in steps for row in step.evolutions}
        rows = [row for row in found_rows.values() if row.source_id in ids and row.target_id in mine]
        reasons = tuple(f"{row.evolution_type} {row.confidence:.2f}: {row.reason}" for row in rows)
        recorded = any(row.evolution_type in _CONFLICTS for row in rows)
        found.append(Noticed(pair, recorded, any(row.acted for row in rows), reasons))
        tell(done)
    return found


async def rows(noticed: Sequence[Noticed], embedder: EmbeddingProvider) -> dict[str, dict[str, Any]]:
    """The figures of each row: balanced accuracy, macro-F1, precision and recall of update, each with its 95% interval."""
    is_update = np.array([one.pair.is_update for one in noticed])
    old, new = [one.pair.old for one in noticed], [one.pair.new for one in noticed]
    likeness_new = _likeness(new, await _vectors(embedder, new))
    likeness_old = _likeness(old, await _vectors(embedder, old))
    folds = _folds(new)
    together = (likeness_new + likeness_old + likeness_new * likeness_old) / 3
    guesses = {
        RECORDED: np.array([one.recorded for one in noticed]),
        ACTED: np.array([one.acted for one in noticed]),
        NEW_ONLY: _fitted(likeness_new, is_update, folds),
        BOTH: _fitted(together, is_update, folds),
    }
    return {name: _figures(is_update, guess) for name, guess in guesses.items()}


def _figures(truth: Bools, guess: Bools) -> dict[str, Any]:
    cells = np.stack([truth & guess, ~truth & guess, truth & ~guess, ~truth & ~guess], axis=1).astype(np.float64)
    once, often = _scores(cells.mean(axis=0)[None]), _scores(draws(len(cells)) @ cells)
    figures: dict[str, Any] = {
        name: _plain(interval(float(once[name][0]), often[name])) for name in once if np.isfinite(once[name][0])
    }
    return figures | {"pairs": len(truth), "updates": int(truth.sum())}


def _scores(cells: Floats) -> dict[str, Floats]:
    """Figures per row of shares of true positives, false positives, false negatives and true negatives."""
    hit, false, missed, right = cells.T
    with np.errstate(divide="ignore", invalid="ignore"):
        precision, recall = hit / (hit + false), hit / (hit + missed)
        f1_yes, f1_no = 2 * hit / (2 * hit + false + missed), 2 * right / (2 * right + false + missed)
        specificity = right / (right + false)
    found = {
        "balanced_accuracy": (recall + specificity) / 2,
        "macro_f1": (f1_yes + f1_no) / 2,
        "precision": precision,
        "recall": recall,
    }
    return {name: values if len(values) == 1 else values[np.isfinite(values)] for name, values in found.items()}


def _plain(found: Interval) -> dict[str, float]:
    return {"value": round(found.value, 4), "low": round(found.low, 4), "high": round(found.high, 4)}


# What can be had by fitting: kernel ridge regression on words and vectors.


async def _vectors(embedder: EmbeddingProvider, texts: Sequence[str]) -> Floats:
    windows = await embedder.embed_many(texts)
    means = np.stack([np.asarray(rows, dtype=np.float64).mean(axis=0) for rows in windows])
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), dtype=np.float64)


def _likeness(texts: Sequence[str], vectors: Floats) -> Floats:
    """Cosine of words plus cosine of vectors, halved; shape (texts, texts)."""
    words = [frozenset(analyse(text)) for text in texts]
    places = {word: place for place, word in enumerate(sorted(frozenset().union(*words)))}
    counts = np.zeros((len(texts), max(1, len(places))))
    for row, found in enumerate(words):
        counts[row, [places[word] for word in sorted(found)]] = 1
    counts *= np.log(len(texts) / np.maximum(1, counts.sum(axis=0)))
    counts /= np.maximum(1e-9, np.linalg.norm(counts, axis=1, keepdims=True))
    return np.asarray((counts @ counts.T + vectors @ vectors.T) / 2, dtype=np.float64)


def _folds(new: Sequence[str]) -> npt.NDArray[np.int64]:
    """Which tenth each pair is in; pairs with the same newer statement are in one."""
    places = {text: place % _FOLDS for place, text in enumerate(dict.fromkeys(new))}
    return np.array([places[text] for text in new], dtype=np.int64)


def _fitted(likeness: Floats, truth: Bools, folds: npt.NDArray[np.int64]) -> Bools:
    guess = np.zeros(len(truth), dtype=np.bool_)
    for fold in range(_FOLDS):
        learn, judge = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if not len(judge) or len(np.unique(truth[learn])) < 2:
            continue
        share = truth[learn].mean()
        goal = np.where(truth[learn], 1 - share, -share)
        known = likeness[np.ix_(learn, learn)]
        weights = np.linalg.solve(known + _RIDGE * np.eye(len(learn)), goal)
        fitted = known @ weights
        cut = (fitted[truth[learn]].mean() + fitted[~truth[learn]].mean()) / 2
        guess[judge] = likeness[np.ix_(judge, learn)] @ weights > cut
    return guess

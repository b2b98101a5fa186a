"""Fit the gate of `umi._core.ranking.GATE` on the development sets, one configuration for all; print it with cross-validation.

    python lab/tools/fit_fusion.py --data DIR --cache DIR

The loss is listwise: for each thing that answers, the log of its share among all that does not, under a softmax of the scores.
Sets weigh alike, questions within a set too. Cross-validation fits on three sets and measures on the fourth; LoCoMo, the
only set of conversations, is also cut by conversation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fit_common import Array, Bench, add_queries, load_benches, recalls

from umi._core.ranking import FEATURES, SCORE_DECIMALS, SIGNALS, Evidence, Gate, fuse
from umi_lab.bench.datasets import Question

TRAIN_CANDIDATES = 60  # per query, by each of several scores
STEPS = 150
SHRINK = 0.02  # pull of the signals' weights towards 0
SHRINK_LEVEL = 0.004  # pull of the plain levels towards their start
_G = len(SIGNALS)


@dataclass
class Item:
    """One question: what both legs say, and the rows of `evidence` that stand for each thing that answers."""

    bench: Bench
    question: Question
    evidence: Evidence
    gold: list[Array]


@dataclass
class Batch:
    """Items laid end to end; `offsets` is where each starts, `gold_*` list the rows of each answer."""

    features: Array
    signals: Array
    offsets: Array
    counts: Array
    is_gold: Array
    gold_rows: Array
    gold_starts: Array
    gold_item: Array
    sets: list[str]
    groups: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    given = parser.parse_args()
    benches = load_benches(given.data, given.cache)
    add_queries(benches, [[each.text for each in bench.collection.questions] for bench in benches], given.cache)
    items = [_item(bench, question) for bench in benches for question in bench.collection.questions]
    batch = _batch(items)
    gate = fit(batch, lambda _set, _group: True)
    print("gate fitted on all sets:\n ", gate)
    _report("all sets, fitted on all", items, gate, lambda _item: True)
    for left in sorted(set(batch.sets)):
        other = fit(batch, lambda set_, _group, left=left: set_ != left)
        _report(f"{left}, fitted on the other sets", items, other, lambda item, left=left: _set(item) == left)
    for left in sorted({_group(item) for item in items if _set(item) == "locomo"}):
        other = fit(batch, lambda _set, group, left=left: group != left)
        _report(f"{left}, fitted without it", items, other, lambda item, left=left: _group(item) == left)


def _set(item: Item) -> str:
    return item.bench.collection.dataset


def _group(item: Item) -> str:
    return f"{item.bench.collection.dataset}/{item.bench.collection.name}"


def _item(bench: Bench, question: Question) -> Item:
    evidence = bench.evidence(question.text)
    gold = [np.flatnonzero(np.isin(evidence.keys, unit)) for unit in bench.gold_units(question.gold)]
    return Item(bench, question, evidence, [rows for rows in gold if len(rows)])


def _batch(items: Sequence[Item]) -> Batch:
    features, is_gold, gold_rows, gold_item, counts = [], [], [], [], []
    kept = [item for item in items if item.gold]
    start = 0
    for number, item in enumerate(kept):
        rows = _training_rows(item)
        place = {int(row): start + index for index, row in enumerate(rows)}
        for unit in item.gold:
            gold_rows.append([place[int(row)] for row in unit])
            gold_item.append(number)
        features.append(item.evidence.features[rows])
        is_gold.append(np.isin(rows, np.concatenate(item.gold)))
        counts.append(len(rows))
        start += len(rows)
    return Batch(
        features=np.concatenate(features),
        signals=np.stack([item.evidence.signals for item in kept]),
        offsets=np.concatenate([[0], np.cumsum(counts)[:-1]]),
        counts=np.array(counts),
        is_gold=np.concatenate(is_gold),
        gold_rows=np.array([row for unit in gold_rows for row in unit]),
        gold_starts=np.concatenate([[0], np.cumsum([len(unit) for unit in gold_rows])[:-1]]),
        gold_item=np.array(gold_item),
        sets=[_set(item) for item in kept],
        groups=[_group(item) for item in kept],
    )


def _training_rows(item: Item) -> Array:
    """The candidates that could matter: the best by single features and by their sum, and the answers."""
    features = item.evidence.features
    scores = [features[:, 0], features[:, 2], features[:, 2:5].sum(axis=1), features[:, :5].sum(axis=1)]
    best = [np.argsort(-score, kind="stable")[:TRAIN_CANDIDATES] for score in scores]
    return np.unique(np.concatenate([*best, *item.gold]))


# The parameters in one row: vector (log), neighbours_share (logit), words, spoken, text signals, context signals.
def _start() -> Array:
    return np.concatenate([[0.0, 0.0, 0.2, 0.1], [1.0, *[0.0] * (_G - 1)], [0.5, *[0.0] * (_G - 1)]])


def _to_gate(p: Array) -> Gate:
    def short(values: Array) -> tuple[float, ...]:
        return tuple(round(float(value), 3) for value in values)

    return Gate(
        vector=round(float(np.exp(p[0])), 3),
        words=round(float(p[2]), 3),
        spoken=round(float(p[3]), 3),
        neighbours_share=round(float(_logistic(p[1])), 3),
        text=short(p[4 : 4 + _G]),
        context=short(p[4 + _G :]),
    )


def _logistic(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def fit(batch: Batch, chosen: Callable[[str, str], bool]) -> Gate:
    """Minimise the loss over the chosen items by Adam from the same start: no randomness."""
    picked = np.array([chosen(set_, group) for set_, group in zip(batch.sets, batch.groups, strict=True)])
    sizes = {
        name: sum(1 for set_, ok in zip(batch.sets, picked, strict=True) if ok and set_ == name) for name in batch.sets
    }
    weights = np.array([1 / sizes[set_] if ok else 0.0 for set_, ok in zip(batch.sets, picked, strict=True)])
    weights /= weights.sum()
    start = _start()
    pull = np.full(len(start), SHRINK)
    pull[[0, 1, 2, 3, 4, 4 + _G]] = SHRINK_LEVEL
    p, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for step in range(1, STEPS + 1):
        gradient = _gradient(batch, p, weights) + pull * (p - start)
        first = 0.9 * first + 0.1 * gradient
        second = 0.98 * second + 0.02 * gradient * gradient
        rate = 0.12 * (1 - step / (STEPS + 1)) + 0.002
        p -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.98**step)) + 1e-8)
    return _to_gate(p)


def _gradient(batch: Batch, p: Array, weights: Array) -> Array:
    text = np.exp(np.clip(batch.signals @ p[4 : 4 + _G], -4, 4))
    context = _logistic(batch.signals @ p[4 + _G :])
    near = _logistic(p[1])
    one = np.ones(len(text))
    by_item = np.stack(
        [
            np.exp(p[0]) * one,
            p[2] * one,
            text * (1 - context),
            text * context * near,
            text * context * (1 - near),
            p[3] * one,
        ],
        axis=1,
    )
    g = _gradient_by_feature(batch, by_item, weights)
    turn, neighbours, session = g[:, 2], g[:, 3], g[:, 4]
    d_text = text * (turn * (1 - context) + context * (near * neighbours + (1 - near) * session))
    d_context = text * context * (1 - context) * (near * neighbours + (1 - near) * session - turn)
    d_near = (text * context * (neighbours - session)).sum() * near * (1 - near)
    levels = [g[:, 0].sum() * np.exp(p[0]), d_near, g[:, 1].sum(), g[:, 5].sum()]
    return np.concatenate([levels, d_text @ batch.signals, d_context @ batch.signals])


def _gradient_by_feature(batch: Batch, by_item: Array, weights: Array) -> Array:
    """The loss's gradient by each item's weight of each feature, shape (items, FEATURES)."""
    scores = np.einsum("ij,ij->i", batch.features, np.repeat(by_item, batch.counts, axis=0))
    item = np.repeat(np.arange(len(batch.counts)), batch.counts)
    share = np.exp(scores - np.maximum.reduceat(scores, batch.offsets)[item])
    wrong = np.add.reduceat(np.where(batch.is_gold, 0, share), batch.offsets)
    right = np.add.reduceat(share[batch.gold_rows], batch.gold_starts)
    answers = np.bincount(batch.gold_item, minlength=len(batch.counts))
    total = right + wrong[batch.gold_item]
    weight = (weights / answers)[batch.gold_item]
    pushed = np.bincount(batch.gold_item, weight / total, minlength=len(batch.counts))
    delta = np.where(batch.is_gold, 0, share * pushed[item])
    unit = np.repeat(np.arange(len(right)), np.diff(np.append(batch.gold_starts, len(batch.gold_rows))))
    delta[batch.gold_rows] += share[batch.gold_rows] * (weight / total - weight / right)[unit]
    return np.add.reduceat(batch.features * delta[:, None], batch.offsets, axis=0)


def _report(title: str, items: Sequence[Item], gate: Gate, chosen: Callable[[Item], bool]) -> None:
    rows: dict[str, list[list[float]]] = {}
    for item in items:
        if not chosen(item):
            continue
        scores = np.round(fuse(item.evidence, gate), SCORE_DECIMALS)
        keys = [int(key) for key in item.evidence.keys[np.lexsort((item.evidence.keys, -scores))]]
        names = [_set(item)]
        if _set(item) == "locomo" and item.question.category != "adversarial":
            names.append("locomo 1-4")
        for name in names:
            rows.setdefault(name, []).append(recalls(item.bench, item.question.gold, keys))
    print(title)
    for name, values in rows.items():
        five, ten = np.mean(values, axis=0) * 100
        print(f"  {name:12} R@5 {five:5.1f}  R@10 {ten:5.1f}  ({len(values)} questions)")


if __name__ == "__main__":
    print(f"features {FEATURES}\nsignals {SIGNALS}")
    main()

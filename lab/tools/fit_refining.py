"""Fit `umi._core.rerank_weights`: what the second look of `umi._core.rerank` weighs, one configuration for all sets.

    python lab/tools/fit_refining.py --data DIR --cache DIR [--write src/umi/_core/rerank_weights.py]

The loss is that of `fit_fusion.py`: for each thing that answers, the log of its share among all that does not, under a
softmax of the scores; sets weigh alike, and weights are drawn to a plain start. Printed beside the fit on everything: each fifth
of the sets fitted without itself, conversations and chats kept whole (what carries over to more of the same), and each set
fitted without itself (what carries over to something else).
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fit_common import LEGS, Array, Bench, add_queries, load_benches, recalls

from umi._core.ranking import SCORE_DECIMALS, SIGNALS, first_look
from umi._core.rerank import LOOKS, Refiner, gates, refined, second_look, standardised
from umi._retrieval.period import asked_period
from umi.limits import REFINED_CANDIDATES_COUNT
from umi_lab.bench.datasets import Question

FOLDS = 5
STEPS = 120
SHRINK = 0.3  # pull of the signals' weights towards 0: with a weaker one a set left out loses ten points
SHRINK_LEVEL = 0.3  # pull of the plain weights towards START
START = {
    "first_look": 1.2,
    "vector": 0.2,
    "turn": 0.2,
    "neighbours": 0.1,
    "session": 0.15,
    "vector_before": 0.1,
    "vector_after": 0.1,
    "vector_session": 0.2,
    "turn_before": 0.1,
    "turn_after": 0.1,
    "period": 0.3,
    "best_neighbour": 0.15,
    "spoken": 0.2,
}
DECIMALS = 4


@dataclass
class Item:
    """One question put to one set of legs: the looks at its candidates, in order of the first look, and which answer what."""

    bench: Bench
    question: Question
    fold: int
    keys: Array
    looks: Array
    signals: Array
    unit: Array  # which answer a candidate stands for, -1 for none

    @property
    def set(self) -> str:
        return self.bench.collection.dataset


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    benches = load_benches(given.data, given.cache)
    add_queries(benches, [[each.text for each in bench.collection.questions] for bench in benches], given.cache)
    fitted = {}
    for legs in LEGS:
        items = [
            _item(bench, question, number, legs)
            for number, (bench, question) in enumerate(
                (bench, question) for bench in benches for question in bench.collection.questions
            )
        ]
        fitted[legs] = fit(items, lambda _item: True)
        _validate(items, legs, fitted[legs])
    if given.write:
        given.write.write_text(_module(fitted), encoding="utf-8")


def _item(bench: Bench, question: Question, number: int, legs: str) -> Item:
    evidence = bench.evidence(question.text, legs)
    first = first_look(evidence)
    rows = np.lexsort((first.keys, -first.fused))[:REFINED_CANDIDATES_COUNT]
    keys = evidence.keys[rows]
    around = bench.index.surroundings(keys)
    looks = second_look(first, rows, around, asked_period(question.text))
    unit = np.full(len(keys), -1)
    for place, answers in enumerate(bench.gold_units(question.gold)):
        unit[np.isin(keys, answers)] = place
    collection = bench.collection
    whole = collection.dataset in {"locomo", "beam"}  # stores of many questions each: cut between, not within
    fold = (sum(collection.name.encode()) if whole else number) % FOLDS
    return Item(bench, question, fold, keys, looks, evidence.signals, unit)


def fit(items: Sequence[Item], chosen: Callable[[Item], bool]) -> Refiner:
    """Minimise the loss over the chosen items by Adam from the same start: no randomness."""
    kept = [item for item in items if chosen(item) and (item.unit >= 0).any()]
    looks = np.concatenate([item.looks for item in kept])
    signals = np.stack([item.signals for item in kept])
    draft = Refiner(
        mean=_rounded(looks.mean(axis=0)),
        spread=_rounded(np.maximum(looks.std(axis=0), 0.05)),
        signal_mean=_rounded(signals.mean(axis=0)),
        signal_spread=_rounded(np.maximum(signals.std(axis=0), 0.05)),
        weights=tuple((0.0,) * len(LOOKS) for _ in range(1 + len(SIGNALS))),
    )
    batch = _Batch(kept, standardised(draft, looks), np.stack([gates(draft, each) for each in signals]))
    start = np.zeros((1 + len(SIGNALS), len(LOOKS)))
    start[0] = [START.get(name, 0.0) for name in LOOKS]
    pull = np.full(start.shape, SHRINK)
    pull[0] = SHRINK_LEVEL
    p, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for step in range(1, STEPS + 1):
        gradient = batch.gradient(p) + pull * (p - start)
        first = 0.9 * first + 0.1 * gradient
        second = 0.98 * second + 0.02 * gradient * gradient
        rate = 0.05 * (1 - step / (STEPS + 1))
        p -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.98**step)) + 1e-9)
    return Refiner(draft.mean, draft.spread, draft.signal_mean, draft.signal_spread, tuple(_rounded(row) for row in p))


def _rounded(values: Array) -> tuple[float, ...]:
    return tuple(round(float(value), DECIMALS) for value in values)


class _Batch:
    """Items laid end to end."""

    def __init__(self, items: Sequence[Item], looks: Array, gates: Array) -> None:
        self._looks, self._gates = looks, gates
        counts = np.array([len(item.unit) for item in items])
        self._offsets = np.concatenate([[0], np.cumsum(counts)[:-1]])
        self._item = np.repeat(np.arange(len(items)), counts)
        unit = np.concatenate([item.unit for item in items])
        self._right_rows = np.flatnonzero(unit >= 0)
        self._is_right = unit >= 0
        answers = self._item[self._right_rows] * (int(unit.max()) + 1) + unit[self._right_rows]
        different, self._answer = np.unique(answers, return_inverse=True)
        self._answer_item = different // (int(unit.max()) + 1)
        sizes = {name: sum(item.set == name for item in items) for name in {item.set for item in items}}
        weights = np.array([1 / sizes[item.set] for item in items])
        per_item = np.bincount(self._answer_item, minlength=len(items))
        self._weight = (weights / weights.sum() / np.maximum(per_item, 1))[self._answer_item]

    def gradient(self, p: Array) -> Array:
        weights = self._gates @ p
        scores = np.einsum("ij,ij->i", self._looks, weights[self._item])
        share = np.exp(scores - np.maximum.reduceat(scores, self._offsets)[self._item])
        wrong = np.add.reduceat(np.where(self._is_right, 0, share), self._offsets)
        right = np.bincount(self._answer, weights=share[self._right_rows], minlength=len(self._weight))
        total = right + wrong[self._answer_item]
        pushed = np.bincount(self._answer_item, self._weight / total, minlength=len(self._offsets))
        delta = np.where(self._is_right, 0, share * pushed[self._item])
        delta[self._right_rows] += share[self._right_rows] * (self._weight / total - self._weight / right)[self._answer]
        return self._gates.T @ np.add.reduceat(self._looks * delta[:, None], self._offsets, axis=0)


def _validate(items: Sequence[Item], legs: str, on_all: Refiner) -> None:
    _report(f"{legs}: fitted on all", items, lambda _item: on_all)
    folds = [fit(items, lambda item, left=left: item.fold != left) for left in range(FOLDS)]
    _report(f"{legs}: fitted without the same fifth", items, lambda item: folds[item.fold])
    if legs != "both":
        return
    sets = {name: fit(items, lambda item, left=name: item.set != left) for name in sorted({item.set for item in items})}
    _report(f"{legs}: fitted without the same set", items, lambda item: sets[item.set])


def _report(title: str, items: Sequence[Item], refiner: Callable[[Item], Refiner]) -> None:
    rows: dict[str, list[list[float]]] = {}
    for item in items:
        scores, _ = refined(refiner(item), item.looks, item.signals)
        order = np.lexsort((item.keys, -np.round(scores, SCORE_DECIMALS)))
        found = recalls(item.bench, item.question.gold, [int(key) for key in item.keys[order]])
        for name in (item.set, f"{item.set} {item.question.category}"):
            rows.setdefault(name, []).append([*found, float(found[1] == 1)])
    print(title)
    for name, values in sorted(rows.items()):
        if " " not in name or name.startswith("locomo"):
            five, ten, every = np.mean(values, axis=0) * 100
            print(f"  {name:24} R@5 {five:5.1f}  R@10 {ten:5.1f}  all@10 {every:5.1f}  ({len(values)} questions)")


def _module(fitted: dict[str, Refiner]) -> str:
    head = [
        '"""Fitted numbers of the second look, one `Refiner` per set of legs; written by `lab/tools/fit_refining.py`."""',
        "",
    ]
    head += [
        "from __future__ import annotations",
        "",
        "from typing import Final",
        "",
        "from umi._core.rerank import Refiner",
        "",
    ]
    lines = [*head, "# fmt: off", "REFINERS: Final = {"]
    for legs, refiner in fitted.items():
        lines += [f'    "{legs}": Refiner(']
        for name in ("mean", "spread", "signal_mean", "signal_spread"):
            lines += [f"        {name}=(", *_wrapped(getattr(refiner, name)), "        ),"]
        lines += ["        weights=("]
        for row in refiner.weights:
            lines += ["            (", *_wrapped(row, 16), "            ),"]
        lines += ["        ),", "    ),"]
    return "\n".join([*lines, "}", "# fmt: on", ""])


def _wrapped(values: Sequence[float], indent: int = 12) -> list[str]:
    margin = " " * indent
    return textwrap.wrap(
        " ".join(f"{value!r}," for value in values), 110, initial_indent=margin, subsequent_indent=margin
    )


if __name__ == "__main__":
    main()

"""Fit `umi._evolution.value_weights`: what makes a statement the same thing told with another value.

    python lab/tools/fit_retold.py [--write src/umi/_evolution/value_weights.py]

The pairs are `retold_pairs.txt`, all of them made up: what each newer statement does to the older one of its block, every two newer ones of a block, and
statements of different blocks that might be compared, which update nothing. Each is told bare and with the words of `retold_frames.txt` around it. Printed: what
comes out for each sixth of the blocks, fitted without it.
"""

from __future__ import annotations

import argparse
import itertools
import random
import textwrap
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from umi._evolution.value_features import FEATURES, comparable, features
from umi._reading.value_mentions import mentions

Array = npt.NDArray[np.float64]
HERE = Path(__file__).parent
FRAMED = 5  # mentions of each block with other words around them
FRAME_SHARE = 0.75
FOLDS = 6
RIDGE = 10.0
DECIMALS = 3
LABELS = ("u", "o", "s", "a")
WITHIN, APART, OTHERS, REVERSED = 0.5, 0.3, 0.5, 0.3  # what pairs count for that nobody labelled one by one


@dataclass(frozen=True)
class Said:
    """One statement of a block: its label, "" for the older one, and its words."""

    label: str
    text: str


@dataclass(frozen=True)
class Example:
    """A comparable pair: its numbers, whether it is an update, what it counts for, its block and texts."""

    values: list[float]
    is_update: bool
    weight: float
    block: int
    texts: tuple[str, str]
    is_direct: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    blocks = read_blocks()
    told = [blocks, *([_framed(block, turn, place) for place, block in enumerate(blocks)] for turn in range(FRAMED))]
    examples = [one for some in told for place, block in enumerate(some) for one in _of_block(block, place)]
    examples += _across(told[:2])
    print(f"{len(blocks)} blocks, {len(examples)} pairs, {sum(one.is_update for one in examples)} of them updates")
    _report(examples)
    bias, weights = fit(examples)
    if given.write:
        given.write.write_text(_module(bias, weights), encoding="utf-8")


def read_blocks() -> list[list[Said]]:
    """The statements that belong together, the older one first."""
    blocks: list[list[Said]] = [[]]
    for line in (HERE / "retold_pairs.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if not line.strip():
            blocks.append([])
        elif blocks[-1] and line[:2].strip() in LABELS and line[1] == " ":
            blocks[-1].append(Said(line[0], line[2:]))
        else:
            blocks[-1].append(Said("", line))
    return [block for block in blocks if block]


def _frames(mark: str) -> list[str]:
    lines = (HERE / "retold_frames.txt").read_text(encoding="utf-8").splitlines()
    return [line[2:] for line in lines if line.startswith(f"{mark} ")]


LEADS, TAILS = _frames("<"), _frames(">")


def _framed(block: Sequence[Said], turn: int, place: int) -> list[Said]:
    return [Said(one.label, _in_frame(one.text, f"{turn} {place}")) for one in block]


def _in_frame(text: str, which: str) -> str:
    """The text with a lead and a tail, chosen by its own words: no randomness."""
    chosen = random.Random(zlib.crc32(f"{which}|{text}".encode()))
    lead = chosen.choice(LEADS) if chosen.random() < FRAME_SHARE else ""
    tail = chosen.choice(TAILS) if chosen.random() < FRAME_SHARE else text[-1]
    body = text.rstrip(".!?")
    name = body.startswith("I") or body.split()[0].rstrip("'s") in _names()
    joined = lead and not lead.rstrip().endswith((".", "!", "?")) and not name
    return f"{lead}{body[0].lower() + body[1:] if joined else body}{tail}"


def _names() -> frozenset[str]:
    return frozenset(
        [
            "Maya",
            "Leo",
            "Dana",
            "Ben",
            "Lucy",
            "Grandma",
            "Nina",
            "Omar",
            "Zion",
            "Halima",
            "Dr",
            "Tara",
            "Bruno",
            "Frida",
            "Tomas",
            "Professor",
            "Sam",
            "Lee",
            "Amir",
            "Inflation",
        ]
    )


def _of_block(block: Sequence[Said], place: int) -> Iterator[Example]:
    for (i, old), (j, new) in itertools.permutations(enumerate(block), 2):
        judged = _judged(i, old, j, new)
        if judged is not None:
            yield from _examples(old.text, new.text, place, judged[1], is_update=judged[0], is_direct=i == 0)


def _judged(i: int, old: Said, j: int, new: Said) -> tuple[bool, float] | None:
    """Whether one statement of a block updates another and what that counts for; None where nobody can say."""
    if j == 0:
        return None
    if i == 0:
        return new.label == "u", 1.0
    if old.label in {"u", "s"} and new.label == "u":
        return True, REVERSED if old.label == "u" and j < i else WITHIN
    if old.label == "o" and new.label == "o":
        return False, APART
    return (False, WITHIN) if {"o", "a"} & {old.label, new.label} else None


def _examples(
    old: str, new: str, block: int, weight: float, *, is_update: bool, is_direct: bool = False
) -> Iterator[Example]:
    met = [(one, other) for one in mentions(old) for other in mentions(new) if comparable(one, other)]
    for one, other in met:
        yield Example(features(one, other), is_update, weight / len(met), block, (old, new), is_direct)


def _across(told: Sequence[Sequence[Sequence[Said]]]) -> list[Example]:
    """Statements of different blocks that share a word."""
    by_term: dict[str, list[tuple[int, str]]] = {}
    for some in told:
        for place, block in enumerate(some):
            for said in block:
                for term in {term for one in mentions(said.text) for term in one.terms}:
                    by_term.setdefault(term, []).append((place, said.text))
    pairs = {
        (one, other)
        for _, some in sorted(by_term.items())
        for one, other in itertools.permutations(some, 2)
        if one[0] != other[0]
    }
    return [
        each for (block, old), (_, new) in sorted(pairs) for each in _examples(old, new, block, OTHERS, is_update=False)
    ]


def fit(examples: Sequence[Example]) -> tuple[float, Array]:
    """Penalised logistic regression by Newton's method: the same data gives the same weights."""
    values = np.array([one.values for one in examples])
    truth = np.array([one.is_update for one in examples], dtype=np.float64)
    counts = np.array([one.weight for one in examples])
    mean, spread = values.mean(axis=0), np.maximum(values.std(axis=0), 0.1)
    rows = np.c_[(values - mean) / spread, np.ones(len(values))]
    pull = np.full(rows.shape[1], RIDGE)
    pull[-1] = 1e-6
    weights = np.zeros(rows.shape[1])
    for _ in range(60):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (counts * (likely - truth)) + pull * weights
        curve = (rows * (counts * likely * (1 - likely))[:, None]).T @ rows + np.diag(pull)
        step = np.linalg.solve(curve, slope)
        weights -= step
        if np.abs(step).max() < 1e-7:
            break
    plain = weights[:-1] / spread
    return float(weights[-1] - plain @ mean), plain


def _report(examples: Sequence[Example]) -> None:
    likely = np.zeros(len(examples))
    for fold in range(FOLDS):
        bias, weights = fit([one for one in examples if one.block % FOLDS != fold])
        for place, one in enumerate(examples):
            if one.block % FOLDS == fold:
                likely[place] = 1 / (1 + np.exp(-(bias + weights @ np.array(one.values))))
    for title, chosen in (("the older statement and each newer", True), ("all pairs", False)):
        best: dict[tuple[str, str], tuple[float, bool]] = {}
        for one, score in zip(examples, likely, strict=True):
            if one.is_direct or not chosen:
                best[one.texts] = max(best.get(one.texts, (0.0, one.is_update)), (float(score), one.is_update))
        for bound in (0.3, 0.5, 0.7):
            hit = sum(score >= bound and update for score, update in best.values())
            false = sum(score >= bound and not update for score, update in best.values())
            updates = sum(update for _, update in best.values())
            print(
                f"  {title}, from {bound}: precision {hit / max(1, hit + false):.2f}, recall {hit / updates:.2f} of {updates}"
            )


def _module(bias: float, weights: Array) -> str:
    numbers = " ".join(f"{round(float(weight), DECIMALS)!r}," for weight in weights)
    lines = textwrap.wrap(numbers, 110, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(
        [
            '"""Fitted numbers of `umi._evolution.value_judge`, in the order of `likeness.FEATURES`; written by `lab/tools/fit_retold.py`."""',
            "",
            "from __future__ import annotations",
            "",
            "from typing import Final",
            "",
            f"BIAS: Final = {round(bias, DECIMALS)!r}",
            "# fmt: off",
            f"WEIGHTS: Final = (  # {len(FEATURES)}",
            *lines,
            ")",
            "# fmt: on",
            "",
        ]
    )


if __name__ == "__main__":
    main()

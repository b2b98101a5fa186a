"""Postings: for each term the turns that contain it, and how often. A turn is one message.

When a turn is removed nothing of it stays, not even a term that no other turn has.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]

_POSTING_BYTES: Final = 8  # two 32-bit numbers
_TERM_BYTES: Final = 320  # estimate for a dict entry, a string and two arrays


@dataclass(slots=True)
class _Posting:
    turns: array[int]
    counts: array[int]


class Counted(NamedTuple):
    """The terms of some turns, counted.

    Attributes:
        lengths: How many terms each turn has, repeats included. Shape (turns,).
        terms: Each term once.
        ends: Where the entries of each term end. Shape (terms,).
        turns: For each entry the place of its turn among these; those of one term together, ascending. Shape (entries,).
        counts: For each entry how often the turn has the term. Shape (entries,).
    """

    lengths: Ints
    terms: Sequence[str]
    ends: Ints
    turns: Ints
    counts: Ints


class _Numbers(dict[str, int]):
    """Numbers words in the order in which they first occur."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class Postings:
    """Turns by term. Turns are added in ascending order."""

    def __init__(self) -> None:
        self._of: dict[str, _Posting] = {}
        self._count = 0

    @property
    def bytes(self) -> int:
        """An estimate of the memory they take."""
        return self._count * _POSTING_BYTES + len(self._of) * _TERM_BYTES

    @property
    def terms(self) -> list[str]:
        """Every term that occurs, sorted."""
        return sorted(self._of)

    def add(self, first: int, lines: Sequence[str] | Counted) -> Ints:
        """Add turns at the end.

        Args:
            first: The number of the first new turn.
            lines: The terms of each turn, repeats kept, joined by single spaces; or counted already.

        Returns:
            How many terms each turn has, shape (turns,).
        """
        counted = lines if isinstance(lines, Counted) else _counted(lines)
        # `array("i")` holds C ints, the type that numpy calls intc.
        turns = (counted.turns + first).astype(np.intc).tobytes()
        counts = counted.counts.astype(np.intc).tobytes()
        start = 0
        for term, end in zip(counted.terms, (counted.ends * np.intc().itemsize).tolist(), strict=True):
            posting = self._of.get(term)
            if posting is None:
                posting = self._of[term] = _Posting(array("i"), array("i"))
            posting.turns.frombytes(turns[start:end])
            posting.counts.frombytes(counts[start:end])
            start = end
        self._count += len(counted.turns)
        return counted.lengths

    def drop(self, gone: Flags) -> None:
        """Remove turns.

        Args:
            gone: For each turn whether it is removed, shape (turns,).
        """
        emptied = []
        for term, posting in self._of.items():
            turns = np.frombuffer(posting.turns, dtype=np.intc)
            # Copied without the removed turns: the old arrays may not keep them.
            kept = ~gone[turns]
            if kept.all():
                continue
            left = _Posting(array("i"), array("i"))
            left.turns.frombytes(turns[kept].tobytes())
            left.counts.frombytes(np.frombuffer(posting.counts, dtype=np.intc)[kept].tobytes())
            self._count -= len(turns) - len(left.turns)
            self._of[term] = left
            if not left.turns:
                emptied.append(term)
        # A term that no turn has any more is removed from RAM with its turns.
        for term in emptied:
            del self._of[term]

    def of(self, term: str) -> tuple[Ints, Floats]:
        """The turns that contain a term, ascending, and how often it occurs in each."""
        posting = self._of.get(term)
        if posting is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        turns = np.frombuffer(posting.turns, dtype=np.intc).astype(np.int64)
        return turns, np.frombuffer(posting.counts, dtype=np.intc).astype(np.float32)


def _counted(lines: Sequence[str]) -> Counted:
    """Count the terms of each turn, which are joined by single spaces."""
    numbers = _Numbers()
    terms = " ".join(filter(None, lines)).split()
    flat = np.fromiter(map(numbers.__getitem__, terms), dtype=np.int64, count=len(terms))
    lengths = np.array([line.count(" ") + 1 if line else 0 for line in lines], dtype=np.int64)
    # One number per (term, turn) pair, term above turn: `np.unique` then counts each pair and groups pairs by term.
    pairs = flat * len(lines) + np.repeat(np.arange(len(lines)), lengths)
    found, counts = np.unique(pairs, return_counts=True)
    ends = np.searchsorted(found // len(lines), np.arange(1, len(numbers) + 1))
    return Counted(lengths, list(numbers), ends, found % len(lines), counts)

"""The vectors of one namespace in RAM: every window in 8 bits to compare with all of them, and what that leaves over in 8 more.

A comparison with all windows is bound by memory, so it reads a quarter of what single precision takes; the documents that may
matter are then compared again with both halves, which is nearer to the truth than half precision. Whole numbers add up to
the same on every machine. Not safe for use by two threads at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import simsimd

from umi.errors import EmbedderMismatch
from umi.ports import Matrix, Vector
from umi.vectors import GrowingArray

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Steps = npt.NDArray[np.int8]

_NONE: Final = -1
_STEPS: Final = 127  # of an 8-bit number with sign
_HALVES: Final = 254  # steps of the rest in one step of the first 8 bits
_DEAD_MIN: Final = 64


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near every document is to one embedding, to within about 0.005, and what that is like over those with vectors.

    Shape: `best` (documents,), of a document's nearest window; -1 where there is none.
    """

    embedding: Vector
    best: Floats
    mean: float
    deviation: float


class Windows:
    """Windows by document, in order of their coming."""

    def __init__(self) -> None:
        self._coarse: GrowingArray | None = None
        self._rest: GrowingArray | None = None
        self._scale = GrowingArray(np.float32)
        self._owner = GrowingArray(np.int64)
        self._has = GrowingArray(np.bool_)
        self._dead = 0
        self._is_one_each = True
        self._is_plain = True  # window n is document n's
        self._last: Nearness | None = None  # a search asks twice
        self.documents = 0

    @property
    def bytes(self) -> int:
        """What they take in memory."""
        rows = [self._scale, self._owner, self._has, *(held for held in (self._coarse, self._rest) if held is not None)]
        return sum(one.nbytes for one in rows)

    @property
    def known(self) -> Flags:
        """By document, whether it has vectors."""
        flags: Flags = self._has.rows
        return flags

    def add_documents(self, count: int) -> None:
        """Make room for more documents, which have none."""
        self._has.extend(np.zeros(count))
        self._last = None

    def put(self, documents: Ints, counts: Ints, windows: Matrix) -> None:
        """Give documents their windows; replaces those they had.

        Args:
            documents: Without repeats.
            counts: How many windows each has.
            windows: One document's after the other's, shape (sum of counts, dimensions), rows of unit length.

        Raises:
            EmbedderMismatch: When the dimensions differ from those of the windows here.
        """
        dimensions = int(windows.shape[1])
        if self._coarse is None or self._rest is None:
            self._coarse, self._rest = GrowingArray(np.int8, dimensions), GrowingArray(np.int8, dimensions)
        self.require(dimensions)
        for document in documents[self._has.rows[documents]]:
            self.drop(int(document))
        alone = len(windows) == len(documents)
        following = np.arange(len(self._owner), len(self._owner) + len(documents))
        self._is_plain = self._is_plain and alone and np.array_equal(documents, following)
        coarse, rest, scale = _in_steps(windows)
        self._coarse.extend(coarse)
        self._rest.extend(rest)
        self._scale.extend(scale)
        self._owner.extend(np.repeat(documents, counts))
        self._has.rows[documents] = True
        self._is_one_each = self._is_one_each and alone
        self._last = None
        self.documents += len(documents)

    def drop(self, document: int) -> None:
        """Take a document's windows out; nothing of them stays."""
        if not self._has.rows[document] or self._coarse is None or self._rest is None:
            return
        owned = self._owner.rows == document
        self._is_plain = False
        self._has.rows[document] = False
        self._owner.rows[owned] = _NONE
        self._coarse.rows[owned] = 0
        self._rest.rows[owned] = 0
        self._dead += int(np.count_nonzero(owned))
        self._last = None
        self.documents -= 1
        if self._dead > _DEAD_MIN and 2 * self._dead > len(self._owner):
            kept = self._owner.rows != _NONE
            for column in (self._coarse, self._rest, self._scale, self._owner):
                column.replace(column.rows[kept])
            self._dead = 0

    def require(self, dimensions: int) -> None:
        """See that vectors can be compared with these.

        Raises:
            EmbedderMismatch: When they have other dimensions.
        """
        held = dimensions if self._coarse is None else int(self._coarse.rows.shape[1])
        if dimensions != held:
            raise EmbedderMismatch(f"a vector of {dimensions} dimensions does not compare with this store's of {held}")

    def compare(self, embedding: Vector) -> Nearness:
        """Every document with an embedding of unit length; there must be some with vectors."""
        if self._last is None or self._last.embedding is not embedding:
            best = self._best(embedding)
            real = best if self.documents == len(best) else best[self._has.rows]
            mean = float(real.mean(dtype=np.float64))
            variance = float(np.square(real, dtype=np.float64).mean()) - mean * mean
            self._last = Nearness(embedding, best, mean, max(0.0, variance) ** 0.5)
        return self._last

    def exactly(self, documents: Ints, embedding: Vector) -> Floats:
        """The cosine of some documents' nearest window, shape (documents,).

        Args:
            documents: Ascending, all with vectors.
            embedding: Of unit length.
        """
        if self._is_plain:
            return self._cosines(documents, embedding)
        chosen = np.zeros(len(self._has) + 1, dtype=np.bool_)  # one more for windows of nobody, at -1
        chosen[documents] = True
        rows = np.flatnonzero(chosen[self._owner.rows])
        exact = np.full(len(self._has), -1.0, dtype=np.float32)
        np.maximum.at(exact, self._owner.rows[rows], self._cosines(rows, embedding))
        return exact[documents]

    def _cosines(self, rows: Ints, embedding: Vector) -> Floats:
        if self._coarse is None or self._rest is None:
            return np.empty(0, dtype=np.float32)
        coarse, rest = self._coarse.rows[rows], self._rest.rows[rows]
        asked, asked_rest, scale = _in_steps(embedding[None])
        sums = _dots(asked, coarse) + (_dots(asked_rest, coarse) + _dots(asked, rest)) / _HALVES
        exact: Floats = (sums * (self._scale.rows[rows] * scale[0])).astype(np.float32)
        return exact

    def _best(self, embedding: Vector) -> Floats:
        best = np.full(len(self._has), -1.0, dtype=np.float32)
        if self._coarse is None:
            return best
        asked, _, scale = _in_steps(embedding[None])
        nearness = (_dots(asked, self._coarse.rows) * (self._scale.rows * scale[0])).astype(np.float32)
        owner = self._owner.rows
        if self._dead:
            living = owner != _NONE
            owner, nearness = owner[living], nearness[living]
        if self._is_one_each:
            best[owner] = nearness
        else:
            np.maximum.at(best, owner, nearness)
        return best


def _dots(asked: Steps, rows: Steps) -> npt.NDArray[np.float64]:
    """The products of one row with several, whole numbers."""
    products: npt.NDArray[np.float64] = np.asarray(simsimd.cdist(asked, rows, metric="dot"))[0]
    return products


def _in_steps(rows: Matrix) -> tuple[Steps, Steps, Floats]:
    """Rows in twice 8 bits with a scale each: a row is about `scale * (steps + rest / 254)`."""
    scale = np.abs(rows).max(axis=1).astype(np.float32) / np.float32(_STEPS)
    scale[scale == 0] = 1
    wide = rows / scale[:, None]
    steps = np.rint(wide)
    return steps.astype(np.int8), np.rint((wide - steps) * _HALVES).astype(np.int8), scale

"""The vectors of one namespace in RAM, quantised: 8 bits per entry for a first comparison, and 8 more for the remainder.

Comparing a query with all windows is limited by memory bandwidth, so the first pass reads 8 bits per entry, a quarter
of single precision. The documents that may matter are compared again with both parts, which is more accurate than half
precision. Integer sums are the same on every machine. Not safe for use by two threads at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import simsimd

from umi._core.vectors import GrowingArray
from umi.errors import EmbedderMismatch
from umi.ports import Matrix, Vector
from umi.stores.index.owners import Owners
from umi.stores.index.term_counts import largest

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Steps = npt.NDArray[np.int8]

_STEPS: Final = 127  # largest signed 8-bit number
_HALVES: Final = 254  # steps of the remainder per step of the first 8 bits; it is at most half a step either way
# Windows compared or numbers summed at once, and windows quantised at once: few enough for the processor's cache.
_PORTION_COUNT: Final = 32_768
_PACKED_COUNT: Final = 256


@dataclass(frozen=True, slots=True)
class Nearness:
    """The cosine of every document to one embedding, accurate to about 0.005, with mean and deviation over those with vectors.

    `best` has shape (documents,): the cosine of a document's nearest window, -1 where it has none. Its memory is reused
    by the next comparison.
    """

    embedding: Vector
    best: Floats
    mean: float
    deviation: float


class _Rows:
    """Quantised windows, one per row."""

    def __init__(self, dimensions: int) -> None:
        self.coarse = GrowingArray(np.int8, dimensions)
        self.rest = GrowingArray(np.int8, dimensions)
        self.scale = GrowingArray(np.float32)

    def __len__(self) -> int:
        return len(self.scale)

    @property
    def nbytes(self) -> int:
        return self.coarse.nbytes + self.rest.nbytes + self.scale.nbytes

    def reserve(self, count: int) -> None:
        """Make room for `count` rows in all."""
        for column in (self.coarse, self.rest, self.scale):
            column.reserve(count - len(self))

    def pad(self, count: int) -> None:
        """Grow to `count` rows; new rows are zero."""
        missing = count - len(self)
        if missing > 0:
            none = np.zeros((missing, self.coarse.rows.shape[1]), dtype=np.int8)
            self.coarse.extend(none)
            self.rest.extend(none)
            self.scale.extend(np.zeros(missing))

    def put(self, places: Ints, windows: Matrix) -> None:
        """Store windows at these rows, old or new; rows that become part of the array and are not named are zero."""
        # New rows right behind the old ones need no padding, which is the usual case.
        is_next = np.array_equal(places, np.arange(len(self), len(self) + len(places)))
        if not is_next:
            self.pad(int(places.max()) + 1)
        for start in range(0, len(places), _PACKED_COUNT):
            coarse, rest, scale = _in_steps(windows[start : start + _PACKED_COUNT])
            if is_next:
                self.coarse.extend(coarse)
                self.rest.extend(rest)
                self.scale.extend(scale)
            else:
                some = places[start : start + _PACKED_COUNT]
                self.coarse.rows[some], self.rest.rows[some], self.scale.rows[some] = coarse, rest, scale

    def blank(self, places: Ints) -> None:
        self.coarse.rows[places] = 0
        self.rest.rows[places] = 0
        self.scale.rows[places] = 0

    def keep(self, kept: Flags) -> None:
        for column in (self.coarse, self.rest, self.scale):
            column.replace(column.rows[kept])

    def roughly(self, embedding: Vector, into: Floats) -> None:
        """Write the cosine of every window, from its first 8 bits, into `into`."""
        asked, _, scale = _in_steps(embedding[None])
        for start in range(0, len(self), _PORTION_COUNT):
            some = slice(start, min(start + _PORTION_COUNT, len(self)))
            # Sums of 8-bit products are exact in single precision up to 1,040 dimensions (1,040 * 127**2 < 2**24).
            products = simsimd.cdist(asked, self.coarse.rows[some], metric="dot", out_dtype="float32")
            np.multiply(np.asarray(products)[0], self.scale.rows[some] * scale[0], out=into[some])

    def exactly(self, places: Ints, embedding: Vector) -> Floats:
        """The cosine of these windows, from all their bits."""
        some = self.coarse.rows[places], self.rest.rows[places], self.scale.rows[places]
        return _products(_in_steps(embedding[None]), some)


def cosines_of(windows: Matrix, embedding: Vector) -> Floats:
    """The cosines of windows to an embedding, as `Windows.exactly` computes them, shape (windows,).

    Args:
        windows: Shape (windows, dimensions), rows of unit length.
        embedding: Shape (dimensions,), of unit length.
    """
    asked = _in_steps(embedding[None])
    exact = np.empty(len(windows), dtype=np.float32)
    for start in range(0, len(windows), _PACKED_COUNT):
        some = slice(start, start + _PACKED_COUNT)
        exact[some] = _products(asked, _in_steps(windows[some]))
    return exact


class Windows:
    """Windows by document.

    The first window of document n is row n, so that a comparison needs no look-up of owners. Further windows of long
    texts are kept apart, each with its owner.
    """

    def __init__(self) -> None:
        self._first: _Rows | None = None
        self._further: _Rows | None = None
        self._owner = Owners()  # of further windows
        self._has = GrowingArray(np.bool_)  # by document, whether it has vectors
        self._near = np.empty(0, dtype=np.float32)  # reused by every comparison
        self._last: Nearness | None = None  # a search asks twice with the same embedding
        self._expected = 0  # documents announced by `expect`
        self.documents = 0

    @property
    def bytes(self) -> int:
        """The memory they take."""
        parts = (self._first, self._further, self._owner, self._has, self._near)
        return sum(part.nbytes for part in parts if part is not None)

    @property
    def known(self) -> Flags:
        """For each document whether it has vectors."""
        flags: Flags = self._has.rows
        return flags

    def expect(self, count: int) -> None:
        """Reserve memory for `count` more documents with one window each."""
        self._expected = len(self._has) + count

    def add_documents(self, count: int) -> None:
        """Add documents; they have no windows yet."""
        self._has.extend(np.zeros(count))
        self._last = None

    def put(self, documents: Ints, counts: Ints, windows: Matrix) -> None:
        """Store the windows of documents; replaces those they had.

        Args:
            documents: Documents, without repeats.
            counts: How many windows each has.
            windows: The windows in the order of the documents, shape (sum of counts, dimensions), rows of unit length.

        Raises:
            EmbedderMismatch: When the dimensions differ from those of the stored windows.
        """
        if not len(documents):
            return
        dimensions = int(windows.shape[1])
        if self._first is None or self._further is None:
            self._first, self._further = _Rows(dimensions), _Rows(dimensions)
        self.require(dimensions)
        for document in documents[self._has.rows[documents]]:
            self.drop(int(document))
        self._first.reserve(self._expected)
        if len(windows) == len(documents):
            self._first.put(documents, windows)
        else:
            # The first window of each document goes to its row, the others to the end of the further ones.
            leads = np.concatenate([[0], np.cumsum(counts)[:-1]])
            others = np.ones(len(windows), dtype=np.bool_)
            others[leads] = False
            self._first.put(documents, windows[leads])
            before = len(self._further)
            self._further.put(np.arange(before, before + int(others.sum())), windows[others])
            self._owner.extend(np.repeat(documents, counts - 1))
        self._has.rows[documents] = True
        self._last = None
        self.documents += len(documents)

    def drop(self, document: int) -> None:
        """Remove a document's windows. They are overwritten with zeros, so nothing of them stays in RAM."""
        if not self._has.rows[document] or self._first is None or self._further is None:
            return
        self._has.rows[document] = False
        self._first.blank(np.array([document]))
        self._further.blank(self._owner.remove(document))
        self._last = None
        self.documents -= 1
        kept = self._owner.compact()
        if kept is not None:
            self._further.keep(kept)

    def require(self, dimensions: int) -> None:
        """Check that vectors of these dimensions can be compared with the stored ones.

        Raises:
            EmbedderMismatch: When the dimensions differ.
        """
        held = dimensions if self._first is None else int(self._first.coarse.rows.shape[1])
        if dimensions != held:
            raise EmbedderMismatch(f"a vector of {dimensions} dimensions does not compare with this store's of {held}")

    def compare(self, embedding: Vector) -> Nearness:
        """Compare every document with an embedding of unit length. At least one document must have vectors."""
        if self._last is None or self._last.embedding is not embedding:
            best = self._best(embedding)
            # Documents without vectors have -1 and must not count in the mean.
            real = best if self.documents == len(best) else best[self._has.rows]
            mean, variance = _moments(real)
            self._last = Nearness(embedding, best, mean, variance**0.5)
        return self._last

    def nearest(self, near: Nearness, count: int, kept: Flags | None = None) -> Ints:
        """The `count` documents nearest by the rough comparison, ascending; of equally near ones the first.

        Args:
            near: The comparison.
            count: How many.
            kept: The documents of which to choose; None is all.
        """
        if kept is None:
            return largest(near.best, min(count, self.documents))
        return largest(np.where(kept, near.best, np.float32(-2)), count)

    def exactly(self, documents: Ints, embedding: Vector) -> Floats:
        """The cosine of each document's nearest window, shape (documents,).

        Args:
            documents: Ascending, all with vectors.
            embedding: Of unit length.
        """
        if self._first is None or self._further is None or not len(documents):
            return np.empty(0, dtype=np.float32)
        exact = self._first.exactly(documents, embedding)
        if len(self._further):
            places = np.searchsorted(documents, self._owner.rows).clip(max=len(documents) - 1)
            rows = np.flatnonzero(documents[places] == self._owner.rows)
            np.maximum.at(exact, places[rows], self._further.exactly(rows, embedding))
        return exact

    def _best(self, embedding: Vector) -> Floats:
        """The rough cosine of every document, -1 for those without vectors."""
        count = len(self._has)
        if len(self._near) < count:
            # Kept between comparisons: allocating it each time would cost more than the comparison.
            self._near = np.empty(self._has.room, dtype=np.float32)
        best = self._near[:count]
        if self._first is None or self._further is None:
            best[:] = -1.0
            return best
        self._first.roughly(embedding, best)
        if self.documents < count:
            best[~self._has.rows] = -1.0
        if len(self._further):
            near = np.empty(len(self._further), dtype=np.float32)
            self._further.roughly(embedding, near)
            owned = self._owner.owned
            np.maximum.at(best, self._owner.rows[owned], near[owned])
        return best


def _moments(values: Floats) -> tuple[float, float]:
    """Mean and variance, summed in double precision."""
    total = squares = 0.0
    for start in range(0, len(values), _PORTION_COUNT):
        wide = values[start : start + _PORTION_COUNT].astype(np.float64)
        total += float(wide.sum())
        squares += float(np.square(wide, out=wide).sum())
    mean = total / len(values)
    return mean, max(0.0, squares / len(values) - mean * mean)


def _products(asked: tuple[Steps, Steps, Floats], rows: tuple[Steps, Steps, Floats]) -> Floats:
    """The products of one quantised row with several, from all bits."""
    steps, rest, scale = asked
    coarse, fine, scales = rows
    sums = _dots(steps, coarse) + (_dots(rest, coarse) + _dots(steps, fine)) / _HALVES
    exact: Floats = (sums * (scales * scale[0])).astype(np.float32)
    return exact


def _dots(asked: Steps, rows: Steps) -> npt.NDArray[np.float64]:
    """The dot products of one row with several; whole numbers."""
    if not len(rows):
        return np.empty(0)
    products: npt.NDArray[np.float64] = np.asarray(simsimd.cdist(asked, rows, metric="dot"))[0]
    return products


def _in_steps(rows: Matrix) -> tuple[Steps, Steps, Floats]:
    """Quantise rows: each is about `scale * (steps + rest / 254)`."""
    scale = np.abs(rows).max(axis=1).astype(np.float32) / np.float32(_STEPS)
    scale[scale == 0] = 1  # a row of zeros
    wide = rows / scale[:, None]
    steps = np.rint(wide)
    wide -= steps
    wide *= _HALVES
    return steps.astype(np.int8), np.rint(wide, out=wide).astype(np.int8), scale

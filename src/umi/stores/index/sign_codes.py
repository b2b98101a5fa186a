"""The vectors of one namespace as one bit per entry, its sign, for namespaces that are too large to keep in RAM.

A comparison counts the signs in which a window differs from the query, which orders windows roughly by their cosine. The best of
these are compared by the product of their signs with the query, and the best of those are read from the database and compared
exactly (`docs/speed.md` says what is missed). Mean and deviation over all are estimated from a sample that is kept whole. Not safe for use by
two threads at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import simsimd

from umi import limits
from umi._core.vectors import GrowingArray
from umi.errors import EmbedderMismatch
from umi.ports import Matrix, Vector
from umi.ports.candidates import Keys
from umi.stores.index.owners import Owners
from umi.stores.index.quantised_vectors import Nearness, Windows, cosines_of
from umi.stores.index.stored import KeyedWindows
from umi.stores.index.term_counts import largest

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Signs = npt.NDArray[np.uint8]  # shape (windows, ceil(dimensions / 8)), one bit per entry

_KNUTH: Final = 2_654_435_761  # 2**32 over the golden ratio
_KNUTH_BITS: Final = 16  # the lowest bits of a product are hardly scattered
_UNKNOWN: Final = np.float32(-2)  # less alike than any window is: it has none, or is left out
_NOTHING: Final[tuple[Ints, Floats]] = (np.empty(0, np.int64), np.empty(0, np.float32))


def signs_of(windows: Matrix) -> Signs:
    """The sign of each entry as one bit, set where it is not negative.

    Args:
        windows: Shape (windows, dimensions).
    """
    return np.packbits(~np.signbit(windows), axis=1)


def in_sample(keys: Keys, every: int) -> Flags:
    """For each document whether it is in the sample: one in `every`, a power of two, scattered by Knuth's hash."""
    flags: Flags = (keys * _KNUTH >> _KNUTH_BITS) % every == 0
    return flags


class SignCodes:
    """Windows by document, as signs. The methods are those of `Windows`.

    Args:
        read: Reads the windows of documents from the database; its keys are documents.
        is_sampled: For each of some documents whether it belongs to the sample.
    """

    def __init__(self, read: Callable[[Ints], KeyedWindows], is_sampled: Callable[[Ints], Flags]) -> None:
        self._read = read
        self._is_sampled = is_sampled
        self._dimensions = 0
        self._signs: GrowingArray | None = None
        self._owner = Owners()
        self._has = GrowingArray(np.bool_)  # by document, whether it has vectors
        self._sample = Windows()
        self._sampled: dict[int, int] = {}  # documents of the sample, and their numbers in it
        self._free: list[int] = []  # numbers in the sample that no document has
        self._members: Ints | None = None  # both as columns, made when they are needed
        self._is_plain: bool | None = None  # a window for each document, in their order; None until that is asked for
        self._last: Nearness | None = None  # a search asks twice with the same embedding
        self._exact = _NOTHING  # documents, ascending, and their cosines to that embedding
        self.documents = 0

    @property
    def bytes(self) -> int:
        """The memory they take."""
        signs = 0 if self._signs is None else self._signs.nbytes
        return signs + self._owner.nbytes + self._has.nbytes + self._sample.bytes

    @property
    def known(self) -> Flags:
        """For each document whether it has vectors."""
        flags: Flags = self._has.rows
        return flags

    def expect(self, count: int) -> None:
        """Reserve memory for `count` more documents."""
        self._has.reserve(count)

    def add_documents(self, count: int) -> None:
        """Add documents; they have no windows yet."""
        self._has.extend(np.zeros(count))
        self._changed()

    def put(self, documents: Ints, counts: Ints, windows: Matrix) -> None:
        """Store the windows of documents, at least one; replaces those they had. See `Windows.put`."""
        owners = np.repeat(documents, counts)
        self.put_signs(owners, signs_of(windows), int(windows.shape[1]))
        sampled = self._is_sampled(documents)
        if sampled.any():
            self.put_sample(KeyedWindows(documents[sampled], counts[sampled], windows[np.repeat(sampled, counts)]))

    def put_signs(self, owners: Ints, signs: Signs, dimensions: int) -> None:
        """Store the signs of windows.

        Args:
            owners: The document of each window, those of one document together.
            signs: As of `signs_of`.
            dimensions: Of the windows.

        Raises:
            EmbedderMismatch: When the dimensions differ from those of the windows here.
        """
        if self._signs is None:
            self._signs, self._dimensions = GrowingArray(np.uint8, signs.shape[1]), dimensions
        self.require(dimensions)
        documents = owners[np.append(True, owners[1:] != owners[:-1])]
        for document in documents[self._has.rows[documents]]:
            self.drop(int(document))
        self._signs.extend(signs)
        self._owner.extend(owners)
        self._has.rows[documents] = True
        self.documents += len(documents)
        self._changed()

    def put_sample(self, stored: KeyedWindows) -> None:
        """Add documents to the sample; they must have signs."""
        # Numbers of documents that have left the sample are given out again.
        free = [self._free.pop() for _ in range(min(len(self._free), len(stored.keys)))]
        first, more = len(self._sample.known), len(stored.keys) - len(free)
        self._sample.add_documents(more)
        numbers = np.array([*free, *range(first, first + more)], dtype=np.int64)
        self._sample.put(numbers, stored.counts, stored.windows)
        self._sampled |= dict(zip(stored.keys.tolist(), numbers.tolist(), strict=True))
        self._members = None
        self._changed()

    def drop(self, document: int) -> None:
        """Remove a document's windows. They are overwritten, so nothing of them stays in RAM."""
        if not self._has.rows[document] or self._signs is None:
            return
        self._has.rows[document] = False
        self._signs.rows[self._owner.remove(document)] = 0
        self._drop_sampled(document)
        self.documents -= 1
        kept = self._owner.compact()
        if kept is not None:
            self._signs.replace(self._signs.rows[kept])
        self._changed()

    def forget(self) -> None:
        """Drop what was read for the last embedding: the vectors may be others now, though nothing here has changed."""
        self._last = None

    def thin_out(self) -> None:
        """Drop what no longer belongs to the sample, which has become less dense."""
        documents = np.array(list(self._sampled), dtype=np.int64)
        for document in documents[~self._is_sampled(documents)].tolist():
            self._drop_sampled(document)

    def require(self, dimensions: int) -> None:
        """Check that vectors of these dimensions can be compared with those here.

        Raises:
            EmbedderMismatch: When the dimensions differ.
        """
        if dimensions != (self._dimensions or dimensions):
            raise EmbedderMismatch(
                f"a vector of {dimensions} dimensions does not compare with this store's of {self._dimensions}"
            )

    def compare(self, embedding: Vector) -> Nearness:
        """Compare every document with an embedding of unit length. At least one document must have vectors."""
        if self._last is None or self._last.embedding is not embedding:
            best = np.full(len(self._has), _UNKNOWN, dtype=np.float32)
            if self._signs is not None:
                asked = signs_of(embedding[None])
                differing = np.asarray(
                    simsimd.cdist(asked, self._signs.rows, metric="hamming", dtype="bin8", out_dtype="float32")
                )[0]
                alike = np.float32(1) - np.float32(2 / self._dimensions) * differing
                if self._is_plain is None:
                    self._is_plain = np.array_equal(self._owner.rows, np.arange(len(best)))
                if self._is_plain:
                    best = alike
                else:
                    owner = self._owner.rows
                    owned = self._owner.owned
                    np.maximum.at(best, owner[owned], alike[owned])
            self._last = Nearness(embedding, best, *self._moments(embedding, best))
            self._exact = _NOTHING
        return self._last

    def nearest(self, near: Nearness, count: int, kept: Flags | None = None) -> Ints:
        """The `count` documents with the largest exact cosines among those that differ least; ascending.

        Args:
            near: The comparison.
            count: How many.
            kept: The documents of which to choose; None is all.
        """
        if not count:
            return np.empty(0, dtype=np.int64)
        rough = near.best if kept is None else np.where(kept, near.best, _UNKNOWN)
        places = largest(rough, min(max(count, limits.SIGNS_ALIKE_COUNT), self.documents))
        places = places[rough[places] > _UNKNOWN]
        places = self._closest(places, near.embedding, max(count, limits.SIGNS_COMPARED_COUNT))
        nearest: Ints = places[largest(self.exactly(places, near.embedding), count)]
        return nearest

    def exactly(self, documents: Ints, embedding: Vector) -> Floats:
        """The cosine of each document's nearest window, shape (documents,); -1 for those whose windows are gone.

        Args:
            documents: Ascending, all with vectors.
            embedding: Of unit length.
        """
        self.compare(embedding)
        missing = np.setdiff1d(documents, self._exact[0], assume_unique=True)
        if len(missing):
            stored = self._read(missing)
            cosines = cosines_of(stored.windows, embedding)
            if len(cosines) > len(stored.keys):
                cosines = np.maximum.reduceat(cosines, np.cumsum(stored.counts) - stored.counts)
            read = np.full(len(missing), -1, dtype=np.float32)
            read[np.searchsorted(missing, stored.keys)] = cosines
            known = np.concatenate([self._exact[0], missing])
            order = np.argsort(known, kind="stable")
            self._exact = known[order], np.concatenate([self._exact[1], read])[order]
        found: Floats = self._exact[1][np.searchsorted(self._exact[0], documents)]
        return found

    def _closest(self, places: Ints, embedding: Vector, count: int) -> Ints:
        """The `count` of these documents whose signs have the largest product with the embedding itself, ascending.

        That is nearer to the cosine than the number of signs alike: an entry weighs what it is.
        """
        if len(places) <= count or self._signs is None:
            return places
        wanted = np.zeros(len(self._has) + 1, dtype=np.bool_)  # the last is nobody's
        wanted[places] = True
        rows = np.flatnonzero(wanted[self._owner.rows])
        bits = np.unpackbits(self._signs.rows[rows], axis=1, count=self._dimensions)
        best = np.full(len(self._has), -np.inf, dtype=np.float32)
        # A bit is 0 or 1: the product with signs of -1 and 1 is in the same order.
        np.maximum.at(best, self._owner.rows[rows], np.vecdot(bits.astype(np.float32), embedding))
        closest: Ints = places[largest(best[places], count)]
        return closest

    def _moments(self, embedding: Vector, alike: Floats) -> tuple[float, float]:
        """Mean and deviation of the cosines of all documents, from those of the sample.

        What the sample differs from all in its signs tells most of what it differs in its cosines: the estimate is corrected by
        it, with the coefficient of a linear regression (the method of control variates).
        """
        if not self._sampled:
            return 0.0, 0.0
        if self._members is None:
            self._members = np.array(list(self._sampled.items()), dtype=np.int64).T
        documents, numbers = self._members
        cosines = self._sample.compare(embedding).best[numbers].astype(np.float64)
        some = alike[documents].astype(np.float64)
        every = (alike if self.documents == len(alike) else alike[self._has.rows]).astype(np.float64)
        mean = _corrected(cosines, some, float(every.mean()))
        square = _corrected(np.square(cosines), np.square(some), float(np.square(every).mean()))
        return mean, math.sqrt(max(0.0, square - mean * mean))

    def _drop_sampled(self, document: int) -> None:
        number = self._sampled.pop(document, None)
        if number is not None:
            self._sample.drop(number)
            self._free.append(number)
            self._members = None
            self._changed()

    def _changed(self) -> None:
        self._last = self._is_plain = None


def _corrected(values: npt.NDArray[np.float64], known: npt.NDArray[np.float64], known_of_all: float) -> float:
    """The mean of values of which only a sample is there, beside something known of the sample, and its mean over all."""
    off = known - known.mean()
    spread = float(
        np.square(off).sum()
    )  # no BLAS product: its threads wait for one another, see `umi._core.vectors.cosines`
    slope = float((off * values).sum()) / spread if spread else 0.0
    return float(values.mean()) + slope * (known_of_all - float(known.mean()))

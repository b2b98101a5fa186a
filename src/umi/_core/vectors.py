"""Vectors on disk and in RAM: half-precision blobs, arrays that grow."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi._core.invariants import check

FloatMatrix = npt.NDArray[np.float32]

_ROWS_FIRST: Final = 64
_BLOB: Final = np.dtype("<f2")  # little-endian on every machine
_BITS: Final = np.dtype("<u2")


def pack(matrix: FloatMatrix) -> bytes:
    """A matrix as a blob of half-precision numbers, row after row.

    Args:
        matrix: Shape (rows, dimensions), entries within -1..1.

    Returns:
        2 bytes per entry.
    """
    check(matrix.ndim == 2 and matrix.shape[0] > 0, f"a blob holds a matrix of rows, not shape {matrix.shape}")
    return np.ascontiguousarray(matrix, dtype=_BLOB).tobytes()


def unpack(blob: bytes, dimensions: int) -> FloatMatrix:
    """The matrix of a blob, its rows normalised again: halving the precision moves a length by about 0.0001.

    Args:
        blob: As made by `pack`.
        dimensions: Entries of one row.

    Returns:
        Shape (rows, dimensions).
    """
    check(dimensions > 0 and len(blob) % (2 * dimensions) == 0, f"{len(blob)} bytes are no rows of {dimensions}")
    return normalised(_widened(np.frombuffer(blob, dtype=_BITS)).reshape(-1, dimensions))


def _widened(halves: npt.NDArray[np.uint16]) -> FloatMatrix:
    """Half-precision numbers, given as their bits, in single precision: by whole numbers, which takes half the time of a cast.

    Sign, exponent and fraction move to where single precision has them; the exponents' different zeros are a factor of 2**112.
    """
    wide = halves.astype(np.uint32)
    signs = wide & np.uint32(0x8000)
    wide &= np.uint32(0x7FFF)
    wide <<= np.uint32(13)
    signs <<= np.uint32(16)
    wide |= signs
    numbers = wide.view(np.float32)
    numbers *= np.float32(2.0**112)
    return numbers


def to_bytes(vector: FloatMatrix) -> bytes:
    """A unit vector in a byte per entry: enough to tell what resembles what, a quarter of what it was.

    Args:
        vector: Shape (dimensions,).
    """
    largest = max(float(np.abs(vector).max(initial=0.0)), 1e-30)
    blob: bytes = np.rint(vector * (127 / largest)).astype(np.int8).tobytes()
    return blob


def from_bytes(blob: bytes) -> FloatMatrix:
    """The inverse of `to_bytes`, to about 0.01 in the cosine, normalised."""
    return normalised(np.frombuffer(blob, dtype=np.int8))


def normalised(matrix: npt.ArrayLike) -> FloatMatrix:
    """The rows of a matrix at length 1; a row of zeros stays one.

    Args:
        matrix: Shape (rows, dimensions) or (dimensions,).

    Returns:
        The same shape in single precision.
    """
    rows = np.asarray(matrix, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: FloatMatrix = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def cosines(rows: FloatMatrix, query: FloatMatrix) -> FloatMatrix:
    """The cosine of each row to a query, both of unit length.

    Not a BLAS product: its threads stall one another when several processes or tasks search ((m) 8 ms for 10,000 rows on two
    busy cores, against 0.2), and its last bits depend on a row's place.

    Args:
        rows: Shape (count, dimensions).
        query: Shape (dimensions,).

    Returns:
        Shape (count,).
    """
    product: FloatMatrix = np.vecdot(rows, query)
    return product


class GrowingArray:
    """Rows that are appended in amortised constant time: numbers, or vectors when `dimensions` is given."""

    __slots__ = ("_count", "_rows")

    def __init__(self, dtype: npt.DTypeLike, dimensions: int | None = None) -> None:
        check(dimensions is None or dimensions > 0, f"rows of {dimensions} dimensions")
        self._rows: npt.NDArray[Any] = np.empty(_ROWS_FIRST if dimensions is None else (_ROWS_FIRST, dimensions), dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes held, spare rows included."""
        return int(self._rows.nbytes)

    @property
    def room(self) -> int:
        """Rows that fit before it must grow."""
        return len(self._rows)

    @property
    def rows(self) -> npt.NDArray[Any]:
        """The rows in use, to read and to write; valid until the next row is added."""
        return self._rows[: self._count]

    def append(self, row: Any) -> None:
        """Add one row at the end."""
        self._fit(self._count + 1)
        self._rows[self._count] = row
        self._count += 1

    def extend(self, rows: npt.NDArray[Any]) -> None:
        """Add several rows at the end."""
        check(rows.shape[1:] == self._rows.shape[1:], f"rows of shape {rows.shape} do not fit to {self._rows.shape}")
        end = self._count + len(rows)
        self._fit(end)
        self._rows[self._count : end] = rows
        self._count = end

    def replace(self, rows: npt.NDArray[Any]) -> None:
        """Hold these rows instead of the old ones."""
        check(rows.shape[1:] == self._rows.shape[1:], f"rows of shape {rows.shape} do not fit to {self._rows.shape}")
        kept = np.array(rows, dtype=self._rows.dtype)
        self._rows, self._count = kept, len(kept)

    def reserve(self, count: int) -> None:
        """Make room for so many more rows."""
        self._fit(self._count + count)

    def _fit(self, needed: int) -> None:
        if needed <= len(self._rows):
            return
        room = max(needed, _ROWS_FIRST, len(self._rows) * 3 // 2)
        grown = np.empty((room, *self._rows.shape[1:]), dtype=self._rows.dtype)
        grown[: self._count] = self.rows
        self._rows = grown

"""Vector storage and arithmetic: half-precision blobs for disk, int8 blobs, cosines, arrays that grow."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi._core.invariants import check

FloatMatrix = npt.NDArray[np.float32]

_ROWS_FIRST: Final = 64
_BLOB: Final = np.dtype("<f2")  # half precision, little-endian on every machine
_BITS: Final = np.dtype("<i2")  # the same entries as raw bits


def pack(matrix: FloatMatrix) -> bytes:
    """Encode a matrix as a blob of half-precision numbers, row by row.

    Args:
        matrix: Shape (rows, dimensions), entries within -1..1, at least one row.

    Returns:
        2 bytes per entry.
    """
    check(matrix.ndim == 2 and matrix.shape[0] > 0, f"a blob holds a matrix of rows, not shape {matrix.shape}")
    return np.ascontiguousarray(matrix, dtype=_BLOB).tobytes()


def unpack(blob: bytes, dimensions: int) -> FloatMatrix:
    """Decode a blob made by `pack` and normalise the rows again.

    Rounding to half precision changes a row's length by about 0.0001.

    Args:
        blob: As made by `pack`.
        dimensions: Entries per row.

    Returns:
        Shape (rows, dimensions), single precision, rows of length 1.
    """
    check(dimensions > 0 and len(blob) % (2 * dimensions) == 0, f"{len(blob)} bytes are no rows of {dimensions}")
    rows = _widened(np.frombuffer(blob, dtype=_BITS)).reshape(-1, dimensions)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    lengths[lengths == 0] = 1  # rows of zeros stay zero
    rows /= lengths
    return rows


def _widened(halves: npt.NDArray[np.int16]) -> FloatMatrix:
    """Convert half-precision bits to single precision with integer operations, in half the time of numpy's cast.

    Sign, exponent and fraction are shifted to their places in single precision (IEEE 754). The exponent biases are 15
    and 127, so the result is multiplied by 2**112. Infinities and NaN are not handled; entries of unit vectors never
    are.
    """
    wide = halves.astype(np.int32)  # a half: 1 bit sign, which fills the upper half, 5 exponent, 10 fraction
    wide <<= np.int32(13)  # single precision has 23 bits of fraction, 13 more
    wide &= np.int32(~0x70000000)  # of the signs only that in bit 31 stays
    numbers = wide.view(np.float32)
    numbers *= np.float32(2.0**112)
    return numbers


def to_bytes(vector: FloatMatrix) -> bytes:
    """Encode a unit vector with one signed byte per entry, a quarter of its size in single precision.

    Precise enough to find similar vectors; see `from_bytes`.

    Args:
        vector: Shape (dimensions,).
    """
    # Scale the largest entry to 127. The scale is not stored: decoding normalises. 1e-30 avoids a division by zero.
    largest = max(float(np.abs(vector).max(initial=0.0)), 1e-30)
    blob: bytes = np.rint(vector * (127 / largest)).astype(np.int8).tobytes()
    return blob


def from_bytes(blob: bytes) -> FloatMatrix:
    """Decode a vector made by `to_bytes`, normalised; a cosine differs from the original's by about 0.01 at most."""
    return normalised(np.frombuffer(blob, dtype=np.int8))


def normalised(matrix: npt.ArrayLike) -> FloatMatrix:
    """Scale the rows of a matrix to length 1; rows of zeros stay zero.

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

    `np.vecdot` is used instead of a BLAS product for two reasons. BLAS threads block one another when several processes
    or tasks search at once (measured on two busy cores with 10,000 rows: 8 ms instead of 0.2). And the last bits of a
    BLAS result depend on a row's position in the matrix.

    Args:
        rows: Shape (count, dimensions).
        query: Shape (dimensions,).

    Returns:
        Shape (count,).
    """
    product: FloatMatrix = np.vecdot(rows, query)
    return product


class GrowingArray:
    """An array with amortised constant-time append. Rows are numbers, or vectors when `dimensions` is given."""

    __slots__ = ("_count", "_rows")

    def __init__(self, dtype: npt.DTypeLike, dimensions: int | None = None) -> None:
        check(dimensions is None or dimensions > 0, f"rows of {dimensions} dimensions")
        self._rows: npt.NDArray[Any] = np.empty(_ROWS_FIRST if dimensions is None else (_ROWS_FIRST, dimensions), dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes allocated, unused capacity included."""
        return int(self._rows.nbytes)

    @property
    def room(self) -> int:
        """Number of rows that fit before the array must be reallocated."""
        return len(self._rows)

    @property
    def rows(self) -> npt.NDArray[Any]:
        """A writable view of the rows in use; valid until the next append, extend or reserve."""
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
        """Replace the whole content by these rows; the old views keep the old data."""
        check(rows.shape[1:] == self._rows.shape[1:], f"rows of shape {rows.shape} do not fit to {self._rows.shape}")
        kept = np.array(rows, dtype=self._rows.dtype)
        self._rows, self._count = kept, len(kept)

    def reserve(self, count: int) -> None:
        """Make room for `count` more rows."""
        self._fit(self._count + count)

    def _fit(self, needed: int) -> None:
        if needed <= len(self._rows):
            return
        # Growing by half keeps the average cost of an append constant and wastes at most about a third of the memory.
        room = max(needed, _ROWS_FIRST, len(self._rows) * 3 // 2)
        # A new array, not an in-place resize: views handed out earlier stay valid for their readers.
        grown = np.empty((room, *self._rows.shape[1:]), dtype=self._rows.dtype)
        grown[: self._count] = self.rows
        self._rows = grown

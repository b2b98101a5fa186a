"""Blobs and growing arrays."""

import numpy as np
import pytest

from umi._core.invariants import InvariantError
from umi._core.vectors import GrowingArray, cosines, from_bytes, normalised, pack, to_bytes, unpack


def _unit(rows: int, dimensions: int = 384) -> np.ndarray:
    return normalised(np.random.default_rng(7).standard_normal((rows, dimensions)))


def test_a_blob_gives_the_vectors_back_to_half_precision_and_unit_length() -> None:
    matrix = _unit(3)
    blob = pack(matrix)
    assert len(blob) == 3 * 384 * 2
    found = unpack(blob, 384)
    assert found.dtype == np.float32
    assert np.abs(found - matrix).max() < 3e-4
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_a_blob_of_another_length_is_refused() -> None:
    with pytest.raises(InvariantError, match="no rows of 384"):
        unpack(b"abc", 384)
    with pytest.raises(InvariantError, match="shape"):
        pack(np.zeros(384, dtype=np.float32))


def test_zeros_stay_zeros() -> None:
    assert not normalised(np.zeros((1, 4))).any()


def test_a_growing_array_holds_what_was_added() -> None:
    rows = _unit(1000, 8)
    grown = GrowingArray(np.float32, 8)
    for row in rows[:500]:
        grown.append(row)
    grown.extend(rows[500:])
    assert len(grown) == 1000
    assert np.array_equal(grown.rows, rows)
    grown.replace(rows[::2])
    grown.append(rows[1])
    assert np.array_equal(grown.rows, np.concatenate([rows[::2], rows[1:2]]))


def test_a_growing_array_refuses_rows_of_another_width() -> None:
    with pytest.raises(InvariantError):
        GrowingArray(np.float32, 8).extend(np.zeros((2, 7), dtype=np.float32))


def test_growing_is_amortised() -> None:
    grown = GrowingArray(np.int64)
    sizes = set()
    for number in range(10_000):
        grown.append(number)
        sizes.add(grown.nbytes)
        assert grown.room <= max(64, 1.5 * len(grown)), "a third is unused at most"
    assert len(sizes) < 16
    assert int(grown.rows.sum()) == 10_000 * 9_999 // 2


def test_a_cosine_does_not_depend_on_its_rows_place() -> None:
    rows = _unit(257)
    query = rows[100].copy()
    whole = cosines(rows, query)
    parts = np.concatenate([cosines(rows[:33], query), cosines(rows[33:], query)])
    assert np.array_equal(whole, parts)
    assert int(whole.argmax()) == 100


def test_a_byte_per_entry_keeps_what_resembles_what() -> None:
    rng = np.random.default_rng(5)
    vectors = normalised(rng.normal(size=(50, 384)))
    coarse = np.stack([from_bytes(to_bytes(vector)) for vector in vectors])
    assert np.allclose(np.linalg.norm(coarse, axis=1), 1, atol=1e-6)
    assert np.abs(coarse @ coarse.T - vectors @ vectors.T).max() < 0.01
    assert len(to_bytes(vectors[0])) == 384
    assert (from_bytes(to_bytes(np.zeros(4, np.float32))) == 0).all()

"""What an index says of its own size, beside what Python says it took."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from indexing import Document, add, give

from umi.stores.index.search_index import NamespaceIndex


@pytest.mark.parametrize(
    ("documents", "terms", "distinct", "dimensions"),
    [(2_000, 10, 20_000, 0), (2_000, 10, 500, 0), (500, 10, 5_000, 384), (1_000, 50, 100, 0)],
    ids=["many words", "few words", "vectors", "long texts"],
)
def test_the_estimate_is_within_a_third(documents: int, terms: int, distinct: int, dimensions: int) -> None:
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    index = NamespaceIndex()
    for key in range(documents):
        words = [f"term{(key * terms + place) % distinct}" for place in range(terms)]
        add(index, [Document(key, words, terms, f"session {key // 20}", "Alice")])
        if dimensions:
            give(index, key, np.full((1, dimensions), dimensions**-0.5, dtype=np.float32))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 2 / 3 < index.bytes / (after - before) < 4 / 3


def test_an_empty_index_counts_what_its_objects_take() -> None:
    tracemalloc.start()
    try:
        kept = [NamespaceIndex() for _ in range(50)]
        taken = tracemalloc.get_traced_memory()[0] / len(kept)
    finally:
        tracemalloc.stop()
    assert taken / 1.5 < kept[0].bytes < taken * 1.5

"""Nearest neighbours by a graph (HNSW: Malkov and Yashunin, TPAMI 2020), from the library usearch, which the extra `learn` installs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from umi.errors import InvalidOptions
from umi.ports import Vector

_CONNECTIVITY: Final = 16
_EXPANSION: Final = (
    128  # candidates looked at, when building and when searching: (m) 99.9% of the true neighbours among 20,000
)


def require() -> None:
    """See that the library is here.

    Raises:
        InvalidOptions: When it is not.
    """
    try:
        import usearch.index  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise InvalidOptions(
            "finding tasks that resemble each other needs usearch, which the extra installs: pip install 'umi-memory[learn]'; "
            "or route without an embedder"
        ) from error


class HnswIndex:
    """Vectors by number. Satisfies `umi.ports.NeighbourIndex`; built on one thread, so that equal vectors make equal graphs.

    Args:
        dimensions: Of a vector.

    Raises:
        InvalidOptions: Without the extra `learn`.
    """

    def __init__(self, dimensions: int) -> None:
        require()
        from usearch.index import Index  # noqa: PLC0415 - an extra

        self._index: Any = Index(
            ndim=dimensions,
            metric="cos",
            dtype="f32",
            connectivity=_CONNECTIVITY,
            expansion_add=_EXPANSION,
            expansion_search=_EXPANSION,
        )

    def add(self, key: int, vector: Vector) -> None:
        """One vector more, under a number that is new."""
        self._index.add(key, np.ascontiguousarray(vector, np.float32), threads=1)

    def search(self, vector: Vector, count: int) -> list[tuple[int, float]]:
        """The numbers of the nearest with their cosines, nearest first; of equals the smaller number first."""
        if not len(self._index):
            return []
        found = self._index.search(np.ascontiguousarray(vector, np.float32), min(count, len(self._index)), threads=1)
        pairs = [
            (int(key), round(1.0 - float(distance), 6))
            for key, distance in zip(found.keys, found.distances, strict=True)
        ]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))

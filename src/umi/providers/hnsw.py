"""Approximate nearest neighbours with HNSW graphs (Malkov and Yashunin, TPAMI 2020), from the library voyager.

The library comes with the extra `learn`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np

from umi.errors import InvalidOptions
from umi.ports import Vector

_LINKS: Final = 16  # links per node, M in the paper
_EXPANSION: Final = 128  # candidates examined when building and when searching, ef in the paper
_SEED: Final = 1  # fixed, so that the same vectors in the same order give the same graph


def require() -> None:
    """Check that voyager is installed.

    Raises:
        InvalidOptions: When it is not.
    """
    try:
        import_module("voyager")
    except ImportError as error:
        raise InvalidOptions(
            "finding tasks that resemble each other needs voyager, which the extra installs: pip install 'umi-memory[learn]'; "
            "or route without an embedder"
        ) from error


class HnswIndex:
    """Vectors by number. Satisfies `umi.ports.NeighbourIndex`.

    Built one vector at a time from a fixed seed, so that equal vectors in equal order give equal graphs.

    Args:
        dimensions: Of a vector.

    Raises:
        InvalidOptions: When the extra `learn` is not installed.
    """

    def __init__(self, dimensions: int) -> None:
        require()
        voyager: Any = import_module("voyager")  # an optional dependency, which creates its names when it is loaded
        self._too_few: type[Exception] = voyager.RecallError
        self._index: Any = voyager.Index(
            voyager.Space.Cosine, num_dimensions=dimensions, M=_LINKS, ef_construction=_EXPANSION, random_seed=_SEED
        )

    def add(self, key: int, vector: Vector) -> None:
        """Add one vector under a new number."""
        self._index.add_item(np.ascontiguousarray(vector, np.float32), key)

    def search(self, vector: Vector, count: int) -> list[tuple[int, float]]:
        """The nearest vectors' numbers with their cosines, nearest first; of equal ones the smaller number first."""
        wanted = min(count, len(self._index))
        if not wanted:
            return []
        try:
            keys, distances = self._index.query(np.ascontiguousarray(vector, np.float32), k=wanted, query_ef=_EXPANSION)
        except self._too_few:  # fewer were reachable in the graph than were asked for
            return self.search(vector, wanted // 2)
        pairs = [(int(key), round(1.0 - float(distance), 6)) for key, distance in zip(keys, distances, strict=True)]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))

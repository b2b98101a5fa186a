"""Nearest neighbours by a graph (HNSW: Malkov and Yashunin, TPAMI 2020), from the library voyager, which the extra `learn` installs."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np

from umi.errors import InvalidOptions
from umi.ports import Vector

_LINKS: Final = 16
_EXPANSION: Final = 128  # candidates looked at, when building and when searching
_SEED: Final = 1


def require() -> None:
    """See that the library is here.

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
    """Vectors by number. Satisfies `umi.ports.NeighbourIndex`; built one by one from a fixed seed, so that equal vectors make equal graphs.

    Args:
        dimensions: Of a vector.

    Raises:
        InvalidOptions: Without the extra `learn`.
    """

    def __init__(self, dimensions: int) -> None:
        require()
        voyager: Any = import_module("voyager")  # an extra, and its names are made when it is loaded
        self._too_few: type[Exception] = voyager.RecallError
        self._index: Any = voyager.Index(
            voyager.Space.Cosine, num_dimensions=dimensions, M=_LINKS, ef_construction=_EXPANSION, random_seed=_SEED
        )

    def add(self, key: int, vector: Vector) -> None:
        """One vector more, under a number that is new."""
        self._index.add_item(np.ascontiguousarray(vector, np.float32), key)

    def search(self, vector: Vector, count: int) -> list[tuple[int, float]]:
        """The numbers of the nearest with their cosines, nearest first; of equals the smaller number first."""
        wanted = min(count, len(self._index))
        if not wanted:
            return []
        try:
            keys, distances = self._index.query(np.ascontiguousarray(vector, np.float32), k=wanted, query_ef=_EXPANSION)
        except self._too_few:  # a corner of the graph that too few links lead out of
            return self.search(vector, wanted // 2)
        pairs = [(int(key), round(1.0 - float(distance), 6)) for key, distance in zip(keys, distances, strict=True)]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))

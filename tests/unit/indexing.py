"""Small indexes, document by document."""

from __future__ import annotations

import numpy as np

from umi.ports import Matrix
from umi.stores.index import NamespaceIndex


def give(index: NamespaceIndex, key: int, windows: Matrix) -> None:
    """Give one document its vectors."""
    index.add_vectors(np.array([key]), np.array([len(windows)]), windows)

"""What an index of a large namespace leaves in the database and reads when it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from umi.ports import Matrix
from umi.ports.candidates import Keys

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class KeyedWindows(NamedTuple):
    """Windows of documents.

    Shapes: `keys` (documents,) ascending, those that have any; `counts` (documents,), how many each has; `windows` (sum of
    counts, dimensions), rows of unit length.
    """

    keys: Keys
    counts: Ints
    windows: Matrix


class Stored(Protocol):
    """The part of a namespace that lies in sealed blocks, in the snapshot of the asking transaction."""

    def postings(self, terms: Sequence[str]) -> list[tuple[Keys, Floats]]:
        """For each term the documents of sealed blocks that contain it, ascending, and how often each does."""
        ...

    def windows(self, keys: Keys) -> KeyedWindows:
        """The windows of these documents, sealed or not."""
        ...

"""What an index of a large namespace leaves in the database and reads when it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from umi.ports import Matrix
from umi.ports.candidates import Keys

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

_NONE: Final = -1  # no place


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


class PlaceTable:
    """The places of an index's first documents, by key. A look-up takes a twentieth of a search, and there may be a million.

    Args:
        keys: Of the documents, ascending.
    """

    def __init__(self, keys: Keys) -> None:
        self._count = int(keys[-1]) + 1
        self._is_whole = self._count == len(keys)  # no message is missing: a document's key is its place
        # The last is that of every key beyond.
        self._places = np.full(0 if self._is_whole else self._count + 1, _NONE, dtype=np.int32)
        if not self._is_whole:
            self._places[keys] = np.arange(len(keys))

    @property
    def bytes(self) -> int:
        """The memory it takes."""
        return int(self._places.nbytes)

    def of(self, keys: Keys) -> Ints:
        """The places of documents with these keys; -1 of those that are not here."""
        if self._is_whole:
            return np.where(keys < self._count, keys, _NONE)
        places: Ints = self._places[keys.clip(max=self._count)].astype(np.int64)
        return places

"""The document of each window, where a document may have several."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from umi._core.vectors import GrowingArray

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NOBODY: Final = -1  # the owner of a removed window
_DEAD_MIN: Final = 64  # removed windows before they are compacted


class Owners:
    """The document of each of some windows, which their own arrays keep in the same order."""

    def __init__(self) -> None:
        self._documents = GrowingArray(np.int64)
        self._dead = 0

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def nbytes(self) -> int:
        """The memory they take."""
        return self._documents.nbytes

    @property
    def rows(self) -> Ints:
        """The document of each window, `NOBODY` where it was removed."""
        documents: Ints = self._documents.rows
        return documents

    @property
    def owned(self) -> Ints:
        """The windows that a document has."""
        return np.flatnonzero(self.rows != NOBODY)

    def extend(self, documents: Ints) -> None:
        """Add windows of these documents."""
        self._documents.extend(documents)

    def remove(self, document: int) -> Ints:
        """Make a document's windows nobody's; returns which they were."""
        removed = np.flatnonzero(self.rows == document)
        self._documents.rows[removed] = NOBODY
        self._dead += len(removed)
        return removed

    def compact(self) -> Flags | None:
        """Forget removed windows where they are more than half; returns which are left, None where nothing was done."""
        if self._dead <= _DEAD_MIN or 2 * self._dead <= len(self):
            return None
        kept: Flags = self.rows != NOBODY
        self._documents.replace(self.rows[kept])
        self._dead = 0
        return kept

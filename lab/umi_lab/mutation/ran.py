"""What a marked copy of the product has run (`marks`). Imports nothing of the product, which is marked where this runs."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Final

IMPORT: Final = "import"  # what runs before the first world or test


class Ran:
    """What has run since it was last asked.

    Args:
        shared: The file that the marks of a copy are kept in.
    """

    def __init__(self, shared: Path) -> None:
        with shared.open("r+b") as file:
            self._marks = mmap.mmap(file.fileno(), 0)

    def take(self) -> list[int]:
        """The marks that are set, in order; they are taken away."""
        marks = self._marks[:]
        self._marks[:] = bytes(len(marks))
        return [number for number, is_set in enumerate(marks) if is_set]

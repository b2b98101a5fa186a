"""Files of other programs: what reads them is given by who starts the server, since formats are no concern of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from umi.server.file_messages import FileMessage


@dataclass(frozen=True, slots=True)
class FileItem:
    """One record of a file: a message, or why there is none. `is_rejected` says that it should have been one, `is_unread` that nothing from there on was read; `done_bytes` is how far the file is read."""

    message: FileMessage | None
    done_bytes: int
    line: int = 0
    where: str = ""
    reason: str = ""
    is_rejected: bool = False
    is_unread: bool = False


class FileReader(Protocol):
    """Reads a file, one record at a time; the same file gives the same ids."""

    def __call__(
        self, path: Path, name: str, *, speaker: str | None, at: datetime | None, zone: str
    ) -> Iterator[FileItem]:
        """The records of a file.

        Args:
            path: Where it lies.
            name: What its owner calls it.
            speaker: Who speaks where the file does not say.
            at: When it was said where the file does not say; None is now.
            zone: The zone of times that name none.

        Raises:
            InvalidInput: For a file that cannot be read, or a zone that is not known.
        """
        ...

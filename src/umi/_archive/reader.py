"""Read the lines of an export one at a time, tracking byte positions and the digest of everything read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import BinaryIO, Final, TypeVar

from umi._archive.lines import Fields, Kind, from_line, read_with
from umi.errors import ExportDamaged
from umi.limits import IMPORT_RECORD_BYTES_MAX

T = TypeVar("T")

# How a line that names a namespace begins; `pass_over` recognises it without parsing.
_NAMESPACE: Final = f'{{"{Kind.NAMESPACE}":'.encode()
_END: Final = f'{{"{Kind.END}":'.encode()


class Reader:
    """Reads an export forward only, so that the source may be a pipe. `mark` belongs to the caller."""

    def __init__(self, source: BinaryIO) -> None:
        self.start = self.end = self.mark = 0  # byte offsets: of the last line, and where the caller's batch begins
        self._source = source
        self._hash = hashlib.sha256()  # of all lines except the last one read
        self._line = b""
        self._number = 0

    def row(self) -> tuple[int, Kind, Fields]:
        """The number of the next line, its kind and its fields.

        Raises:
            ExportDamaged: When there is none, or it is not a line of an export.
        """
        kind, fields = self._located(lambda: from_line(self._next()))
        return self._number, kind, fields

    def pass_over(self) -> Fields | None:
        """Skip a line without parsing it. Returns the fields of a line that names a namespace, else None."""
        line = self._next()
        return self._located(lambda: from_line(line))[1] if line.startswith(_NAMESPACE) else None

    @property
    def is_over(self) -> bool:
        """Whether the last line read is the last one of an export."""
        return self._line.startswith(_END)

    def read(self, reader: Callable[[Fields], T], fields: Fields) -> T:
        """As `read_with`, but an error names the line."""
        return self._located(lambda: read_with(reader, fields))

    def require_whole(self, fields: Fields) -> None:
        """Compare the line count and digest in the last line with what was read.

        Raises:
            ExportDamaged: When they differ, or more lines follow.
        """
        if fields.get("lines") != self._number - 1 or fields.get("sha256") != self.digest_before:
            raise ExportDamaged(
                "the export is not what was written: its digest differs. What was read of it is in the namespace: take that away with "
                "erase_namespace(), and restore another copy"
            )
        # Even one more byte means that this is not the file that was written.
        if self._source.readline(1):
            raise ExportDamaged(f"line {self._number + 1:,} follows the end of the export")

    @property
    def digest(self) -> str:
        """SHA-256 of everything read so far."""
        both = self._hash.copy()
        both.update(self._line)
        return both.hexdigest()

    @property
    def digest_before(self) -> str:
        """SHA-256 of everything before the last line read."""
        return self._hash.hexdigest()

    def damaged(self, how: str) -> ExportDamaged:
        """An error that names the last line read."""
        return ExportDamaged(f"line {self._number:,} {how}")

    def _next(self) -> bytes:
        # A line enters the hash when the next one is read, since `end` holds the digest of the lines before it.
        self._hash.update(self._line)
        # Bounded, so that a file without newlines cannot fill the memory.
        line = self._source.readline(IMPORT_RECORD_BYTES_MAX + 1)
        self._number += 1
        if not line.endswith(b"\n"):
            self._line = b""
            how = "is too long for an export" if len(line) > IMPORT_RECORD_BYTES_MAX else "is cut, or missing"
            raise ExportDamaged(
                f"line {self._number:,} {how}; take a sound copy and restore that: what was restored before it is kept"
            )
        self.start, self.end, self._line = self.end, self.end + len(line), line
        return line

    def _located(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except ExportDamaged as error:
            said = str(error)
            raise error if said.startswith("line ") else self.damaged(said) from error

"""Large files in small pieces: lines, and the elements of a JSON array, with a bound on each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from umi.limits import IMPORT_RECORD_BYTES_MAX

_CHUNK_BYTES = 1 << 17
# What moves the nesting, and strings as a whole, in which nothing does; a string that the chunk's end cuts waits for more.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*("|\\?\Z)|[\[\]{}]', re.DOTALL)
_BETWEEN = b" \t\r\n,\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an array as text, and the line (from 1) that it starts on."""

    line: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Oversize:
    """A piece past its bound, or one whose end never came: where, and how many bytes were seen."""

    line: int
    bytes: int


def lines(stream: BinaryIO, bytes_max: int = IMPORT_RECORD_BYTES_MAX) -> Iterator[tuple[int, bytes | Oversize]]:
    """The lines of a stream, numbered from 1; one longer than `bytes_max` is passed over without being held."""
    number = 0
    while line := stream.readline(bytes_max + 1):
        number += 1
        if len(line) <= bytes_max:
            yield number, line
            continue
        size = len(line)
        while not line.endswith(b"\n") and (line := stream.readline(_CHUNK_BYTES)):
            size += len(line)
        yield number, Oversize(number, size)


def array_elements(
    stream: BinaryIO, bytes_max: int = IMPORT_RECORD_BYTES_MAX, line: int = 1
) -> Iterator[Element | Oversize]:
    """What stands directly in a JSON array, in order, or top-level objects; what follows an array's end is not looked at.

    Only the nesting is read here, so broken JSON inside an element is the reader's to find; numbers and strings between the
    elements come out as one element that is not an object. After a piece past `bytes_max`, or a file that ends inside
    one, an `Oversize` is the last thing that comes.
    """
    scan = _Scan(line)
    while not scan.closed and (chunk := stream.read(_CHUNK_BYTES)):
        yield from scan.feed(chunk)
        if scan.held > bytes_max:
            break
    if scan.open:
        yield Oversize(scan.line, scan.held)


class _Scan:
    """Where the nesting stands; holds the text of the open element and no more."""

    def __init__(self, line: int) -> None:
        self.closed = False  # the array has ended
        self.line = line  # of the start of the buffer
        self._buffer = b""
        self._position = 0  # the nesting is known up to here
        self._depth = 0
        self._outer = (
            -1
        )  # the depth that elements live at: 0 for a bare object, 1 in an array; -1 before the first mark

    @property
    def held(self) -> int:
        """Bytes of the open element, or since the last one."""
        return len(self._buffer)

    @property
    def open(self) -> bool:
        """Whether something has begun that has not ended."""
        return not self.closed and (self._depth > 0 or bool(self._buffer.strip(_BETWEEN)))

    def feed(self, chunk: bytes) -> Iterator[Element]:
        """The elements that end in this chunk."""
        self._buffer += chunk
        while not self.closed and (token := _TOKEN.search(self._buffer, self._position)) is not None:
            if token.group(1) is not None and token.group(1) != b'"':
                self._position = token.start()
                return
            self._position = token.end()
            if token.group() in {b"[", b"{"}:
                yield from self._down(token.group(), token.start())
            elif token.group() in {b"]", b"}"}:
                yield from self._up(token.start())

    def _down(self, mark: bytes, start: int) -> Iterator[Element]:
        if self._outer < 0:
            self._outer = 1 if mark == b"[" else 0
            if self._outer:
                self._depth = 1
                self._drop(start + 1)
                return
        if self._depth == self._outer:
            yield from self._between(start)
        self._depth += 1

    def _up(self, start: int) -> Iterator[Element]:
        if self._depth == self._outer:  # the array's own end
            yield from self._between(start)
            self._drop(1)
            self._depth -= 1
            self.closed = True
            return
        self._depth -= 1
        if self._depth == self._outer:
            end = start + 1
            yield Element(self.line, self._buffer[:end])
            self._drop(end)

    def _between(self, end: int) -> Iterator[Element]:
        """What stands before an element: nothing, or values that are no objects."""
        between = self._buffer[:end]
        if between.strip(_BETWEEN):
            yield Element(self.line + self._leading_lines(between), between.strip(_BETWEEN))
        self._drop(end)

    @staticmethod
    def _leading_lines(text: bytes) -> int:
        return text[: len(text) - len(text.lstrip(_BETWEEN))].count(b"\n")

    def _drop(self, count: int) -> None:
        self.line += self._buffer.count(b"\n", 0, count)
        self._buffer = self._buffer[count:]
        self._position = max(self._position - count, 0)

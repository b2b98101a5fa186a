"""Large files in small pieces: lines, and the elements of a JSON array, with a bound on each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from umi.limits import IMPORT_RECORD_BYTES_MAX

_CHUNK_BYTES = 1 << 17
# What moves the nesting, and strings as a whole, in which nothing does; one that the chunk's end cuts goes on in the next.
_STRING: Final = rb'[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)'
_STRING_GOES_ON: Final = re.compile(_STRING, re.DOTALL)
_TOKEN: Final = re.compile(rb'"' + _STRING + rb"|[\[\]{}]", re.DOTALL)
_QUOTE: Final = b'"'
_OPENED_BY: Final = {b"]": b"[", b"}": b"{"}
_BETWEEN: Final = b" \t\r\n,\xef\xbb\xbf"
# How what may follow the array begins: nothing, or more of an object that it is in.
_BESIDE: Final = (b"", _QUOTE, b"}")


@dataclass(frozen=True, slots=True)
class Oversize:
    """A line past its bound: its number, and how many bytes it has."""

    line: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an array: the line (from 1) and the byte (from 0) that it starts on, its length, its text.

    One past the bound is passed over: its `text` is None.
    """

    line: int
    byte: int
    size: int
    text: bytes | None


@dataclass(frozen=True, slots=True)
class Unended(Element):
    """Something whose end cannot be told; it and all behind it is left."""


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
    stream: BinaryIO, bytes_max: int = IMPORT_RECORD_BYTES_MAX, line: int = 1, byte: int = 0
) -> Iterator[Element]:
    """What stands directly in a JSON array, in order, or top-level objects.

    Only the nesting is read here, so broken JSON inside an element is the reader's to find; numbers and strings between the
    elements come out as one element that is not an object. The last is an `Unended` where a bracket closes what is not
    open, where the file ends inside something, or where anything but the rest of an object follows the array.

    Args:
        stream: Binary.
        bytes_max: An element that is longer is not held.
        line: The line that the stream stands on.
        byte: The byte that the stream stands on.
    """
    scan = _Scan(line, byte, bytes_max)
    while not scan.stopped and (chunk := stream.read(_CHUNK_BYTES)):
        yield from scan.feed(chunk)
    yield from scan.end()


class _Scan:
    """Where the nesting stands; holds the text of the element that has begun, and little more than its bound of it."""

    def __init__(self, line: int, byte: int, bytes_max: int) -> None:
        self._line = line  # where the element starts, as the next
        self._byte = byte
        self._size = 0  # what it has so far, as the next
        self._lines = 0
        self._held = bytearray()
        self._bytes_max = bytes_max
        self._open = bytearray()  # the brackets around what comes
        self._outer = -1  # how many are around an element: none, or the array's; -1 before the first
        self._string_end = _QUOTE  # of the last; nothing, or the backslash that the chunk ended with, where it goes on
        self._is_broken = False  # a bracket has closed what was not open
        self._is_closed = False  # the array has ended

    @property
    def stopped(self) -> bool:
        """Whether reading on is of no use. Open brackets are held too."""
        return self._is_broken or (self._is_closed and self._size > 0) or len(self._open) > self._bytes_max

    def feed(self, chunk: bytes) -> Iterator[Element]:
        """The elements that end in this chunk."""
        done = 0
        for mark, at in self._marks(chunk):
            after = at + (mark in _OPENED_BY)
            around = self._turn(mark)
            if around < 0:
                self._is_broken = True
                break
            if around == self._outer:  # an element begins or ends
                yield from self._element(chunk[done:after])
                done = after
            elif around < self._outer:  # the array does
                yield from self._element(chunk[done:at])
                self._byte += 1
                done = at + 1
                self._is_closed = mark in _OPENED_BY
        self._add(chunk[done:])

    def end(self) -> Iterator[Element]:
        """What is left at the end."""
        if self._is_closed and bytes(self._held[:1]) in _BESIDE:
            return
        if self._is_closed or self._is_broken or self._open or self._string_end != _QUOTE:
            text = None if self._is_closed else self._text  # what follows an array need not be wrong in itself
            yield Unended(self._line, self._byte, self._size, text)
        else:
            yield from self._element(b"")

    @property
    def _text(self) -> bytes | None:
        return bytes(self._held).rstrip(_BETWEEN) if self._size <= self._bytes_max else None

    def _marks(self, chunk: bytes) -> Iterator[tuple[bytes, int]]:
        """The brackets outside of strings, and where they stand, up to the array's end."""
        start = 0
        if self._string_end != _QUOTE and (rest := _STRING_GOES_ON.match(chunk, len(self._string_end))):
            self._string_end, start = rest[1], rest.end()
        for token in _TOKEN.finditer(chunk, start):
            if self._is_closed:
                return
            if token[1] is None:
                yield token[0], token.start()
            else:
                self._string_end = token[1]

    def _turn(self, mark: bytes) -> int:
        """Open or close a bracket: how many are around it, or -1 where it closes what is not open."""
        if self._outer < 0:
            self._outer = int(mark == b"[")
        if mark not in _OPENED_BY:
            self._open += mark
            return len(self._open) - 1
        if self._open[-1:] != _OPENED_BY[mark]:
            return -1
        del self._open[-1]
        return len(self._open)

    def _element(self, rest: bytes) -> Iterator[Element]:
        """The element that ends with these bytes, if there is more than separators."""
        self._add(rest)
        if self._size:
            yield Element(self._line, self._byte, self._size, self._text)
        self._line += self._lines
        self._byte += self._size
        self._size = self._lines = 0
        self._held.clear()

    def _add(self, part: bytes) -> None:
        if not self._size:
            whole, part = part, part.lstrip(_BETWEEN)
            skipped = len(whole) - len(part)
            self._byte += skipped
            self._line += whole.count(b"\n", 0, skipped)
        self._size += len(part)
        self._lines += part.count(b"\n")
        if len(self._held) <= self._bytes_max:
            self._held += part

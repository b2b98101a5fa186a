"""The search indexes of a process: one per namespace, derived from committed rows, brought up to date inside a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from umi.stores.index import Document, NamespaceIndex
from umi.stores.schema import arrival_of, key_of
from umi.stores.sqlite_crc import Row
from umi.stores.sqlite_rows import (
    MICROSECONDS_PER_DAY,
    TERM_COLUMNS,
    VECTOR_COLUMNS,
    intact_windows,
    to_terms,
    verified,
)
from umi.vectors import unpack

_CHANGED: Final = (
    "SELECT ns, sequence, key, crc FROM changes WHERE ns = ? AND sequence > ? AND sequence <= ? AND key < ?"
)
_DOCUMENTS: Final = (
    f"SELECT {TERM_COLUMNS}, {VECTOR_COLUMNS}"
    " FROM episodes p JOIN terms t ON t.key = p.key LEFT JOIN vectors v ON v.key = p.key"
    " WHERE p.key >= ? AND p.key < ? ORDER BY p.key"
)
_COUNT: Final = "SELECT count(*) FROM terms WHERE key >= ? AND key < ?"
_VECTORS: Final = (
    f"SELECT p.key, {VECTOR_COLUMNS} FROM episodes p LEFT JOIN vectors v ON v.key = p.key"
    " WHERE p.key IN (SELECT value FROM json_each(?)) ORDER BY p.key"
)

_VECTOR_COUNT: Final = 3  # columns
_PORTION_COUNT: Final = 8_192  # rows that are taken in at once
_UNPACKED_COUNT: Final = 512  # vectors that are unpacked while they are in the processor's cache

Execute = Callable[..., Iterator[Row]]


@dataclass(frozen=True, slots=True)
class Head:
    """Where a namespace stands in a snapshot: its number, its change sequence, the next arrival, and how far back the log goes."""

    ns: int
    sequence: int
    next_arrival: int
    changes_from: int


@dataclass(slots=True)
class _Entry:
    index: NamespaceIndex
    sequence: int
    next_arrival: int
    bytes: int = 0


class IndexCache:
    """Indexes by namespace, the least recently used dropped first once all together exceed `bytes_max`."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._entries: dict[int, _Entry] = {}  # in order of use

    def bytes_of(self, ns: int) -> int:
        """What a namespace's index takes in memory; 0 while it has none."""
        entry = self._entries.get(ns)
        return 0 if entry is None else entry.bytes

    def current(self, execute: Execute, head: Head, touched: AbstractSet[int] = frozenset()) -> NamespaceIndex:
        """The index of a namespace as of `head`, which must be of the snapshot that `execute` reads.

        Args:
            execute: Runs a statement in the snapshot.
            head: Where the namespace stands, as committed.
            touched: Keys that the asking transaction changed itself and has not committed.

        Only committed rows may enter an index that outlives the transaction. So an index that had to read a touched row
        serves this transaction and is dropped.
        """
        # Out of the cache while it changes: should a read fail half-way, the half-advanced index is gone with it.
        entry = self._take(head)
        if entry.sequence == head.sequence:
            self._keep(head.ns, entry)
        elif self._advance(entry, execute, head, touched):
            entry.bytes = entry.index.bytes
            self._keep(head.ns, entry)
        return entry.index

    def rebuilt(self, execute: Execute, head: Head) -> NamespaceIndex:
        """The same index made from nothing, for comparison; the cache is left alone."""
        entry = _Entry(NamespaceIndex(), 0, 0)
        self._advance(entry, execute, head, frozenset())
        return entry.index

    def __contains__(self, ns: int) -> bool:
        return ns in self._entries

    def _take(self, head: Head) -> _Entry:
        entry = self._entries.pop(head.ns, None)
        if entry is not None:
            self._bytes -= entry.bytes
            if head.changes_from - 1 <= entry.sequence <= head.sequence:
                return entry
        return _Entry(NamespaceIndex(), 0, 0)  # none yet, or older than the log reaches back

    def _keep(self, ns: int, entry: _Entry) -> None:
        self._entries[ns] = entry
        self._bytes += entry.bytes
        while self._bytes > self._bytes_max and len(self._entries) > 1:
            self._bytes -= self._entries.pop(next(iter(self._entries))).bytes

    def _advance(self, entry: _Entry, execute: Execute, head: Head, touched: AbstractSet[int]) -> bool:
        """Bring an index from its own sequence to the head's; True if it read no touched row."""
        known, end = key_of(head.ns, entry.next_arrival), key_of(head.ns, head.next_arrival)
        log = execute(_CHANGED, (head.ns, entry.sequence, head.sequence, known))
        changed = list(dict.fromkeys(verified("changes", row, 2)[2] for row in log))
        if not self._follow(entry.index, execute, changed):
            entry.index, known = NamespaceIndex(), key_of(head.ns, 0)
        count = next(execute(_COUNT, (known, end)))[0]
        entry.index.expect(count)
        rows = execute(_DOCUMENTS, (known, end))
        while portion := list(islice(rows, _PORTION_COUNT)):
            entry.index.add_documents(list(map(_document, portion)))
            _put(entry.index, [row for row in portion if row[-1] is not None])
        entry.sequence, entry.next_arrival = head.sequence, head.next_arrival
        return touched.isdisjoint(changed) and not any(known <= key < end for key in touched)

    def _follow(self, index: NamespaceIndex, execute: Execute, changed: list[int]) -> bool:
        """Take over late vectors and deletions; False if an episode lost its vectors only, which an index cannot follow."""
        found = list(execute(_VECTORS, (f"[{','.join(map(str, changed))}]",))) if changed else []
        if any(dimensions is None for _, dimensions, *_ in found):
            return False
        _put(index, found)
        here = {key for key, *_ in found}
        index.remove(*(arrival_of(key) for key in changed if key not in here))
        return True


def _document(row: Row) -> Document:
    key, words, traits, terms, session, speaker, at = verified("terms", row[:-_VECTOR_COUNT], 0)
    return Document(arrival_of(key), to_terms(terms), words, session, speaker, traits, at / MICROSECONDS_PER_DAY)


def _put(index: NamespaceIndex, rows: Sequence[Row]) -> None:
    """Give an index vectors: rows that begin with a key and end in dimensions, windows and their sum."""
    for start in range(0, len(rows), _UNPACKED_COUNT):
        some = rows[start : start + _UNPACKED_COUNT]
        for dimensions in sorted(
            {row[-_VECTOR_COUNT] for row in some}
        ):  # of one embedder there is one; the index refuses another
            mine = [row for row in some if row[-_VECTOR_COUNT] == dimensions]
            blobs = [intact_windows(row[0], *row[-_VECTOR_COUNT:]) for row in mine]
            counts = np.array([len(blob) // (2 * dimensions) for blob in blobs])
            keys = np.array([arrival_of(row[0]) for row in mine])
            index.add_vectors(keys, counts, unpack(b"".join(blobs), dimensions))

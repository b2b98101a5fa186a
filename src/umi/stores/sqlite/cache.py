"""The search indexes of a process: one per namespace, derived from committed rows, brought up to date inside a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np

from umi._core.vectors import unpack
from umi.limits import CATCH_UP_COUNT
from umi.stores.index.search_index import Documents, NamespaceIndex
from umi.stores.sqlite.crc import Row, damaged, wrong_row, wrong_vector
from umi.stores.sqlite.rows import MICROSECONDS_PER_DAY, TERM_COLUMNS, VECTOR_COLUMNS, verified
from umi.stores.sqlite.schema import ARRIVAL_MASK, arrival_of, key_of

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

_TERM_COUNT: Final = TERM_COLUMNS.count(",") + 1
_VECTOR_COUNT: Final = VECTOR_COLUMNS.count(",") + 1
_PORTION_COUNT: Final = 8_192  # rows that are taken in at once
_CHECKED_COUNT: Final = 256  # and held as rows
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

    def is_of(self, head: Head) -> bool:
        """Whether it is as the namespace is there; it may have all changes and only the first of the episodes."""
        return self.sequence == head.sequence and self.next_arrival == head.next_arrival


class IndexCache:
    """Indexes by namespace, the least recently used dropped first once all together exceed `bytes_max`."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._entries: dict[int, _Entry] = {}  # in order of use

    @property
    def bytes(self) -> int:
        """What all of them take in memory."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

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
        if entry.is_of(head) or self._advance(entry, execute, head, touched):
            self._keep(head.ns, entry)
        return entry.index

    def catch_up(self, execute: Execute, head: Head) -> bool:
        """Bring the index of a namespace nearer to `head` by at most `CATCH_UP_COUNT` new episodes; whether it is there."""
        entry = self._take(head)
        until = min(head.next_arrival, entry.next_arrival + CATCH_UP_COUNT)
        if not entry.is_of(head):
            self._advance(entry, execute, replace(head, next_arrival=until), frozenset(), to_come=head.next_arrival)
        self._keep(head.ns, entry)
        return until == head.next_arrival

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
        entry.bytes = entry.index.bytes
        self._entries[ns] = entry
        self._bytes += entry.bytes
        while self._bytes > self._bytes_max and len(self._entries) > 1:
            self._bytes -= self._entries.pop(next(iter(self._entries))).bytes

    def _advance(
        self, entry: _Entry, execute: Execute, head: Head, touched: AbstractSet[int], *, to_come: int = 0
    ) -> bool:
        """Bring an index from its own sequence to the head's; True if it read no touched row.

        `to_come` is the next arrival that further calls will lead to, where that is more than the head's.
        """
        known, end = key_of(head.ns, entry.next_arrival), key_of(head.ns, head.next_arrival)
        log = execute(_CHANGED, (head.ns, entry.sequence, head.sequence, known))
        changed = list(dict.fromkeys(verified("changes", row, 2)[2] for row in log))
        if not self._follow(entry.index, execute, changed):
            entry.index, known = NamespaceIndex(), key_of(head.ns, 0)
        if not len(entry.index):
            entry.index.expect(next(execute(_COUNT, (known, max(end, key_of(head.ns, to_come)))))[0])
        rows = execute(_DOCUMENTS, (known, end))
        portion = _Portion()
        while some := list(islice(rows, _CHECKED_COUNT)):
            portion.add(some)
            if len(portion) >= _PORTION_COUNT:
                portion = portion.given_to(entry.index)
        portion.given_to(entry.index)
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


class _Portion:
    """Rows of `_DOCUMENTS`, checked, by column."""

    def __init__(self) -> None:
        self._columns: tuple[list[Any], ...] = tuple([] for _ in range(_TERM_COUNT - 1))
        self._vectors: list[Row] = []

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, rows: Sequence[Row]) -> None:
        """Take in some more."""
        wrong = wrong_row(rows, 0, _TERM_COUNT - 1)
        if wrong is not None:
            raise damaged("terms", wrong[0])
        for column, values in zip(
            self._columns, zip(*rows, strict=True), strict=False
        ):  # those that follow are no document's
            column.extend(values)
        self._vectors += [(row[0], *row[-_VECTOR_COUNT:]) for row in rows if row[-1] is not None]

    def given_to(self, index: NamespaceIndex) -> _Portion:
        """Let an index have them; what is left is empty."""
        keys, words, traits, lines, sessions, speakers, at = self._columns
        arrivals = np.array(keys, dtype=np.int64) & ARRIVAL_MASK
        days = np.array(at, dtype=np.float64) / MICROSECONDS_PER_DAY
        index.add_documents(Documents(arrivals, lines, words, sessions, speakers, traits, days))
        _put(index, self._vectors)
        return _Portion()


def _put(index: NamespaceIndex, rows: Sequence[Row]) -> None:
    """Give an index vectors: rows of key, dimensions, windows and sum."""
    for start in range(0, len(rows), _UNPACKED_COUNT):
        some = rows[start : start + _UNPACKED_COUNT]
        wrong = wrong_vector(some)
        if wrong is not None:
            raise damaged("vectors", wrong)
        for dimensions in sorted({row[1] for row in some}):  # of one embedder there is one; the index refuses another
            mine = [row for row in some if row[1] == dimensions]
            counts = np.array([len(row[2]) // (2 * dimensions) for row in mine])
            keys = np.array([arrival_of(row[0]) for row in mine])
            index.add_vectors(keys, counts, unpack(b"".join([row[2] for row in mine]), dimensions))

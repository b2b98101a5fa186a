"""The search indexes of one process, one per namespace.

An index is derived from committed rows. It is brought up to date inside the snapshot that asks for it: new episodes are
those past the arrival it has seen, other changes come from the change log. So it follows the writes of every process
alike (ADR 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np

from umi import limits
from umi.limits import STORE_INDEXES_COUNT_MAX
from umi.ports import EmbedderIdentity
from umi.stores.index.documents import Documents, Names
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.sql.blocks import DOCUMENTS, StoredRows, add_blocks, block_of, counted_block, require_whole, windows_of
from umi.stores.sql.connection import Row
from umi.stores.sql.crc import damaged, wrong_row
from umi.stores.sql.keys import ARRIVAL_MASK, arrival_of, key_of
from umi.stores.sql.rows import MICROSECONDS_PER_DAY, TERM_COLUMNS, VECTOR_COLUMNS, verified

_CHANGED: Final = (
    "SELECT ns, sequence, key, crc FROM changes WHERE ns = ? AND sequence > ? AND sequence <= ? AND key < ?"
)
_COUNT: Final = "SELECT count(*) FROM terms WHERE key >= ? AND key < ?"
_VECTORS: Final = (
    f"SELECT p.key, {VECTOR_COLUMNS} FROM episodes p LEFT JOIN vectors v ON v.key = p.key"
    " WHERE p.key IN (SELECT value FROM json_each(?)) ORDER BY p.key"
)

_VECTORS_BETWEEN: Final = f"SELECT v.key, {VECTOR_COLUMNS} FROM vectors v WHERE v.key >= ? AND v.key < ? ORDER BY v.key"

_TERM_COUNT: Final = TERM_COLUMNS.count(",") + 1
_VECTOR_COUNT: Final = VECTOR_COLUMNS.count(",") + 1
_PORTION_COUNT: Final = 8_192  # rows given to an index at once, as columns
_CHECKED_COUNT: Final = 256  # rows fetched and verified at once
_CATCH_UP_BLOCKS_COUNT: Final = 16  # taken in at once by a compact index
_UNPACKED_COUNT: Final = 512  # vectors unpacked at once, so that they fit into the processor's cache

Execute = Callable[..., Iterator[Row]]


@dataclass(frozen=True, slots=True)
class Head:
    """The state of a namespace in a snapshot.

    `ns` is its number, `sequence` counts its write transactions, `next_arrival` is the next episode's, and
    `changes_from` the first sequence that is still in the change log. `first_expiry` is the earliest moment at which one of
    its messages expires, in microseconds. `embedder` is the one whose vectors the file keeps. `blocks` is how many blocks are sealed, see
    `umi.stores.sql.blocks`.
    """

    ns: int
    sequence: int
    next_arrival: int
    changes_from: int
    first_expiry: int | None = None
    embedder: EmbedderIdentity | None = None
    blocks: int = 0


@dataclass(slots=True)
class _Entry:
    index: NamespaceIndex
    sequence: int
    next_arrival: int
    bytes: int = 0
    blocks: int = 0  # whose postings it reads

    def is_of(self, head: Head) -> bool:
        """Whether the index is at this state. During `catch_up` it may have all changes but only the first episodes."""
        return self.sequence == head.sequence and self.next_arrival == head.next_arrival


class IndexCache:
    """Search indexes by namespace. Above `bytes_max` in total or `count_max`, the least recently used are dropped; the last used is kept.

    `total` tells the bytes of all caches that share the bound, this one among them; None is this one alone.
    """

    def __init__(
        self, bytes_max: int, count_max: int = STORE_INDEXES_COUNT_MAX, total: Callable[[], int] | None = None
    ) -> None:
        self._bytes_max = bytes_max
        self._count_max = count_max
        self._bytes = 0
        self._total = total or (lambda: self._bytes)
        self._entries: dict[int, _Entry] = {}  # least recently used first
        self._numbers: dict[str, int] = {}  # of namespaces that were read, by name

    @property
    def bytes(self) -> int:
        """The memory that all indexes take."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def bytes_of(self, ns: int) -> int:
        """The memory that a namespace's index takes; 0 when it has none."""
        entry = self._entries.get(ns)
        return 0 if entry is None else entry.index.bytes

    def current(self, execute: Execute, head: Head, touched: AbstractSet[int] = frozenset()) -> NamespaceIndex:
        """The index of a namespace as of `head`, which must belong to the snapshot that `execute` reads.

        An index that outlives the transaction may hold committed rows only. So one that had to read a row in `touched`
        serves this transaction and is dropped afterwards.

        Args:
            execute: Runs a statement in the snapshot.
            head: The state of the namespace as committed.
            touched: Keys whose rows the asking transaction has changed and not committed.
        """
        entry = self._entries.get(head.ns)
        if entry is not None and entry.is_of(head):
            # The usual case: it has not changed, so its bytes are not counted again.
            self._entries[head.ns] = self._entries.pop(head.ns)
            return entry.index.reads(StoredRows(execute, head.ns), is_settled=not touched)
        # Taken out of the cache while it changes: if a read fails half-way, the half-updated index is dropped.
        entry = self._take(head)
        if self._advance(entry, execute, head, touched):
            self._keep(head.ns, entry)
        return entry.index

    def catch_up(self, execute: Execute, head: Head) -> bool:
        """Bring the index nearer to `head` by at most `CATCH_UP_COUNT` new episodes, or some blocks.

        Returns:
            Whether it is complete.
        """
        entry = self._entries.get(head.ns)
        if entry is not None and entry.is_of(head):
            return True
        entry = self._take(head)
        # All changes of old episodes, but only some of the new episodes, in each step.
        step = _CATCH_UP_BLOCKS_COUNT * limits.STORE_BLOCK_COUNT if entry.index.is_compact else limits.CATCH_UP_COUNT
        until = min(head.next_arrival, entry.next_arrival + step)
        self._advance(entry, execute, replace(head, next_arrival=until), frozenset(), to_come=head.next_arrival)
        self._keep(head.ns, entry)
        return until == head.next_arrival

    def drop(self, ns: int) -> None:
        """Drop the index of a namespace that was deleted; without one nothing happens."""
        entry = self._entries.pop(ns, None)
        if entry is not None:
            self._bytes -= entry.bytes

    def follow(self, name: str, ns: int) -> None:
        """Note which number a namespace's name leads to; 0 for none. The index of another number that it led to is dropped.

        So the index of a namespace that another process deleted leaves this process with the next look at that name.
        """
        before = self._numbers.get(name, 0)
        if before == ns:
            return
        self.drop(before)
        # A name whose index was dropped leads to nothing that could be outdated.
        if len(self._numbers) > 2 * self._count_max:
            self._numbers = {known: number for known, number in self._numbers.items() if number in self._entries}
        if ns:
            self._numbers[name] = ns
        else:
            self._numbers.pop(name, None)

    def keep_only(self, live: AbstractSet[int]) -> None:
        """Drop the indexes of all namespaces but these."""
        for ns in [ns for ns in self._entries if ns not in live]:
            self.drop(ns)
        self._numbers = {name: ns for name, ns in self._numbers.items() if ns in live}

    def rebuilt(self, execute: Execute, head: Head) -> NamespaceIndex:
        """The same index built from nothing, for comparison; the cache is not changed."""
        kept = self._entries.get(head.ns)
        entry = _Entry(NamespaceIndex(is_compact=kept is not None and kept.index.is_compact), 0, 0)
        self._advance(entry, execute, replace(head, blocks=0), frozenset())
        return entry.index

    def __contains__(self, ns: int) -> bool:
        return ns in self._entries

    def _take(self, head: Head) -> _Entry:
        entry = self._entries.pop(head.ns, None)
        if entry is not None:
            self._bytes -= entry.bytes
            is_right = entry.index.is_compact == self._is_large(head) and entry.blocks <= head.blocks
            if is_right and head.changes_from - 1 <= entry.sequence <= head.sequence:
                return entry
        # There is none yet, or it is older than the change log, or the namespace has outgrown it.
        return _Entry(NamespaceIndex(is_compact=self._is_large(head)), 0, 0)

    def _is_large(self, head: Head) -> bool:
        """Whether a namespace has blocks, and an index that keeps everything would exceed the bound."""
        return head.blocks > 0 and head.next_arrival * limits.INDEX_MESSAGE_BYTES > self._bytes_max

    def _keep(self, ns: int, entry: _Entry) -> None:
        entry.bytes = entry.index.bytes
        self._entries[ns] = entry
        self._bytes += entry.bytes
        # The index in use stays, even if it alone exceeds the bound.
        while len(self._entries) > 1 and (self._total() > self._bytes_max or len(self._entries) > self._count_max):
            self._bytes -= self._entries.pop(next(iter(self._entries))).bytes

    def _advance(
        self, entry: _Entry, execute: Execute, head: Head, touched: AbstractSet[int], *, to_come: int = 0
    ) -> bool:
        """Bring an index from its own state to the head's. True if it read no touched row.

        `to_come` is the next arrival that later calls will reach, where that is more than the head's; memory is
        reserved for it.
        """
        arrivals_count = max(head.next_arrival, to_come)
        stored = StoredRows(execute, head.ns)
        entry.index.reads(stored, is_settled=not touched).sample(arrivals_count)
        held = key_of(head.ns, entry.next_arrival)
        known, end = (
            self._from_blocks(entry, execute, head, touched, arrivals_count),
            key_of(head.ns, head.next_arrival),
        )
        # Changes of episodes that the index held. Blocks have those of theirs, and later episodes are read from their rows below.
        log = execute(_CHANGED, (head.ns, entry.sequence, head.sequence, held))
        rows = execute(DOCUMENTS, (known, end))  # before the log is read: one round trip for both
        changed = list(dict.fromkeys(verified("changes", row, 2)[2] for row in log))
        # An index that cannot follow a change is built anew from the first episode.
        if not self._follow(entry.index, execute, changed):
            entry.index = NamespaceIndex(is_compact=entry.index.is_compact)
            entry.index.reads(stored, is_settled=not touched).sample(arrivals_count)
            entry.next_arrival = 0
            known = self._from_blocks(entry, execute, head, touched, arrivals_count)
            rows = execute(DOCUMENTS, (known, end))
        # A new index: reserve memory for all that is to come.
        if not len(entry.index):
            entry.index.expect(next(execute(_COUNT, (known, key_of(head.ns, arrivals_count))))[0])
        portion = _Portion()
        while some := list(islice(rows, _CHECKED_COUNT)):
            portion.add(some)
            if len(portion) >= _PORTION_COUNT:
                portion = portion.given_to(entry.index)
        portion.given_to(entry.index)
        entry.index.seal(head.blocks * limits.STORE_BLOCK_COUNT)
        entry.blocks = head.blocks
        first = key_of(head.ns, entry.next_arrival)
        entry.sequence, entry.next_arrival = head.sequence, head.next_arrival
        return touched.isdisjoint(changed) and not any(first <= key < end for key in touched)

    def _from_blocks(
        self, entry: _Entry, execute: Execute, head: Head, touched: AbstractSet[int], arrivals_count: int
    ) -> int:
        """Give an index that has read only whole blocks those that follow.

        Returns:
            The key from which on episodes are to be read from their rows.
        """
        first = entry.next_arrival
        number, until = block_of(first), min(head.blocks, block_of(head.next_arrival))
        if first % limits.STORE_BLOCK_COUNT or number >= until:
            return key_of(head.ns, first)
        if not entry.index.is_compact:
            return self._all_of_blocks(entry.index, execute, head, touched, range(number, until), arrivals_count)
        if not first:
            entry.index.expect(arrivals_count)
        entry.index.seal(first)
        add_blocks(entry.index, execute, head.ns, number, until)
        end = key_of(head.ns, until * limits.STORE_BLOCK_COUNT)
        # Blocks are sealed at the end of a transaction: what this one has changed is read from its rows.
        self._follow(entry.index, execute, [key for key in sorted(touched) if key_of(head.ns, first) <= key < end])
        return end

    def _all_of_blocks(
        self,
        index: NamespaceIndex,
        execute: Execute,
        head: Head,
        touched: AbstractSet[int],
        numbers: range,
        arrivals_count: int,
    ) -> int:
        """As `_from_blocks` for an index that keeps everything: documents and postings come from blocks, vectors from their rows."""
        if not len(index):
            index.expect(next(execute(_COUNT, (key_of(head.ns, 0), key_of(head.ns, arrivals_count))))[0])
        changed = {block_of(arrival_of(key)) for key in touched}
        for number in numbers:
            start = number * limits.STORE_BLOCK_COUNT
            # Blocks are sealed at the end of a transaction; and what is derived may be damaged while the rows are whole.
            documents = None if number in changed else counted_block(execute, head.ns, number)
            if documents is None:
                return key_of(head.ns, start)
            index.add_documents(documents)
            between = key_of(head.ns, start), key_of(head.ns, start + limits.STORE_BLOCK_COUNT)
            rows = execute(_VECTORS_BETWEEN, between)
            while some := list(islice(rows, _UNPACKED_COUNT)):
                _put(index, some)
        return key_of(head.ns, numbers.stop * limits.STORE_BLOCK_COUNT)

    def _follow(self, index: NamespaceIndex, execute: Execute, changed: list[int]) -> bool:
        """Apply late vectors and deletions. False if an episode lost its vectors but not its text.

        An index has no operation for that case, so it must be rebuilt.
        """
        found = list(execute(_VECTORS, (f"[{','.join(map(str, changed))}]",))) if changed else []
        if any(dimensions is None for _, dimensions, *_ in found):
            return False
        _put(index, found)
        # A changed key without a row belongs to a deleted episode.
        here = {key for key, *_ in found}
        index.remove(*(arrival_of(key) for key in changed if key not in here))
        return True


class _Portion:
    """Verified rows of `DOCUMENTS`, by column."""

    def __init__(self) -> None:
        self._columns: tuple[list[Any], ...] = tuple([] for _ in range(_TERM_COUNT - 1))
        self._vectors: list[Row] = []

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, rows: Sequence[Row]) -> None:
        """Verify and add rows.

        Raises:
            StoreCorrupt: When a checksum does not match.
        """
        wrong = wrong_row(rows, 0, _TERM_COUNT - 1)
        if wrong is not None:
            raise damaged("terms", wrong[0])
        # The checksum and the vector's columns follow the document's and are not collected here.
        for column, values in zip(self._columns, zip(*rows, strict=True), strict=False):
            column.extend(values)
        self._vectors += [(row[0], *row[-_VECTOR_COUNT:]) for row in rows if row[-1] is not None]

    def given_to(self, index: NamespaceIndex) -> _Portion:
        """Give the rows to an index; returns a new, empty portion."""
        keys, words, traits, lines, sessions, speakers, at = self._columns
        # An index knows no namespaces: its keys are arrivals.
        arrivals = np.array(keys, dtype=np.int64) & ARRIVAL_MASK
        days = np.array(at, dtype=np.float64) / MICROSECONDS_PER_DAY
        index.add_documents(
            Documents(arrivals, lines, words, Names.column(sessions), Names.column(speakers), traits, days)
        )
        _put(index, self._vectors)
        return _Portion()


def _put(index: NamespaceIndex, rows: Sequence[Row]) -> None:
    """Give an index vectors, from rows of key, dimensions, windows and checksum."""
    for start in range(0, len(rows), _UNPACKED_COUNT):
        some = rows[start : start + _UNPACKED_COUNT]
        require_whole(some)
        for dimensions in sorted({row[1] for row in some}):  # one embedder gives one; the index refuses a second
            index.add_vectors(*windows_of([row for row in some if row[1] == dimensions]))

"""Blocks of a large namespace: what a search index needs of each `STORE_BLOCK_COUNT` messages, packed, so that a process need not read every row.

A block holds a column of each property of its messages and the signs of their vectors; its postings are rows of their own, by
term, and are read when a question has the term. A block is sealed by a write that comes a block later, and sealed again by each
write that changes one of its messages. It is derived: rows alone decide what is true. See ADR 26.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from umi import limits
from umi._core.vectors import unpack
from umi.ports.candidates import Keys
from umi.stores.index.documents import Documents, Names
from umi.stores.index.postings import Counted, Postings
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.index.sign_codes import signs_of
from umi.stores.index.stored import KeyedWindows
from umi.stores.sql.connection import Connection, Row
from umi.stores.sql.crc import blobs_checksum, damaged, wrong_row, wrong_vector
from umi.stores.sql.keys import ARRIVAL_MASK, arrival_of, key_of
from umi.stores.sql.many_rows import insert
from umi.stores.sql.rows import MICROSECONDS_PER_DAY, TERM_COLUMNS, VECTOR_COLUMNS, json_array

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Execute = Callable[..., Iterator[Row]]

# All that an index needs of the episodes of a range of keys.
DOCUMENTS: Final = (
    f"SELECT {TERM_COLUMNS}, {VECTOR_COLUMNS}"
    " FROM episodes p JOIN terms t ON t.key = p.key LEFT JOIN vectors v ON v.key = p.key"
    " WHERE p.key >= ? AND p.key < ? ORDER BY p.key"
)
_BLOCKS: Final = (
    "SELECT b.ns, b.number, b.names, b.terms, b.dimensions, b.documents, b.signs, b.crc FROM blocks b"
    " WHERE b.ns = ? AND b.number >= ? AND b.number < ? ORDER BY b.number"
)
_POSTINGS_OF: Final = "SELECT ns, term, number, entries, crc FROM postings WHERE ns = ? AND number = ? ORDER BY term"
_POSTINGS_IN: Final = (
    "SELECT o.ns, o.term, o.number, o.entries, o.crc FROM postings o"
    " WHERE o.ns = ? AND o.number = ? AND o.term IN (SELECT value FROM json_each(?))"
)
_CRC: Final = "SELECT crc FROM blocks WHERE ns = ? AND number = ?"
_TERMS_BEFORE: Final = "SELECT terms FROM blocks WHERE ns = ? AND number = ?"
_DROP_POSTINGS: Final = "DELETE FROM postings WHERE ns = ? AND number = ? AND term IN (SELECT value FROM json_each(?))"
_POSTINGS: Final = (
    "SELECT o.term, o.number, o.entries, o.crc FROM postings o"
    " WHERE o.ns = ? AND o.term IN (SELECT value FROM json_each(?)) ORDER BY o.term, o.number"
)
_WINDOWS: Final = (
    f"SELECT v.key, {VECTOR_COLUMNS} FROM vectors v WHERE v.key IN (SELECT value FROM json_each(?)) ORDER BY v.key"
)

_NO_NAME: Final = 0xFFFF
_DOCUMENT: Final = np.dtype(
    [
        ("offset", "<u2"), ("session", "<u2"), ("speaker", "<u2"), ("words", "<u4"), ("length", "<u4"),
        ("traits", "<i8"), ("at", "<i8"),
    ]
)  # fmt: skip
_ENTRY: Final = np.dtype([("offset", "<u2"), ("count", "<u2")])
_COUNT_MAX: Final = 0xFFFF  # of one term in one message; more count as many


def blocks_count(next_arrival: int) -> int:
    """How many blocks a namespace should have that has had so many messages. The last whole block stays open, where most changes are made."""
    if next_arrival < limits.STORE_BLOCKS_FROM_COUNT:
        return 0
    return max(0, next_arrival // limits.STORE_BLOCK_COUNT - 1)


def block_of(arrival: int) -> int:
    """The number of the block to which a message belongs."""
    return arrival // limits.STORE_BLOCK_COUNT


def seal(db: Connection, ns: int, number: int) -> None:
    """Make a block from its rows, or make it again. Inside a write transaction.

    Raises:
        StoreCorrupt: When a checksum of the rows does not match.
    """
    block, postings = _made(db, ns, number)
    before = db.execute(_TERMS_BEFORE, (ns, number)).fetchone()
    if before is not None:
        gone = sorted(set(before[0].split()).difference(row[1] for row in postings))
        db.execute(_DROP_POSTINGS, (ns, number, json_array(gone)))
    insert(db, "INSERT OR REPLACE INTO blocks", [block])
    insert(db, "INSERT OR REPLACE INTO postings", postings)


def unseal(db: Connection, ns: int, number: int) -> None:
    """Delete a block and all later ones; what they hold is read from the rows until later writes seal them again."""
    for table in ("blocks", "postings"):
        db.execute(f"DELETE FROM {table} WHERE ns = ? AND number >= ?", (ns, number))


def wrong_blocks(db: Connection) -> Iterator[str]:
    """Compare every block with its rows.

    Yields:
        For each block that is not what its rows say, its name.
    """
    for ns, number in db.execute("SELECT ns, number FROM blocks ORDER BY ns, number").fetchall():
        block, postings = _made(db, ns, number)
        kept = [tuple(row[1:]) for row in db.execute(_POSTINGS_OF, (ns, number))]
        if db.execute(_CRC, (ns, number)).fetchone() != block[-1:] or kept != [row[1:] for row in postings]:
            yield f"block {number} of namespace {ns} is not what its messages say"


def add_blocks(index: NamespaceIndex, execute: Execute, ns: int, first: int, until: int) -> None:
    """Give an index, which reads from the same snapshot, the documents of some blocks.

    Raises:
        StoreCorrupt: When a checksum does not match, or a block is missing.
    """
    expected = first
    for _, number, names, terms, dimensions, *blobs, crc in execute(_BLOCKS, (ns, first, until)):
        if number != expected or blobs_checksum((ns, number, names, terms, dimensions), blobs) != crc:
            raise damaged("blocks", expected)
        expected += 1
        start = number * limits.STORE_BLOCK_COUNT
        rows = np.frombuffer(blobs[0], dtype=_DOCUMENT)
        documents = _unpacked(rows, start, names, rows["length"].astype(np.int64))
        signs = np.frombuffer(blobs[1], dtype=_sign_type(dimensions))
        index.add_sealed(documents, start + signs["offset"].astype(np.int64), signs["signs"], dimensions)
    if expected != until:
        raise damaged("blocks", expected)


def counted_block(execute: Execute, ns: int, number: int) -> Documents | None:
    """The documents of a block with their postings; None where its messages are to be read from their rows.

    That is where a checksum does not match, something is missing, or a term occurs more often in a message than a posting can say.
    """
    found = next(execute(_BLOCKS, (ns, number, number + 1)), None)
    if found is None or blobs_checksum(found[:5], found[5:7]) != found[-1]:
        return None
    names, terms, rows = found[2], found[3].split(), np.frombuffer(found[5], dtype=_DOCUMENT)
    postings = list(execute(_POSTINGS_IN, (ns, number, json_array(terms))))
    if len(postings) != len(terms) or any(blobs_checksum(row[:3], row[3:4]) != row[4] for row in postings):
        return None
    entries = np.frombuffer(b"".join([row[3] for row in postings]), dtype=_ENTRY)
    counts = entries["count"].astype(np.int64)
    if (counts == _COUNT_MAX).any():
        return None
    counted = Counted(
        rows["length"].astype(np.int64),
        [row[1] for row in postings],
        np.cumsum([len(row[3]) for row in postings]) // _ENTRY.itemsize,
        np.searchsorted(rows["offset"], entries["offset"]),
        counts,
    )
    return _unpacked(rows, number * limits.STORE_BLOCK_COUNT, names, counted)


def _unpacked(rows: npt.NDArray[Any], start: int, names: str, lines: Counted | Ints) -> Documents:
    """The documents of a block, from their columns, the key of its first, the names in them, and their terms."""
    sessions, speakers = json.loads(names)
    return Documents(
        start + rows["offset"].astype(np.int64),
        lines,
        rows["words"].astype(np.int64),
        Names(sessions, _places(rows["session"])),
        Names(speakers, _places(rows["speaker"])),
        rows["traits"],
        rows["at"] / MICROSECONDS_PER_DAY,
    )


class StoredRows:
    """What an index has left in the database, read in one snapshot. See `umi.stores.index.stored.Stored`."""

    def __init__(self, execute: Execute, ns: int) -> None:
        self._execute = execute
        self._ns = ns

    def postings(self, terms: Sequence[str]) -> list[tuple[Keys, Floats]]:
        """See `Stored.postings`.

        Raises:
            StoreCorrupt: When a checksum does not match.
        """
        numbers: dict[str, list[int]] = {term: [] for term in terms}
        blobs: dict[str, list[bytes]] = {term: [] for term in terms}
        starts = {term: crc32(f"{self._ns}\0{term}\0".encode("utf-8", "surrogateescape")) for term in numbers}
        for term, number, entries, crc in self._execute(_POSTINGS, (self._ns, json_array(numbers))):
            # `blobs_checksum`, inlined: there may be thousands.
            if crc32(entries, crc32(b"%d\0" % number, starts[term])) != crc:
                raise damaged("postings", term)
            numbers[term].append(number)
            blobs[term].append(entries)
        return [_decoded(numbers[term], blobs[term]) for term in terms]

    def windows(self, keys: Keys) -> KeyedWindows:
        """See `Stored.windows`.

        Raises:
            StoreCorrupt: When a checksum does not match.
        """
        packed = f"[{','.join(map(str, (keys + key_of(self._ns, 0)).tolist()))}]"
        rows = list(self._execute(_WINDOWS, (packed,)))
        if not rows:
            return KeyedWindows(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 1), np.float32))
        require_whole(rows)
        return windows_of(rows)


def require_whole(rows: Sequence[Row]) -> None:
    """Compare vectors, rows of key, dimensions, windows and checksum, with their checksums.

    Raises:
        StoreCorrupt: When one does not match.
    """
    wrong = wrong_vector(rows)
    if wrong is not None:
        raise damaged("vectors", wrong)


def windows_of(rows: Sequence[Row]) -> KeyedWindows:
    """Vectors of one number of dimensions, unpacked; at least one row of key, dimensions, windows and checksum, by key."""
    dimensions = rows[0][1]
    blobs = [row[2] for row in rows]
    return KeyedWindows(
        np.array([row[0] for row in rows], dtype=np.int64) & ARRIVAL_MASK,
        np.array(list(map(len, blobs))) // (2 * dimensions),
        unpack(b"".join(blobs), dimensions),
    )


def _made(db: Connection, ns: int, number: int) -> tuple[Row, list[Row]]:
    """The row of a block and those of its postings, by term, made from the rows of its messages."""
    start = number * limits.STORE_BLOCK_COUNT
    rows = db.execute(DOCUMENTS, (key_of(ns, start), key_of(ns, start + limits.STORE_BLOCK_COUNT))).fetchall()
    wrong = wrong_row(rows, 0, TERM_COLUMNS.count(","))
    if wrong is not None:
        raise damaged("terms", wrong[0])
    offsets = np.array([arrival_of(row[0]) - start for row in rows], dtype=np.int64)
    dimensions, signs = _signs(rows, start)
    documents, names = _documents(rows, offsets)
    postings = Postings()
    documents["length"] = postings.add(0, [row[3] for row in rows])
    values = (ns, number, names, " ".join(postings.terms), dimensions)
    blobs = documents.tobytes(), signs
    block = (*values, *blobs, blobs_checksum(values, blobs))
    return block, [_posting(ns, number, term, offsets, postings) for term in postings.terms]


def _documents(rows: Sequence[Row], offsets: Ints) -> tuple[npt.NDArray[Any], str]:
    """The columns of a block's messages but for the length, and the names in them, as JSON."""
    sessions, speakers = Names.column([row[4] for row in rows]), Names.column([row[5] for row in rows])
    documents = np.zeros(len(rows), dtype=_DOCUMENT)
    documents["offset"] = offsets
    documents["session"], documents["speaker"] = sessions.of & _NO_NAME, speakers.of & _NO_NAME
    documents["words"] = [row[1] for row in rows]
    documents["traits"] = [row[2] for row in rows]
    documents["at"] = [row[6] for row in rows]
    return documents, json.dumps([sessions.distinct, speakers.distinct])


def _signs(rows: Sequence[Row], start: int) -> tuple[int, bytes]:
    """The dimensions of a block's vectors, 0 where there are none, and their signs, packed."""
    found = [(row[0], *row[-3:]) for row in rows if row[-1] is not None]
    require_whole(found)
    if not found:
        return 0, b""
    stored = windows_of(found)
    dimensions = stored.windows.shape[1]
    packed = np.zeros(len(stored.windows), dtype=_sign_type(dimensions))
    packed["offset"] = np.repeat(stored.keys - start, stored.counts)
    packed["signs"] = signs_of(stored.windows)
    return dimensions, packed.tobytes()


def _sign_type(dimensions: int) -> np.dtype[Any]:
    return np.dtype([("offset", "<u2"), ("signs", "u1", ((dimensions + 7) // 8,))])


def _posting(ns: int, number: int, term: str, offsets: Ints, postings: Postings) -> tuple[Any, ...]:
    turns, counts = postings.of(term)
    entries = np.zeros(len(turns), dtype=_ENTRY)
    entries["offset"], entries["count"] = offsets[turns], counts.clip(max=_COUNT_MAX)
    values, blob = (ns, term, number), entries.tobytes()
    return (*values, blob, blobs_checksum(values, (blob,)))


def _decoded(numbers: Sequence[int], blobs: Sequence[bytes]) -> tuple[Keys, Floats]:
    entries = np.frombuffer(b"".join(blobs), dtype=_ENTRY)
    starts = np.array(numbers, dtype=np.int64) * limits.STORE_BLOCK_COUNT
    sizes = np.array([len(blob) // _ENTRY.itemsize for blob in blobs], dtype=np.int64)
    return np.repeat(starts, sizes) + entries["offset"], entries["count"].astype(np.float32)


def _places(numbers: npt.NDArray[np.uint16]) -> Ints:
    places = numbers.astype(np.int64)
    places[places == _NO_NAME] = -1
    return places

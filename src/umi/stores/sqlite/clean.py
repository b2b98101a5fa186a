"""Remove the bytes that deletions leave in the file: in the write-ahead log, and in parts of pages that no row uses.

`secure_delete` overwrites what a deletion frees. Two things remain. The log holds old versions of pages until a
checkpoint truncates it, which has to wait for readers of the log. And where SQLite moved rows between pages, copies
stay in the gap between a page's cell pointers and its cells, which nothing overwrites. If such a copy holds erased
text, the file is rewritten by VACUUM (ADR 12).

Every transaction that deletes increments a counter in `meta`. The counter is removed when the file has been cleaned, so
a crash in between is noticed. Page layouts: SQLite, "Database File Format", sections 1.3, 1.5 and 1.6.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from umi.stores.sql.deletions import UNCLEAN, unclean
from umi.types.erasure_proof import Findable, chunked

_READ_PAGES: Final = 256  # pages read at once
_LEAF_OR_TREE: Final = {2: 12, 5: 12, 10: 8, 13: 8}  # size of a b-tree page's header by page type; interior, then leaf
_FIRST_HEADER_BYTES: Final = 100  # the file's header, in front of the first page's own
_TRUNK_AT: Final = 32  # offset in the first page of the number of the first freelist trunk page
_WHOLE_BYTES: Final = (1, 2, 3, 4, 6, 8)  # sizes in which SQLite stores integers
_WHOLE_REAL: Final = 1 << 47  # reals below this without a fraction are stored as integers
_FILE_BYTES_MAX: Final = 1 << 27  # bytes of a log or journal read at once


def clean(db: apsw.Connection, proof: Findable | None, *, in_file: bool) -> bool:
    """Clean the file as far as other connections allow. Nothing else may use this connection meanwhile.

    Args:
        db: Idle, with a busy handler that soon gives up.
        proof: What was just deleted. None when that is not known; then any nonzero byte that no row uses counts.
        in_file: Whether there is a file at all.

    Returns:
        False when another connection still reads or writes: try again later.
    """
    deletions = unclean(db)
    if not deletions:
        return True
    try:
        # The proof describes one deletion. With several, the others' texts are unknown.
        if in_file and not _rewritten(db, proof if deletions == 1 else None):
            return False
        db.execute("BEGIN IMMEDIATE")
        # Counted under the lock: another process may have deleted something since.
        if unclean(db) == deletions:
            db.execute("DELETE FROM meta WHERE name = ?", (UNCLEAN,))
        db.execute("COMMIT")
    except (apsw.BusyError, apsw.LockedError):
        return False
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    if in_file:
        _log_is_empty(db)  # of that last transaction too; this need not succeed
    return True


def raw_bytes(db: apsw.Connection, path: Path | None) -> Iterator[bytes]:
    """Every byte of the database's files, in overlapping pieces. `path` names the file where log and journal lie beside it."""
    page, count = _pages(db)
    step = page * _READ_PAGES
    # One page of overlap, so that a text across two portions is found.
    for offset in range(0, page * count, step):
        yield _read(db, offset, step + page)
    for tail in ("-wal", "-journal"):
        beside = None if path is None else Path(f"{path}{tail}")
        if beside is not None and beside.exists():
            with beside.open("rb") as file:
                while piece := file.read(_FILE_BYTES_MAX):
                    yield piece


def live_bytes(db: apsw.Connection) -> Iterator[bytes]:
    """Every text and blob that rows hold, in all namespaces, and the definitions of tables and indexes."""
    # Whole rows: names that lie side by side spell other words, as "entities" twice does "sent".
    for definition in db.execute("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema"):
        yield b"".join(map(_stored, definition))
    tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    for (table,) in tables.fetchall():
        # An index stores its columns in an order of their own, which may spell other words.
        for columns in ("*", *_indexed(db, str(table))):
            for row in db.execute(f"SELECT {columns} FROM {table}"):
                yield b"".join(map(_stored, row))


def _indexed(db: apsw.Connection, table: str) -> Iterator[str]:
    """The columns of each index of a table, since they lie side by side in the index too."""
    for (index,) in db.execute("SELECT name FROM pragma_index_list(?)", (table,)).fetchall():
        names = db.execute("SELECT name FROM pragma_index_info(?) WHERE name IS NOT NULL", (index,))
        yield ", ".join(str(name) for (name,) in names)


def _stored(value: str | bytes | float | None) -> bytes:
    """A value as SQLite stores it.

    A text and the number next to it may spell a deleted word together; with the stored form it can be recognised in a
    row. NULL, 0 and 1 take no bytes, other integers as few as hold them (SQLite, "Database File Format", section 2.1).
    """
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, bytes):
        return value
    if isinstance(value, float) and not (value.is_integer() and abs(value) < _WHOLE_REAL):
        return struct.pack(">d", value)
    if value is None or value in (0, 1):
        return b""
    whole = int(value)
    size = next(size for size in _WHOLE_BYTES if -(1 << 8 * size - 1) <= whole < 1 << 8 * size - 1)
    return whole.to_bytes(size, "big", signed=True)


def _rewritten(db: apsw.Connection, proof: Findable | None) -> bool:
    """Empty the log, and rewrite the file if bytes that no row uses hold deleted text. False when others are in the way."""
    if not _log_is_empty(db):
        return False
    dead = chunked(_dead_bytes(db))
    if any(any(part) for part in dead) if proof is None else any(proof.found_in(part) for part in dead):
        # Writes the whole database anew, through the log, which is emptied again.
        db.execute("VACUUM")
        return _log_is_empty(db)
    return True


def _log_is_empty(db: apsw.Connection) -> bool:
    """Checkpoint and truncate the log; False when a reader or writer prevents it."""
    busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
    return not busy


def _dead_bytes(db: apsw.Connection) -> Iterator[bytes]:
    """The bytes that no row uses, page by page, without surrounding zeros."""
    page, count = _pages(db)
    free = _free_pages(db, page)
    for first in range(0, count, _READ_PAGES):
        data = _read(db, first * page, page * min(_READ_PAGES, count - first))
        for number in range(first, min(first + _READ_PAGES, count)):
            mine = data[(number - first) * page : (number - first + 1) * page]
            for part in (mine,) if number + 1 in free else _unused(mine, _FIRST_HEADER_BYTES if number == 0 else 0):
                # `secure_delete` has overwritten most of it with zeros.
                if bare := part.strip(b"\0"):
                    yield bare


def _unused(page: bytes, start: int) -> Iterator[bytes]:
    """The gap and the free blocks of a b-tree page; nothing for pages of other kinds."""
    header = _LEAF_OR_TREE.get(page[start]) if len(page) > start else None
    if header is None:
        return
    # Header: 1 type, 2 first free block, 2 number of cells, 2 start of the cells (0 means 65,536), 1 fragmented bytes.
    cells = int.from_bytes(page[start + 3 : start + 5])
    content = int.from_bytes(page[start + 5 : start + 7]) or len(page)
    yield page[start + header + 2 * cells : content]
    block = int.from_bytes(page[start + 1 : start + 3])
    while 0 < block <= len(page) - 4:
        following, size = int.from_bytes(page[block : block + 2]), int.from_bytes(page[block + 2 : block + 4])
        yield page[block + 4 : block + size]
        block = following if following > block else 0  # offsets rise; anything else is damage


def _free_pages(db: apsw.Connection, page: int) -> frozenset[int]:
    """The numbers of free pages. The trunk pages, which list them, are left out."""
    found: set[int] = set()
    seen: set[int] = set()
    trunk = int.from_bytes(_read(db, 0, page)[_TRUNK_AT : _TRUNK_AT + 4])
    while trunk and trunk not in seen:
        # A damaged list may be circular.
        seen.add(trunk)
        data = _read(db, (trunk - 1) * page, page)
        # A trunk page: 4 bytes next trunk, 4 bytes count, then the page numbers.
        count = int.from_bytes(data[4:8])
        found.update(int.from_bytes(data[place : place + 4]) for place in range(8, min(8 + 4 * count, page), 4))
        trunk = int.from_bytes(data[:4])
    return frozenset(found)


def _pages(db: apsw.Connection) -> tuple[int, int]:
    page, count = db.execute("SELECT page_size, page_count FROM pragma_page_size, pragma_page_count").get
    return page, count


def _read(db: apsw.Connection, offset: int, amount: int) -> bytes:
    # Through SQLite's own handle: closing a second descriptor of the file would release this process's POSIX locks.
    return db.read("main", 0, offset, amount)[1]

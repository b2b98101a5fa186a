"""What deleting leaves in the file: the write-ahead log, and bytes that no row uses.

`secure_delete` overwrites what a deletion frees. Two things remain. The log holds the pages as they were: a checkpoint that may
truncate it ends that, and has to wait for whoever still reads from it. And where SQLite has moved rows from page to page, copies stay in
the gap between a page's pointers and its rows, which nothing ever overwrites on purpose: where such a copy holds what was
erased, the file is written anew (VACUUM).

Every transaction that deletes counts itself in `meta`; the count goes when the file has been cleaned since. So a crash between is seen.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from umi.stores.sqlite.rows import summed, verified
from umi.types.erasure_proof import ErasureProof, chunked, found_in_all

UNCLEAN: Final = "unclean"
_READ_PAGES: Final = 256
_LEAF_OR_TREE: Final = {2: 12, 5: 12, 10: 8, 13: 8}  # bytes of a page's header by its kind
_FIRST_HEADER_BYTES: Final = 100
_TRUNK_AT: Final = 32  # in the first page: where the list of free pages begins
_WHOLE_BYTES: Final = (1, 2, 3, 4, 6, 8)
_WHOLE_REAL: Final = 1 << 47  # real numbers below it without a fraction are stored as whole ones
_FILE_BYTES_MAX: Final = 1 << 27  # of a log that is searched at once


def unclean(db: apsw.Connection) -> int:
    """How many transactions have deleted something since the file was last cleaned."""
    row = db.execute("SELECT name, value, crc FROM meta WHERE name = ?", (UNCLEAN,)).fetchone()
    return 0 if row is None else int(verified("meta", row, 0)[1])


def count_deletion(db: apsw.Connection) -> None:
    """Inside a transaction that deletes."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", summed((UNCLEAN, str(unclean(db) + 1))))


def clean(db: apsw.Connection, proof: ErasureProof | None, *, in_file: bool) -> bool:
    """Clean the file as far as others let us; nobody else may use the connection meanwhile.

    Args:
        db: Idle, and not waiting for anybody.
        proof: What was just deleted; None when that is not known any more. Then any byte that no row uses counts.
        in_file: Whether there is a file at all.

    Returns:
        False when another connection still reads or writes: try again.
    """
    deletions = unclean(db)
    if not deletions:
        return True
    try:
        if in_file and not _rewritten(db, proof if deletions == 1 else None):
            return False
        db.execute("BEGIN IMMEDIATE")
        if unclean(db) == deletions:
            db.execute("DELETE FROM meta WHERE name = ?", (UNCLEAN,))
        db.execute("COMMIT")
    except (apsw.BusyError, apsw.LockedError):
        return False
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    if in_file:
        _log_is_empty(db)  # of that last count; whether others let us is no matter
    return True


def raw_bytes(db: apsw.Connection, path: Path | None) -> Iterator[bytes]:
    """Every byte of the database's files, in pieces that overlap; `path` names the file where the log lies beside it."""
    page, count = _pages(db)
    step = page * _READ_PAGES
    for offset in range(0, page * count, step):
        yield _read(db, offset, step + page)
    for tail in ("-wal", "-journal"):
        beside = None if path is None else Path(f"{path}{tail}")
        if beside is not None and beside.exists():
            with beside.open("rb") as file:
                while piece := file.read(_FILE_BYTES_MAX):
                    yield piece


def live_bytes(db: apsw.Connection) -> Iterator[bytes]:
    """Every text and blob that a row holds, in all namespaces, and the tables' own definitions."""
    yield from (sql.encode() for (sql,) in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    for (table,) in tables.fetchall():
        for columns in ("*", *_indexed(db, str(table))):
            for row in db.execute(f"SELECT {columns} FROM {table}"):
                yield b"".join(map(_stored, row))


def _indexed(db: apsw.Connection, table: str) -> Iterator[str]:
    """The columns of each index, which stand side by side there too."""
    for (index,) in db.execute("SELECT name FROM pragma_index_list(?)", (table,)).fetchall():
        names = db.execute("SELECT name FROM pragma_index_info(?) WHERE name IS NOT NULL", (index,))
        yield ", ".join(str(name) for (name,) in names)


def _stored(value: str | bytes | float | None) -> bytes:
    """A value as it lies in a row, so that what a text and the number behind it spell together is known as a row's own.

    Nothing at all for NULL, 0 and 1, whole numbers in as few bytes as hold them (SQLite, "Database File Format", 2.1).
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


def _rewritten(db: apsw.Connection, proof: ErasureProof | None) -> bool:
    """Empty the log, and write the file anew where bytes that no row uses hold what is to be gone; False when others are in the way."""
    if not _log_is_empty(db):
        return False
    dead = chunked(_dead_bytes(db))
    if any(any(part) for part in dead) if proof is None else found_in_all(proof, dead):
        db.execute("VACUUM")
        return _log_is_empty(db)
    return True


def _log_is_empty(db: apsw.Connection) -> bool:
    busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
    return not busy


def _dead_bytes(db: apsw.Connection) -> Iterator[bytes]:
    """Of each page the bytes that no row uses, without the zeros around them."""
    page, count = _pages(db)
    free = _free_pages(db, page)
    for first in range(0, count, _READ_PAGES):
        data = _read(db, first * page, page * min(_READ_PAGES, count - first))
        for number in range(first, min(first + _READ_PAGES, count)):
            mine = data[(number - first) * page : (number - first + 1) * page]
            for part in (mine,) if number + 1 in free else _unused(mine, _FIRST_HEADER_BYTES if number == 0 else 0):
                if bare := part.strip(b"\0"):
                    yield bare


def _unused(page: bytes, start: int) -> Iterator[bytes]:
    """The gap and the free blocks of a page of a tree."""
    header = _LEAF_OR_TREE.get(page[start]) if len(page) > start else None
    if header is None:
        return
    cells = int.from_bytes(page[start + 3 : start + 5])
    content = int.from_bytes(page[start + 5 : start + 7]) or len(page)
    yield page[start + header + 2 * cells : content]
    block = int.from_bytes(page[start + 1 : start + 3])
    while 0 < block <= len(page) - 4:
        following, size = int.from_bytes(page[block : block + 2]), int.from_bytes(page[block + 2 : block + 4])
        yield page[block + 4 : block + max(size, 4)]
        block = following if following > block else 0


def _free_pages(db: apsw.Connection, page: int) -> frozenset[int]:
    """Numbers of the pages that hold nothing; those that list them are left out."""
    found: set[int] = set()
    seen: set[int] = set()
    trunk = int.from_bytes(_read(db, 0, page)[_TRUNK_AT : _TRUNK_AT + 4])
    while trunk and trunk not in seen:
        seen.add(trunk)
        data = _read(db, (trunk - 1) * page, page)
        count = int.from_bytes(data[4:8])
        found.update(int.from_bytes(data[place : place + 4]) for place in range(8, min(8 + 4 * count, page), 4))
        trunk = int.from_bytes(data[:4])
    return frozenset(found)


def _pages(db: apsw.Connection) -> tuple[int, int]:
    page, count = db.execute("SELECT page_size, page_count FROM pragma_page_size, pragma_page_count").get
    return page, count


def _read(db: apsw.Connection, offset: int, amount: int) -> bytes:
    # Through SQLite's own handle: opening and closing the file beside it would let go of its locks.
    return db.read("main", 0, offset, amount)[1]

"""Open a database file: check that it belongs to Umi, apply the settings that durability depends on, and migrate it."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from umi.errors import StoreError, StoreUnavailable, StoreVersion
from umi.stores.sqlite.errors import mapped, not_a_database, translate
from umi.stores.sqlite.functions import register
from umi.stores.sqlite.schema import APPLICATION_ID, STEPS, VERSION

MEMORY: Final = ":memory:"
_SMALLEST_BYTES: Final = 512  # SQLite's smallest page
_CACHE_KIB: Final = 16_384  # SQLite's page cache
_PATIENCE_MS: Final = 50  # then `SqliteStore` tries again, and may find that another process has migrated the file
_STATEMENTS_COUNT: Final = 256  # prepared statements that apsw keeps

# FULL makes a commit wait until its WAL frames are on the disk. On macOS that takes fullfsync: fsync alone does not reach the
# disk. secure_delete overwrites deleted content. cell_size_check finds damaged pages early.
_SETTINGS: Final = f"""
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA cache_size = -{_CACHE_KIB};
"""


def connect(path: str, busy_timeout_ms: int, vfs: str | None = None) -> tuple[apsw.Connection, bool]:
    """Open a database, creating or migrating it to the newest version where needed.

    Args:
        path: The file.
        busy_timeout_ms: How long to wait for another process's lock.
        vfs: See `SqliteStore.open`.

    Returns:
        The connection, and whether the file was opened as immutable (read-only, in a read-only folder).

    Raises:
        StoreError: See `SqliteStore.open`.
    """
    if vfs is not None:
        with mapped(path):
            return _prepared(_exclusive(path, vfs), path, busy_timeout_ms), False
    if _too_small(path):
        raise not_a_database(path)
    try:
        return _prepared(apsw.Connection(path, statementcachesize=_STATEMENTS_COUNT), path, busy_timeout_ms), False
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        # With a WAL beside it a writer may be at work, and the file is not unchanging.
        if not Path(path).is_file() or Path(f"{path}-wal").exists():
            raise translate(error, path, None) from error
        # A reader in WAL mode must create files beside the database. Where the folder forbids it and no writer has a WAL
        # there, the file does not change, and SQLite may open it as immutable.
        unchanging = f"file:{quote(path)}?immutable=1"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        with mapped(path):
            return _prepared(apsw.Connection(unchanging, flags=flags), path, busy_timeout_ms), True


def _exclusive(path: str, vfs: str) -> apsw.Connection:
    """Open through another VFS, with the file locked for this connection alone."""
    # Such a VFS has no shared memory. SQLite can then use WAL only with an exclusive lock, set before the first read.
    db = apsw.Connection(path, vfs=vfs, statementcachesize=_STATEMENTS_COUNT)
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    return db


def _too_small(path: str) -> bool:
    """Whether the file is too small to be a database, and not the start of an interrupted first write."""
    # SQLite would take a file of one byte for an empty database and overwrite it.
    file = Path(path)
    return file.is_file() and 0 < file.stat().st_size < _SMALLEST_BYTES and not Path(f"{path}-journal").exists()


def _prepared(db: apsw.Connection, path: str, busy_timeout_ms: int) -> apsw.Connection:
    """A connection with Umi's settings, WAL mode and the newest schema; closed again if any of that fails."""
    ready = False
    try:
        # Short while the file is prepared; the caller's own timeout is set at the end.
        db.set_busy_timeout(min(busy_timeout_ms, _PATIENCE_MS))
        # One plan per statement. With STAT4 SQLite plans every join again for each bound value, in case statistics favour another
        # plan. There are no statistics here, and planning took ten times as long as the look-up itself.
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        try:
            version = _version(db, path)
        except StoreError:
            # Another program's file is left as it was found: closing would move its log into it.
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            raise
        db.execute(_SETTINGS).fetchall()  # the script stops at a row until it is fetched
        writable = not db.readonly("main")
        if writable and path != MEMORY:
            _turn_wal_on(db, path)
        if version < VERSION:
            _migrate(db, path)
        db.set_busy_timeout(busy_timeout_ms)
        ready = True
    finally:
        if not ready:
            db.close()
    return db


def _version(db: apsw.Connection, path: str) -> int:
    """The file's version, 0 for a new file.

    Raises:
        StoreUnavailable: When it belongs to another program.
        StoreVersion: When a newer Umi wrote it.
    """
    sql = (
        "SELECT (SELECT application_id FROM pragma_application_id), user_version, (SELECT count(*) FROM sqlite_schema)"
    )
    ours, version, tables = db.execute(f"{sql} FROM pragma_user_version").get
    # The mark decides. Another program's file has another mark, a version, or tables.
    if ours == APPLICATION_ID:
        if version > VERSION:
            raise StoreVersion(
                f"{path} was written by a newer Umi (version {version}, this one knows {VERSION}): upgrade umi-memory"
            )
        return int(version)
    if ours or version or tables:
        raise StoreUnavailable(f"{path} is a SQLite database of another program: give Umi a file of its own")
    return 0


def _turn_wal_on(db: apsw.Connection, path: str) -> None:
    """Switch to WAL mode, or refuse where SQLite cannot use it."""
    mode = db.execute("PRAGMA journal_mode = WAL").get
    if mode != "wal":
        raise StoreUnavailable(
            f"{path} lies where SQLite cannot share it between processes (journal mode {mode}): use a local disk"
        )


def _migrate(db: apsw.Connection, path: str) -> None:
    """Run the migration steps from the file's version to the newest, in one transaction."""
    register(db)
    db.execute("BEGIN IMMEDIATE")
    try:
        for step in STEPS[_version(db, path) :]:  # read again under the lock: another process may have migrated it
            db.execute(step).fetchall()
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};").fetchall()
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")

"""The SQLite store: one file that several processes may share (ADR 4).

A write is acknowledged only after its WAL frames are on the disk (`synchronous=FULL`). What it shares with other stores
is in `stores/sql/store.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final, Self, TypeVar

import apsw

from umi._core.invariants import InvariantError
from umi.errors import EmbedderMismatch, StoreBusy, StoreCorrupt, StoreUnavailable
from umi.limits import STORE_BUSY_TIMEOUT_MS, STORE_CACHE_BYTES_DEFAULT
from umi.ports import Clock, EmbedderIdentity, Entropy, Examined
from umi.stores.namespace_view import another_embedder
from umi.stores.sql.cache import Head
from umi.stores.sql.connection import Connection
from umi.stores.sql.crc import CURE
from umi.stores.sql.embedder import embedder_values, registered_embedder
from umi.stores.sql.namespaces import add_namespace
from umi.stores.sql.read import read_head
from umi.stores.sql.rows import to_relation
from umi.stores.sql.store import SqlStore
from umi.stores.sqlite.backup import copy_database
from umi.stores.sqlite.check import findings
from umi.stores.sqlite.clean import clean, live_bytes, raw_bytes
from umi.stores.sqlite.damage import damaged_rows
from umi.stores.sqlite.errors import busy, mapped
from umi.stores.sqlite.opening import MEMORY, connect
from umi.stores.sqlite.transaction import SqliteTransaction
from umi.types.erasure_proof import ErasureProof, Findable, found_in_all

T = TypeVar("T")

_OPEN_PAUSE_S: Final = 0.02  # between two tries to open, or to clean
_CLEAN_PAUSE_S: Final = 0.001  # between two tries to get a lock that cleaning takes
_CLEAN_WAITS: Final = 30  # of `_CLEAN_PAUSE_S` each
_CLEAN_TRIES: Final = 25  # reads of other processes take milliseconds; a longer one leaves the cleaning to `maintain`


class SqliteStore(SqlStore):
    """All namespaces of one database file (or of `:memory:`). Created by `open`. See `umi.ports.Store`."""

    _transaction = SqliteTransaction
    _lock_pause_s = 0.001

    def __init__(
        self,
        path: str,
        *,
        clock: Clock,
        entropy: Entropy,
        cache_bytes_max: int = STORE_CACHE_BYTES_DEFAULT,
        busy_timeout_ms: int = STORE_BUSY_TIMEOUT_MS,
        vfs: str | None = None,
    ) -> None:
        super().__init__(
            path, clock=clock, entropy=entropy, cache_bytes_max=cache_bytes_max, busy_timeout_ms=busy_timeout_ms
        )
        self._path = path
        self._file = Path(path).absolute()  # the process may change its working directory later
        self._file_id: tuple[int, int] | None = None
        self._vfs = vfs
        self._connection: apsw.Connection | None = None
        self._immutable = False

    @classmethod
    async def open(
        cls,
        path: str,
        *,
        clock: Clock,
        entropy: Entropy,
        cache_bytes_max: int = STORE_CACHE_BYTES_DEFAULT,
        busy_timeout_ms: int = STORE_BUSY_TIMEOUT_MS,
        vfs: str | None = None,
    ) -> Self:
        """Open a file, create it if it does not exist, and migrate an older one.

        Args:
            path: A file, or `:memory:`.
            clock: Source of time.
            entropy: Source of ids.
            cache_bytes_max: Bytes that all search indexes may take together; the one in use is kept whatever it takes.
            busy_timeout_ms: How long a write waits for another process's write.
            vfs: The name of a registered SQLite VFS, such as a simulated disk; the file is then locked for this store
                alone. None is the operating system's.

        Raises:
            StoreUnavailable: Not a database of Umi, no permission, a folder, or a missing folder.
            StoreVersion: Written by a newer Umi.
            StoreBusy: Another process kept the file locked.
            StoreError: Anything else that SQLite reports.
        """
        store = cls(
            path,
            clock=clock,
            entropy=entropy,
            cache_bytes_max=cache_bytes_max,
            busy_timeout_ms=busy_timeout_ms,
            vfs=vfs,
        )
        opened = False
        try:
            await store._connect()
            opened = True
        finally:
            if not opened:
                await store.close()
        return store

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> int:
        # The copy runs in a thread, which a cancelled task cannot interrupt.
        stopped = Event()
        job = partial(copy_database, path=path, progress=progress, stopped=stopped.is_set)
        copying = asyncio.ensure_future(self._copying(job))
        try:
            return await asyncio.shield(copying)
        except OSError as error:  # a name that is too long, for one
            raise StoreUnavailable(f"{path} cannot be written: {error.strerror or error}") from error
        except asyncio.CancelledError:
            stopped.set()
            # Some milliseconds; or its end would take away what the next backup writes.
            await asyncio.gather(copying, return_exceptions=True)
            raise

    async def _copying(self, job: Callable[[apsw.Connection], int]) -> int:
        if self._path == MEMORY or self._vfs is not None:  # no second connection can open these
            return await self._run(lambda: job(self._db))
        self._require_open()
        self._require_same_file()
        return await asyncio.to_thread(self._copied, job)

    async def clean(self, proof: Findable | None) -> bool:
        to_relation.cache_clear()  # reasons quote values
        for _ in range(_CLEAN_TRIES):
            if await self._run(partial(self._try_clean, proof)):
                return True
            await self._clock.sleep(_OPEN_PAUSE_S)
        return False

    async def examine(self, proof: ErasureProof) -> Examined:
        def work() -> Examined:
            path = self._file if self._is_file and self._vfs is None else None
            raw = found_in_all(proof, raw_bytes(self._db, path)) if self._is_file else frozenset()
            return Examined(raw, found_in_all(proof, live_bytes(self._db)))

        return await self._run(work)

    async def check_integrity(self) -> list[str]:
        return await self._run(
            lambda: findings(self._db, self._lanes.all[0].cache, partial(registered_embedder, self._db))
        )

    @property
    def _is_file(self) -> bool:
        return self._path != MEMORY

    @property
    def _db(self) -> apsw.Connection:
        if self._connection is None:
            raise InvariantError("SqliteStore is made by SqliteStore.open")
        return self._connection

    async def _connect(self) -> None:
        # When several processes create one file, SQLite cannot wait for all of them: switching to WAL fails at once.
        give_up_s = self._clock.monotonic_s() + self._busy_timeout_ms / 1000
        while True:
            try:
                self._connection, self._immutable = await self._run(
                    partial(connect, self._path, self._busy_timeout_ms, self._vfs)
                )
            except StoreBusy:
                if self._clock.monotonic_s() >= give_up_s:
                    raise
                await self._clock.sleep(_OPEN_PAUSE_S)
            else:
                self._file_id = _file_id(self._file)
                return

    def _copied(self, job: Callable[[apsw.Connection], int]) -> int:
        """Run a backup on a connection of its own, so that nothing else waits for it."""
        connection, _ = connect(str(self._file), self._busy_timeout_ms)
        try:
            return job(connection)
        finally:
            connection.close()

    def _mapped(self, job: Callable[[], T]) -> T:
        with mapped(self._path, self._connection):
            try:
                return job()
            except UnicodeDecodeError as error:  # SQLite returns text unchecked, so damaged bytes show here
                raise self._illegible() from error

    def _illegible(self) -> StoreCorrupt:
        """The error for text that is not UTF-8, naming the damaged row if its checksum shows it."""
        rows = damaged_rows(self._connection) if self._connection is not None else iter(())
        return StoreCorrupt(f"{self._path}: {next(rows, 'a text is not UTF-8')}. {CURE}")

    async def _look(self, job: Callable[[Connection], T]) -> T:
        # Each is a single statement, which needs no transaction around it.
        return await self._run(lambda: job(self._db))

    def _reading(self, job: Callable[[Connection], T]) -> T:
        db = self._db
        self._require_same_file()
        db.execute("BEGIN DEFERRED")
        try:
            return job(db)
        finally:
            self._roll_back()

    def _try_clean(self, proof: Findable | None) -> bool:
        """Clean once; other connections are waited for as long as a short write takes."""
        self._require_same_file()
        try:
            # Asked for often, each of its locks finds the gaps between others' writes; longer waiting happens in `clean`.
            self._db.set_busy_handler(_wait_a_little)
            return clean(self._db, proof, in_file=self._is_file)
        finally:
            self._db.set_busy_timeout(self._busy_timeout_ms)

    def _try_locked(self, job: Callable[[], T]) -> tuple[bool, T | None]:
        self._require_same_file()
        try:
            self._db.set_busy_timeout(0)
            # IMMEDIATE, because a lock requested after a read is refused for good once another process has written.
            self._db.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            return False, None
        finally:
            self._db.set_busy_timeout(self._busy_timeout_ms)
        try:
            return True, job()
        finally:
            self._roll_back()

    def _require_same_file(self) -> None:
        """Check that the path still leads to the open file.

        Raises:
            StoreUnavailable: When it was removed or replaced, or a writer has appeared beside an immutable file.
        """
        # SQLite keeps writing to a removed or replaced file, and would acknowledge writes that no one can read again.
        if self._path == MEMORY or self._vfs is not None:
            return
        # A deleted file has no id, a replaced one has another.
        if self._file_id != _file_id(self._file):
            raise StoreUnavailable(
                f"{self._path} was removed or replaced while it was open: close it and open it again"
            )
        if self._immutable and Path(f"{self._file}-wal").exists():
            raise StoreUnavailable(
                f"another process began to write {self._path}, opened here as unchanging: close it and open it again"
            )

    def _head_to_write(self, namespace: str) -> Head:
        # Inside the write transaction, so that two processes cannot create one namespace twice.
        head = read_head(self._db, namespace)
        if head.ns:
            return head
        add_namespace(self._db, namespace)
        return read_head(self._db, namespace)

    def _roll_back(self) -> None:
        # After a full disk or an I/O error SQLite may have rolled back by itself.
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _set_identity(self, identity: EmbedderIdentity) -> None:
        kept = registered_embedder(self._db)
        if kept == identity:
            return
        if kept is not None:
            raise EmbedderMismatch(another_embedder(kept, identity))
        self._db.execute("INSERT INTO meta VALUES (?, ?, ?)", embedder_values(identity))
        self._db.execute("COMMIT")

    def _busy(self) -> StoreBusy:
        return busy(self._path)

    def _close(self) -> None:
        if self._connection is not None:
            with mapped(self._path):  # the last close deletes the WAL, which a failing disk may refuse
                self._connection.close()


def _wait_a_little(waits: int) -> bool:
    """A busy handler for SQLite: wait a moment and try again, a few times."""
    return waits < _CLEAN_WAITS and not Event().wait(_CLEAN_PAUSE_S)


def _file_id(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file, or None when it does not exist."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino

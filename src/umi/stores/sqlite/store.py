"""The SQLite store: one file that several processes may share (ADR 4).

One worker thread owns the one connection. A closure given to `read` or `write` runs entirely on that thread, inside one
transaction, so cancelling the task that awaits it cannot leave a transaction open. A write is acknowledged only after
its WAL frames are on the disk (`synchronous=FULL`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final, Self, TypeVar, cast

import apsw

from umi._core.invariants import InvariantError
from umi._core.stages import in_this_context
from umi.errors import Closed, EmbedderMismatch, StoreBusy, StoreCorrupt, StoreUnavailable
from umi.limits import STORE_BUSY_TIMEOUT_MS, STORE_CACHE_BYTES_DEFAULT
from umi.ports import Clock, EmbedderIdentity, Entropy, Examined
from umi.stores.namespace_view import NamespaceView, StoreSnapshot, StoreTransaction, another_embedder
from umi.stores.sql.cache import Head, IndexCache
from umi.stores.sql.crc import CURE
from umi.stores.sql.deletions import unclean
from umi.stores.sql.embedder import embedder_values, identity_of, replace_embedder
from umi.stores.sql.namespaces import add_namespace, all_namespaces
from umi.stores.sql.read import SqlSnapshot, read_head
from umi.stores.sql.rows import to_relation, verified
from umi.stores.sqlite.backup import copy_database
from umi.stores.sqlite.check import findings
from umi.stores.sqlite.clean import clean, live_bytes, raw_bytes
from umi.stores.sqlite.damage import damaged_rows
from umi.stores.sqlite.errors import busy, mapped
from umi.stores.sqlite.opening import MEMORY, connect
from umi.stores.sqlite.transaction import SqliteTransaction
from umi.types import NamespaceInfo
from umi.types.erasure_proof import ErasureProof, Findable, found_in_all

T = TypeVar("T")

_OPEN_PAUSE_S: Final = 0.02  # between two tries to open, or to clean
_LOCK_PAUSE_S: Final = 0.001  # between two tries to get the write lock, see `_locked`
_CLEAN_WAITS: Final = 30  # of `_LOCK_PAUSE_S` each, for one lock that cleaning takes
_CLEAN_TRIES: Final = 25  # reads of other processes take milliseconds; a longer one leaves the cleaning to `maintain`


class SqliteStore:
    """All namespaces of one database file (or of `:memory:`). Created by `open`. See `umi.ports.Store`."""

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
        self._path = path
        self._file = Path(path).absolute()  # the process may change its working directory later
        self._file_id: tuple[int, int] | None = None
        self._clock = clock
        self._entropy = entropy
        self._busy_timeout_ms = busy_timeout_ms
        self._vfs = vfs
        self._cache = IndexCache(cache_bytes_max)
        # One thread: jobs run in the order of submission, and the connection needs no lock.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="umi-store")
        self._process_id = os.getpid()
        self._closed = False
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

    def namespace(self, name: str) -> NamespaceView:
        """A view of one namespace; nothing is written until it is used."""
        return NamespaceView(self, name, self._clock, self._entropy)

    async def read(self, namespace: str, work: Callable[[StoreSnapshot], T]) -> T:
        """Run `work` on the worker thread in one read transaction."""
        return await self._run(partial(self._read, namespace, work))

    async def write(self, namespace: str, work: Callable[[StoreTransaction], T]) -> T:
        """Run `work` on the worker thread in one write transaction; an error in it rolls everything back."""
        return await self._locked(partial(self._write, namespace, work))

    async def namespaces(self) -> list[NamespaceInfo]:
        return await self._run(lambda: all_namespaces(self._db, self._cache))

    async def embedder_identity(self) -> EmbedderIdentity | None:
        return await self._run(self._identity)

    async def set_embedder_identity(self, identity: EmbedderIdentity) -> None:
        # Checked in a read first: nearly always it is registered already, and no write lock is needed.
        if await self._run(self._identity) != identity:
            await self._locked(partial(self._set_identity, identity))

    async def replace_embedder(self, identity: EmbedderIdentity) -> int:
        return await self._locked(partial(self._replace_identity, identity))

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> int:
        # The copy runs in a thread, which a cancelled task cannot interrupt.
        stopped = Event()
        job = partial(copy_database, path=path, progress=progress, stopped=stopped.is_set)
        try:
            if self._path == MEMORY or self._vfs is not None:  # no second connection can open these
                return await self._run(lambda: job(self._db))
            self._require_open()
            self._require_same_file()
            return await asyncio.to_thread(self._copied, job)
        except asyncio.CancelledError:
            stopped.set()
            raise

    async def clean(self, proof: Findable | None) -> bool:
        to_relation.cache_clear()  # reasons quote values
        for _ in range(_CLEAN_TRIES):
            if await self._run(partial(self._try_clean, proof)):
                return True
            await self._clock.sleep(_OPEN_PAUSE_S)
        return False

    async def unclean(self) -> bool:
        return bool(await self._run(lambda: unclean(self._db)))

    async def examine(self, proof: ErasureProof) -> Examined:
        def work() -> Examined:
            path = self._file if self._is_file and self._vfs is None else None
            raw = found_in_all(proof, raw_bytes(self._db, path)) if self._is_file else frozenset()
            return Examined(raw, found_in_all(proof, live_bytes(self._db)))

        return await self._run(work)

    async def check_integrity(self) -> list[str]:
        return await self._run(lambda: findings(self._db, self._cache, self._identity))

    async def close(self) -> None:
        """Let the worker finish what was submitted, and close the file. Closing twice is fine.

        Raises:
            StoreError: When the disk failed; what was acknowledged is safe, and the file is closed all the same.
        """
        if self._closed:
            return
        self._closed = True
        try:
            # After a fork the connection belongs to the parent, and the worker thread does not exist in the child.
            if self._process_id == os.getpid():
                await asyncio.get_running_loop().run_in_executor(self._worker, self._close)
        finally:
            self._worker.shutdown(wait=False)

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

    async def _locked(self, job: Callable[[], T]) -> T:
        """Run a job that needs the write lock, as soon as no other process has it.

        Waiting happens here and not inside SQLite. So the worker stays free for reads, a cancelled task stops waiting,
        and asking this often finds the gaps between the writes of a process that hardly pauses. SQLite itself waits in
        steps of up to a tenth of a second, and then starved for seconds (ADR 4).

        Raises:
            StoreBusy: When the busy timeout has passed.
        """
        give_up_s = self._clock.monotonic_s() + self._busy_timeout_ms / 1000
        while True:
            got_lock, result = await self._run(partial(self._try_locked, job))
            if got_lock:
                return cast("T", result)
            if self._clock.monotonic_s() >= give_up_s:
                raise busy(self._path)
            await self._clock.sleep(_LOCK_PAUSE_S)

    def _copied(self, job: Callable[[apsw.Connection], int]) -> int:
        """Run a backup on a connection of its own, so that nothing else waits for it."""
        connection, _ = connect(self._path, self._busy_timeout_ms)
        try:
            return job(connection)
        finally:
            connection.close()

    def _require_open(self) -> None:
        if self._closed:
            raise Closed(f"the store {self._path} was closed: open it again")
        if self._process_id != os.getpid():
            raise StoreUnavailable(f"{self._path} was opened before this process was forked: open it after the fork")

    async def _run(self, job: Callable[[], T]) -> T:
        """Run a job on the worker thread."""
        self._require_open()
        return await asyncio.get_running_loop().run_in_executor(
            self._worker, in_this_context(partial(self._mapped, job))
        )

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

    def _read(self, namespace: str, work: Callable[[StoreSnapshot], T]) -> T:
        """Run a closure in a read transaction; on the worker thread."""
        db = self._db
        self._require_same_file()
        db.execute("BEGIN DEFERRED")
        try:
            head = read_head(db, namespace)
            self._cache.follow(namespace, head.ns)
            snapshot = SqlSnapshot(db, namespace, head, self._cache)
            try:
                return work(snapshot)
            finally:
                snapshot.end()
        finally:
            self._roll_back()

    def _write(self, namespace: str, work: Callable[[StoreTransaction], T]) -> T:
        """Run a closure and commit if it changed anything; the caller has begun the transaction."""
        transaction = SqliteTransaction(self._db, namespace, self._head_to_write(namespace), self._cache)
        try:
            result = work(transaction)
            changed = transaction.conclude()
        finally:
            transaction.end()
        # Without a change `_try_locked` rolls back, which also drops a namespace created for nothing.
        if changed:
            self._db.execute("COMMIT")
        return result

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
        """Run a job that writes and commits; (False, None) when another process has the write lock."""
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
        """The state of a namespace inside a write transaction; creates the namespace if needed."""
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

    def _identity(self) -> EmbedderIdentity | None:
        row = self._db.execute("SELECT name, value, crc FROM meta WHERE name = 'embedder'").fetchone()
        return None if row is None else identity_of(verified("meta", row, 0)[1])

    def _set_identity(self, identity: EmbedderIdentity) -> None:
        kept = self._identity()
        if kept == identity:
            return
        if kept is not None:
            raise EmbedderMismatch(another_embedder(kept, identity))
        self._db.execute("INSERT INTO meta VALUES (?, ?, ?)", embedder_values(identity))
        self._db.execute("COMMIT")

    def _replace_identity(self, identity: EmbedderIdentity) -> int:
        waiting = replace_embedder(self._db, identity)
        self._db.execute("COMMIT")
        return waiting

    def _close(self) -> None:
        if self._connection is not None:
            with mapped(self._path):  # the last close deletes the WAL, which a failing disk may refuse
                self._connection.close()


def _wait_a_little(waits: int) -> bool:
    """A busy handler for SQLite: wait a moment and try again, a few times."""
    return waits < _CLEAN_WAITS and not Event().wait(_LOCK_PAUSE_S)


def _file_id(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file, or None when it does not exist."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino

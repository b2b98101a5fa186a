"""The embedded store: one SQLite file that many processes may share.

One worker thread owns the one connection. A closure of `read` or `write` runs whole on that worker, inside one transaction:
cancelling the task that waits for it cannot leave anything open. Nothing is acknowledged before its WAL frames are on
the disk (`synchronous=FULL`).
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final, Self, TypeVar, cast

import apsw

from umi._core.invariants import InvariantError, check
from umi.errors import Closed, EmbedderMismatch, StoreBusy, StoreCorrupt, StoreUnavailable
from umi.limits import STORE_BUSY_TIMEOUT_MS, STORE_CACHE_BYTES_DEFAULT
from umi.ports import Clock, EmbedderIdentity, Entropy, Examined
from umi.stores.namespace_view import NamespaceView, StoreSnapshot, StoreTransaction, another_embedder
from umi.stores.sqlite.backup import copy_database
from umi.stores.sqlite.cache import Head, IndexCache
from umi.stores.sqlite.check import findings
from umi.stores.sqlite.clean import clean, live_bytes, raw_bytes, unclean
from umi.stores.sqlite.crc import CURE, damaged_rows
from umi.stores.sqlite.embedder import embedder_values, replace_embedder
from umi.stores.sqlite.errors import busy, mapped
from umi.stores.sqlite.opening import MEMORY, connect
from umi.stores.sqlite.read import SqliteSnapshot, read_head
from umi.stores.sqlite.rows import summed, verified
from umi.stores.sqlite.schema import NAMESPACE_LAST
from umi.stores.sqlite.write import SqliteTransaction
from umi.types import NamespaceInfo
from umi.types.erasure_proof import ErasureProof, found_in_all

T = TypeVar("T")

_OPEN_PAUSE_S: Final = 0.02
_LOCK_PAUSE_S: Final = 0.001
_CLEAN_TRIES: Final = 25  # a read in another process takes milliseconds; who reads longer makes it pend
_NAMESPACES: Final = (
    "SELECT n.ns, n.name, n.sequence, n.next_arrival, n.changes_from, n.crc, coalesce(p.count, 0), coalesce(e.count, 0)"
    " FROM namespaces n"
    " LEFT JOIN (SELECT ns, count(*) AS count FROM episodes GROUP BY ns) p ON p.ns = n.ns"
    " LEFT JOIN (SELECT ns, count(*) AS count FROM entities GROUP BY ns) e ON e.ns = n.ns ORDER BY n.name"
)


class SqliteStore:
    """Every namespace of one database file (or of `:memory:`). See `umi.ports.Store`; made by `open`."""

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
        self._file = Path(path).absolute()  # the process may change its folder later
        self._file_id: tuple[int, int] | None = None
        self._clock = clock
        self._entropy = entropy
        self._busy_timeout_ms = busy_timeout_ms
        self._vfs = vfs
        self._cache = IndexCache(cache_bytes_max)
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
        """Open the file, make it if it is not there, and bring an older one to the newest version.

        Args:
            path: A file, or `:memory:`.
            clock: Time.
            entropy: Ids.
            cache_bytes_max: Bytes that search indexes may take together; the one in use is kept whatever it takes.
            busy_timeout_ms: How long a write waits for another process's write.
            vfs: The registered SQLite VFS to open the file with, such as a simulated disk; the file is then locked for this
                store alone. None is the operating system's.

        Raises:
            StoreUnavailable: Not a database of Umi, no permission, a folder, a missing folder.
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
        """The view of one namespace; nothing is written until it is used."""
        return NamespaceView(self, name, self._clock, self._entropy)

    async def read(self, namespace: str, work: Callable[[StoreSnapshot], T]) -> T:
        """Run `work` on the worker in one read transaction."""
        return await self._run(partial(self._read, namespace, work))

    async def write(self, namespace: str, work: Callable[[StoreTransaction], T]) -> T:
        """Run `work` on the worker in one write transaction; an error in it undoes all of it."""
        return await self._locked(partial(self._write, namespace, work))

    async def namespaces(self) -> list[NamespaceInfo]:
        def work() -> list[NamespaceInfo]:
            found = self._db.execute(_NAMESPACES)
            return [
                NamespaceInfo(verified("namespaces", tuple(row), 1)[1], episodes, entities)
                for *row, episodes, entities in found
            ]

        return await self._run(work)

    async def embedder_identity(self) -> EmbedderIdentity | None:
        return await self._run(self._identity)

    async def set_embedder_identity(self, identity: EmbedderIdentity) -> None:
        if await self._run(self._identity) != identity:
            await self._locked(partial(self._set_identity, identity))

    async def replace_embedder(self, identity: EmbedderIdentity) -> int:
        return await self._locked(partial(self._replace_identity, identity))

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> int:
        stopped = Event()
        job = partial(copy_database, path=path, progress=progress, stopped=stopped.is_set)
        try:
            if self._path == MEMORY or self._vfs is not None:  # nobody else can open these
                return await self._run(lambda: job(self._db))
            self._require_open()
            self._require_same_file()
            return await asyncio.to_thread(self._copied, job)
        except asyncio.CancelledError:
            stopped.set()
            raise

    async def clean(self, proof: ErasureProof | None) -> bool:
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
        """Let the worker finish what was asked before, and close the file. Closing twice is fine.

        Raises:
            StoreError: When the disk failed meanwhile; what was acknowledged is safe, and the file is closed all the same.
        """
        if self._closed:
            return
        self._closed = True
        try:
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
        # Several processes that make one file at once cannot all wait inside SQLite: turning WAL on refuses at once.
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
        """Run a job that needs the write lock as soon as no other process has it.

        We wait here and not inside SQLite: the worker stays free for reads, a cancelled task waits no longer, and asking this often
        gets in between the writes of a process that hardly pauses, where SQLite's own waiting, in steps of a tenth of a
        second, went hungry for seconds.
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
        """On a connection of its own, so that nobody waits for it."""
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
        self._require_open()
        return await asyncio.get_running_loop().run_in_executor(self._worker, partial(self._mapped, job))

    def _mapped(self, job: Callable[[], T]) -> T:
        with mapped(self._path, self._connection):
            try:
                return job()
            except UnicodeDecodeError as error:  # SQLite hands out text as it lies in the file
                raise self._illegible() from error

    def _illegible(self) -> StoreCorrupt:
        rows = damaged_rows(self._connection) if self._connection is not None else iter(())
        return StoreCorrupt(f"{self._path}: {next(rows, 'a text is not UTF-8')}. {CURE}")

    def _read(self, namespace: str, work: Callable[[StoreSnapshot], T]) -> T:
        db = self._db
        self._require_same_file()
        db.execute("BEGIN DEFERRED")
        try:
            snapshot = SqliteSnapshot(db, namespace, read_head(db, namespace), self._cache)
            try:
                return work(snapshot)
            finally:
                snapshot.end()
        finally:
            self._roll_back()

    def _write(self, namespace: str, work: Callable[[StoreTransaction], T]) -> T:
        transaction = SqliteTransaction(self._db, namespace, self._head_to_write(namespace), self._cache)
        try:
            result = work(transaction)
            changed = transaction.conclude()
        finally:
            transaction.end()
        if changed:
            self._db.execute("COMMIT")
        return result

    def _try_clean(self, proof: ErasureProof | None) -> bool:
        self._require_same_file()
        try:
            self._db.set_busy_timeout(0)  # we wait outside, as for the lock
            return clean(self._db, proof, in_file=self._is_file)
        finally:
            self._db.set_busy_timeout(self._busy_timeout_ms)

    def _try_locked(self, job: Callable[[], T]) -> tuple[bool, T | None]:
        """Run a job that writes and commits; False when another process has the write lock."""
        self._require_same_file()
        try:
            self._db.set_busy_timeout(0)
            # Not at the first change: a lock asked for after a read is refused for good when another process has written.
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
        # SQLite keeps writing to a file that was removed or replaced, and acknowledges what nobody will ever see again.
        if self._path == MEMORY or self._vfs is not None:
            return
        if self._file_id != _file_id(self._file):
            raise StoreUnavailable(
                f"{self._path} was removed or replaced while it was open: close it and open it again"
            )
        if self._immutable and Path(f"{self._file}-wal").exists():
            raise StoreUnavailable(
                f"another process began to write {self._path}, opened here as unchanging: close it and open it again"
            )

    def _head_to_write(self, namespace: str) -> Head:
        head = read_head(self._db, namespace)
        if head.ns:
            return head
        ns = self._db.execute("SELECT coalesce(max(ns), 0) + 1 FROM namespaces").get
        check(ns <= NAMESPACE_LAST, "no number is left for another namespace")
        self._db.execute("INSERT INTO namespaces VALUES (?, ?, ?, ?, ?, ?)", summed((ns, namespace, 0, 0, 0)))
        return read_head(self._db, namespace)

    def _roll_back(self) -> None:
        # After a full disk or an I/O error SQLite may have rolled back by itself.
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _identity(self) -> EmbedderIdentity | None:
        row = self._db.execute("SELECT name, value, crc FROM meta WHERE name = 'embedder'").fetchone()
        return None if row is None else EmbedderIdentity(**json.loads(verified("meta", row, 0)[1]))

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
            with mapped(self._path):  # the last close tidies the WAL away, and a dying disk may refuse that
                self._connection.close()


def _file_id(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino

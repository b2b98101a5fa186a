"""The PostgreSQL store: one database that several machines share (ADR 24).

One worker thread owns the one connection of a store. A closure given to `read` or `write` runs entirely on that thread,
inside one transaction. A write first locks the row of its namespace, which holds its sequence: writes to one namespace
come one after the other, on whatever machine, and others do not wait. A read is one `REPEATABLE READ READ ONLY` snapshot.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, Self, TypeVar, cast

import psycopg
from psycopg.errors import LockNotAvailable

from umi._core.stages import in_this_context
from umi.addresses import without_password
from umi.errors import Closed, EmbedderMismatch, StoreBusy, StoreUnavailable
from umi.limits import STORE_BUSY_TIMEOUT_MS, STORE_CACHE_BYTES_DEFAULT
from umi.ports import Clock, EmbedderIdentity, Entropy, Examined
from umi.stores.namespace_view import NamespaceView, StoreSnapshot, StoreTransaction, another_embedder
from umi.stores.postgres.checking import damaged_rows, live_bytes
from umi.stores.postgres.connection import PostgresConnection
from umi.stores.postgres.errors import mapped
from umi.stores.postgres.opening import BEGIN_READ, BEGIN_WRITE, connect, migrate
from umi.stores.postgres.schema import COLUMNS
from umi.stores.postgres.transaction import PostgresSnapshot, PostgresTransaction
from umi.stores.sql.cache import Head, IndexCache
from umi.stores.sql.deletions import UNCLEAN, unclean
from umi.stores.sql.embedder import embedder_values, identity_of, replace_embedder
from umi.stores.sql.namespaces import add_namespace, all_namespaces
from umi.stores.sql.read import read_head
from umi.stores.sql.rows import to_relation, verified
from umi.types import NamespaceInfo
from umi.types.erasure_proof import ErasureProof, Findable, found_in_all

T = TypeVar("T")

_LOCK_PAUSE_S: Final = 0.002  # between two tries to lock a namespace


class PostgresStore:
    """All namespaces of one database. Created by `open`. See `umi.ports.Store`."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        entropy: Entropy,
        cache_bytes_max: int = STORE_CACHE_BYTES_DEFAULT,
        busy_timeout_ms: int = STORE_BUSY_TIMEOUT_MS,
    ) -> None:
        self._url = url
        self._name = without_password(url)
        self._clock = clock
        self._entropy = entropy
        self._busy_timeout_ms = busy_timeout_ms
        self._cache = IndexCache(cache_bytes_max)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="umi-store")
        self._process_id = os.getpid()
        self._closed = False
        self._connection: PostgresConnection | None = None

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        clock: Clock,
        entropy: Entropy,
        cache_bytes_max: int = STORE_CACHE_BYTES_DEFAULT,
        busy_timeout_ms: int = STORE_BUSY_TIMEOUT_MS,
    ) -> Self:
        """Connect, create Umi's tables if they do not exist, and migrate older ones.

        Args:
            url: `postgresql://user@host/database`, as libpq takes it.
            clock: Source of time.
            entropy: Source of ids.
            cache_bytes_max: Bytes that all search indexes may take together; the one in use is kept whatever it takes.
            busy_timeout_ms: How long a write waits for another write to its namespace.

        Raises:
            StoreUnavailable: The server cannot be reached, refuses, or is too old.
            StoreVersion: The tables were written by a newer Umi.
            StoreError: Anything else that PostgreSQL reports.
        """
        store = cls(url, clock=clock, entropy=entropy, cache_bytes_max=cache_bytes_max, busy_timeout_ms=busy_timeout_ms)
        opened = False
        try:
            await store._run(partial(migrate, url))
            await store._run(lambda: store._db)
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
        return await self._look(lambda db: all_namespaces(db, self._cache))

    async def embedder_identity(self) -> EmbedderIdentity | None:
        return await self._look(_identity)

    async def set_embedder_identity(self, identity: EmbedderIdentity) -> None:
        await self._run(partial(self._in_transaction, partial(self._set_identity, identity)))

    async def replace_embedder(self, identity: EmbedderIdentity) -> int:
        return await self._run(partial(self._in_transaction, partial(self._replace_identity, identity)))

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> int:
        del path, progress
        raise StoreUnavailable(
            f"{self._name} is a PostgreSQL database: back it up with pg_dump or pg_basebackup, or copy what it holds with `umi export`"
        )

    async def clean(self, proof: Findable | None) -> bool:
        """Let PostgreSQL reuse the space of deleted rows. What logs, replicas and backups hold is the operator's to remove."""
        del proof  # the rows are gone; of the server's files nothing can be said
        to_relation.cache_clear()  # reasons quote values
        return await self._run(self._clean)

    async def unclean(self) -> bool:
        return bool(await self._look(unclean))

    async def examine(self, proof: ErasureProof) -> Examined:
        live = await self._look(lambda db: found_in_all(proof, live_bytes(db)))
        return Examined(frozenset(), live, files_searched=False)

    async def check_integrity(self) -> list[str]:
        return await self._look(lambda db: list(damaged_rows(db)))

    async def close(self) -> None:
        """Let the worker finish what was submitted, and close the connection. Closing twice is fine."""
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
    def _db(self) -> PostgresConnection:
        """The connection; one that was lost is made anew."""
        if self._connection is None or self._connection.is_broken:
            self._connection = connect(self._url)
        return self._connection

    async def _locked(self, job: Callable[[], T]) -> T:
        """Run a job that locks a namespace, as soon as no other process has it. Waiting leaves the worker free for reads.

        Raises:
            StoreBusy: When the busy timeout has passed.
        """
        give_up_s = self._clock.monotonic_s() + self._busy_timeout_ms / 1000
        while True:
            got_lock, result = await self._run(partial(self._try_locked, job))
            if got_lock:
                return cast("T", result)
            if self._clock.monotonic_s() >= give_up_s:
                raise StoreBusy(
                    f"others kept writing to this namespace of {self._name} past the busy timeout: try again, or raise busy_timeout_ms"
                )
            await self._clock.sleep(_LOCK_PAUSE_S)

    async def _run(self, job: Callable[[], T]) -> T:
        """Run a job on the worker thread."""
        if self._closed:
            raise Closed(f"the store {self._name} was closed: open it again")
        if self._process_id != os.getpid():
            raise StoreUnavailable(f"{self._name} was opened before this process was forked: open it after the fork")
        return await asyncio.get_running_loop().run_in_executor(
            self._worker, in_this_context(partial(self._mapped, job))
        )

    def _mapped(self, job: Callable[[], T]) -> T:
        with mapped(self._name):
            return job()

    async def _look(self, job: Callable[[PostgresConnection], T]) -> T:
        """Run a job on the worker thread in one read transaction of the whole database."""
        return await self._run(partial(self._reading, job))

    def _read(self, namespace: str, work: Callable[[StoreSnapshot], T]) -> T:
        """Run a closure in a read transaction; on the worker thread."""
        return self._reading(partial(self._read_in, namespace, work))

    def _reading(self, job: Callable[[PostgresConnection], T]) -> T:
        db = self._db
        try:
            db.execute(BEGIN_READ)
            return job(db)
        finally:
            self._roll_back()

    def _read_in(self, namespace: str, work: Callable[[StoreSnapshot], T], db: PostgresConnection) -> T:
        head = read_head(db, namespace)
        self._cache.follow(namespace, head.ns)
        snapshot = PostgresSnapshot(db, namespace, head, self._cache)
        try:
            return work(snapshot)
        finally:
            snapshot.end()

    def _try_locked(self, job: Callable[[], T]) -> tuple[bool, T | None]:
        """Run a job that writes and commits; (False, None) when another process has the lock that it needs."""
        try:
            return True, self._in_transaction(job)
        except LockNotAvailable:
            return False, None

    def _in_transaction(self, job: Callable[[], T]) -> T:
        try:
            self._db.execute(BEGIN_WRITE)
            return job()
        finally:
            self._roll_back()

    def _write(self, namespace: str, work: Callable[[StoreTransaction], T]) -> T:
        """Run a closure and commit if it changed anything; the caller has begun the transaction."""
        db = self._db
        transaction = PostgresTransaction(db, namespace, self._head_to_write(db, namespace), self._cache)
        try:
            result = work(transaction)
            changed = transaction.conclude()
        finally:
            transaction.end()
        # Without a change the caller rolls back, which also drops a namespace created for nothing.
        if changed:
            db.execute("COMMIT")
        return result

    def _head_to_write(self, db: PostgresConnection, namespace: str) -> Head:
        """The state of a namespace, whose row is locked until the transaction ends; creates the namespace if needed."""
        lock = "SELECT ns FROM namespaces WHERE name = ? FOR UPDATE NOWAIT"
        if db.execute(lock, (namespace,)).fetchone() is None:
            # Numbers are given out one at a time.
            db.execute("LOCK TABLE namespaces IN SHARE ROW EXCLUSIVE MODE")
            add_namespace(db, namespace)
            db.execute(lock, (namespace,))
        return read_head(db, namespace)

    def _clean(self) -> bool:
        deletions = self._reading(unclean)
        if deletions:
            self._db.execute(f"VACUUM {', '.join(f'umi.{table}' for table in COLUMNS)}")
            self._in_transaction(partial(self._cleaned, deletions))
        return True

    def _cleaned(self, deletions: int) -> None:
        # Another process may have deleted something since.
        if unclean(self._db) == deletions:
            self._db.execute("DELETE FROM meta WHERE name = ?", (UNCLEAN,))
            self._db.execute("COMMIT")

    def _set_identity(self, identity: EmbedderIdentity) -> None:
        self._db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?, ?)", embedder_values(identity))
        kept = _identity(self._db)
        if kept is not None and kept != identity:
            raise EmbedderMismatch(another_embedder(kept, identity))
        self._db.execute("COMMIT")

    def _replace_identity(self, identity: EmbedderIdentity) -> int:
        self._db.execute("LOCK TABLE namespaces IN EXCLUSIVE MODE")  # no write may begin meanwhile
        waiting = replace_embedder(self._db, identity)
        self._db.execute("COMMIT")
        return waiting

    def _roll_back(self) -> None:
        db = self._connection
        if db is not None and not db.is_broken and db.in_transaction:
            try:
                db.execute("ROLLBACK")
            except psycopg.Error:
                db.close()  # the next job makes a new one

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _identity(db: PostgresConnection) -> EmbedderIdentity | None:
    row = db.execute("SELECT name, value, crc FROM meta WHERE name = 'embedder'").fetchone()
    return None if row is None else identity_of(verified("meta", row, 0)[1])

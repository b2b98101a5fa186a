"""The PostgreSQL store: one database that several machines share (ADR 24).

A write first locks the row of its namespace, which holds its sequence: writes to one namespace
come one after the other, on whatever machine, and others do not wait. A read is one `REPEATABLE READ READ ONLY` snapshot. What it shares with SQLite's store is in `stores/sql/store.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Self, TypeVar

import psycopg
from psycopg.errors import LockNotAvailable

from umi.addresses import without_password
from umi.errors import EmbedderMismatch, StoreBusy, StoreUnavailable
from umi.limits import STORE_BUSY_TIMEOUT_MS, STORE_CACHE_BYTES_DEFAULT, STORE_CONNECTIONS_COUNT_MAX
from umi.ports import Clock, EmbedderIdentity, Entropy, Examined
from umi.stores.namespace_view import another_embedder
from umi.stores.postgres.checking import damaged_rows, live_bytes
from umi.stores.postgres.connection import PostgresConnection
from umi.stores.postgres.errors import mapped
from umi.stores.postgres.opening import BEGIN_READ, BEGIN_WRITE, connect, migrate
from umi.stores.postgres.schema import COLUMNS
from umi.stores.postgres.transaction import PostgresSnapshot, PostgresTransaction
from umi.stores.sql.blocks import wrong_blocks
from umi.stores.sql.cache import Head
from umi.stores.sql.connection import Connection
from umi.stores.sql.deletions import UNCLEAN, unclean
from umi.stores.sql.embedder import embedder_values, registered_embedder
from umi.stores.sql.lanes import Lane
from umi.stores.sql.namespaces import add_namespace
from umi.stores.sql.read import read_head
from umi.stores.sql.rows import to_relation
from umi.stores.sql.store import SqlStore
from umi.types.erasure_proof import ErasureProof, Findable, found_in_all

T = TypeVar("T")


class PostgresStore(SqlStore):
    """All namespaces of one database. Created by `open`. See `umi.ports.Store`."""

    _snapshot = PostgresSnapshot
    _transaction = PostgresTransaction
    _lock_pause_s = 0.002

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        entropy: Entropy,
        cache_bytes_max: int = STORE_CACHE_BYTES_DEFAULT,
        busy_timeout_ms: int = STORE_BUSY_TIMEOUT_MS,
    ) -> None:
        super().__init__(
            without_password(url),
            clock=clock,
            entropy=entropy,
            cache_bytes_max=cache_bytes_max,
            busy_timeout_ms=busy_timeout_ms,
            lanes_count=STORE_CONNECTIONS_COUNT_MAX,
        )
        self._url = url
        self._connections: dict[Lane, PostgresConnection] = {}  # made when a lane first needs one

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

    async def examine(self, proof: ErasureProof) -> Examined:
        live = await self._look(lambda db: found_in_all(proof, live_bytes(db)))
        return Examined(frozenset(), live, files_searched=False)

    async def check_integrity(self) -> list[str]:
        # Blocks are compared with rows that are sound.
        return await self._look(lambda db: list(damaged_rows(db)) or list(wrong_blocks(db)))

    @property
    def _db(self) -> PostgresConnection:
        """The connection of this thread; one that was lost is made anew."""
        lane = self._lanes.current()
        db = self._connections.get(lane)
        if db is not None and db.is_broken:
            self._connections.pop(lane).close()
            db = None
        if db is None:
            db = self._connections[lane] = connect(self._url)
        return db

    def _mapped(self, job: Callable[[], T]) -> T:
        with mapped(self._name):
            return job()

    def _reading(self, job: Callable[[Connection], T]) -> T:
        db = self._db
        try:
            db.begin(*BEGIN_READ)
            found = job(db)
        except BaseException:
            self._roll_back()
            raise
        # Nobody waits for the end of a transaction that only read: the thread sees to it after it has given the answer.
        self._lanes.current().worker.submit(self._roll_back)
        return found

    def _try_locked(self, job: Callable[[], T]) -> tuple[bool, T | None]:
        try:
            return True, self._in_transaction(job)
        except LockNotAvailable:
            return False, None

    def _in_transaction(self, job: Callable[[], T]) -> T:
        try:
            self._db.begin(*BEGIN_WRITE)
            return job()
        finally:
            self._roll_back()

    def _head_to_write(self, namespace: str) -> Head:
        # The row stays locked until the transaction ends.
        db = self._db
        lock = "SELECT ns FROM namespaces WHERE name = ? FOR UPDATE NOWAIT"
        locked = db.execute(lock, (namespace,))
        head = read_head(db, namespace)  # sent with the lock, in one round trip; it sees what was committed before
        if locked.fetchone() is None:
            # Numbers are given out one at a time.
            db.execute("LOCK TABLE namespaces IN SHARE ROW EXCLUSIVE MODE")
            add_namespace(db, namespace)
            db.execute(lock, (namespace,))
            head = read_head(db, namespace)
        return head

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
        kept = registered_embedder(self._db)
        if kept is not None and kept != identity:
            raise EmbedderMismatch(another_embedder(kept, identity))
        self._db.execute("COMMIT")

    def _replace_identity(self, identity: EmbedderIdentity) -> int:
        self._db.execute("LOCK TABLE namespaces IN EXCLUSIVE MODE")  # no write may begin meanwhile
        return super()._replace_identity(identity)

    def _roll_back(self) -> None:
        db = self._connections.get(self._lanes.current())
        if db is not None and not db.is_broken:
            try:
                db.roll_back()
            except psycopg.Error:
                db.close()  # the next job makes a new one

    def _busy(self) -> StoreBusy:
        return StoreBusy(
            f"others kept writing to this namespace of {self._name} past the busy timeout: try again, or raise busy_timeout_ms"
        )

    def _close(self) -> None:
        db = self._connections.pop(self._lanes.current(), None)
        if db is not None:
            db.close()

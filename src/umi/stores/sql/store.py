"""What the stores on a SQL database share: threads with a connection each, reads, writes and waiting for a lock.

A closure given to `read` or `write` runs entirely on the thread of its namespace, inside one transaction, so cancelling the task that
awaits it cannot leave a transaction open.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import ClassVar, TypeVar, cast

from umi._core.stages import in_this_context
from umi.errors import Closed, StoreBusy, StoreUnavailable
from umi.ports import Clock, EmbedderIdentity, Entropy
from umi.stores.namespace_view import NamespaceView, StoreSnapshot, StoreTransaction
from umi.stores.sql.cache import Head
from umi.stores.sql.connection import Connection
from umi.stores.sql.deletions import unclean
from umi.stores.sql.embedder import registered_embedder, replace_embedder
from umi.stores.sql.lanes import Lane, Lanes
from umi.stores.sql.namespaces import all_namespaces, with_expired
from umi.stores.sql.read import SqlSnapshot, read_head
from umi.stores.sql.write import SqlTransaction
from umi.types import NamespaceInfo

T = TypeVar("T")


class SqlStore(ABC):
    """All namespaces of one database. See `umi.ports.Store`.

    Args:
        name: The database, as messages may show it.
        clock: Source of time.
        entropy: Source of ids.
        cache_bytes_max: Bytes that all search indexes may take together; the one in use is kept whatever it takes.
        busy_timeout_ms: How long a write waits for another process's write.
        lanes_count: How many threads, each with a connection.
    """

    _snapshot: ClassVar[type[SqlSnapshot]] = SqlSnapshot
    _transaction: ClassVar[type[SqlTransaction]]
    _lock_pause_s: ClassVar[float]  # between two tries to get a lock, see `_locked`

    def __init__(
        self,
        name: str,
        *,
        clock: Clock,
        entropy: Entropy,
        cache_bytes_max: int,
        busy_timeout_ms: int,
        lanes_count: int = 1,
    ) -> None:
        self._name = name
        self._clock = clock
        self._entropy = entropy
        self._busy_timeout_ms = busy_timeout_ms
        self._lanes = Lanes(lanes_count, cache_bytes_max)
        self._process_id = os.getpid()
        self._closed = False
        self._closing: asyncio.Future[list[None]] | None = None

    def namespace(self, name: str) -> NamespaceView:
        """A view of one namespace; nothing is written until it is used."""
        return NamespaceView(self, name, self._clock, self._entropy)

    async def read(self, namespace: str, work: Callable[[StoreSnapshot], T]) -> T:
        """Run `work` on the namespace's thread in one read transaction."""
        return await self._run(partial(self._read, namespace, work), self._lanes.of(namespace))

    async def write(self, namespace: str, work: Callable[[StoreTransaction], T]) -> T:
        """Run `work` on the namespace's thread in one write transaction; an error in it rolls everything back."""
        return await self._locked(partial(self._write, namespace, work), self._lanes.of(namespace))

    async def namespaces(self) -> list[NamespaceInfo]:
        found = await self._look(all_namespaces)
        for lane in self._lanes.all:
            await self._run(partial(lane.cache.keep_only, frozenset(found)), lane)
        return list(found.values())

    async def namespaces_with_expired(self, now: datetime) -> list[str]:
        return await self._look(lambda db: with_expired(db, now))

    async def embedder_identity(self) -> EmbedderIdentity | None:
        return await self._look(registered_embedder)

    async def set_embedder_identity(self, identity: EmbedderIdentity) -> None:
        # Checked in a read first: nearly always it is registered already, and no write lock is needed.
        if await self._look(registered_embedder) != identity:
            await self._locked(partial(self._set_identity, identity))

    async def replace_embedder(self, identity: EmbedderIdentity) -> int:
        return await self._locked(partial(self._replace_identity, identity))

    async def unclean(self) -> bool:
        return bool(await self._look(unclean))

    async def close(self) -> None:
        """Let the threads finish what was submitted, and close the connections. Closing twice is fine.

        It goes on where the caller is cancelled; whoever closes again waits for it.

        Raises:
            StoreError: When the disk failed; what was acknowledged is safe, and the connections are closed all the same.
        """
        if not self._closed:
            self._closed = True
            # After a fork the connections belong to the parent, and the threads do not exist in the child.
            if self._process_id == os.getpid():
                loop = asyncio.get_running_loop()
                ends = [loop.run_in_executor(lane.worker, self._close) for lane in self._lanes.all]
                self._closing = asyncio.gather(*ends)
                self._closing.add_done_callback(self._end_threads)
            else:
                self._end_threads()
        if self._closing is not None and not self._closing.done():
            await asyncio.shield(self._closing)

    def _end_threads(self, _: object = None) -> None:
        for lane in self._lanes.all:
            lane.worker.shutdown(wait=False)

    @property
    @abstractmethod
    def _db(self) -> Connection:
        """The connection of the thread that asks."""

    @abstractmethod
    def _close(self) -> None:
        """Close the connection of the thread that asks."""

    @abstractmethod
    def _mapped(self, job: Callable[[], T]) -> T:
        """Run a job, and translate the driver's errors to Umi's."""

    @abstractmethod
    def _reading(self, job: Callable[[Connection], T]) -> T:
        """Run a job in a read transaction, on the connection of the thread that asks."""

    @abstractmethod
    def _try_locked(self, job: Callable[[], T]) -> tuple[bool, T | None]:
        """Run a job that writes and commits, in a transaction; (False, None) when another process has the lock that it needs."""

    @abstractmethod
    def _head_to_write(self, namespace: str) -> Head:
        """The state of a namespace inside a write transaction; creates the namespace if needed."""

    @abstractmethod
    def _set_identity(self, identity: EmbedderIdentity) -> None:
        """Register the first embedder and commit; inside a write transaction."""

    @abstractmethod
    def _busy(self) -> StoreBusy:
        """The error for a lock that another process did not release in time."""

    def _require_open(self) -> None:
        if self._closed:
            raise Closed(f"the store {self._name} was closed: open it again")
        if self._process_id != os.getpid():
            raise StoreUnavailable(f"{self._name} was opened before this process was forked: open it after the fork")

    async def _run(self, job: Callable[[], T], lane: Lane | None = None) -> T:
        """Run a job on a lane's thread, by default the first one's."""
        self._require_open()
        worker = (lane or self._lanes.all[0]).worker
        return await asyncio.get_running_loop().run_in_executor(worker, in_this_context(partial(self._mapped, job)))

    async def _look(self, job: Callable[[Connection], T]) -> T:
        """Run a job that reads the whole database, not one namespace, on the first lane's thread."""
        return await self._run(partial(self._reading, job))

    async def _locked(self, job: Callable[[], T], lane: Lane | None = None) -> T:
        """Run a job that needs a lock, as soon as no other process has it.

        Waiting happens here and not inside the database. So the thread stays free for reads, a cancelled task stops
        waiting, and asking this often finds the gaps between the writes of a process that hardly pauses.

        Raises:
            StoreBusy: When the busy timeout has passed.
        """
        give_up_s = self._clock.monotonic_s() + self._busy_timeout_ms / 1000
        while True:
            got_lock, result = await self._run(partial(self._try_locked, job), lane)
            if got_lock:
                return cast("T", result)
            if self._clock.monotonic_s() >= give_up_s:
                raise self._busy()
            await self._clock.sleep(self._lock_pause_s)

    def _read(self, namespace: str, work: Callable[[StoreSnapshot], T]) -> T:
        """Run a closure in a read transaction; on the namespace's thread."""
        return self._reading(partial(self._read_in, namespace, work))

    def _read_in(self, namespace: str, work: Callable[[StoreSnapshot], T], db: Connection) -> T:
        head = read_head(db, namespace)
        cache = self._lanes.of(namespace).cache
        cache.follow(namespace, head.ns)
        snapshot = self._snapshot(db, namespace, head, cache)
        try:
            return work(snapshot)
        finally:
            snapshot.end()

    def _write(self, namespace: str, work: Callable[[StoreTransaction], T]) -> T:
        """Run a closure and commit if it changed anything; the caller has begun the transaction."""
        cache = self._lanes.of(namespace).cache
        transaction = self._transaction(self._db, namespace, self._head_to_write(namespace), cache)
        try:
            result = work(transaction)
            changed = transaction.conclude()
        finally:
            transaction.end()
        # Without a change `_try_locked` rolls back, which also drops a namespace created for nothing.
        if changed:
            self._db.execute("COMMIT")
        return result

    def _replace_identity(self, identity: EmbedderIdentity) -> int:
        waiting = replace_embedder(self._db, identity)
        self._db.execute("COMMIT")
        return waiting

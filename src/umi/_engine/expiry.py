"""Messages that expire: deleted before the first read or write that would still see them.

So no answer, listing, export or state can be made of an expired message, and nothing needs to know about expiry but this
file (ADR 22). A check costs a comparison, and one look-up after each write.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from umi._core.stages import stage
from umi._erasure.operations import Taken
from umi.ports import Clock, NamespaceStore, Snapshot, Transaction

T = TypeVar("T")
Expire = Callable[[Transaction, datetime], Taken]
_UNKNOWN: Final = -1


class _SomethingExpired(Exception):  # noqa: N818 - an internal signal, which no caller sees
    """A message has expired that is still there."""


class ExpiringStorage:
    """A namespace's storage without what has expired when an operation begins; in all else the storage that it wraps.

    An operation fails with the error of the deletion where that fails: what has expired is not shown because a disk is full.

    Args:
        inner: The storage.
        clock: Says what has expired.
        expire: Deletes some of what has expired by a moment, inside a transaction.
        gone: Told what was deleted, after the commit.
    """

    def __init__(self, inner: NamespaceStore, clock: Clock, expire: Expire, gone: Callable[[Taken], None]) -> None:
        self._inner = inner
        self._clock = clock
        self._expire = expire
        self._gone = gone
        # The first expiry in the state with this sequence; only a write changes it.
        self._sequence = _UNKNOWN
        self._first: datetime | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @stage("store read")
    async def read(self, work: Callable[[Snapshot], T]) -> T:
        """As `umi.ports.StorageBackend.read`."""
        now = self._clock.now()
        return await self._after_deletion(lambda: self._inner.read(partial(self._checked, work, now)), now)

    @stage("store write")
    async def write(self, work: Callable[[Transaction], T]) -> T:
        """As `umi.ports.StorageBackend.write`."""
        now = self._clock.now()
        return await self._after_deletion(lambda: self._inner.write(partial(self._checked, work, now)), now)

    async def _after_deletion(self, run: Callable[[], Awaitable[T]], now: datetime) -> T:
        while True:
            try:
                return await run()
            except _SomethingExpired:
                self._gone(await self._inner.write(lambda tx: self._expire(tx, now)))

    def _checked(self, work: Callable[[Any], T], now: datetime, snapshot: Any) -> T:
        """The work, unless something has expired in the very state that it would see.

        Raises:
            _SomethingExpired: Then; another process may have written since the last look.
        """
        if snapshot.sequence != self._sequence:
            self._first, self._sequence = snapshot.first_expiry(), snapshot.sequence
        if self._first is not None and self._first <= now:
            raise _SomethingExpired
        return work(snapshot)

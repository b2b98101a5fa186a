"""The threads of a store on a SQL database, each with a connection and the search indexes of its namespaces.

A namespace always has the same lane. So its reads and writes run in the order in which they were submitted, its index is used by one
thread, and namespaces of different lanes do not wait for each other.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from zlib import crc32

from umi.limits import STORE_INDEXES_COUNT_MAX
from umi.stores.sql.cache import IndexCache


class Lane:
    """One thread, and what only it uses."""

    def __init__(self, number: int, cache: IndexCache, here: threading.local) -> None:
        self.number = number
        self.cache = cache
        # One thread: jobs run in the order of submission, and the connection needs no lock.
        self.worker = ThreadPoolExecutor(1, thread_name_prefix=f"umi-store-{number}", initializer=self._enter)
        self._here = here

    def _enter(self) -> None:
        self._here.lane = self


class Lanes:
    """All lanes of a store.

    Args:
        count: How many.
        cache_bytes_max: Bytes that the search indexes of all lanes may take together; the one in use of each lane is kept whatever it takes.
    """

    def __init__(self, count: int, cache_bytes_max: int) -> None:
        self._here = threading.local()
        indexes = STORE_INDEXES_COUNT_MAX // count
        self.all = tuple(
            Lane(number, IndexCache(cache_bytes_max, indexes, lambda: self.cache_bytes), self._here)
            for number in range(count)
        )

    @property
    def cache_bytes(self) -> int:
        """The memory that the search indexes of all lanes take."""
        return sum(lane.cache.bytes for lane in self.all)

    def of(self, namespace: str) -> Lane:
        """The lane of a namespace, the same in every process."""
        return self.all[crc32(namespace.encode()) % len(self.all)]

    def current(self) -> Lane:
        """The lane that this thread belongs to."""
        lane: Lane = self._here.lane
        return lane

"""The stores that `umi bench speed` measures: a SQLite file of its own, and beside it a PostgreSQL database that the user names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from umi._core.clock import SystemClock, SystemEntropy
from umi._engine.components import POSTGRES_PREFIXES
from umi.addresses import without_password
from umi.bench import lower_bounds
from umi.bench.report import Step
from umi.errors import InvalidInput
from umi.memory import Memory
from umi.ports import EmbedderIdentity


@dataclass(frozen=True, slots=True)
class Place:
    """One store.

    Attributes:
        url: Its address.
        prefix: With what the names of the benchmark's namespaces begin.
        commit_s: Median seconds of a bare durable commit of one of these texts.
        trip_s: Median seconds of a bare round trip to its server; 0 where there is none.
        version: Of its server.
    """

    url: str
    prefix: str
    commit_s: Callable[[Sequence[str]], float]
    trip_s: float = 0.0
    version: str = ""

    def namespace(self, size: int) -> str:
        """The namespace of so many memories."""
        return f"{self.prefix}-{size}"


def sqlite(folder: Path) -> Place:
    """A file in a folder."""
    return Place(str(folder / "speed.db"), "speed", partial(lower_bounds.commit_s, folder))


@asynccontextmanager
async def postgres(url: str, sizes: Sequence[int], embedder: EmbedderIdentity, step: Step) -> AsyncIterator[Place]:
    """A database that may hold other memories: it is measured in namespaces with a name that nobody has, which are erased at the end.

    Raises:
        InvalidInput: When it is no PostgreSQL, or holds memories that were made with another embedder or without one.
        StoreError: When the server cannot be reached or written.
    """
    if not url.startswith(POSTGRES_PREFIXES):
        raise InvalidInput(
            f"--db takes postgresql://..., got {without_password(url)!r}; SQLite is measured in a file of its own"
        )
    async with Memory.open(url, embedder=None) as memory:
        store = memory._open.store  # noqa: SLF001 - beneath the facade
        kept, names = await store.embedder_identity(), await store.namespaces()
    # A database has one embedder, which the first vector registers.
    if kept != embedder and (kept or names):
        made = f"with the embedder {kept.name}" if kept else "without an embedder"
        raise InvalidInput(
            f"{without_password(url)} was made {made}, and the local one is measured: name another database, such as a new one"
        )
    from umi.bench import postgres_bounds  # noqa: PLC0415 - its driver is an extra

    place = Place(
        url,
        SystemEntropy().new_id("umi-bench", SystemClock().now()),
        partial(postgres_bounds.commit_s, url),
        postgres_bounds.round_trip_s(url),
        postgres_bounds.version(url),
    )
    try:
        yield place
    finally:
        step("erasing what was written", 0, 0)
        for size in sizes:
            async with Memory.open(url, namespace=place.namespace(size), embedder=None) as memory:
                await memory.erase_namespace()

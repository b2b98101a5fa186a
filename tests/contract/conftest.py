"""The stores that must keep the port's contract. Another one joins by an entry in `OPENERS`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import postgres_server
import pytest

from umi._core.clock import SystemClock, SystemEntropy
from umi.errors import Closed
from umi.ports import StorageBackend, Store
from umi.stores.memory.store import MemoryStore
from umi.stores.postgres.store import PostgresStore
from umi.stores.sqlite.store import SqliteStore

Opener = Callable[[], Awaitable[Store]]


async def _sqlite_file(folder: Path) -> Store:
    return await SqliteStore.open(str(folder / "umi.db"), clock=SystemClock(), entropy=SystemEntropy())


async def _sqlite_in_memory(_: Path) -> Store:
    return await SqliteStore.open(":memory:", clock=SystemClock(), entropy=SystemEntropy())


async def _dicts(_: Path) -> Store:
    return MemoryStore(clock=SystemClock(), entropy=SystemEntropy())


async def _postgres(folder: Path) -> Store:
    # A database for each test: its address is kept in the test's folder, so that a test can open it again.
    kept = folder / "postgres"
    if not kept.exists():
        kept.write_text(postgres_server.new_database())
    return await PostgresStore.open(kept.read_text(), clock=SystemClock(), entropy=SystemEntropy())


OPENERS = {
    "sqlite": _sqlite_file,
    "sqlite-in-blocks": _sqlite_file,
    "sqlite-in-memory": _sqlite_in_memory,
    "dicts": _dicts,
    "postgres": _postgres,
    "postgres-in-blocks": _postgres,
}
PERSISTENT = ("sqlite", "sqlite-in-blocks", "postgres", "postgres-in-blocks")


def _with_slow(names: Iterable[str]) -> list[Any]:
    """The stores as parameters. Blocks are the same code on both databases, and a PostgreSQL database for each test takes long."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name == "postgres-in-blocks" else []) for name in names]


@pytest.fixture(autouse=True)
def in_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every namespace is large for the stores that are named so: it has blocks, and its index reads from them."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and any(str(one).endswith("in-blocks") for one in callspec.params.values()):
        monkeypatch.setattr("umi.limits.STORE_BLOCKS_FROM_COUNT", 1)
        monkeypatch.setattr("umi.limits.STORE_BLOCK_COUNT", 2)
        monkeypatch.setattr("umi.limits.INDEX_MESSAGE_BYTES", 1 << 40)


@pytest.fixture(params=_with_slow(sorted(OPENERS)))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened = await OPENERS[request.param](tmp_path)
    yield opened
    with suppress(Closed):  # a test may have closed it
        assert await opened.check_integrity() == []
    await opened.close()
    kept = tmp_path / "postgres"
    if kept.exists():
        postgres_server.drop_database(kept.read_text())


@pytest.fixture
def alice(store: Store) -> StorageBackend:
    return store.namespace("alice")


@pytest.fixture(params=_with_slow(PERSISTENT))
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the same persistent store each time it is called."""
    return lambda: OPENERS[request.param](tmp_path)

"""Opening SQLite stores in tests, and looking into their files with a connection of our own."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import apsw

from umi._core.clock import SystemClock, SystemEntropy
from umi._core.text import analyse
from umi.ports import EpisodeRow, StorageBackend
from umi.stores.sqlite.functions import register
from umi.stores.sqlite.store import SqliteStore
from umi.types import Entity, EntityType, Episode

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PYTHON = sys.executable


@asynccontextmanager
async def opened(path: Path | str, **options: int) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(str(path), clock=SystemClock(), entropy=SystemEntropy(), **options)
    try:
        yield store
    finally:
        await store.close()


def episode_row(arrival: int, content: str = "") -> EpisodeRow:
    content = content or f"message number {arrival}"
    episode = Episode(f"ep_{arrival}", content, "user", None, None, NOON, NOON, arrival)
    return EpisodeRow(episode, tuple(analyse(content)), len(content.split()))


def entity(arrival: int, name: str) -> Entity:
    return Entity(EntityType.NOTE, "note", f"said in {arrival}", id=name, subject="note", episode_id=f"ep_{arrival}")


async def add(space: StorageBackend, *contents: str) -> None:
    """Append episodes, each with one entity."""
    for content in contents:

        def work(tx, content: str = content) -> None:
            arrival = tx.next_arrival()
            tx.add_episodes([episode_row(arrival, content)])
            tx.add_entities([entity(arrival, f"e{arrival}")])

        await space.write(work)


async def texts(space: StorageBackend) -> list[str]:
    found = await space.read(lambda s: s.episodes_at(range(10_000)))
    return [found[arrival].content for arrival in sorted(found)]


def sql(path: Path, statement: str) -> list[tuple]:
    """Run a statement on the file behind the store's back; `umi_crc(...)` makes the sum of a row."""
    connection = apsw.Connection(str(path))
    try:
        register(connection)
        connection.set_busy_timeout(5000)
        return connection.execute(statement).fetchall()
    finally:
        connection.close()

"""Recalls from a replica of PostgreSQL say how old what they saw may be, and the store itself answers where the replica does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from postgres_cluster import Server, servers

import umi
from umi.errors import InvalidInput, StoreError

OLD = "Alice works at Acme."
NEW = "Alice left Acme and joined Initech."
ASKED = "Where does Alice work?"


@pytest.fixture
def pair() -> Iterator[tuple[Server, Server]]:
    with servers(2) as (primary, standby):
        primary.create()
        primary.start()
        primary.copy_to(standby)
        standby.start()
        yield primary, standby


@pytest.fixture
async def memory(pair: tuple[Server, Server]) -> AsyncIterator[umi.Memory]:
    primary, standby = pair
    config = umi.Config(read_url=standby.url)
    async with umi.Memory.open(primary.url, embedder=None, config=config) as memory:
        await memory.remember(OLD)
        yield memory


def _tell(server: Server, statement: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute(statement.encode())


async def _recall(memory: umi.Memory) -> tuple[str, float | None]:
    receipt = await memory.recall(ASKED, min_score=0, limit=1)
    return receipt.hits[0].content if receipt.hits else "", receipt.stale_s


async def _until(memory: umi.Memory, wanted: str) -> None:
    """Wait until the replica answers, and with that."""
    for _ in range(300):
        text, stale_s = await _recall(memory)
        if text == wanted and stale_s is not None:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{wanted!r} never came")


async def test_a_replica_that_is_behind_says_so_and_catches_up(pair: tuple[Server, Server], memory: umi.Memory) -> None:
    _, standby = pair
    await _until(memory, OLD)
    _tell(standby, "SELECT pg_wal_replay_pause()")
    await memory.remember(NEW)
    await asyncio.sleep(1)
    text, stale_s = await _recall(memory)
    assert text == OLD
    assert stale_s is not None
    assert stale_s >= 1, "what was written a second ago is missing"
    _tell(standby, "SELECT pg_wal_replay_resume()")
    await _until(memory, NEW)


async def test_without_its_replica_the_store_answers_and_without_the_store_the_replica(
    pair: tuple[Server, Server], memory: umi.Memory
) -> None:
    primary, standby = pair
    await _until(memory, OLD)
    standby.kill()
    await memory.remember(NEW)
    assert await _recall(memory) == (NEW, None)
    standby.start()
    await _until(memory, NEW)
    primary.kill()
    text, stale_s = await _recall(memory)
    assert text == NEW
    assert stale_s is not None
    with pytest.raises(StoreError):
        await memory.remember("Bob works at Acme.")


async def test_what_has_expired_is_not_shown_by_a_replica_that_still_has_it(
    pair: tuple[Server, Server], memory: umi.Memory
) -> None:
    _, standby = pair
    soon = datetime.now(UTC) + timedelta(seconds=3)
    await memory.remember("The zebra code is 1234.", expires_at=soon)
    for _ in range(300):
        receipt = await memory.recall("zebra", min_score=0)
        if receipt.hits and receipt.stale_s is not None:
            break
        await asyncio.sleep(0.05)
    _tell(standby, "SELECT pg_wal_replay_pause()")
    await asyncio.sleep(max(0.0, (soon - datetime.now(UTC)).total_seconds()) + 0.1)
    receipt = await memory.recall("zebra", min_score=0)
    assert not [hit for hit in receipt.hits if "zebra" in hit.content]
    assert receipt.stale_s is None, "the store itself has answered"


async def test_a_replica_is_for_postgresql(memory: umi.Memory) -> None:
    with pytest.raises(InvalidInput, match="read_url"):
        async with umi.Memory.open(":memory:", embedder=None, config=umi.Config(read_url="postgresql://a/b")):
            pass

"""A simulated test that fails: it says where and why, and what it leaves behind harms no later test."""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import suppress

import apsw
import pytest

import umi
from umi.sim import Deadlock
from umi.testing import World, simulate

# What it leaves behind.

KEPT: list[object] = []  # what an agent keeps in a variable of its module


async def remembers_and_fails(world: World) -> None:
    await world.memory.remember("Alice works at Acme.")
    raise LookupError("planned")


async def remembers_and_waits_forever(world: World) -> None:
    await world.memory.remember("Alice works at Acme.")
    await asyncio.Event().wait()


async def leaves_a_connection(world: World) -> None:
    db = apsw.Connection("other.db", vfs=world.disk.vfs)
    db.execute("PRAGMA journal_mode = WAL; CREATE TABLE facts (text); BEGIN; INSERT INTO facts VALUES ('x')")
    KEPT.append(db)


async def leaves_a_memory(world: World) -> None:
    other = await umi.Memory.open(f"sqlite:///other.db?vfs={world.disk.vfs}", embedder=None, clock=world.clock)
    await other.remember("Alice works at Acme.")
    KEPT.append(other)


@pytest.mark.parametrize(
    "test", [remembers_and_fails, remembers_and_waits_forever, leaves_a_connection, leaves_a_memory]
)
def test_a_test_leaves_no_connection_to_the_garbage_collector(test: object, monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda left: lost.append(repr(left.exc_value)))
    with suppress(LookupError, Deadlock):
        simulate(seeds=1)(test)()  # type: ignore[arg-type]
    left = [db.filename for db in apsw.connections() if db.open_vfs.startswith("umi-sim-")]
    KEPT.clear()
    gc.collect()
    assert (left, lost) == ([], [])


@pytest.mark.parametrize("test", [remembers_and_fails, remembers_and_waits_forever])
def test_the_memory_of_a_failed_test_is_closed(test: object) -> None:
    opened: list[umi.Memory] = []

    @simulate(seeds=1)
    async def fails(world: World) -> None:
        opened.append(world.memory)
        await test(world)  # type: ignore[operator]

    with pytest.raises((LookupError, Deadlock)):
        fails()
    with pytest.raises(umi.Closed):
        asyncio.run(opened[0].stats())

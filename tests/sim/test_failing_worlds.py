"""A simulated test that fails: it says where and why, and what it leaves behind harms no later test."""

from __future__ import annotations

import asyncio
import gc
import re
import sys
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

import umi
from umi.sim import BoundExceeded, Deadlock
from umi.testing import FaultConfig, FaultType, World, simulate

# What it leaves behind.

KEPT: list[object] = []  # what an agent keeps in a variable of its module


async def remembers_and_fails(world: World) -> None:
    await world.memory.remember("Alice works at Acme.")
    raise LookupError("planned")


async def remembers_and_waits_forever(world: World) -> None:
    await world.memory.remember("Alice works at Acme.")
    await asyncio.Event().wait()


async def remembers_and_spins(world: World) -> None:
    await world.memory.remember("Alice works at Acme.")
    while True:
        await asyncio.sleep(0)


async def remembers_and_does_not_end(world: World) -> None:
    await world.memory.remember("Alice works at Acme.")
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
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
    "test",
    [
        remembers_and_fails,
        remembers_and_waits_forever,
        remembers_and_spins,
        remembers_and_does_not_end,
        leaves_a_connection,
        leaves_a_memory,
    ],
)
def test_a_test_leaves_no_connection_to_the_garbage_collector(test: object, monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda left: lost.append(repr(left.exc_value)))
    with suppress(LookupError, Deadlock, BoundExceeded):
        simulate(seeds=1, steps_count_max=10_000)(test)()  # type: ignore[arg-type]
    left = [db.filename for db in apsw.connections() if db.open_vfs.startswith("umi-sim-")]
    KEPT.clear()
    gc.collect()
    assert (left, lost) == ([], [])


@pytest.mark.parametrize("test", [remembers_and_fails, remembers_and_waits_forever, remembers_and_spins])
def test_the_memory_of_a_failed_test_is_closed(test: object) -> None:
    opened: list[umi.Memory] = []

    @simulate(seeds=1, steps_count_max=10_000)
    async def fails(world: World) -> None:
        opened.append(world.memory)
        await test(world)  # type: ignore[operator]

    with pytest.raises((LookupError, Deadlock, BoundExceeded)):
        fails()
    with pytest.raises(umi.Closed):
        asyncio.run(opened[0].stats())


# Where it waits.


class Agent:
    """An agent of several tasks, each of which waits for something else."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.inbox: asyncio.Queue[str] = asyncio.Queue()

    async def serve(self) -> str:
        return await self.inbox.get()  # waits: serve

    async def ask(self) -> None:
        await self.world.llm.complete("Where does Alice work?")  # waits: ask

    async def poll(self) -> None:
        while True:
            await asyncio.sleep(60)  # waits: poll

    async def follow(self, task: asyncio.Task[str]) -> None:
        await task  # waits: follow


def line_of(what: str) -> str:
    """A line of this file, as the report names it."""
    file = Path(__file__)
    number = next(
        n for n, line in enumerate(file.read_text("utf-8").splitlines(), 1) if line.endswith(f"# waits: {what}")
    )
    return f"{file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}:{number}"


def test_a_deadlock_names_the_lines_of_the_agent() -> None:
    @simulate(seeds=1)
    async def waits(world: World) -> None:
        agent = Agent(world)
        async with asyncio.TaskGroup() as group:  # waits: group
            served = group.create_task(agent.serve(), name="server")
            group.create_task(agent.follow(served), name="follower")

    with pytest.raises(Deadlock) as caught:
        waits()
    said = str(caught.value)
    assert "nothing is ready and no timer is left. 3 unfinished tasks: " in said
    assert f"server at {line_of('serve')} in Agent.serve, waits in Queue.get" in said
    assert f"follower at {line_of('follow')} in Agent.follow, waits for server" in said
    assert f" at {line_of('group')} in " in said
    assert "waits in TaskGroup.__aexit__" in said


def test_a_bound_that_is_exceeded_names_the_lines_of_the_agent_and_no_lack_of_timers() -> None:
    @simulate(seeds=1, virtual_s_max=3_600)
    async def polls(world: World) -> None:
        await Agent(world).poll()

    with pytest.raises(BoundExceeded) as caught:
        polls()
    assert "3600 virtual seconds are over: raise virtual_s_max. 1 unfinished task: " in str(caught.value)
    assert f" at {line_of('poll')} in Agent.poll, waits in sleep" in str(caught.value)
    assert "timer" not in str(caught.value)

    @simulate(seeds=1, virtual_s_max=60, faults=[FaultConfig(FaultType.LlmTimeout)], model=False)
    async def asks(world: World) -> None:
        await Agent(world).ask()

    with pytest.raises(BoundExceeded) as caught:
        asks()
    assert f" at {line_of('ask')} in Agent.ask, waits in SimLLM.complete > sleep" in str(caught.value)


def test_a_spinning_task_is_ready_to_go_on() -> None:
    @simulate(seeds=1, steps_count_max=1_000)
    async def spins(world: World) -> None:
        while True:
            await asyncio.sleep(0)  # waits: spin

    with pytest.raises(BoundExceeded, match=re.escape(line_of("spin"))):
        spins()

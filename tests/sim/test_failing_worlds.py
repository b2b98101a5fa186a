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


# What crashed where nobody looked.


async def crashes_later() -> None:
    await asyncio.sleep(60)
    raise ValueError("the sweeper crashed")


@pytest.mark.parametrize("kept", [True, False])
def test_a_task_that_crashes_fails_the_test_although_nobody_awaits_it(
    kept: bool, caplog: pytest.LogCaptureFixture
) -> None:
    @simulate(seeds=1)
    async def goes_on(world: World) -> None:
        task = asyncio.create_task(crashes_later(), name="sweeper")
        if kept:
            KEPT.append(task)
        del task
        await world.sleep(3_600)

    with pytest.raises(ValueError, match="the sweeper crashed") as caught:
        goes_on()
    assert "nobody awaited sweeper, which ended with ValueError('the sweeper crashed')" in caught.value.__notes__[0]
    KEPT.clear()
    gc.collect()
    assert ("never retrieved" in caplog.text) is not kept, "a task that is gone was logged by asyncio, in its test"


def test_another_failure_names_the_task_that_crashed_before() -> None:
    @simulate(seeds=1)
    async def waits_for_it(world: World) -> None:
        KEPT.append(asyncio.create_task(crashes_later(), name="sweeper"))
        await asyncio.Event().wait()

    with pytest.raises(Deadlock) as caught:
        waits_for_it()
    assert "nobody awaited sweeper, which ended with ValueError" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("end", ["restart", "kill", "cut_power", "no power"])
def test_a_task_may_crash_with_its_process(end: str) -> None:
    @simulate(seeds=1, model=False)
    async def ends(world: World) -> None:
        memory = world.memory

        async def sweep() -> None:
            for number in range(100):
                await asyncio.sleep(60)
                await memory.remember(f"Room {number} is free.")

        KEPT.append(asyncio.create_task(sweep()))
        await asyncio.sleep(90)
        if end == "no power":
            world.disk.cut_power()
        else:
            await getattr(world, end)()
        await asyncio.sleep(90)

    ends()


def test_a_crash_that_was_looked_at_is_the_tests_own_business() -> None:
    @simulate(seeds=1)
    async def looks(world: World) -> None:
        task = asyncio.create_task(crashes_later())
        await asyncio.wait([task])
        assert isinstance(task.exception(), ValueError)
        assert isinstance((await asyncio.gather(crashes_later(), return_exceptions=True))[0], ValueError)

    looks()

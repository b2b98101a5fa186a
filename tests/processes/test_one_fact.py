"""Two processes that change one fact at once leave one current, and a reader is never behind an acknowledgement."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import postgres_server
import pytest

import umi
from umi import HitState

ROUNDS = int(os.environ.get("UMI_FACT_ROUNDS", "12"))  # of each process; 250 in a long run
# A writer's turn; the program around it takes `ROUNDS` of them.
WRITER = """
async def turn(memory, name, number):
    await memory.remember(f"Alice now works at {name}{number}.")
    found = await memory.recall("Where does Alice work?", min_score=0, limit=1)
    print(number, found.hits[0].content, flush=True)
"""
SETTER = """
async def turn(memory, name, number):
    done = await memory.set_fact("api", "owner", f"{name} {number}")
    print(done.episode_ids[0], flush=True)
"""
PROGRAM = """
import asyncio, sys, umi

async def main(path, name, rounds):
    async with umi.Memory.open(path, embedder=None) as memory:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(rounds)):
            await turn(memory, name, number)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(params=["sqlite", "postgres"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "umi.db")
        return
    with postgres_server.database() as url:
        yield url


def _start(path: str, name: str, turn: str = WRITER) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", turn + PROGRAM, path, name, str(ROUNDS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


async def test_two_processes_that_change_one_fact_leave_one_current(path: str) -> None:
    writers = [_start(path, name) for name in ("North", "South")]
    outputs = await asyncio.gather(*(asyncio.to_thread(writer.communicate, "go\n") for writer in writers))
    assert [writer.returncode for writer in writers] == [0, 0]
    assert [len(out.splitlines()) for out, _ in outputs] == [ROUNDS, ROUNDS]
    async with umi.Memory.open(path, embedder=None) as memory:
        steps = await memory.history("Alice")
        assert len(steps) == 2 * ROUNDS
        assert [step.state for step in steps].count(HitState.CURRENT) == 1
        assert await memory.check() == []
        ends = sorted(step.entity.valid_to for step in steps if step.entity.valid_to is not None)
        begins = sorted(step.entity.valid_from for step in steps if step.entity.valid_from is not None)
        assert ends == begins[1:], "each statement ends where the next begins"


async def test_eight_processes_that_set_one_fact_leave_one_value_and_the_whole_history(path: str) -> None:
    writers = [_start(path, f"team {number}", SETTER) for number in range(8)]
    outputs = await asyncio.gather(*(asyncio.to_thread(writer.communicate, "go\n") for writer in writers))
    assert [writer.returncode for writer in writers] == [0] * 8
    acknowledged = {line for out, _ in outputs for line in out.split()}
    async with umi.Memory.open(path, embedder=None) as memory:
        steps = await memory.history("api")
        assert {step.entity.episode_id for step in steps} == acknowledged
        assert len(steps) == 8 * ROUNDS
        assert len(await memory.facts("api")) == 1
        assert [step.state for step in steps].count(HitState.CURRENT) == 1
        ends = sorted(step.entity.valid_to for step in steps if step.entity.valid_to is not None)
        begins = sorted(step.entity.valid_from for step in steps if step.entity.valid_from is not None)
        assert ends == begins[1:], "each value ends where the next begins"
        assert await memory.check() == []


async def test_a_reader_sees_what_another_process_has_acknowledged(path: str) -> None:
    writer = _start(path, "North")
    assert writer.stdin is not None
    assert writer.stdout is not None
    async with umi.Memory.open(path, embedder=None) as reader:
        writer.stdin.write("go\n")
        writer.stdin.flush()
        for _ in range(ROUNDS):
            line = await asyncio.to_thread(writer.stdout.readline)
            acknowledged = int(line.split()[0])
            found = await reader.recall("Where does Alice work?", min_score=0, limit=1)
            shown = int(found.hits[0].content.removeprefix("Alice now works at North").rstrip("."))
            assert shown >= acknowledged
    writer.communicate(timeout=60)
    assert writer.returncode == 0

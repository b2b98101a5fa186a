"""PostgreSQL, or the app, is killed in the middle of writes: nothing acknowledged is lost, nothing is there twice or by half.

The writers keep their `Memory` open all the time and make a call that failed again under its idempotency key, as an app does.
`UMI_POSTGRES_KILLS=50` makes a long run. What was tried is printed (`pytest -s`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import psycopg
import pytest
from postgres_cluster import Server, address, fill, filler, servers, small_disk

import umi
from umi import HitState
from umi.errors import StoreFull, StoreUnavailable

KILLS = int(os.environ.get("UMI_POSTGRES_KILLS", "2"))  # of each kind; 50 in a long run
NAMES = ("Alice", "Robert")
WRITER = Path(__file__).with_name("postgres_writer.py")
EACH = 8  # writes of a writer between two kills
LOOKS = 500  # for a transaction under way
ANSWER_S = 90
DISK_BYTES = 96 << 20
TEXT = "the quick brown fox jumps over the lazy dog. " * 40


class Writer:
    """An app in a process of its own, its acknowledgements read as they come."""

    def __init__(self, url: str, name: str, count: int, first: int = 0) -> None:
        self.name, self.count = name, count
        self.acknowledged = first
        self.failed = 0
        self._first, self._url = first, url

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, str(WRITER), self._url, self.name, str(self._first), str(self.count - self._first),
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert await self._line() == "ready"

    async def until(self, number: int) -> None:
        """Wait until that many changes are acknowledged."""
        while self.acknowledged < min(number, self.count):
            line = await self._line()
            assert line == str(self.acknowledged), "the writer ended with an error"
            self.acknowledged += 1

    async def finish(self) -> None:
        await self.until(self.count)
        last = await self._line()
        assert last.startswith("failed")
        self.failed = sum(int(word.partition("=")[2]) for word in last.split()[1:])
        assert await self.process.wait() == 0

    async def kill(self) -> None:
        """`kill -9`; what it had acknowledged by then is read."""
        self.process.kill()
        assert self.process.stdout is not None
        rest = (await self.process.stdout.read()).decode().split("\n")[:-1]  # a line cut short was not said
        self.acknowledged += len([line for line in rest if line.isdigit()])
        assert await self.process.wait() == -signal.SIGKILL

    async def _line(self) -> str:
        assert self.process.stdout is not None
        return (await asyncio.wait_for(self.process.stdout.readline(), ANSWER_S)).decode().strip()


async def check(url: str, counts: dict[str, int]) -> None:
    """Every change is there once and whole, and one is current."""
    async with umi.Memory.open(url, embedder=None) as memory:
        for name, count in counts.items():
            steps = await memory.history(name)
            assert sorted(step.entity.content for step in steps) == sorted(
                f"{name} now works at Firm{number}." for number in range(count)
            )
            assert [step.state for step in steps].count(HitState.CURRENT) == 1
        stats = await memory.stats()
        assert stats.episodes == sum(counts.values())
        assert await memory.check() == []


@pytest.fixture
def server() -> Iterator[Server]:
    with servers() as (made,):
        made.create()
        made.start()
        yield made


def _writing(server: Server) -> list[int]:
    """The server's processes that are in the middle of a writer's transaction, after its first change."""
    sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'umi' AND backend_xid IS NOT NULL ORDER BY pid"
    with suppress(psycopg.OperationalError), psycopg.connect(server.url, autocommit=True) as db:
        for _ in range(LOOKS):
            found = [pid for (pid,) in db.execute(sql)]
            if found:
                return found
    return []


def _kill_a_backend(server: Server) -> bool:
    for pid in _writing(server)[:1]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # the server then ends all other connections and recovers
            return True
    return False


def _kill_the_server(server: Server) -> bool:
    server.kill()
    server.start()
    return True


@pytest.mark.parametrize(
    "disturb", [pytest.param(_kill_a_backend, marks=pytest.mark.slow), _kill_the_server], ids=lambda it: it.__name__[1:]
)
async def test_writers_go_on_by_themselves_when_postgresql_is_killed(
    server: Server, disturb: Callable[[Server], bool]
) -> None:
    pause = Random(1)
    count = EACH * (KILLS + 1)
    writers = [Writer(server.url, name, count) for name in NAMES]
    await asyncio.gather(*(writer.start() for writer in writers))
    killed = 0
    for turn in range(KILLS):
        await asyncio.gather(*(writer.until(EACH * (turn + 1) - EACH // 2) for writer in writers))
        await asyncio.sleep(pause.random() * 0.03)
        killed += await asyncio.to_thread(disturb, server)
    await asyncio.gather(*(writer.finish() for writer in writers))
    failed = sum(writer.failed for writer in writers)
    print(
        f"{disturb.__name__[1:]}: {killed} kills, {count * len(writers)} writes acknowledged, {failed} calls failed, 0 lost"
    )
    assert killed >= KILLS / 2
    assert failed > 0
    await check(server.url, dict.fromkeys(NAMES, count))


async def test_an_app_that_is_killed_has_lost_nothing_it_acknowledged(server: Server) -> None:
    pause = Random(2)
    turns = 2 * KILLS
    writer = Writer(server.url, NAMES[0], 10**6)
    for turn in range(turns):
        await writer.start()
        await writer.until(writer.acknowledged + 1 + turn % 3)
        await asyncio.sleep(pause.random() * 0.02)
        await writer.kill()
        # The call under way may be done or not; its key tells, and nobody waits for what the killed app had locked.
        async with umi.Memory.open(server.url, embedder=None) as memory:
            found = await memory.history(NAMES[0])
            assert writer.acknowledged <= len(found) <= writer.acknowledged + 1
        writer = Writer(server.url, NAMES[0], 10**6, first=writer.acknowledged)
    last = Writer(server.url, NAMES[0], writer.acknowledged + 3, first=writer.acknowledged)
    await last.start()
    await last.finish()
    print(f"app killed {turns} times, {last.acknowledged} writes acknowledged, 0 lost")
    await check(server.url, {NAMES[0]: last.acknowledged})


async def test_a_standby_that_is_promoted_has_every_acknowledged_write() -> None:
    acknowledged = failed = 0
    for turn in range(max(1, KILLS // 2)):
        with servers(2) as (primary, standby):
            primary.create()
            primary.start()
            primary.copy_to(standby)
            # The standby answers for a commit from the start, whatever the primary's default is.
            standby.start("synchronous_standby_names=")
            with psycopg.connect(primary.url, autocommit=True) as db:
                db.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                db.execute("SELECT pg_reload_conf()")
            url = address(primary, standby, only="read-write")
            writers = [Writer(url, name, 2 * EACH) for name in NAMES]
            await asyncio.gather(*(writer.start() for writer in writers))
            await asyncio.gather(*(writer.until(EACH + turn % EACH) for writer in writers))
            primary.kill()  # and it does not come back
            await asyncio.to_thread(standby.promote)
            await asyncio.gather(*(writer.finish() for writer in writers))
            failed += sum(writer.failed for writer in writers)
            acknowledged += sum(writer.acknowledged for writer in writers)
            await check(standby.url, dict.fromkeys(NAMES, 2 * EACH))
    print(f"standby promoted {turn + 1} times, {acknowledged} writes acknowledged, {failed} calls failed, 0 lost")
    assert failed > 0


async def _write(memory: umi.Memory, first: int, end: int, *, until_full: bool = False) -> int:
    """Write notes; returns the number after the last one that was acknowledged."""
    for number in range(first, end):
        try:
            await memory.remember(f"Note {number}: {TEXT}", idempotency_key=str(number))
        except (StoreFull, StoreUnavailable):
            assert until_full
            return number
    assert not until_full, "the disk was never full"
    return end


async def test_a_full_disk_is_said_and_writes_go_on_when_there_is_room_again() -> None:
    with servers() as (server,), small_disk(server, DISK_BYTES) as where:
        server.create()
        server.start()
        async with umi.Memory.open(server.url, embedder=None) as memory:
            done = 0
            for _ in range(KILLS):
                fill(where)
                done = await _write(memory, done, done + 10_000, until_full=True)
                filler(where).unlink()
                server.start()  # where a full disk has stopped it
                done = await _write(memory, done, done + 20)  # the first of them is the one that failed
            stats = await memory.stats()
            assert stats.episodes == done
            assert await memory.check() == []
    print(f"disk full {KILLS} times, {done} writes acknowledged, 0 lost")

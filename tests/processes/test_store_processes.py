"""One file and many processes: nothing acknowledged is lost, nothing half-written is seen, and every acknowledgement is seen."""

from __future__ import annotations

import asyncio
import itertools
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from store_worker import NAMESPACE, open_store, problems, sees

WORKER = Path(__file__).with_name("store_worker.py")
WRITERS, READERS, BATCHES_EACH = 4, 4, 40
KILLS = 20


async def start(role: str, path: Path, name: str = "r", size: int = 1) -> Process:
    command = [sys.executable, str(WORKER), role, str(path), name, str(size)]
    return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)


async def line(process: Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), 60)).decode().strip()


def end_input(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.close()


async def _look(reader: Process, batches: asyncio.Queue[str | None]) -> tuple[int, int, list[str]]:
    """Ask one reader about each acknowledged batch; returns how many it saw, its own looks, and what was wrong."""
    seen, wrong = 0, []
    assert reader.stdin is not None
    while (batch := await batches.get()) is not None:
        reader.stdin.write(f"see {batch}\n".encode())
        while not (said := await line(reader)).startswith(("seen", "unseen")):
            wrong.append(said)
        if said == f"seen {batch}":
            seen += 1
        else:
            wrong.append(said)
    end_input(reader)
    while not (said := await line(reader)).startswith("looked"):
        wrong.append(said)
    assert await reader.wait() == 0
    return seen, int(said.split()[1]), wrong


async def _follow(writer: Process, name: str, ask: list[asyncio.Queue[str | None]]) -> list[str]:
    """Hand each acknowledgement of a writer to a reader at once; returns the batches."""
    batches = []
    for turn in itertools.count():
        if turn == BATCHES_EACH:
            end_input(writer)
        said = await line(writer)
        if not said:
            assert await writer.wait() == 0
            return batches
        batches.append(f"{name}-{said}")
        ask[turn % len(ask)].put_nowait(batches[-1])
    raise AssertionError


async def test_four_writers_and_four_readers_on_one_file(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"  # not there yet: eight processes make it at once
    readers = [await start("read", path) for _ in range(READERS)]
    writers = [await start("write", path, f"w{number}") for number in range(WRITERS)]
    ask: list[asyncio.Queue[str | None]] = [asyncio.Queue() for _ in readers]
    looking = [asyncio.ensure_future(_look(*pair)) for pair in zip(readers, ask, strict=True)]
    written = await asyncio.gather(*(_follow(writer, f"w{n}", ask) for n, writer in enumerate(writers)))
    for queue in ask:
        queue.put_nowait(None)
    looked = await asyncio.gather(*looking)

    acknowledged = [batch for batches in written for batch in batches]
    assert len(acknowledged) >= WRITERS * BATCHES_EACH
    assert [wrong for _, _, wrong in looked] == [[]] * READERS
    assert sum(seen for seen, _, _ in looked) == len(acknowledged)
    assert all(looks > 0 for _, looks, _ in looked)

    store = await open_store(str(path))
    space = store.namespace(NAMESPACE)
    assert await space.read(problems) == []
    assert [batch for batch in acknowledged if not await space.read(sees(batch))] == []
    counts = await space.read(lambda s: s.counts())
    assert counts.episodes == len(acknowledged)
    assert await store.check_integrity() == []
    await store.close()


async def test_twenty_kills_in_a_write_loop(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    watcher = await open_store(str(path))  # stays open all the time, as another process would
    watching = watcher.namespace(NAMESPACE)
    acknowledged: list[str] = []
    for turn in range(KILLS):
        writer = await start("write", path, f"k{turn}", size=1 + turn % 6)
        for _ in range(2 + turn % 5):
            acknowledged.append(f"k{turn}-{await line(writer)}")
        await asyncio.sleep(turn % 7 * 0.0007)
        writer.kill()
        assert writer.stdout is not None
        rest = (await writer.stdout.read()).decode().split("\n")[:-1]  # a line cut short was not said
        acknowledged += [f"k{turn}-{number}" for number in rest]
        assert await writer.wait() == -9

        fresh = await open_store(str(path))
        for space in (watching, fresh.namespace(NAMESPACE)):
            assert await space.read(problems) == []
            assert [batch for batch in acknowledged if not await space.read(sees(batch))] == []
        assert await fresh.check_integrity() == []
        await fresh.close()
    assert await watcher.check_integrity() == []
    assert len(acknowledged) > KILLS * 3
    await watcher.close()

"""`umi serve` under load: recalls a second and their times, what HTTP adds to the library, and memory over many namespaces.

The server is a process of its own, on a free port of loopback, started as a user starts it. The client is this process: it
speaks just enough HTTP/1.1 to cost little, since both share the machine.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from umi import limits
from umi._core.clock import SystemClock
from umi._core.invariants import InvariantError
from umi.bench.filling import fill_like, likely_vectors
from umi.bench.report import Figure, Report, Step, machine_facts, quantile
from umi.bench.texts import question, turns
from umi.errors import InvalidInput
from umi.memory import Memory
from umi.providers.local import LocalEmbedder

SIZE: Final = 10_000  # memories in the namespace that is asked
CONNECTIONS_COUNT: Final = 16
SECONDS_DEFAULT: Final = 120.0
NAMESPACES_DEFAULT: Final = 10_000
_PER_S_MIN: Final = 120.0
_P99_MS_MAX: Final = 150.0
_OVERHEAD_MS_MAX: Final = 1.5
_GROWTH_MB_MAX: Final = 16.0
_IN_EACH_COUNT: Final = 4  # memories of each of many namespaces
_COMPARED_COUNT: Final = 300
_WARM_COUNT: Final = 20
_SEED: Final = 23
_TURN_WORDS: Final = 26
_STOP_S: Final = 40.0
_START: Final = (sys.executable, "-m", "umi", "serve", "--port", "0")


async def measure(
    seconds: float = SECONDS_DEFAULT,
    namespaces: int = NAMESPACES_DEFAULT,
    step: Step = lambda _what, _done, _of: None,
    size: int = SIZE,
) -> Report:
    """Fill a store, serve it, and ask.

    Args:
        seconds: How long the 16 connections recall.
        namespaces: How many further namespaces are asked, one after the other; 0 leaves that out.
        step: Told what is being done.
        size: Memories in the namespace that is asked.

    Raises:
        InvalidInput: When the server does not start; the message has what it said.
        InvariantError: When an answer is not 200.
    """
    with TemporaryDirectory(prefix="umi-server-") as folder:
        db = str(Path(folder) / "served.db")
        async with Memory.open(db, namespace="busy", embedder=LocalEmbedder()) as memory:
            await _fill(memory, size, namespaces, step)
            async with serving(db) as (process_id, port):
                figures = [
                    await _overhead(memory, port, min(size, _COMPARED_COUNT), step),
                    *await _load(port, seconds, step),
                ]
                if namespaces and _status_file(process_id).exists():
                    figures.append(await _growth(process_id, port, namespaces, step))
    notes = (f"at {size:,} memories; server and client share the machine", "no keys: a key adds a look-up in SQLite")
    return Report("Server", tuple(figures), machine_facts(), notes)


async def _fill(memory: Memory, size: int, namespaces: int, step: Step) -> None:
    likely, what = await likely_vectors(LocalEmbedder(), size), f"filling {size:,} memories"
    said = turns(_SEED, size, _TURN_WORDS)
    await fill_like(memory._open.storage, likely, said, size, lambda done: step(what, done, size))  # noqa: SLF001 - beneath the facade
    said, what = turns(_SEED + 1, namespaces * _IN_EACH_COUNT, _TURN_WORDS), f"filling {namespaces:,} namespaces"
    for number in range(namespaces):
        storage = memory.switch(_name(number))._open.storage  # noqa: SLF001 - as above
        await fill_like(storage, likely, islice(said, _IN_EACH_COUNT), _IN_EACH_COUNT, lambda _done: None)
        step(what, number, namespaces)


@asynccontextmanager
async def serving(db: str) -> AsyncIterator[tuple[int, int]]:
    """A server on that file: its process id and port."""
    process = await asyncio.create_subprocess_exec(*_START, "--db", db, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        line = b"" if process.stdout is None else await process.stdout.readline()
        if not line:
            said = b"" if process.stderr is None else await process.stderr.read()
            raise InvalidInput(f"the server did not start: {said.decode(errors='replace')[-500:].strip()}")
        yield process.pid, int(line.decode().rpartition(":")[2])
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _STOP_S)
            except TimeoutError:
                process.kill()
                await process.wait()


class _Connection:
    """One connection that is kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, port: int) -> _Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def recall(self, namespace: str, text: str) -> bytes:
        """The body of the answer.

        Raises:
            InvariantError: When the status is not 200.
        """
        body = json.dumps({"query": text}).encode()
        head = (
            f"POST /v1/namespaces/{namespace}/recall HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answer.partition(b"content-length:")[2].partition(b"\r\n")[0])
        content = await self._reader.readexactly(length)
        if b" 200 " not in answer[:16]:
            raise InvariantError(f"the server answered {answer[:16]!r}: {content[:200]!r}")
        return content

    def close(self) -> None:
        self._writer.close()


async def _overhead(memory: Memory, port: int, count: int, step: Step) -> Figure:
    """The same recalls here and over HTTP, by turns."""
    clock, connection = SystemClock(), await _Connection.to(port)
    within: list[float] = []
    over: list[float] = []
    for index in range(_WARM_COUNT + count):
        step("recalls with and without HTTP", index, _WARM_COUNT + count)
        text = question(_SEED + 2, index)

        async def here(text: str = text) -> None:
            start = clock.monotonic_s()
            await memory.recall(text)
            within.append(clock.monotonic_s() - start)

        async def there(text: str = text) -> None:
            start = clock.monotonic_s()
            await connection.recall("busy", text)
            over.append(clock.monotonic_s() - start)

        # By turns, also in who is first: the second finds the processor warm.
        for one in (here, there) if index % 2 else (there, here):
            await one()
    connection.close()
    library, http = (quantile(one[_WARM_COUNT:], 0.5) * 1e3 for one in (within, over))
    return Figure(
        "what HTTP adds to a recall, p50", http - library, "ms", limit=_OVERHEAD_MS_MAX,
        detail={"library": library, "HTTP": http},
    )  # fmt: skip


async def _load(port: int, seconds: float, step: Step) -> list[Figure]:
    """As many recalls as many connections can make one after the other."""
    clock = SystemClock()
    connections = [await _Connection.to(port) for _ in range(CONNECTIONS_COUNT)]
    end = clock.monotonic_s() + seconds
    took: list[float] = []
    failed = 0

    async def ask(connection: _Connection, seed: int) -> None:
        nonlocal failed
        index = 0
        while (start := clock.monotonic_s()) < end:
            step(f"{CONNECTIONS_COUNT} connections", round(seconds - (end - start)), round(seconds))
            try:
                await connection.recall("busy", question(seed, index))
                took.append(clock.monotonic_s() - start)
            except (InvariantError, OSError, asyncio.IncompleteReadError):
                failed += 1
                connection.close()
                connection = await _Connection.to(port)
            index += 1
        connection.close()

    await asyncio.gather(*(ask(one, 100 + place) for place, one in enumerate(connections)))
    if not took:
        raise InvariantError(f"no recall was answered within {seconds:g} s")
    of_all = f"{CONNECTIONS_COUNT} connections"
    return [
        Figure(of_all, len(took) / seconds, "recalls/s", limit=_PER_S_MIN, more_is_better=True),
        Figure(
            f"{of_all}, p99", quantile(took, 0.99) * 1e3, "ms", limit=_P99_MS_MAX,
            detail={"p50": quantile(took, 0.5) * 1e3, "most": max(took) * 1e3},
        ),
        Figure("errors in these", failed, "", limit=0),
    ]  # fmt: skip


async def _growth(process_id: int, port: int, namespaces: int, step: Step) -> Figure:
    """What the server's memory gains from the second half of the namespaces."""
    connections = [await _Connection.to(port) for _ in range(4)]
    held: list[float] = []
    for first, last in ((0, namespaces // 10), (namespaces // 10, namespaces // 2), (namespaces // 2, namespaces)):
        await asyncio.gather(
            *(_visit(one, range(first + place, last, len(connections)), step) for place, one in enumerate(connections))
        )
        held.append(_resident_mb(process_id))
    for one in connections:
        one.close()
    return Figure(
        f"memory gained by the second half of {namespaces:,} namespaces", held[2] - held[1], "MB", limit=_GROWTH_MB_MAX,
        detail={"after a tenth": held[0], "after half": held[1], "after all": held[2], "indexes": min(namespaces, limits.STORE_INDEXES_COUNT_MAX)},
    )  # fmt: skip


async def _visit(connection: _Connection, numbers: Sequence[int], step: Step) -> None:
    for number in numbers:
        await connection.recall(_name(number), question(_SEED + 3, number))
        step("recalls in many namespaces", number, numbers[-1])


def _resident_mb(process_id: int) -> float:
    """Physical memory of a process, in MB."""
    status = _status_file(process_id).read_text("utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024 / 1e6


def _status_file(process_id: int) -> Path:
    # Linux has it; elsewhere memory is not measured.
    return Path(f"/proc/{process_id}/status")


def _name(number: int) -> str:
    return f"tenant-{number}"

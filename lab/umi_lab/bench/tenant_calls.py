"""What an app process of `umi bench tenants` does: it serves many namespaces, mostly a few busy ones, by several clients at once."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Iterator
from typing import Any, Final

from umi._core.clock import SystemClock
from umi.bench.texts import below, question, sentence
from umi.memory import Memory
from umi.ports import Snapshot
from umi.stores.sql.cache import IndexCache
from umi.stores.sql.store import SqlStore

BUSY_SHARE: Final = 0.1  # of the namespaces
BUSY_PERCENT: Final = 80  # of the calls go to these
_SEED: Final = 31
_TOLD_WORDS: Final = 14
_clock = SystemClock()


def name(number: int) -> str:
    """The name of a namespace."""
    return f"tenant-{number}"


async def make_indexes(memory: Memory, namespaces: int) -> float:
    """Make the index of every namespace once, those of the busy ones last; the least recently used leave when all exceed their bound.

    Returns:
        Seconds.
    """
    start = _clock.monotonic_s()
    for number in reversed(range(namespaces)):
        await memory.switch(name(number))._open.storage.read(_index)  # noqa: SLF001 - beneath the facade
    return _clock.monotonic_s() - start


async def visit(memory: Memory, what: str, namespaces: int, seconds: float, clients: int) -> dict[str, Any]:
    """Recall from drawn namespaces, or remember in them, so many clients at once, until the time is over.

    Returns:
        Seconds of the calls that found the index of their namespace ("held") and that did not ("made"), processor seconds of this process, bytes and
        number of all indexes at most, and the seconds until the last call has ended.
    """
    store = memory._open.store  # noqa: SLF001 - as above
    if not isinstance(store, SqlStore):
        raise TypeError(store)
    lanes = store._lanes  # noqa: SLF001 - as above
    times: dict[bool, list[float]] = {True: [], False: []}
    most = (0, 0)
    turns = itertools.count()
    begun, before = _clock.monotonic_s(), os.times()

    async def one(turns: Iterator[int]) -> None:
        nonlocal most
        while _clock.monotonic_s() - begun < seconds:
            turn = next(turns)
            number = _drawn(turn, namespaces)
            there = _holds(lanes.of(name(number)).cache, name(number))
            start = _clock.monotonic_s()
            mine = memory.switch(name(number))
            if what == "recall":
                await mine.recall(question(_SEED, turn))
            else:
                await mine.remember(sentence(_SEED + 1, turn, _TOLD_WORDS))
            times[there].append(_clock.monotonic_s() - start)
            most = max(most, (lanes.cache_bytes, sum(len(lane.cache) for lane in lanes.all)))

    await asyncio.gather(*(one(turns) for _ in range(clients)))
    after = os.times()
    spent = after.user + after.system - before.user - before.system
    return {
        "held": times[True], "made": times[False], "cpu_s": spent, "indexes": most, "seconds": _clock.monotonic_s() - begun,
    }  # fmt: skip


def _index(snapshot: Snapshot) -> object:
    return snapshot.text_candidates(("nothing",))


def _holds(cache: IndexCache, namespace: str) -> bool:
    return cache._numbers.get(namespace, 0) in cache  # noqa: SLF001 - the cache's own name for what it has read


def _drawn(turn: int, namespaces: int) -> int:
    busy = max(1, int(namespaces * BUSY_SHARE))
    return below("tenant", turn, busy if below("busy", turn, 100) < BUSY_PERCENT else namespaces)

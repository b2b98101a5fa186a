"""Many small namespaces in one file, more than the indexes of which fit the bound: `umi bench tenants`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from umi import limits
from umi._core.clock import SystemClock
from umi.bench.filling import fill_like, likely_vectors
from umi.bench.report import Figure, Report, machine_facts, quantile
from umi.bench.texts import below, question, turns
from umi.memory import Memory
from umi.providers.local import LocalEmbedder
from umi.stores.sqlite.store import SqliteStore

_SEED: Final = 31
_TURN_WORDS: Final = 26
_RECALLS_COUNT: Final = 12_000
_BUSY_SHARE: Final = 0.1  # of the namespaces
_BUSY_PERCENT: Final = 80  # of the recalls go to these
_MB: Final = 1e6

Step = Callable[[str, int, int], None]


async def measure(namespaces: int, memories: int, step: Step = lambda _what, _done, _of: None) -> Report:
    """Fill namespaces, and recall from one after the other: mostly from a few busy ones, as tenants are.

    Args:
        namespaces: How many.
        memories: In each.
        step: Told what is being done.

    Returns:
        What the indexes hold of their bound, how often the one that was asked for was there, and what a recall took.
    """
    embedder = LocalEmbedder()
    with tempfile.TemporaryDirectory(prefix="umi-tenants-") as folder:
        async with Memory.open(str(Path(folder) / "tenants.db"), embedder=embedder) as memory:
            likely = await likely_vectors(embedder)
            said = turns(_SEED, namespaces * memories, _TURN_WORDS)
            for number in range(namespaces):
                storage = memory.switch(_name(number))._open.storage  # noqa: SLF001 - beneath the facade
                await fill_like(storage, likely, islice(said, memories), memories, lambda _done: None)
                step(f"filling {namespaces:,} namespaces", number, namespaces)
            held, found, missed = await _recalls(memory, namespaces, step)
            stored = (await memory.stats()).store_bytes
    asked = len(found) + len(missed)
    bound = limits.STORE_CACHE_BYTES_DEFAULT / _MB
    figures = (
        Figure("indexes held", held[0] / _MB, "MB", limit=bound, detail={"namespaces": held[1], "of": namespaces}),
        Figure("asked for and held", 100 * len(found) / asked, "%", more_is_better=True),
        _times("recall where the index is held", found),
        _times("recall where it is made", missed),
        Figure("file", stored / _MB, "MB", detail={"bytes a memory": stored / (namespaces * memories)}),
    )
    notes = (
        f"{_BUSY_PERCENT} % of {asked:,} recalls go to {_BUSY_SHARE:.0%} of the namespaces; the first {namespaces // 10:,} are not counted",
    )
    return Report(f"{namespaces:,} namespaces of {memories:,} memories", figures, machine_facts(), notes)


async def _recalls(
    memory: Memory, namespaces: int, step: Step
) -> tuple[tuple[int, int], Sequence[float], Sequence[float]]:
    """Bytes and number of the indexes held at the end at most, and seconds of recalls that found theirs there and that did not."""
    clock, store = SystemClock(), memory._open.store  # noqa: SLF001 - as above
    if not isinstance(store, SqliteStore):
        raise TypeError(store)
    cache = store._lanes.all[0].cache  # noqa: SLF001 - as above
    times: dict[bool, list[float]] = {True: [], False: []}
    most = (0, 0)
    skipped = namespaces // 10
    for turn in range(skipped + _RECALLS_COUNT):
        step("recalling", turn, skipped + _RECALLS_COUNT)
        number = _drawn(turn, namespaces)
        there = number + 1 in cache  # namespaces are numbered from 1 in the order in which they came
        start = clock.monotonic_s()
        await memory.switch(_name(number)).recall(question(_SEED, turn))
        if turn >= skipped:
            times[there].append(clock.monotonic_s() - start)
        most = max(most, (cache.bytes, len(cache)))
    return most, times[True], times[False]


def _drawn(turn: int, namespaces: int) -> int:
    busy = max(1, int(namespaces * _BUSY_SHARE))
    return below("tenant", turn, busy if below("busy", turn, 100) < _BUSY_PERCENT else namespaces)


def _times(name: str, seconds: Sequence[float]) -> Figure:
    if not seconds:
        return Figure(name, 0.0, "ms", detail={"recalls": 0})
    detail = {"p99": quantile(seconds, 0.99) * 1e3, "recalls": len(seconds)}
    return Figure(name, quantile(seconds, 0.5) * 1e3, "ms", detail=detail)


def _name(number: int) -> str:
    return f"tenant-{number}"

"""What `where=` costs, and whether it loses anything: `umi bench filters`.

Filters that keep half, a hundredth and a ten-thousandth of a namespace are asked beside no filter, in turn. What they find is
compared with a search that looks at every message of the namespace and keeps those of the filter afterwards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from umi._core.clock import SystemClock
from umi._core.filters import read_filter
from umi._core.ranking import rank
from umi._core.text import query_terms
from umi.bench.filling import fill
from umi.bench.report import Figure, Report, Step, machine_facts, quantile
from umi.bench.texts import question, turns
from umi.memory import Memory
from umi.ports import Snapshot, Vector
from umi.ports.candidates import Keys
from umi.providers.local import LocalEmbedder
from umi.types import Message
from umi.types.filters import EVERYTHING, Filter

_SEED: Final = 33
_TURN_WORDS: Final = 26
_QUESTIONS_COUNT: Final = 200
_COMPARED_COUNT: Final = 50  # questions whose hits are compared: looking at every message takes half a second
_FIRST: Final = 10
_RATIO_MAX: Final = 1.3
_EVERY: Final = {"50%": 2, "1%": 100, "0.01%": 10_000}  # a message in so many is kept


async def measure(size: int, step: Step = lambda _what, _done, _of: None) -> Report:
    """Time recall with and without filters, and compare what is found.

    Args:
        size: Memories in one namespace.
        step: Told what is being done, for a progress display.

    Returns:
        p50 in milliseconds beside that without a filter, and the share of questions with the same first ten hits.

    Raises:
        EmbedderUnavailable: Without the local embedder the figures would mean something else.
    """
    embedder = LocalEmbedder()
    with tempfile.TemporaryDirectory(prefix="umi-filters-") as folder:
        async with Memory.open(str(Path(folder) / "filters.db"), embedder=embedder) as memory:
            what = f"filling in {size:,} memories"
            storage = memory._open.storage  # noqa: SLF001 - beneath the facade
            await fill(storage, embedder, _labelled(size), size, lambda done: step(what, done, size))
            questions = [question(_SEED, index) for index in range(_QUESTIONS_COUNT)]
            times = await _times(memory, questions, step)
            plain = quantile(times[""], 0.5)
            figures = [Figure("recall without a filter", plain, "ms")]
            for share, every in _EVERY.items():
                p50 = quantile(times[share], 0.5)
                figures.append(
                    Figure(
                        f"recall, a filter keeps {share}",
                        p50 / plain,
                        "x without",
                        limit=_RATIO_MAX,
                        detail={"p50 ms": p50, "p99 ms": quantile(times[share], 0.99)},
                    )
                )
                step(f"comparing at {share}", 0, 0)
                same, found = await _same(memory, embedder, questions[:_COMPARED_COUNT], _where(every))
                name, detail = f"the same first ten, {share}", {"of the ten found": found}
                figures.append(Figure(name, same, "of questions", limit=1.0, more_is_better=True, detail=detail))
    notes = (
        f"{size:,} memories in one namespace, {_QUESTIONS_COUNT} questions each, limit 10, in turn with and without",
        "the same: as ranking every message of the namespace and keeping the filter's afterwards",
    )
    return Report("Filters", tuple(figures), machine_facts(), notes)


def _labelled(size: int) -> Iterator[Message]:
    for number, one in enumerate(turns(_SEED, size, _TURN_WORDS)):
        yield replace(one, metadata={f"every_{every}": number % every == 0 for every in _EVERY.values()})


def _where(every: int) -> Mapping[str, Any]:
    return {"metadata": {f"every_{every}": True}}


async def _times(memory: Memory, questions: list[str], step: Step) -> dict[str, list[float]]:
    """Milliseconds of each recall, by filter; all filters are asked one question after the other."""
    clock = SystemClock()
    wheres = {"": None, **{share: _where(every) for share, every in _EVERY.items()}}
    times: dict[str, list[float]] = {share: [] for share in wheres}
    for where in wheres.values():
        await memory.recall(question(_SEED + 1, 0), where=where)
    for done, asked in enumerate(questions):
        step("recalling", done, len(questions))
        for share, where in wheres.items():
            start = clock.monotonic_s()
            await memory.recall(asked, where=where)
            times[share].append((clock.monotonic_s() - start) * 1e3)
    return times


async def _same(
    memory: Memory, embedder: LocalEmbedder, questions: list[str], where: Mapping[str, Any]
) -> tuple[float, float]:
    """How often search and a look at every message give the same first ten, in order; and the share of those ten that it finds."""
    kept = read_filter(where, None)
    same, there, wanted = 0, 0, 0
    for asked in questions:
        vector = await embedder.embed(asked)
        storage = memory._open.storage  # noqa: SLF001 - beneath the facade
        found = await storage.read(partial(_first, asked=asked, vector=vector, where=kept, pool=400))
        everything = await storage.read(partial(_first, asked=asked, vector=vector, where=kept, pool=0))
        same += found == everything
        there, wanted = there + len({*found} & {*everything}), wanted + len(everything)
    return same / len(questions), there / max(1, wanted)


def _first(snapshot: Snapshot, asked: str, vector: Vector, where: Filter, pool: int) -> list[int]:
    """The first ten keys of a filter; with `pool` 0 every message of the namespace is a candidate."""
    terms = query_terms(asked)
    also: Keys = np.array([], dtype=np.int64)
    if not pool:
        also = np.arange(snapshot.counts().episodes, dtype=np.int64)
    legs = where if pool else EVERYTHING
    vectors = snapshot.vector_candidates(vector, also=also, pool=pool, where=legs)
    text = snapshot.text_candidates(terms, also=vectors.keys, where=legs)
    vectors = snapshot.vector_candidates(vector, also=text.keys, pool=0)
    ranking = rank(
        asked, text, vectors, "all-MiniLM-L6-v2", snapshot.surroundings, among=partial(snapshot.among, where=where)
    )
    return [int(key) for key in ranking.keys[:_FIRST]]

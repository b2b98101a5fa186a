"""How fast Umi is, beside the least that the same work could cost: `umi bench speed`.

Every figure is measured in one run on one real file with the real embedder. Its floor is what the parts cost bare: a
durable commit, the embedding, a scan. The ratio of the two says more than the milliseconds of one machine. A PostgreSQL database that is
named is measured beside the file: each call of one right after the same call of the other, so that what else the machine does meets both.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from umi import limits
from umi._core.clock import SystemClock
from umi._core.text import query_terms
from umi.bench import at_once, lower_bounds, places
from umi.bench.filling import fill
from umi.bench.places import Place
from umi.bench.report import Figure, Report, Step, machine_facts, quantile
from umi.bench.texts import question, sentence, turns
from umi.bench.worker import SENTENCE_WORDS
from umi.memory import Memory
from umi.ports import EmbeddingProvider, Matrix, Snapshot, Vector
from umi.providers.local import LocalEmbedder
from umi.types import Message

TURN_WORDS = 26
_Limits = tuple[tuple[int, float], ...]  # by the largest size that each is for
_CHAT_WORDS: Final = 150
_CHAT_COUNT = 512
_SEED: Final = 20
_ROUNDS_COUNT = 3
_SAMPLES_COUNT = 200
_WORKERS_COUNT = 8
_WRITERS_COUNT = 4
_SECOND_COUNT = 5
_IMPORTED_COUNT: Final = 10_000  # the last of a size, imported as users do; the others are filled in
_THROUGHPUT_S = 4.0
_THROUGHPUT_SIZE: Final = 10_000
_ROW_BYTES: Final = 384
_BULK: Final = "bulk import up to"

# What is to be reached.
_RECALL_LIMITS_MS: Final[_Limits] = ((10_000, 5.0), (100_000, 8.0), (1_000_000, 30.0))
_RECALL_RATIOS_MAX: Final[_Limits] = ((10_000, 2.2), (100_000, 1.8), (1_000_000, 1.5))
_COLD_LIMITS_MS: Final[_Limits] = ((10_000, 300.0), (100_000, 1_000.0), (1_000_000, 8_000.0))
_INDEX_MB_MAX: Final[_Limits] = ((100_000, 130.0), (1_000_000, 120.0))  # per 100,000 memories
_REMEMBER_LIMIT_MS: Final = 6.0
_REMEMBER_P99_LIMIT_MS: Final = 20.0
_REMEMBER_SIZE_MAX: Final = 100_000  # up to which these hold
_SCAN_SIZE_MIN: Final = 100_000  # from which on a comparison is more than the calls around it
_SCAN_RATIO_MAX: Final = 1.5
_TAIL_RATIO_MAX: Final = 3.0  # of a p99 to its p50
_BULK_MIN: Final = 350.0
_CHAT_MIN: Final = 120.0
_BULK_RATIO_MAX: Final = 1 / 0.7  # of what the embedder alone would do
_FILE_BYTES_MAX: Final = 2_000.0
_FLAT_RATIO_MAX: Final = 1.25  # of a message's cost in the largest import to that in the smallest
_POSTGRES: Final = "PostgreSQL: "  # before the name of each of its figures
_POSTGRES_REMEMBER_MAX: Final = 3.0  # times its floor
_POSTGRES_RECALL_MAX: Final = 1.5  # times SQLite's recall in the same run
_POSTGRES_RECALL_SIZE_MIN = 10_000  # from which on that limit holds


class _Timed(LocalEmbedder):
    """The local embedder, with its readers, that knows how long embedding took."""

    def __init__(self) -> None:
        super().__init__()
        self.spent_s = 0.0
        self._clock = SystemClock()

    async def embed(self, text: str) -> Vector:
        start = self._clock.monotonic_s()
        answer = await super().embed(text)
        self.spent_s += self._clock.monotonic_s() - start
        return answer

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        start = self._clock.monotonic_s()
        answer = await super().embed_many(texts)
        self.spent_s += self._clock.monotonic_s() - start
        return answer


@dataclass(frozen=True, slots=True)
class _Samples:
    """Seconds of many runs of one operation, in all and without the embedder."""

    total: list[float]
    own: list[float]

    @property
    def p50_ms(self) -> float:
        """Milliseconds of the median call."""
        return quantile(self.total, 0.5) * 1e3

    def tail(self, name: str, limit: float | None) -> Figure:
        """The p99, beside the median; without a limit at most so many times that."""
        ratio = _TAIL_RATIO_MAX if limit is None else None
        p99 = quantile(self.total, 0.99) * 1e3
        return Figure(name, p99, "ms", limit=limit, floor=self.p50_ms, floor_is="its p50", ratio_limit=ratio)

    def figure(
        self, name: str, limit: float | None, floor: float, floor_is: str, ratio_limit: float | None, **more: float
    ) -> Figure:
        """The median, beside a floor in seconds; `more` is detail."""
        detail = {
            "p99": quantile(self.total, 0.99) * 1e3,
            "own_p50": quantile(self.own, 0.5) * 1e3,
            "own_p99": quantile(self.own, 0.99) * 1e3,
            **more,
        }
        return Figure(
            name, self.p50_ms, "ms", limit=limit, floor=floor * 1e3, floor_is=floor_is, detail=detail, ratio_limit=ratio_limit
        )  # fmt: skip


async def measure(sizes: Sequence[int], step: Step = lambda _what, _done, _of: None, db: str | None = None) -> Report:
    """Measure remember, recall and its legs, bulk import, memory, disk, a cold start and throughput.

    Args:
        sizes: Memories in one namespace, for each of which remember, recall and its parts are measured; throughput is at the
            largest up to 10,000.
        step: Told what is being done, for a progress display.
        db: Address of a PostgreSQL database to measure beside the SQLite file, in namespaces of its own, which are erased at the end.

    Returns:
        p50 in milliseconds (p99 and Umi's own part in `detail`) and operations per second.

    Raises:
        EmbedderUnavailable: Without the local embedder the figures would mean something else.
        InvalidInput: When `db` is no PostgreSQL, or holds memories of another embedder.
        StoreError: When `db` cannot be reached or written.
    """
    embedder = _Timed()  # bare: what is asked twice is embedded twice
    await embedder.embed("warm up")
    machine = machine_facts()
    async with AsyncExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="umi-speed-")))
        measured = [places.sqlite(folder)]
        if db is not None:
            measured.append(await opened.enter_async_context(places.postgres(db, sizes, embedder.identity, step)))
            machine["PostgreSQL"] = measured[1].version
        found: list[list[Figure]] = [[] for _ in measured]
        for size in sorted(sizes):
            at_size = await _at_size(measured, size, embedder, step)
            for number, place in enumerate(measured):
                found[number] += [*at_size[number], await _cold_start(place, size, step)]
        # Each process has an index of its own.
        busy = max((size for size in sizes if size <= _THROUGHPUT_SIZE), default=min(sizes))
        for number, place in enumerate(measured):
            found[number] += _flatness(sorted(sizes), found[number])
            found[number].append(await _chat(place, embedder, step))
            found[number] += await _at_once(place, busy, min(sizes), embedder, step)
    figures = found[0]
    if db is not None:
        trip = Figure(f"{_POSTGRES}one round trip", measured[1].trip_s * 1e3, "ms")
        figures = [*found[0], trip, *_beside(*found)]
    notes = (
        f"remember: one sentence of {SENTENCE_WORDS} words (about 19 tokens), committed to disk, embedding included",
        f"recall: questions in natural language, limit {limits.RECALL_LIMIT_DEFAULT}, embedding included; own = without it",
        f"bulk: turns of {TURN_WORDS} words in conversations, the last {_IMPORTED_COUNT:,}; older ones are filled in beneath, see bench/filling.py",
    )
    return Report("Speed", tuple(figures), machine, notes)


def _beside(ours: Sequence[Figure], theirs: Sequence[Figure]) -> list[Figure]:
    """The figures of PostgreSQL, named so, each with how many times SQLite's it is."""
    values = {figure.name: figure.value for figure in ours}
    made = []
    for figure in theirs:
        other = values[figure.name]
        detail = {**figure.detail, "times SQLite's": figure.value / other} if other else figure.detail
        made.append(replace(figure, name=f"{_POSTGRES}{figure.name}", detail=detail))
    return made


async def _at_size(measured: Sequence[Place], size: int, embedder: _Timed, step: Step) -> list[list[Figure]]:
    """The figures of each place."""
    texts = [sentence(_SEED + 1, index, SENTENCE_WORDS) for index in range(_SAMPLES_COUNT)]
    questions = [question(_SEED + 1, index) for index in range(_SAMPLES_COUNT)]
    async with AsyncExitStack() as opened:
        memories = [
            await opened.enter_async_context(Memory.open(place.url, namespace=place.namespace(size), embedder=embedder))
            for place in measured
        ]
        filled = [await _filled(memory, size, embedder, step) for memory in memories]
        for memory in memories:
            await memory.recall(question(_SEED, 0))
        step(f"recalling at {size:,}", 0, 0)
        recalled = await _sample(embedder, [memory.recall for memory in memories], questions)
        asking_s = await lower_bounds.embedding_s(embedder, questions) + lower_bounds.scan_s(size)
        indexes = [[*await _legs(memory, questions, size, embedder), await _index(memory, size)] for memory in memories]
        step(f"remembering at {size:,}", 0, 0)
        remembered = await _sample(embedder, [memory.remember for memory in memories], texts)
        embedding_s = await lower_bounds.embedding_s(embedder, texts)
        commits_s = [place.commit_s(texts) for place in measured]
    limit_ms, limit_x = _of_size(_RECALL_LIMITS_MS, size), _of_size(_RECALL_RATIOS_MAX, size)
    late_ms = _REMEMBER_P99_LIMIT_MS if size <= _REMEMBER_SIZE_MAX else None
    beside_ms = _POSTGRES_RECALL_MAX * recalled[0].p50_ms if size >= _POSTGRES_RECALL_SIZE_MIN else None
    found = []
    for number, place in enumerate(measured):
        floor_s = embedding_s + commits_s[number]
        soon = _POSTGRES_REMEMBER_MAX * floor_s * 1e3 if number else _REMEMBER_LIMIT_MS if late_ms else None
        most = beside_ms if number else limit_ms
        scan = "the embedding + a numpy scan" + (" + one round trip" if place.trip_s else "")
        bulk, file = filled[number]
        found.append([
            bulk, *indexes[number], file,
            remembered[number].figure(
                f"remember at {_short(size)}", soon, floor_s, "one durable commit + the embedding", None,
                commit=commits_s[number] * 1e3,
            ),
            remembered[number].tail(f"late remember at {_short(size)}", late_ms),
            recalled[number].figure(
                f"recall at {_short(size)}", most, asking_s + place.trip_s, scan, None if number else limit_x
            ),
            recalled[number].tail(f"late recall at {_short(size)}", None),
        ])  # fmt: skip
    return found


async def _filled(memory: Memory, size: int, embedder: _Timed, step: Step) -> tuple[Figure, Figure]:
    """How fast so many memories were imported, and what they take on disk."""
    before = (await memory.stats()).store_bytes
    bulk = await _bulk(memory, turns(_SEED, size, TURN_WORDS), size, embedder, step)
    stored = (await memory.stats()).store_bytes - before
    words = sum(len(turn.content) for turn in turns(_SEED, min(size, _SAMPLES_COUNT), TURN_WORDS))
    return bulk, Figure(
        f"file at {_short(size)}", stored / size, "bytes a memory",
        limit=_FILE_BYTES_MAX, floor=words / min(size, _SAMPLES_COUNT), floor_is="its text",
        detail={"MB in all": stored / 1e6},
    )  # fmt: skip


async def _index(memory: Memory, size: int) -> Figure:
    held = (await memory.stats()).cache_bytes
    return Figure(
        f"index at {_short(size)}", held / size * 1e5 / 1e6, "MB per 100k", limit=_of_size(_INDEX_MB_MAX, size),
        floor=_ROW_BYTES * 1e5 / 1e6, floor_is="an int8 vector a memory", detail={"MB in all": held / 1e6},
    )  # fmt: skip


async def _bulk(memory: Memory, said: Iterator[Message], size: int, embedder: _Timed, step: Step) -> Figure:
    filled = max(0, size - _IMPORTED_COUNT)
    if filled:
        older = f"filling in {filled:,} memories"
        await fill(memory._open.storage, embedder, said, filled, lambda done: step(older, done, filled))  # noqa: SLF001 - beneath the facade
    return await _imported(memory, f"{_BULK} {_short(size)}", said, size - filled, _BULK_MIN, embedder, step)


async def _chat(place: Place, embedder: _Timed, step: Step) -> Figure:
    """How fast long messages are imported, into a namespace that is erased afterwards."""
    async with Memory.open(place.url, namespace=place.namespace(_CHAT_WORDS), embedder=embedder) as memory:
        said = turns(_SEED + 3, _CHAT_COUNT, _CHAT_WORDS)
        name = f"bulk import of messages of {_CHAT_WORDS} words"
        found = await _imported(memory, name, said, _CHAT_COUNT, _CHAT_MIN, embedder, step)
        await memory.erase_namespace()
    return found


async def _imported(
    memory: Memory, name: str, said: Iterable[Message], count: int, limit: float, embedder: _Timed, step: Step
) -> Figure:
    """How fast so many messages are imported, beside the embedder alone on the first of them."""
    clock = SystemClock()
    what, first = f"importing {count:,} memories", list[str]()

    def kept() -> Iterator[Message]:
        for one in said:
            if len(first) < limits.BULK_BATCH_COUNT:
                first.append(one.content)
            yield one

    step(what, 0, count)
    start = clock.monotonic_s()
    await memory.remember_many(kept(), progress=lambda done: step(what, done, count))
    per_s = count / (clock.monotonic_s() - start)
    batches = [await lower_bounds.batch_per_s(embedder, first) for _ in range(_ROUNDS_COUNT)]
    return Figure(
        name, per_s, "turns/s", limit=limit, more_is_better=True, floor=quantile(batches, 0.5),
        floor_is="the embedder alone, in batches", ratio_limit=_BULK_RATIO_MAX,
    )  # fmt: skip


def _flatness(sizes: Sequence[int], figures: Sequence[Figure]) -> list[Figure]:
    """What a message of a bulk import costs where there are many, beside where there are few."""
    rates = {figure.name: figure.value for figure in figures}
    few, many = sizes[0], max(size for size in sizes if size <= max(sizes[0], _REMEMBER_SIZE_MAX))
    if few == many:
        return []
    ratio = rates[f"{_BULK} {_short(few)}"] / rates[f"{_BULK} {_short(many)}"]
    return [Figure(f"a message at {_short(many)}, beside one at {_short(few)}", ratio, "times", limit=_FLAT_RATIO_MAX)]


async def _legs(memory: Memory, questions: Sequence[str], size: int, embedder: EmbeddingProvider) -> list[Figure]:
    """Both legs on their own, inside the store, where the questions are of common words."""
    clock = SystemClock()
    storage = memory._open.storage  # noqa: SLF001 - as above
    near: list[float] = []
    words: list[float] = []

    def look(snapshot: Snapshot, embedding: Vector, terms: Sequence[str]) -> None:
        start = clock.monotonic_s()
        snapshot.vector_candidates(embedding, pool=limits.CANDIDATE_POOL_COUNT)
        between = clock.monotonic_s()
        snapshot.text_candidates(terms)
        near.append(between - start)
        words.append(clock.monotonic_s() - between)

    for text in questions:
        await storage.read(partial(look, embedding=await embedder.embed(text), terms=query_terms(text)))
    bare = lower_bounds.bytes_scan_s(size) * 1e3
    vector, text_p50 = quantile(near, 0.5) * 1e3, quantile(words, 0.5) * 1e3
    return [
        Figure(
            f"vector leg at {_short(size)}", vector, "ms",
            limit=bare * _SCAN_RATIO_MAX if size >= _SCAN_SIZE_MIN else None,
            floor=bare, floor_is="a bare scan of as many int8 vectors", detail={"p99": quantile(near, 0.99) * 1e3},
        ),
        Figure(
            f"text leg at {_short(size)}, p99", quantile(words, 0.99) * 1e3, "ms", limit=text_p50 * _TAIL_RATIO_MAX,
            floor=text_p50, floor_is="its p50", detail={"p50": text_p50},
        ),
    ]  # fmt: skip


async def _sample(
    embedder: _Timed, calls: Sequence[Callable[[str], Awaitable[object]]], texts: Sequence[str]
) -> list[_Samples]:
    """Every call on every text, by turns, also in who is first."""
    clock = SystemClock()
    samples = [_Samples([], []) for _ in calls]
    turned = list(enumerate(zip(samples, calls, strict=True)))
    for turn in range(len(texts)):
        for place, (kept, call) in turned if turn % 2 else turned[::-1]:
            # Others than the last call's: a text that was just looked at costs less.
            text = texts[(turn + place * len(texts) // 2) % len(texts)]
            embedding_before, start = embedder.spent_s, clock.monotonic_s()
            await call(text)
            total = clock.monotonic_s() - start
            kept.total.append(total)
            kept.own.append(total - (embedder.spent_s - embedding_before))
    return samples


async def _at_once(place: Place, size: int, least: int, embedder: _Timed, step: Step) -> list[Figure]:
    """What several tasks and processes do at once, at a size; and a second memory, at the least one."""
    questions = [question(_SEED + 2, index) for index in range(_SAMPLES_COUNT)]
    bare_s = await lower_bounds.embedding_s(embedder, questions) + lower_bounds.scan_s(size)
    cores = int(machine_facts()["cores"])
    step(f"a second memory at {least:,}", 0, 0)
    second = await at_once.second_memory(place, least, embedder, _SECOND_COUNT)
    step(f"{_WORKERS_COUNT} tasks", 0, 0)
    tasks, tasks_failed = await at_once.by_tasks(place, size, embedder, _WORKERS_COUNT, _ROUNDS_COUNT, _THROUGHPUT_S)
    step(f"{_WORKERS_COUNT} processes", 0, 0)
    processes, processes_failed = await at_once.by_processes(place, size, _WORKERS_COUNT, _ROUNDS_COUNT, _THROUGHPUT_S)
    step(f"{_WRITERS_COUNT} processes that write", 0, 0)
    took, writers_failed = await at_once.remembering(place, size, _WRITERS_COUNT, _ROUNDS_COUNT, _THROUGHPUT_S)
    floor, floor_is = cores / bare_s, f"{cores} cores doing nothing but embedding and scanning"

    def recalls(kind: str, rate: float, limit: float) -> Figure:
        name = f"{_WORKERS_COUNT} {kind} at {_short(size)}"
        return Figure(name, rate, "recalls/s", limit=limit, more_is_better=True, floor=floor, floor_is=floor_is)

    return [
        Figure(
            f"open and first recall of a second memory at {_short(least)}", quantile(second, 0.5) * 1e3, "ms", limit=15.0
        ),
        recalls("tasks", tasks, 200),
        recalls("processes", processes, 260),
        Figure(
            f"remember of {_WRITERS_COUNT} processes at {_short(size)}", quantile(took or [0.0], 0.5) * 1e3, "ms",
            limit=15.0, detail={"p99": quantile(took or [0.0], 0.99) * 1e3, "calls": len(took)},
        ),
        Figure("errors in these", tasks_failed + processes_failed + writers_failed, "", limit=0),
    ]  # fmt: skip


async def _cold_start(place: Place, size: int, step: Step) -> Figure:
    """The first answer of a new process that finds a large store: loading the model, building the index, and a recall."""
    step(f"cold start at {size:,}", 0, 0)
    found = {part: took_s * 1e3 for part, took_s in (await at_once.cold_start(place, size, _ROUNDS_COUNT)).items()}
    return Figure(
        f"first recall of a new process at {_short(size)}", found["recall_s"], "ms",
        limit=_of_size(_COLD_LIMITS_MS, size), floor=found["model_s"], floor_is="loading the model and embedding",
        detail={"open": found["open_s"], "the process in all": found["process_s"]},
    )  # fmt: skip


def _of_size(limits_: Sequence[tuple[int, float]], size: int) -> float | None:
    """The limit of the least size that is no smaller."""
    return next((limit for bound, limit in limits_ if size <= bound), None)


def _short(size: int) -> str:
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)

"""Where the time of a recall and of a remember goes: `umi bench speed --stages`.

For the time of the measurement, and only then, the functions that begin a stage are replaced by ones that also read the
clock; without it nothing is timed. The marks that a tracer observes (`umi.observe_stages`) are coarser, and always there:
what they cost while nobody looks is measured too. A stage has the time of its functions less that of the stages
within them. What is left of the whole is the way between threads, and what has no stage of its own.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from umi._core.clock import SystemClock
from umi._core.guard import GuardedEmbedder
from umi._core.stages import observe_stages, stage
from umi._engine.expiry import ExpiringStorage
from umi._evolution.states import StateResolver
from umi._remember import apply, ingest, outbox
from umi._remember.apply import ReadingWriter
from umi._retrieval import answer_order, snapshot_search
from umi._retrieval.search import DualRetriever
from umi._retrieval.snapshot_search import SnapshotSearch
from umi.bench.report import Figure, Report, Step, machine_facts, quantile
from umi.bench.texts import question, sentence, turns
from umi.memory import Memory
from umi.providers.local import LocalEmbedder
from umi.providers.reader import LocalReader, LocalText
from umi.stores.sql.cache import IndexCache
from umi.stores.sql.read import SqlSnapshot
from umi.stores.sql.write import SqlTransaction
from umi.stores.sqlite.store import SqliteStore

SIZE: Final = 10_000
REST: Final = "between threads, and the rest"
_TURN_WORDS: Final = 26
_SENTENCE_WORDS: Final = 14
_SEED: Final = 20
_WARM_COUNT: Final = 10
_SAMPLES_COUNT: Final = 200
_MARKS_SHARE_MAX: Final = 1.0  # percent
_MARK_CALLS_COUNT: Final = 20_000
_MARK_ROUNDS_COUNT: Final = 5

_LOOK_UPS: Final = tuple(
    (SqlSnapshot, name)
    for name in (
        "episodes", "sources", "episodes_at", "read_at", "entities", "entities_of", "statements", "statements_in", "relations", "relations_of",
        "subjects_of", "vectors", "replays", "surroundings", "first_expiry",
    )
)  # fmt: skip
_WRITES: Final = tuple(
    (SqlTransaction, name)
    for name in (
        "add_episodes", "add_entities", "add_vectors", "add_alias", "add_replay", "put_outbox", "put_relation",
        "remove_outbox", "set_validity", "conclude",
    )
)  # fmt: skip

Targets = tuple[tuple[object, str], ...]
# Which functions begin a stage, each by the name under which it is called.
RECALL: Final[dict[str, Targets]] = {
    "embed the question": ((GuardedEmbedder, "embed"),),
    "transactions": ((SqliteStore, "_mapped"),),
    "index up to date": ((IndexCache, "current"), (IndexCache, "catch_up")),
    "words leg": ((SqlSnapshot, "text_candidates"),),
    "vector leg": ((SqlSnapshot, "vector_candidates"),),
    "rank": ((snapshot_search, "rank"), (snapshot_search, "merge_rankings")),
    "looked-up fact": ((snapshot_search, "answer"),),
    "rows of hits": _LOOK_UPS,
    "states": ((StateResolver, "look"), (StateResolver, "read"), (StateResolver, "of"), (StateResolver, "told_again")),
    "hits": ((ExpiringStorage, "_checked"), (SnapshotSearch, "newest_first"), (snapshot_search, "hit_of")),
    "read the first hits": ((answer_order, "in_order"), (DualRetriever, "_reader_for")),
}
REMEMBER: Final[dict[str, Targets]] = {
    "embed": ((GuardedEmbedder, "embed_many"),),
    "begin and commit": ((SqliteStore, "_mapped"),),
    "admit": ((ingest, "admit"),),
    "read: grammar": ((apply, "read_episode"), (outbox, "read_ahead")),
    "read: model": ((LocalReader, "line"), (LocalText, "judge")),
    "look-ups": (*_LOOK_UPS, (SqlSnapshot, "text_candidates"), (SqlSnapshot, "vector_candidates")),
    "index up to date": ((IndexCache, "current"), (IndexCache, "catch_up")),
    "evolve": ((apply, "evolve"), (ReadingWriter, "_notice"), (ReadingWriter, "run")),
    "write rows": _WRITES,
}


@dataclass(frozen=True, slots=True)
class Profile:
    """Seconds of every sample of one operation, in all and by stage."""

    name: str
    total: list[float]
    stages: dict[str, list[float]]

    def figures(self) -> list[Figure]:
        """The medians in microseconds, the whole first."""
        whole = quantile(self.total, 0.5)
        figures = [_figure(self.name, self.total, whole)]
        return figures + [_figure(f"{self.name}: {stage}", spent, whole) for stage, spent in self.stages.items()]


class Watch:
    """What was spent in each stage since the last `take`, while `watching` is entered."""

    def __init__(self, targets: dict[str, Targets]) -> None:
        self._targets = targets
        self._clock = SystemClock()
        self._inner = threading.local()
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._lock = threading.Lock()

    @contextmanager
    def watching(self) -> Iterator[Watch]:
        """Replace the functions, and put them back at the end."""
        with ExitStack() as undo:
            for stage, targets in self._targets.items():
                for owner, name in targets:
                    inner = vars(owner)[name]
                    setattr(owner, name, self._timed(stage, inner))
                    undo.callback(setattr, owner, name, inner)
            yield self

    def take(self) -> dict[str, float]:
        """Seconds by stage since the last call."""
        with self._lock:
            spent, self._spent = self._spent, defaultdict(float)
        return {stage: spent[stage] for stage in self._targets}

    def _timed(self, stage: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        if iscoroutinefunction(inner):

            @wraps(inner)
            async def waited(*args: Any, **named: Any) -> Any:
                start = self._clock.monotonic_s()
                try:
                    return await inner(*args, **named)
                finally:
                    self._add(stage, self._clock.monotonic_s() - start)

            return waited

        @wraps(inner)
        def called(*args: Any, **named: Any) -> Any:
            # Seconds of the stages within each call that is under way in this thread.
            within: list[float] = self._inner.__dict__.setdefault("within", [])
            within.append(0.0)
            start = self._clock.monotonic_s()
            try:
                return inner(*args, **named)
            finally:
                spent = self._clock.monotonic_s() - start
                self._add(stage, spent - within.pop())
                if within:
                    within[-1] += spent

        return called

    def _add(self, stage: str, seconds: float) -> None:
        with self._lock:
            self._spent[stage] += seconds


async def measure(step: Step = lambda _what, _done, _of: None) -> Report:
    """Profile recall and remember at `SIZE` memories, on a real file with the real embedder.

    Returns:
        Median microseconds by stage; their share of the whole and the p99 in `detail`.

    Raises:
        EmbedderUnavailable: Without the local embedder the figures would mean something else.
    """
    with TemporaryDirectory(prefix="umi-stages-") as folder:
        url = str(Path(folder) / "stages.db")
        async with Memory.open(url, namespace="stages", embedder=LocalEmbedder()) as memory:
            said, what = turns(_SEED, SIZE, _TURN_WORDS), f"importing {SIZE:,} memories"
            await memory.remember_many(said, progress=lambda done: step(what, done, SIZE))
            step("profiling", 0, 0)
            profiles = await profiled(memory, _SAMPLES_COUNT)
            marks = await marks_share(memory, quantile(profiles[0].total, 0.5))
    figures = [*(figure for profile in profiles for figure in profile.figures()), marks]
    notes = (
        f"at {SIZE:,} memories; medians of {_SAMPLES_COUNT} calls, so that stages do not add up exactly to the whole",
        "share: of the whole's median; a stage is without the stages within it",
    )
    return Report("Stages", tuple(figures), machine_facts(), notes)


async def profiled(memory: Memory, count: int) -> tuple[Profile, Profile]:
    """The profiles of `count` recalls and of as many remembers of one sentence."""
    asked = [question(_SEED + 1, index) for index in range(count)]
    told = [sentence(_SEED + 1, index, _SENTENCE_WORDS) for index in range(count)]
    for index in range(_WARM_COUNT):
        await memory.recall(question(_SEED, index))
    recalled = await _profile("recall", RECALL, memory.recall, asked)
    for index in range(_WARM_COUNT):
        await memory.remember(sentence(_SEED, index, _SENTENCE_WORDS))
    return recalled, await _profile("remember", REMEMBER, memory.remember, told)


async def _profile(
    name: str, targets: dict[str, Targets], call: Callable[[str], Awaitable[object]], texts: Sequence[str]
) -> Profile:
    clock = SystemClock()
    profile = Profile(name, [], {stage: [] for stage in (*targets, REST)})
    with Watch(targets).watching() as watch:
        for text in texts:
            start = clock.monotonic_s()
            await call(text)
            profile.total.append(clock.monotonic_s() - start)
            spent = watch.take()
            # Work in two threads at once can add up to more than the whole.
            spent[REST] = max(0.0, profile.total[-1] - sum(spent.values()))
            for stage, seconds in spent.items():
                profile.stages[stage].append(seconds)
    return profile


async def marks_share(memory: Memory, recall_s: float) -> Figure:
    """What the marks of stages cost a recall while nobody observes them, in percent of its median.

    The marks that one recall passes are counted; one mark is timed on a function that does nothing, beside the same function
    without it. Of a coroutine's mark, which costs more, all are taken to be.
    """
    passed: list[str] = []

    def count(name: str) -> nullcontext[None]:
        passed.append(name)
        return nullcontext()

    before = observe_stages(count)
    try:
        await memory.recall(question(_SEED + 3, 0))
    finally:
        observe_stages(None)
    each_s = min([await _mark_s() for _ in range(_MARK_ROUNDS_COUNT)])
    observe_stages(before)
    share = 100 * len(passed) * each_s / recall_s
    return Figure(
        "marks of stages, unobserved",
        share,
        "% of a recall",
        limit=_MARKS_SHARE_MAX,
        detail={"marks": len(passed), "ns each": each_s * 1e9},
    )


async def _mark_s() -> float:
    """Seconds that a mark adds to the call of a coroutine function."""

    async def nothing() -> None:
        return

    marked, clock = stage("nothing")(nothing), SystemClock()
    start = clock.monotonic_s()
    for _ in range(_MARK_CALLS_COUNT):
        await nothing()
    between = clock.monotonic_s()
    for _ in range(_MARK_CALLS_COUNT):
        await marked()
    return max(0.0, (clock.monotonic_s() - between) - (between - start)) / _MARK_CALLS_COUNT


def _figure(name: str, spent: Sequence[float], whole: float) -> Figure:
    p50 = quantile(spent, 0.5)
    detail = {"share, %": 100 * p50 / whole, "p99": quantile(spent, 0.99) * 1e6}
    return Figure(name, p50 * 1e6, "us", detail=detail)

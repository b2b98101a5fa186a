"""What learning costs: a recall with it off and on, and a background run over many signals."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from umi._core.clock import SystemClock
from umi._learning import IntelligenceLoader
from umi._learning.crediting import Seen, write_trajectories
from umi._retrieval import snapshot_search
from umi.bench.report import Figure, Report, machine_facts, quantile
from umi.bench.texts import question, turns
from umi.config import Config
from umi.memory import Memory
from umi.ports import Snapshot
from umi.types import Message, ProviderQualityWeights, QualitySignal
from umi_lab.mutation.planted import edited

_SEED: Final = 20
_TURN_WORDS: Final = 26
_ROUNDS_COUNT: Final = 12
_QUESTIONS_COUNT: Final = 60
_NOTES_COUNT: Final = 2_000
_PROVIDERS_COUNT: Final = 10
_PORTION_COUNT: Final = 1_000
_SHOWN_COUNT: Final = 5
_RATIO_MAX: Final = 1.02
_RUN_S_MAX: Final = 60.0
# The two places where a recall asks whether learning is on, without the asking.
_HOOK: Final = """        lessons = self._query.lessons
        if lessons is not None:
            ranking = lessons.reordered(snapshot, ranking, self._floor(ranking))
"""

Step = Callable[[str, int, int], None]


class _Reporter:
    """A provider with signals in memory."""

    def __init__(self, name: str, signals: Sequence[QualitySignal]) -> None:
        self.name = name
        self._signals = signals

    def load_signals(self) -> Sequence[QualitySignal]:
        return self._signals

    def quality_weights(self) -> ProviderQualityWeights | None:
        return None


async def measure(memories: int, signals: int, step: Step = lambda _what, _done, _of: None) -> Report:
    """Time both.

    Args:
        memories: In the store that is asked.
        signals: Of one background run, from ten providers.
        step: Told what is being done.
    """
    with tempfile.TemporaryDirectory(prefix="umi-learning-") as folder:
        step("recalling with and without", 0, 0)
        asked = await _recalls(str(Path(folder) / "asked.db"), memories)
        step(f"learning from {signals:,} signals", 0, 0)
        learned = await _run(str(Path(folder) / "learned.db"), signals)
    notes = (
        "a ratio compares the medians of rounds that take turns; words only, so that the embedding hides nothing",
        "off: no provider, beside the same code without the two questions whether learning is on",
    )
    return Report("The cost of learning", (*asked, *learned), machine_facts(), notes)


async def _recalls(url: str, memories: int) -> list[Figure]:
    questions = [question(_SEED + 1, number) for number in range(_QUESTIONS_COUNT)]
    async with (
        Memory.open(url, embedder=None) as off,
        Memory.open(url, embedder=None, config=Config(learn=True)) as on,
    ):
        await off.remember_many(turns(_SEED, memories, _TURN_WORDS))
        bare: list[float] = []
        plain: list[float] = []
        learning: list[float] = []
        for number in range(_ROUNDS_COUNT + 1):
            with ExitStack() as stack:
                stack.enter_context(edited(snapshot_search.SnapshotSearch, "run", _HOOK, "        lessons = None\n"))
                first = await _round(off, questions)
            rounds = (first, await _round(off, questions), await _round(on, questions))
            if number:  # the first warms up
                for kept, took in zip((bare, plain, learning), rounds, strict=True):
                    kept.append(took)
    least = quantile(bare, 0.5)
    unit = "x a recall without the question"
    return [
        Figure("recall, learning off", quantile(plain, 0.5) / least, unit, _RATIO_MAX),
        Figure("recall, learning on", quantile(learning, 0.5) / least, unit),
    ]


async def _round(memory: Memory, questions: Sequence[str]) -> float:
    clock = SystemClock()
    start = clock.monotonic_s()
    for one in questions:
        await memory.recall(one)
    return clock.monotonic_s() - start


async def _run(url: str, count: int) -> list[Figure]:
    clock = SystemClock()
    now = clock.now()
    signals = [
        QualitySignal(
            f"s{number}", "", "success" if number % 3 else "failure", 1.0 if number % 3 else 0.0, now.isoformat(),
            recall_id=f"rec_{number}",
        )
        for number in range(count)
    ]  # fmt: skip
    reporters = [_Reporter(f"reporter {n}", signals[n::_PROVIDERS_COUNT]) for n in range(_PROVIDERS_COUNT)]
    async with Memory.open(url, embedder=None, intelligence=IntelligenceLoader(reporters)) as memory:
        notes = [Message(f"note number {number} about thing {number % 97}") for number in range(_NOTES_COUNT)]
        for start in range(0, _NOTES_COUNT, _PORTION_COUNT):
            await memory.remember(notes[start : start + _PORTION_COUNT], extract_entities=False, track_evolution=False)
        storage = memory._open.storage  # noqa: SLF001 - recalls of long ago are written beneath the facade
        shown = await storage.read(_entities)
        seen = [
            Seen(
                f"rec_{n}",
                now,
                tuple((place, *shown[(n * 7 + place * 13) % len(shown)]) for place in range(_SHOWN_COUNT)),
            )
            for n in range(count)
        ]
        for start in range(0, count, _PORTION_COUNT):
            await storage.write(partial(write_trajectories, seen=seen[start : start + _PORTION_COUNT]))
        begun = clock.monotonic_s()
        first = await memory.learning.run()
        took, begun = clock.monotonic_s() - begun, clock.monotonic_s()
        again = await memory.learning.run()
        repeated = clock.monotonic_s() - begun
    return [
        Figure(f"run over {count:,} signals", took, "s", _RUN_S_MAX, detail={"new": first.new}),
        Figure("the same again", repeated, "s", detail={"new": again.new}),
    ]


def _entities(snapshot: Snapshot) -> list[tuple[int, str, str]]:
    return [(one.arrival, one.id, one.episode_id) for _, one in snapshot.list_entities(after=None, limit=_NOTES_COUNT)]

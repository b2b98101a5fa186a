"""Whether learning from outcomes helps, and does no harm when somebody lies: `umi bench learning`.

An agent follows the first hit of a recall; its task succeeds when that is good advice on the task. In 15% of the tasks the outcome
comes out wrong all the same, a good one as a failure or the reverse, and as it came out it is reported. Every arm sees the same tasks
in the same order on a real store with the real embedder:

    without     learning switched off
    learning    what the agent itself reports (`feedback`)
    three       beside it two providers that report the same, loaded every ten tasks
    poisoned    as three, but one of them says the opposite of the truth, three times over
    apart       as three, but each reporter errs for itself in 15% of the tasks: no longer one noise, but three
    harder      as apart, and one of them lies as in poisoned: where the honest disagree, the liar decides
    rule        the hits without learning, by plain rate of success; unknown is a half
    oracle      the hits without learning, the first that does not mislead
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi._core.clock import SystemClock
from umi._engine.components import guarded_embedder
from umi._learning import IntelligenceLoader
from umi.config import Config
from umi.errors import EmbedderUnavailable
from umi.memory import Memory
from umi.ports import EmbedderIdentity, EmbeddingProvider, Matrix, Vector
from umi.types import Hit, Message, ProviderQualityWeights, QualitySignal, RecallReceipt
from umi_lab.bench.intervals import Interval, interval, means
from umi_lab.bench.learning_tasks import ADVICE_COUNT, NOISE, TASKS_COUNT, Stream, Task, all_texts, stream

ARMS: Final = ("without", "learning", "three", "poisoned", "apart", "harder", "rule", "oracle")
WINDOW_COUNT: Final = 50  # tasks per point of the curve
LEARNT_FROM: Final = 200  # tasks, after which the gain is measured
REPORTERS_COUNT: Final = 3
SHOWN_COUNT: Final = 8
GAIN_POINTS_MIN: Final = 10.0
BELOW_POINTS: Final = 2.0
POISON_POINTS: Final = 3.0
_RUN_EVERY: Final = 10  # tasks
_LIES_COUNT: Final = 3  # per task
_THREES: Final = (("three", False, False), ("poisoned", True, False), ("apart", False, True), ("harder", True, True))

Step = Callable[[str, int, int], None]
Floats = npt.NDArray[np.float64]


@dataclass
class Once:
    """An embedder that embeds every text once, as a whole process would; satisfies `umi.ports.EmbeddingProvider`."""

    inner: EmbeddingProvider
    kept: dict[str, Matrix] = field(default_factory=dict)

    @property
    def identity(self) -> EmbedderIdentity:
        """The inner one's."""
        return self.inner.identity

    async def embed(self, text: str) -> Vector:
        """One query."""
        first: Vector = (await self.embed_many([text]))[0][0]
        return first

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """From memory, where they are."""
        new = [text for text in dict.fromkeys(texts) if text not in self.kept]
        if new:
            self.kept.update(zip(new, await self.inner.embed_many(new), strict=True))
        return [self.kept[text] for text in texts]


@dataclass
class Reporter:
    """A provider of signals that the benchmark fills; satisfies `umi.ports.IntelligenceProvider`."""

    name: str
    lies: bool = False
    signals: list[QualitySignal] = field(default_factory=list)

    def load_signals(self) -> list[QualitySignal]:
        """What was reported since the last load, as a log that is rotated."""
        given, self.signals = self.signals, []
        return given

    def quality_weights(self) -> ProviderQualityWeights | None:
        """The defaults."""
        return None

    def report(self, found: RecallReceipt, number: int, task: Task, *, succeeded: bool, luck: float, at: str) -> None:
        """Take down how a task went; a liar says the opposite, several times over."""
        said = not succeeded if self.lies else succeeded is not (luck < NOISE)
        for copy in range(_LIES_COUNT if self.lies else 1):
            outcome, score = ("success", 1.0) if said else ("failure", 0.0)
            id_ = f"{number}-{copy}"
            self.signals.append(QualitySignal(id_, task.question, outcome, score, at, recall_id=found.id))


@dataclass(frozen=True, slots=True)
class LearningReport:
    """Success per arm, seed and task (1 or 0), shape (seeds, tasks)."""

    seeds: tuple[int, ...]
    success: Mapping[str, Floats]

    def over(self, arm: str, start: int = LEARNT_FROM) -> Floats:
        """The rate of success of each seed from a task on, in points."""
        rates: Floats = 100 * self.success[arm][:, start:].mean(axis=1)
        return rates

    def rate(self, arm: str, start: int = LEARNT_FROM) -> Interval:
        """The rate of success from a task on, in points, resampled over seeds."""
        return _over_seeds(self.over(arm, start))

    def gain(self, arm: str, against: str, start: int = LEARNT_FROM) -> Interval:
        """How much more often one arm succeeds than another on the same tasks, in points."""
        return _over_seeds(self.over(arm, start) - self.over(against, start))

    def curve(self, arm: str) -> list[Interval]:
        """The rate of success of each window of tasks."""
        blocks = 100 * self.success[arm].reshape(len(self.seeds), -1, WINDOW_COUNT).mean(axis=2)
        return [_over_seeds(column) for column in blocks.T]

    def lowest(self, arm: str, against: str) -> float:
        """The worst window of one arm beside another, in points."""
        both = (
            self.success[name].reshape(len(self.seeds), -1, WINDOW_COUNT).mean(axis=(0, 2)) for name in (arm, against)
        )
        mine, other = both
        return float(100 * (mine - other).min())

    def checks(self) -> dict[str, tuple[float, float, bool]]:
        """What must hold: the figure, its limit, and whether it does."""
        gain = self.gain("learning", "without").value
        worst = min(self.lowest(arm, "without") for arm in ("learning", *(arm for arm, *_ in _THREES)))
        loss = self.gain("three", "poisoned").value
        return {
            "gain after 200 tasks, at least": (gain, GAIN_POINTS_MIN, gain >= GAIN_POINTS_MIN),
            "worst window beside no learning, at least": (worst, -BELOW_POINTS, worst >= -BELOW_POINTS),
            "loss to one lying provider of three, at most": (loss, POISON_POINTS, loss <= POISON_POINTS),
        }

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "seeds": list(self.seeds),
            "tasks": TASKS_COUNT,
            "window": WINDOW_COUNT,
            "after": LEARNT_FROM,
            "rates": {arm: _plain(self.rate(arm)) for arm in self.success},
            "gains": {arm: _plain(self.gain(arm, "without")) for arm in self.success if arm != "without"},
            "curves": {arm: [_plain(point) for point in self.curve(arm)] for arm in self.success},
            "checks": {
                name: {"value": round(value, 2), "limit": limit, "ok": ok}
                for name, (value, limit, ok) in self.checks().items()
            },
        }


async def measure(seeds: Sequence[int], step: Step = lambda _what, _done, _of: None) -> LearningReport:
    """Run every arm over the tasks of each seed.

    Args:
        seeds: At least one.
        step: Told how far it is.

    Raises:
        EmbedderUnavailable: Without the local embedder.
    """
    inner = guarded_embedder("local")
    if inner is None:
        raise EmbedderUnavailable("the local embedder is missing; install umi-memory with its dependencies")
    embedder = Once(inner)
    rows: dict[str, list[list[bool]]] = {arm: [] for arm in ARMS}
    for done, seed in enumerate(seeds):
        step("seeds", done, len(seeds))
        drawn = stream(seed, REPORTERS_COUNT)
        await embedder.embed_many(all_texts(drawn.clusters))
        fixed = await _without(drawn, embedder)
        rows["without"].append(
            [_succeeds(drawn, task, hits[:1]) for task, hits in zip(drawn.tasks, fixed, strict=True)]
        )
        rows["rule"].append(_by_rule(drawn, fixed))
        rows["oracle"].append([_oracle(drawn, task, hits) for task, hits in zip(drawn.tasks, fixed, strict=True)])
        rows["learning"].append(await _learning(drawn, embedder, ()))
        for arm, lies, apart in _THREES:
            reporters = (Reporter("ci"), Reporter("review", lies=lies))
            rows[arm].append(await _learning(drawn, embedder, reporters, apart=apart))
    step("seeds", len(seeds), len(seeds))
    return LearningReport(tuple(seeds), {arm: np.array(found, dtype=np.float64) for arm, found in rows.items()})


async def _fill(memory: Memory, drawn: Stream) -> None:
    messages = [Message(text) for cluster in drawn.clusters for text in cluster.advice]
    await memory.remember(messages, extract_entities=False, track_evolution=False)


async def _without(drawn: Stream, embedder: Once) -> list[tuple[Hit, ...]]:
    """What a recall without learning shows for each task: always the same for the same question."""
    found: dict[str, tuple[Hit, ...]] = {}
    async with Memory.open(":memory:", embedder=embedder) as memory:
        await _fill(memory, drawn)
        for task in drawn.tasks:
            if task.question not in found:
                found[task.question] = (await memory.recall(task.question, limit=SHOWN_COUNT)).hits
    return [found[task.question] for task in drawn.tasks]


async def _learning(drawn: Stream, embedder: Once, reporters: Sequence[Reporter], *, apart: bool = False) -> list[bool]:
    clock, succeeded = SystemClock(), []
    loader = IntelligenceLoader(reporters)
    with tempfile.TemporaryDirectory(prefix="umi-learning-") as folder:
        url = str(Path(folder) / "learning.db")
        async with Memory.open(url, embedder=embedder, config=Config(learn=True), intelligence=loader) as memory:
            await _fill(memory, drawn)
            for number, task in enumerate(drawn.tasks):
                found = await memory.recall(task.question, limit=SHOWN_COUNT)
                went_well = _succeeds(drawn, task, found.hits[:1])
                succeeded.append(went_well)
                said = went_well is not (task.luck[0] < NOISE)
                used = [hit.id for hit in found.hits[:1]]
                await memory.feedback(found.id, outcome="success" if said else "failure", used=used)
                at = clock.now().isoformat()
                for place, reporter in enumerate(reporters, start=1):
                    reporter.report(found, number, task, succeeded=went_well, luck=task.luck[place * apart], at=at)
                if reporters and number % _RUN_EVERY == _RUN_EVERY - 1:
                    await memory.learning.run()
    return succeeded


def _succeeds(drawn: Stream, task: Task, followed: Sequence[Hit]) -> bool:
    """Whether the advice that is followed is on the task, and good."""
    right = drawn.clusters[task.cluster].advice
    return any(hit.episode.content in right and hit.episode.content not in drawn.misleading for hit in followed)


def _oracle(drawn: Stream, task: Task, hits: Sequence[Hit]) -> bool:
    right = drawn.clusters[task.cluster].advice
    return any(
        hit.episode.content in right and hit.episode.content not in drawn.misleading for hit in hits[:ADVICE_COUNT]
    )


def _by_rule(drawn: Stream, fixed: Sequence[Sequence[Hit]]) -> list[bool]:
    """By the plain rate of reported success of each memory, whatever its relevance; of equal ones the more relevant."""
    good: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    succeeded = []
    for task, hits in zip(drawn.tasks, fixed, strict=True):
        best = sorted(hits, key=lambda hit: -(good[hit.id] / tried[hit.id] if tried[hit.id] else 0.5))[:1]
        went_well = _succeeds(drawn, task, best)
        succeeded.append(went_well)
        said = went_well is not (task.luck[0] < NOISE)
        for hit in best:
            tried[hit.id] += 1
            good[hit.id] += said
    return succeeded


def _over_seeds(values: Floats) -> Interval:
    value, resampled = means(values.reshape(-1, 1))
    return interval(float(value[0]), resampled[:, 0])


def _plain(found: Interval) -> dict[str, float]:
    return {"value": round(found.value, 2), "low": round(found.low, 2), "high": round(found.high, 2)}

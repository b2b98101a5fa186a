"""Learning in a world: recalls are judged by feedback and by providers, some of which repeat, contradict themselves or lie.

This happens in a namespace of its own, through all faults and power cuts of the world. What must be believed is
computed here in plain dicts from what was acknowledged: a signal counts once, for what was shown or used, in the
versions that count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final, Protocol

from umi._learning import IntelligenceLoader
from umi._learning.credit import age_weight
from umi.errors import NotFound
from umi.sim.clock import SimClock
from umi.types import LearnStatus, Lesson, Message, ProviderQualityWeights, QualitySignal
from umi.types import Outcome as Ending
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.steps import Step

SPACE: Final = "lessons"  # the namespace
ADVICE: Final = (
    "To wind the tower clock, turn the brass key.",
    "To wind the tower clock, pull the long chain.",
    "To wind the tower clock, lift the lead weight.",
    "The tower clock is wound by the left crank.",
    "Winding the tower clock takes the small ladder.",
)
_QUESTION: Final = "How do I wind the tower clock?"
_SHOWN: Final = 3  # hits shown of the five pieces of advice, so that two are found and not shown
_FEEDBACK: Final = "feedback"
_FLOOD: Final = 30  # false signals at once
# The bounds that learning must keep; see docs/learning.md.
_FACTOR_MOST: Final = 3.0
_EVIDENCE_MOST: Final = 16.0
_EVIDENCE_ALONE: Final = 4.0
_SAME: Final = 1e-6
_WAITS: Final = "skipped, the lessons wait to be read"


class Taught(Protocol):
    """The part of a world that is used here. `memory` returns `umi.Memory` objects, typed Any here."""

    outcome: Outcome
    clock: SimClock

    def memory(self, space: str, number: int = 0) -> Any:
        """The namespace of a space."""
        ...


@dataclass(frozen=True, slots=True)
class _Said:
    """One acknowledged signal: how it judges, and the share of each memory that it credits."""

    provider: str
    id: str
    quality: float
    at: datetime
    shares: Mapping[str, float]


@dataclass(slots=True)
class _Log:
    """A provider whose file only grows. Satisfies `umi.ports.IntelligenceProvider`."""

    name: str
    signals: list[QualitySignal] = field(default_factory=list)

    def load_signals(self) -> Sequence[QualitySignal]:
        """Every signal ever written."""
        return list(self.signals)

    def quality_weights(self) -> ProviderQualityWeights | None:
        """None: the default weights."""
        return None


@dataclass(slots=True)
class _Recall:
    """A recall that is to be judged."""

    id: str
    shown: tuple[str, ...]


class Teaching:
    """What the namespace of lessons was taught in one world, and what it must believe."""

    def __init__(self, world: Taught) -> None:
        self._world = world
        self._logs = {name: _Log(name) for name in ("ci", "liar")}
        self.loader = IntelligenceLoader(list(self._logs.values()))
        self._known: dict[tuple[str, str], _Said] = {}
        self._counting: dict[tuple[str, str], None] = {}
        self._versions: dict[int, dict[tuple[str, str], None]] = {0: {}}
        self._told = False
        self._judged: dict[int, _Recall] = {}
        self._served: dict[int, list[_Recall]] = {}
        self._expected: dict[int, list[_Said]] = {}

    # Steps. Each may be repeated after a failure, which may have come before or after its effect was committed.

    async def judge(self, step: Step) -> str:
        """Ask, follow one hit, and give feedback."""
        memory = await self._memory(step)
        if memory is None:
            return _WAITS
        # The same recall if the step is repeated: feedback is accepted once per recall.
        recall = self._judged.get(step.number) or await self._ask(memory)
        self._judged[step.number] = recall
        outcome, used = (Ending.SUCCESS, Ending.FAILURE)[step.count % 2], recall.shown[step.count % len(recall.shown)]
        named = step.keep == "used"
        try:
            receipt = await memory.feedback(recall.id, outcome=outcome, used=[used] if named else None)
        except NotFound:  # the note of the recall was lost with the process; only credit is lost
            del self._judged[step.number]
            self._world.outcome.features["credit lost in a crash"] += 1
            return "lost, not judged"
        shares = {used: 1.0} if named else {id_: 1 / (1 + place) for place, id_ in enumerate(recall.shown)}
        quality = 1.0 if outcome is Ending.SUCCESS else 0.0
        if receipt.quality != quality or set(receipt.credited) != set(shares):
            raise Violation(f"{step.line()} was credited to {receipt.credited} as {receipt.quality}")
        self._count(_Said(_FEEDBACK, recall.id, quality, self._world.clock.now(), shares))
        return await self._seen(memory, f"{outcome} of {used if named else 'all shown'}")

    async def report(self, step: Step) -> str:
        """Two providers judge a task of two recalls: repeatedly, late, contradictorily, with nonsense; one of them lies often."""
        memory = await self._memory(step)
        if memory is None:
            return _WAITS
        if step.number not in self._served:
            task = f"T{step.number}-{len(self._judged)}-{self._world.clock.monotonic_s():.6f}"
            recalls = [await self._ask(memory, task) for _ in range(2)]
            await memory.learning.status()  # stores the notes of these recalls
            self._served[step.number] = recalls
            self._expected[step.number] = self._write(step, task, recalls)
        receipt = await memory.learning.run()
        for said in self._expected[step.number]:
            self._count(said)
        await self._note_version(memory)
        if not any(fault.record == f"again-{step.number}" for fault in receipt.faults):
            raise Violation(
                f"{step.line()}: a provider took back what it had said, and nothing tells: {receipt.faults}"
            )
        return await self._seen(memory, f"{receipt.new} new, {receipt.known} known, {len(receipt.faults)} set aside")

    async def back(self, step: Step) -> str:
        """Roll back, or forward, to some version."""
        memory = await self._memory(step)
        if memory is None:
            return _WAITS
        to = sorted(self._versions)[step.count % len(self._versions)]
        before = dict(self._counting)
        # A rollback seals the open version, which the status shows as the newest sealed one.
        status: LearnStatus = await memory.learning.rollback(to)
        newest = max((version.number for version in status.sealed), default=0)
        self._versions.setdefault(newest, before)  # the rollback has sealed the open version first
        if before not in self._versions.values():
            raise Violation(f"{step.line()}: nothing leads back to the {len(before)} signals that counted before")
        self._counting = dict(self._versions[to])
        self._world.outcome.features["learning rolled back"] += bool(before) and before != self._counting
        return await self._seen(memory, f"to version {to}, {len(self._counting)} signals count")

    async def check(self) -> str:
        """At the end: every memory is believed to be what its signals say, and nothing else is believed."""
        memory = await self._memory(None) if self._told else None
        return "nothing was taught" if memory is None else await self._seen(memory, "as it must be")

    # Helpers.

    async def _memory(self, step: Step | None) -> Any:
        """The memory with its advice stored and read; None while a fault defers the reading, since hits have no entity ids then."""
        memory = self._world.memory(SPACE, step.number if step else 0)
        if not self._told:
            messages = [Message(text, id=f"lesson-{place}") for place, text in enumerate(ADVICE)]
            await memory.remember(messages, extract_entities=False, track_evolution=False)
            self._told = True
        # A fault may have deferred the reading; `maintain` finishes it.
        if len((await memory.list(limit=len(ADVICE) + 1)).items) < len(ADVICE):
            await memory.maintain()
        return memory if len((await memory.list(limit=len(ADVICE) + 1)).items) == len(ADVICE) else None

    async def _ask(self, memory: Any, task: str | None = None) -> _Recall:
        found = await memory.recall(_QUESTION, limit=_SHOWN, min_score=0, task_id=task)
        return _Recall(found.id, tuple(hit.id for hit in found.hits))

    def _write(self, step: Step, task: str, recalls: Sequence[_Recall]) -> list[_Said]:
        """Add signals to the providers' files; returns those that must count."""
        now = self._world.clock.now()
        late = now - timedelta(days=100 + step.count)
        number, ci, liar = step.number, self._logs["ci"].signals, self._logs["liar"].signals
        # Valid signals, one of them twice, one contradicted under its own id, one late, one for the whole task.
        good = QualitySignal(f"one-{number}", "", "success", 1.0, now.isoformat(), recall_id=recalls[0].id)
        again = replace(good, id=f"again-{number}")
        old = QualitySignal(f"late-{number}", "", "failure", 0.0, late.isoformat(), recall_id=recalls[1].id)
        whole = QualitySignal(f"task-{number}", "", "failure", 0.0, now.isoformat(), task_id=task)
        ci += [good, good, again, replace(again, outcome="failure"), old, whole]
        ci += [replace(good, id=f"nan-{number}", quality_score=float("nan")), "nonsense"]  # type: ignore[list-item]
        ci += [replace(good, id=f"elsewhere-{number}", recall_id="rec_of_nobody")]
        ci += [replace(good, id=f"future-{number}", completed_at="9999-01-01T00:00:00Z")]
        lies = [replace(old, id=f"lie-{number}-{copy}", completed_at=now.isoformat()) for copy in range(_FLOOD)]
        liar += lies
        first, second = (_by_place(recall) for recall in recalls)
        # A signal for several recalls credits each memory with its largest share.
        both = {id_: max(first.get(id_, 0.0), second.get(id_, 0.0)) for id_ in {**first, **second}}
        return [
            _Said("ci", good.id, 1.0, now, first),
            _Said("ci", again.id, 1.0, now, first),
            _Said("ci", old.id, 0.0, late, second),
            _Said("ci", whole.id, 0.0, now, both),
            *(_Said("liar", one.id, 0.0, now, second) for one in lies),
        ]

    def _count(self, said: _Said) -> None:
        """Note a signal that counts; known ones are ignored."""
        key = (said.provider, said.id)
        if key not in self._known:
            self._known[key] = said
            self._counting[key] = None

    async def _note_version(self, memory: Any) -> None:
        """Note which signals count in the version that a run has sealed."""
        status: LearnStatus = await memory.learning.status()
        if status.version is not None and status.version.signals == 0:
            self._versions.setdefault(status.version.parent, dict(self._counting))

    async def _seen(self, memory: Any, what: str) -> str:
        """Compare every memory's lesson with what must be believed, and the ranking with the lessons."""
        for step in (await memory.list(limit=len(ADVICE))).items:
            self._believed(step.entity.id, await memory.learning.explain(step.entity.id))
        found = await memory.recall(_QUESTION, limit=len(ADVICE), min_score=0, explain=True)
        # The order must fall by odds times factor.
        weights = [_odds(hit.score) * (hit.lesson.factor if hit.lesson else 1.0) for hit in found.hits]
        if any(later > earlier * (1 + _SAME) + _SAME for earlier, later in pairwise(weights)):
            raise Violation(f"the order is not that of odds times factor: {weights}")
        self._world.outcome.features["rankings moved"] += any(hit.lesson is not None for hit in found.hits)
        return what

    def _believed(self, id_: str, lesson: Lesson) -> None:
        """Compare one memory's lesson with what its signals say."""
        sums: dict[str, tuple[float, float]] = {}
        counted = 0
        today = age_weight(self._world.clock.now())
        for said in map(self._known.__getitem__, self._counting):
            weight = said.shares.get(id_, 0.0) * age_weight(said.at) / today
            if id_ in said.shares:
                gain, loss = sums.get(said.provider, (0.0, 0.0))
                sums[said.provider] = (gain + weight * said.quality, loss + weight * (1 - said.quality))
                counted += 1
        if lesson.counted != counted:
            raise Violation(f"{id_} was judged by {counted} signals that count, and {lesson.counted} were counted")
        providers = {provider for provider, _ in self._counting}
        # Computed apart from the product; see docs/learning.md.
        most = _EVIDENCE_ALONE if len(sums) == 1 and len(providers) > 1 else _EVIDENCE_MOST
        expected = {name: _bounded(*sums[name], most) for name in sorted(sums)}
        if list(lesson.evidence) != list(expected) or any(
            abs(mine - yours) > _SAME
            for name in expected
            for mine, yours in zip(expected[name], lesson.evidence[name], strict=True)
        ):
            raise Violation(f"{id_} is believed to be {dict(lesson.evidence)}, and the signals say {expected}")
        if not 1 / _FACTOR_MOST <= lesson.factor <= _FACTOR_MOST:
            raise Violation(f"{id_} has the factor {lesson.factor}")
        self._world.outcome.features["lessons confirmed"] += bool(counted)


def _by_place(recall: _Recall) -> dict[str, float]:
    """The shares of a recall's hits when no used hit is named."""
    return {id_: 1 / (1 + place) for place, id_ in enumerate(recall.shown)}


def _bounded(gain: float, loss: float, most: float) -> tuple[float, float]:
    whole = gain + loss
    return (gain, loss) if whole <= most else (gain * most / whole, loss * most / whole)


def _odds(score: float) -> float:
    sure = min(1 - 1e-6, max(1e-6, score))
    return sure / (1 - sure)

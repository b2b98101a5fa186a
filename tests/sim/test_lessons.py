"""A run of the background loop loses its power at every change of the disk, one world each; and worlds that learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from umi._learning import IntelligenceLoader, runs
from umi.config import Config
from umi.errors import StoreError
from umi.memory import Memory
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.disk import SimDisk
from umi.sim.loop import run as run_in_virtual_time
from umi.sim.rng import DeterministicRng
from umi.types import Message, ProviderQualityWeights, QualitySignal
from umi_lab.mutation.planted_learning import LEARNING
from umi_lab.worlds.plan import make_plan
from umi_lab.worlds.steps import Kind
from umi_lab.worlds.world import run_plan

TEXTS = [f"To wind the tower clock, use way number {number}." for number in range(4)]
SIGNALS_COUNT = 8


@dataclass
class Log:
    """A provider whose file only grows."""

    name: str
    signals: list[QualitySignal] = field(default_factory=list)

    def load_signals(self) -> Sequence[QualitySignal]:
        return self.signals

    def quality_weights(self) -> ProviderQualityWeights | None:
        return None


class Cut:
    """One world: a run that loses its power at the n-th change of the disk, and is run again until it is done."""

    def __init__(self, change: int | None) -> None:
        self.change = change
        self.clock = SimClock()
        rng = DeterministicRng(7)
        self.entropy = SimEntropy(rng.fork("ids"))
        self.disk = SimDisk(rng.fork("disk"), clock=self.clock)
        self.logs = [Log("ci"), Log("review")]
        self.fell = False

    def open(self) -> Memory:
        return Memory.open(
            f"sqlite:///umi.db?vfs={self.disk.vfs}",
            embedder=None,
            config=Config(learn=True),
            intelligence=IntelligenceLoader(self.logs),
            clock=self.clock,
            entropy=self.entropy,
        )

    async def live(self) -> tuple[Any, ...]:
        async with self.open() as memory:
            await memory.remember([Message(text) for text in TEXTS], extract_entities=False, track_evolution=False)
            found = [await memory.recall("wind the tower clock", limit=2, min_score=0) for _ in range(SIGNALS_COUNT)]
            await memory.learning.status()  # writes what waits
        at = self.clock.now().isoformat()
        for number, recall in enumerate(found):
            outcome, score = ("success", 1.0) if number % 3 else ("failure", 0.0)
            log = self.logs[number % 2]
            log.signals.append(QualitySignal(f"s{number}", "", outcome, score, at, recall_id=recall.id))
        if self.change is not None:
            self.disk.arm_power_cut(self.change)
        try:
            async with self.open() as memory:
                await memory.learning.run()
        except StoreError:
            pass
        self.fell = not self.disk.powered
        if self.fell:
            self.disk.restart()
        self.disk.disarm_power_cut()
        async with self.open() as memory:
            receipt = await memory.learning.run()
            beliefs = await memory._open.storage.read(lambda s: list(s.learned.scan_beliefs()))
            version = await memory._open.storage.read(lambda s: s.learned.open_version())
            assert receipt.new + receipt.known == SIGNALS_COUNT
            assert await memory.check() == []
            assert (await memory.learning.run()).new == 0
            before = beliefs
            await memory.learning.reset()
            await memory.learning.rollback(1)
            assert await memory._open.storage.read(lambda s: list(s.learned.scan_beliefs())) == before
        return beliefs, version.totals if version else None


def _life(change: int | None) -> tuple[tuple[Any, ...], bool]:
    world = Cut(change)
    try:
        return run_in_virtual_time(world.live(), clock=world.clock), world.fell
    finally:
        world.disk.close(force=True)


def test_a_run_cut_off_at_any_change_of_the_disk_ends_as_if_it_had_not_been(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "LEARN_BATCH_COUNT", 2)
    whole, _ = _life(None)
    assert sum(belief.signals for belief in whole[0]) == 2 * SIGNALS_COUNT
    cuts = 0
    for change in range(1, 200):
        ended, fell = _life(change)
        assert ended == whole, f"cut at change {change}"
        cuts += fell
        if not fell:
            break
    assert cuts > 20


def learning_seeds(count: int) -> list[int]:
    return [seed for seed in range(200) if make_plan(seed).learn][:count]


def test_a_third_of_the_worlds_learn() -> None:
    plans = [make_plan(seed) for seed in range(200)]
    assert 40 <= sum(plan.learn for plan in plans) <= 90
    kinds = {step.kind for plan in plans for step in plan.steps}
    assert {Kind.JUDGE, Kind.REPORT, Kind.BACK} <= kinds
    assert all(
        plan.learn or step.kind not in {Kind.JUDGE, Kind.REPORT, Kind.BACK} for plan in plans for step in plan.steps
    )


def test_what_worlds_learn_is_confirmed_and_runs_twice_alike() -> None:
    outcomes = [run_plan(make_plan(seed)) for seed in learning_seeds(4)]
    assert [outcome.failure for outcome in outcomes] == [None] * len(outcomes)
    for feature in ("lessons confirmed", "rankings moved"):
        assert sum(outcome.features[feature] for outcome in outcomes) > 0
    again = run_plan(outcomes[0].plan)
    assert (again.trace_hash, again.image_hash) == (outcomes[0].trace_hash, outcomes[0].image_hash)


FIRST, *OTHERS = LEARNING


@pytest.mark.parametrize(
    "mutation",
    [FIRST, *(pytest.param(other, marks=pytest.mark.slow) for other in OTHERS)],
    ids=lambda mutation: mutation.name,
)
def test_a_planted_fault_of_learning_is_found(mutation: Any) -> None:
    for plan in map(make_plan, learning_seeds(12)):
        with mutation.apply():
            failure = run_plan(plan).failure
        if failure is not None and run_plan(plan).failure is None:
            return
    pytest.fail(f"not found: {mutation.summary}")

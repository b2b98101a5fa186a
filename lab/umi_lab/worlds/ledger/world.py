"""A small world in progress: a memory on a store, the oracle's book beside it, and what both are after each step."""

from __future__ import annotations

import inspect
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from umi.config import Config
from umi.errors import UmiError
from umi.memory import Memory
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.loop import run as run_virtually
from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger import portions
from umi_lab.worlds.ledger.acts import Acts
from umi_lab.worlds.ledger.asks import Asks
from umi_lab.worlds.ledger.confirmed import Tally
from umi_lab.worlds.ledger.expected import Wrong
from umi_lab.worlds.ledger.model import ScriptedModel
from umi_lab.worlds.ledger.plan import SmallPlan, Step

SPACE: Final = "ledger"
# What a call means that leaves an argument out.
_DEFAULTS: Final = {
    name: {
        one.name: one.default
        for one in inspect.signature(method).parameters.values()
        if one.default is not inspect.Parameter.empty
    }
    for name, method in inspect.getmembers(Memory, inspect.isfunction)
    if not name.startswith("_")
}


@dataclass(slots=True)
class SmallOutcome:
    """The result of a small world; `failure` is None when everything was as the oracle says."""

    plan: SmallPlan
    failure: str | None = None
    trace: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)


def run_small(plan: SmallPlan) -> SmallOutcome:
    """Run a small world."""
    outcome = SmallOutcome(plan)
    clock = SimClock()
    # In RAM where the system has a place for files there: many small worlds open many files.
    base = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # noqa: S108 - the folder below it is private
    folder = Path(tempfile.mkdtemp(prefix="umi-ledger-", dir=base))
    world = SmallWorld(plan, clock, folder, outcome)
    try:
        with portions.applied(plan.portions):
            run_virtually(world.live(), seed=plan.seed, clock=clock)
    except Wrong as wrong:
        outcome.failure = str(wrong)
    except UmiError as error:
        outcome.failure = f"unexpected {type(error).__name__}: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


class SmallWorld:
    """One small world."""

    def __init__(self, plan: SmallPlan, clock: SimClock, folder: Path, outcome: SmallOutcome) -> None:
        rng = DeterministicRng(plan.seed)
        self.plan = plan
        self.clock = clock
        self.folder = folder
        self.tally = outcome.tally
        self.model = ScriptedModel()
        self._rng = rng
        self._trace = outcome.trace
        self._entropy = SimEntropy(rng.fork("ids"))
        self._memory: Memory | None = None
        self.acts = Acts(self)
        self.asks = Asks(self)

    @property
    def memory(self) -> Memory:
        """The open memory."""
        if self._memory is None:
            raise Wrong("the small world is not open")
        return self._memory

    def other(self, url: str) -> Memory:
        """Another memory with the same parts, not yet open."""
        config = Config(act_from=self.plan.act_from)
        return Memory.open(
            url, namespace=SPACE, llm=self.model, embedder=None, config=config, clock=self.clock, entropy=self._entropy
        )

    async def call(self, method: str, *given: Any, **arguments: Any) -> Any:
        """Call a method of the memory and count its arguments."""
        self.count(method, arguments)
        return await getattr(self.memory, method)(*given, **arguments)

    def count(self, method: str, arguments: Mapping[str, Any]) -> None:
        """Count a call."""
        defaults = _DEFAULTS.get(method, {})
        self.tally.called(method, {**defaults, **arguments})

    async def live(self) -> None:
        """Run every step, and compare after each."""
        await self.open()
        try:
            for step in self.plan.steps:
                await self._take(step)
        finally:
            await self.memory.close()

    async def open(self) -> None:
        """Open the memory, or open it again."""
        if self._memory is not None:
            await self._memory.close()
        url = "dict:" if self.plan.store == "dict" else f"sqlite:///{self.folder / 'ledger.db'}"
        self._memory = await self.other(url)

    async def _take(self, step: Step) -> None:
        self.clock.advance(timedelta(microseconds=step.gap_us).total_seconds())
        self._trace.append(step.line())
        self.acts.expire()
        try:
            await self.acts.adopt_all()
            await self.acts.do(step)
            await self.asks.everything()
            await self.asks.some(self._rng.fork(f"asks{step.number}"))
        except Wrong as wrong:
            raise Wrong(f"after #{step.number} {step.kind}: {wrong}") from wrong
        except UmiError as error:
            raise Wrong(f"after #{step.number} {step.kind}: unexpected {type(error).__name__}: {error}") from error
        self.tally.settle()

"""A small world in progress: a memory on a store, the oracle's book beside it, and what both are after each step."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from umi.errors import UmiError
from umi.sim.clock import SimClock
from umi.sim.loop import run as run_virtually
from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger import portions
from umi_lab.worlds.ledger.acts import Acts
from umi_lab.worlds.ledger.apart.kinds import APART
from umi_lab.worlds.ledger.asks import Asks
from umi_lab.worlds.ledger.confirmed import Tally
from umi_lab.worlds.ledger.expected import Wrong
from umi_lab.worlds.ledger.opened import OpenedMemory
from umi_lab.worlds.ledger.plan import SmallPlan, Step


@dataclass(slots=True)
class SmallOutcome:
    """The result of a small world; `failure` is None when everything was as the oracle says."""

    plan: SmallPlan
    failure: str | None = None
    trace: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)


def run_small(plan: SmallPlan, address: str | None = None) -> SmallOutcome:
    """Run a small world.

    Args:
        plan: What it does.
        address: An empty PostgreSQL database that takes the place of the plan's store.
    """
    outcome = SmallOutcome(plan)
    clock = SimClock()
    # In RAM where the system has a place for files there: many small worlds open many files.
    base = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # noqa: S108 - the folder below it is private
    folder = Path(tempfile.mkdtemp(prefix="umi-ledger-", dir=base))
    world = SmallWorld(plan, clock, folder, outcome, address)
    try:
        with portions.applied(plan.portions):
            run_virtually(world.live(), seed=plan.seed, clock=clock, in_threads=address is not None)
    except Wrong as wrong:
        outcome.failure = str(wrong)
    except Exception as error:  # noqa: BLE001 - a crash is a finding, too
        outcome.failure = f"unexpected {type(error).__name__}: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


class SmallWorld:
    """One small world."""

    def __init__(
        self, plan: SmallPlan, clock: SimClock, folder: Path, outcome: SmallOutcome, address: str | None
    ) -> None:
        rng = DeterministicRng(plan.seed)
        self._rng = rng
        self._trace = outcome.trace
        self._opened = OpenedMemory(plan, clock, folder, outcome.tally, rng.fork("ids"), address)
        self._acts = Acts(self._opened)
        self._asks = Asks(self._opened, self._acts)

    async def live(self) -> None:
        """Run every step, and compare after each that concerns the ledger."""
        await self._opened.open()
        try:
            for step in self._opened.plan.steps:
                await self._take(step)
        finally:
            await self._opened.close()

    async def _take(self, step: Step) -> None:
        self._opened.clock.advance(timedelta(microseconds=step.gap_us).total_seconds())
        self._trace.append(step.line())
        self._acts.expire()
        try:
            await self._acts.adopt_all()
            await self._acts.do(step)
            if step.kind not in APART:
                await self._asks.everything()
                await self._asks.some(self._rng.fork(f"asks{step.number}"))
        except Wrong as wrong:
            raise Wrong(f"after #{step.number} {step.kind}: {wrong}") from wrong
        except UmiError as error:
            raise Wrong(f"after #{step.number} {step.kind}: unexpected {type(error).__name__}: {error}") from error
        self._opened.tally.settle()

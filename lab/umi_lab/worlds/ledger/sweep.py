"""Many small worlds, and the smallest plan of one that fails."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from umi_lab.worlds.ledger.confirmed import Tally
from umi_lab.worlds.ledger.plan import SmallPlan, Step, make_small
from umi_lab.worlds.ledger.world import SmallOutcome, run_small
from umi_lab.worlds.shrink import manner

_PORTION: Final = 5  # worlds per job
RUNS_COUNT: Final = 150  # worlds run to shrink one

Progress = Callable[[int, int, int], None]


@dataclass(slots=True)
class SmallReport:
    """What small worlds found: counts, failures by seed, and what was confirmed."""

    worlds: int = 0
    failures: dict[int, str] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    tally: Tally = field(default_factory=Tally)

    def note(self, outcome: SmallOutcome) -> None:
        """Add one world."""
        self.worlds += 1
        self.tally.add(outcome.tally)
        if outcome.failure is not None:
            self.failures[outcome.plan.seed] = outcome.failure
            self.kinds[manner(outcome.failure)] += 1

    def add(self, other: SmallReport) -> None:
        """Add the report of other seeds."""
        self.worlds += other.worlds
        self.failures |= other.failures
        self.kinds.update(other.kinds)
        self.tally.add(other.tally)


def sweep_small(
    seeds: range,
    *,
    jobs: int = 1,
    progress: Progress = lambda _done, _of, _failed: None,
    stop: threading.Event | None = None,
) -> SmallReport:
    """Run the small worlds of some seeds.

    Args:
        seeds: The seeds.
        jobs: Number of processes; with 1 they run in this one.
        progress: Called after each portion with the number of worlds done, of all, and of those that failed.
        stop: Ends the sweep early when it is set.
    """
    report = SmallReport()
    portions = [seeds[start : start + _PORTION] for start in range(0, len(seeds), _PORTION)]
    for part in _parts(portions, jobs):
        report.add(part)
        progress(report.worlds, len(seeds), len(report.failures))
        if stop is not None and stop.is_set():
            break
    return report


def _parts(portions: Sequence[range], jobs: int) -> Iterator[SmallReport]:
    if jobs == 1:
        yield from map(_run, portions)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_run, portions)


def _run(seeds: range) -> SmallReport:
    logger = logging.getLogger("umi")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    report = SmallReport()
    try:
        for seed in seeds:
            report.note(run_small(make_small(seed)))
    finally:
        logger.setLevel(before)
    return report


def shrink_small(
    failed: SmallOutcome, run: Callable[[SmallPlan], SmallOutcome] = run_small, *, runs_count: int = RUNS_COUNT
) -> SmallOutcome:
    """The smallest plan found, in so many runs, that fails in the same way: steps are left out one after the other, then what they hold."""
    best, kind = failed, _kind(failed)
    runs = 0
    while True:
        plans = (replace(best.plan, steps=steps) for steps in _smaller(best.plan.steps))
        simpler = (replace(best.plan, portions={}),) if best.plan.portions else ()
        for plan in chain(simpler, plans):
            runs += 1
            outcome = run(plan)
            if outcome.failure is not None and _kind(outcome) == kind:
                best = outcome
                break
            if runs >= runs_count:
                return best
        else:
            return best


def _kind(outcome: SmallOutcome) -> str:
    """How it fails, wherever: without the step."""
    told = outcome.failure or ""
    return manner(told.partition(": ")[2] if told.startswith("after #") else told)


def _smaller(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    for place in reversed(range(len(steps))):
        yield steps[:place] + steps[place + 1 :]
    for place, step in enumerate(steps):
        tales = step.arguments.get("tales", ())
        for number in range(len(tales) if len(tales) > 1 else 0):
            less = replace(step, arguments={"tales": [*tales[:number], *tales[number + 1 :]]})
            yield (*steps[:place], less, *steps[place + 1 :])
        messages = step.arguments.get("messages", ())
        for number in reversed(range(1, len(messages))):
            # Only the last can go: the others keep their places, by which steps name them.
            less = replace(step, arguments={**step.arguments, "messages": messages[:number]})
            yield (*steps[:place], less, *steps[place + 1 :])

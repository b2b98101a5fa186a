"""Shrink a failing world to a smaller one that fails in the same way.

Delta debugging (Zeller, Hildebrandt: "Simplifying and isolating failure-inducing input", 2002) over steps and faults,
and one try for each simpler setting of the world. Faults and power cuts fall where random numbers put them. So a world
without some step may stop failing only because a fault now falls elsewhere; what is left is therefore also tried with
other draws.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from umi.errors import InvalidInput
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.plan import PEOPLE
from umi_lab.worlds.steps import SPACES, Kind, Plan, Step
from umi_lab.worlds.world import run_plan

Part = TypeVar("Part")

RUNS_COUNT: Final = 600  # worlds run to shrink one failure, at most
SMALL_STEPS_COUNT: Final = 5  # a plan this small is readable; no other draws are tried below it
_SEEDS_TRIED: Final = range(1, 13)  # added to the plan's seed
_CUTS_TRIED: Final = (*range(1, 21), 25, 30, 40)  # changes of the disk before an armed power cut

# What differs between two failures of the same kind; see `manner`.
_QUOTED: Final = re.compile(r"(?<!\w)(?:'[^']*'|\"[^\"]*\")(?!\w)")
_LIST: Final = re.compile(r"\[[^\[\]]*\]")
_ID: Final = re.compile(r"\b[a-z]{2,4}_[0-9a-f]{8,}\b")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_NAME: Final = re.compile(rf"\b(?:{'|'.join((*PEOPLE, *SPACES))})\b")


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest failing world found: its result, and how many worlds were run to find it."""

    outcome: Outcome
    runs: int

    @property
    def plan(self) -> Plan:
        """Its plan."""
        return self.outcome.plan


def manner(failure: str) -> str:
    """A failure's message without numbers, ids, names and quoted texts. Equal for two worlds that fail in the same way."""
    for pattern, stand_in in ((_QUOTED, "'...'"), (_LIST, "[...]"), (_ID, "ID"), (_NAME, "NAME"), (_NUMBER, "N")):
        failure = pattern.sub(stand_in, failure)
    return failure


def shrink(failed: Outcome, *, runs_max: int = RUNS_COUNT, run: Callable[[Plan], Outcome] = run_plan) -> Shrunk:
    """Find a smaller world that fails in the same way. Deterministic.

    Args:
        failed: The result of a world that failed.
        runs_max: How many worlds may be run.
        run: How a world is run.

    Raises:
        InvalidInput: When the world did not fail.
    """
    if failed.failure is None:
        raise InvalidInput("a world that did not fail cannot be shrunk")
    return _Shrinker(failed, runs_max, run).shrink()


class _Shrinker:
    """The smallest failing world so far, and the remaining budget."""

    def __init__(self, failed: Outcome, runs_max: int, run: Callable[[Plan], Outcome]) -> None:
        self._best = failed
        self._manner = manner(failed.failure or "")
        self._runs_max = runs_max
        self._run = run
        self._runs = 0
        self._seen: set[Plan] = {failed.plan}

    @property
    def _plan(self) -> Plan:
        return self._best.plan

    def shrink(self) -> Shrunk:
        before = None
        # Repeated until nothing more can be removed.
        while before != self._plan:
            before = self._plan
            self._simplify_world()
            self._minimise(lambda: self._plan.steps, self._with_steps)
            self._thin_references()
            self._minimise(lambda: self._plan.faults, lambda faults: replace(self._plan, faults=tuple(faults)))
            if before == self._plan:
                self._try_other_draws()
        return Shrunk(self._best, self._runs)

    def _fails(self, plan: Plan) -> bool:
        """Whether this plan is new, within the budget, and fails in the same way; it is then the best so far."""
        if plan in self._seen or self._runs >= self._runs_max:
            return False
        # A plan is never run twice; its result would be the same.
        self._seen.add(plan)
        self._runs += 1
        outcome = self._run(plan)
        if outcome.failure is None or manner(outcome.failure) != self._manner:
            return False
        self._best = outcome
        return True

    def _simplify_world(self) -> None:
        """Try each simpler setting of the world."""
        # Each is kept only if the world still fails in the same way.
        self._fails(replace(self._plan, faults=()))
        self._fails(replace(self._plan, order="fifo"))
        self._fails(replace(self._plan, wire=""))
        self._fails(replace(self._plan, model=False, wire=""))
        self._fails(replace(self._plan, twins=False))
        self._fails(replace(self._plan, served=False))
        self._fails(replace(self._plan, reads=False))
        self._fails(replace(self._plan, embedder=False, served=False, reads=False))

    def _with_steps(self, steps: Iterable[Step]) -> Plan:
        return replace(self._plan, steps=with_sources(steps))

    def _minimise(self, parts: Callable[[], Sequence[Part]], without: Callable[[Sequence[Part]], Plan]) -> None:
        """Remove chunks of the plan's parts, late ones first; when no chunk of a size can go, halve the size."""
        size = max(1, len(parts()) // 2)
        while parts():
            if any(self._fails(without(rest)) for rest in _without_chunk(parts(), size)):
                size = min(size, max(1, len(parts())))
            elif size == 1:
                return
            else:
                size //= 2

    def _thin_references(self) -> None:
        """Let steps that refer to several others refer to one, so that the rest may be removed."""
        for step in self._plan.steps:
            if len(step.refers) > 1:
                thinner = (replace(step, refers=(number,)) for number in step.refers)
                any(self._fails(self._with_steps(_put(self._plan.steps, one))) for one in thinner)

    def _try_other_draws(self) -> None:
        """Remove steps while trying other draws, where draws can make the difference."""
        if len(self._plan.steps) <= SMALL_STEPS_COUNT or not _depends_on_draws(self._plan):
            return
        size = len(self._plan.steps) // 2
        while size:
            for rest in _without_chunk(self._plan.steps, size):
                if any(self._fails(drawn) for drawn in _other_draws(self._with_steps(rest))):
                    return
            size //= 2


def with_sources(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps without those that refer to a missing one, which a world would skip anyway."""
    there: set[int] = set()
    kept = []
    for step in steps:
        if all(number in there for number in step.refers):
            there.add(step.number)
            kept.append(step)
    return tuple(kept)


def _put(steps: Iterable[Step], one: Step) -> tuple[Step, ...]:
    """The steps with one of them replaced by the step of the same number."""
    return tuple(one if step.number == one.number else step for step in steps)


def _without_chunk(parts: Sequence[Part], size: int) -> Iterator[list[Part]]:
    """The parts without one chunk of a size, for each chunk from the end."""
    for end in range(len(parts), 0, -size):
        yield [*parts[: max(0, end - size)], *parts[end:]]


def _depends_on_draws(plan: Plan) -> bool:
    """Whether random numbers other than the plan's own can change this world."""
    return (
        bool(plan.faults) or plan.order == "seeded" or plan.model or any(step.kind is Kind.CUT for step in plan.steps)
    )


def _other_draws(plan: Plan) -> Iterator[Plan]:
    """The same plan with other seeds, and with its power cuts at other changes."""
    for step in plan.steps:
        if step.kind is Kind.CUT:
            for count in _CUTS_TRIED:
                yield replace(plan, steps=_put(plan.steps, replace(step, count=count)))
    yield from (replace(plan, seed=plan.seed + more) for more in _SEEDS_TRIED)

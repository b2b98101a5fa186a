"""Whether the simulated worlds find faults that were planted on purpose: `umi bench mutants`.

Each mutation is applied inside a process of its own, which runs world after world until one fails; then the failing plan is
shrunk. A world that fails without the mutation as well proves nothing and is passed over. The product as it is runs as one more,
over the same seeds, and must be green.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any, Final

from umi._core.clock import SystemClock
from umi.errors import InvalidInput
from umi_lab.mutation.planted import MUTATIONS, Mutation
from umi_lab.mutation.planted_adapters import ADAPTERS
from umi_lab.mutation.planted_blind import BLIND
from umi_lab.mutation.planted_contexts import CONTEXTS
from umi_lab.mutation.planted_erasures import ERASURES
from umi_lab.mutation.planted_expiry import EXPIRY
from umi_lab.mutation.planted_facts import FACTS
from umi_lab.mutation.planted_learning import LEARNING
from umi_lab.mutation.planted_leaving import LEAVING
from umi_lab.mutation.planted_order import ORDER
from umi_lab.mutation.planted_origins import ORIGINS
from umi_lab.mutation.planted_parts import PARTS
from umi_lab.mutation.planted_retold import RETOLD
from umi_lab.mutation.planted_router import ROUTER
from umi_lab.mutation.planted_verdicts import VERDICTS
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.plan import make_plan
from umi_lab.worlds.shrink import SMALL_STEPS_COUNT, Shrunk, shrink
from umi_lab.worlds.sweep import Failure, cores, processes, sweep
from umi_lab.worlds.world import run_plan

SEEDS_COUNT: Final = 2_000
UNCHANGED: Final = "(the product as it is)"
_CONTROL_CHUNK_COUNT: Final = 50  # worlds of the unchanged product that a process runs at a time
_LARGER_TRIED_COUNT: Final = 3  # further failing worlds that are shrunk while the smallest is still too large

Step = Callable[[str, int, int], None]  # what is being done, how much of it is done, how much there is

ALL: Final[tuple[Mutation, ...]] = (
    *MUTATIONS,
    *ADAPTERS,
    *BLIND,
    *CONTEXTS,
    *LEARNING,
    *ERASURES,
    *EXPIRY,
    *ORIGINS,
    *FACTS,
    *LEAVING,
    *PARTS,
    *RETOLD,
    *ORDER,
    *ROUTER,
    *VERDICTS,
)


@dataclass(frozen=True, slots=True)
class Found:
    """What the worlds made of one mutation.

    `seed` is that of the first world that failed (None: not caught), `worlds` how many were run for it; `steps` are those of
    the smallest plan that fails in the same way, which another seed may have given.
    """

    name: str
    summary: str
    where: str
    blind: bool
    seed: int | None
    worlds: int
    failure: str
    steps: tuple[str, ...]
    seconds: float

    @property
    def as_expected(self) -> bool:
        """Whether a mutation was caught, or the product as it is was not."""
        return (self.seed is None) == (self.name == UNCHANGED)


def named(only: Sequence[str] | None = None) -> list[Mutation]:
    """The mutations of these names, in the order of the table; None takes all.

    Raises:
        InvalidInput: For a name that no mutation has.
    """
    known = {mutation.name: mutation for mutation in ALL}
    for name in only or ():
        if name not in known:
            raise InvalidInput(f"no mutation is called {name!r}; there are {', '.join(sorted(known))}")
    return [mutation for mutation in ALL if only is None or mutation.name in only]


def measure(
    only: Sequence[str] | None = None, *, seeds: int = SEEDS_COUNT, step: Step = lambda _what, _done, _of: None
) -> list[Found]:
    """Run worlds against every mutation, on all cores, and against the product as it is.

    Args:
        only: Names of mutations; None takes all.
        seeds: Worlds to run at most for each.
        step: Told how far it is.

    Returns:
        The product as it is first, then the mutations in the order of the table.

    Raises:
        InvalidInput: For a name that no mutation has.
    """
    wanted = named(only)
    found: dict[str, Found] = {}
    with processes(cores()) as pool:
        runs: list[Future[Found]] = [pool.submit(hunt, mutation.name, seeds) for mutation in wanted]
        starts = range(0, seeds, _CONTROL_CHUNK_COUNT)
        runs += [pool.submit(control, range(seeds)[start : start + _CONTROL_CHUNK_COUNT]) for start in starts]
        for done, run in enumerate(runs, 1):
            one = run.result()
            found[one.name] = _together(found[one.name], one) if one.name in found else one
            step("mutations and worlds without one", done, len(runs))
    return [found[name] for name in (UNCHANGED, *(mutation.name for mutation in wanted))]


def hunt(name: str, seeds: int) -> Found:
    """Run worlds with one mutation until one fails that does not fail without it, and shrink that one. Restores the product."""
    mutation = named([name])[0]
    clock = SystemClock()
    start = clock.monotonic_s()
    first, smallest = None, None
    for tried, failure in enumerate(_failures(mutation, seeds)):
        first = first or failure
        small = _shrunk(mutation, failure.seed)
        if small is not None and (smallest is None or len(small.plan.steps) < len(smallest.plan.steps)):
            smallest = small
        if (smallest and len(smallest.plan.steps) <= SMALL_STEPS_COUNT) or tried == _LARGER_TRIED_COUNT:
            break
    return Found(
        name=name,
        summary=mutation.summary,
        where=mutation.where,
        blind=mutation in BLIND,
        seed=first.seed if first else None,
        worlds=first.seed + 1 if first else seeds,
        failure=first.failure if first else "",
        steps=tuple(one.line() for one in smallest.plan.steps) if smallest else (),
        seconds=clock.monotonic_s() - start,
    )


def control(seeds: range) -> Found:
    """Run worlds without any mutation."""
    report = sweep(seeds, jobs=1, known=(), shrinking=False)
    first = report.failures[0] if report.failures else None
    return Found(
        name=UNCHANGED,
        summary="Nothing is changed.",
        where="",
        blind=False,
        seed=first.seed if first else None,
        worlds=report.totals.worlds,
        failure=first.failure if first else "",
        steps=(),
        seconds=report.real_s,
    )


def as_json(found: Sequence[Found]) -> list[dict[str, Any]]:
    """What was found as plain values."""
    return [asdict(one) | {"seconds": round(one.seconds, 1), "as_expected": one.as_expected} for one in found]


def markdown(found: Sequence[Found], seeds: int) -> str:
    """The page of the documentation: the table, and the smallest world of each mutation."""
    caught = [one for one in found if one.name != UNCHANGED and one.seed is not None]
    small = [one for one in caught if len(one.steps) <= SMALL_STEPS_COUNT]
    parts = [
        "# Planted bugs",
        (
            "A test suite that has never seen a bug proves little. So bugs are put into the product on purpose, one at a time, and the "
            "simulated worlds must find each of them. `umi bench mutants` plants them and writes this page."
        ),
        (
            f"Of {len(found) - 1} planted bugs, {len(caught)} were found within {seeds:,} worlds, {len(small)} of them shrunk to "
            f"{SMALL_STEPS_COUNT} steps or fewer. Those marked * were chosen from the product's code alone, without a look at what the "
            "worlds check. A world counts only when it does not fail without the bug."
        ),
        _table(found),
        *(
            f"The product as it is fails: {_plain(one.failure)}"
            for one in found
            if one.name == UNCHANGED and one.seed is not None
        ),
        "## The smallest world that shows it",
    ]
    for one in caught:
        head = f"### {one.name}\n\n{one.summary} In `{one.where}`. The world of seed {one.seed} fails: {_plain(one.failure)}"
        parts += [head, "```\n" + "\n".join(one.steps) + "\n```"]
    return "\n\n".join(parts) + "\n"


def _table(found: Sequence[Found]) -> str:
    rows = [
        "| bug | what goes wrong | caught at seed | steps after shrinking | seconds |",
        "| --- | --- | --: | --: | --: |",
    ]
    for one in found:
        seed = "not caught" if one.seed is None else str(one.seed)
        if one.name == UNCHANGED:
            seed = f"green over {one.worlds:,}" if one.seed is None else f"RED at {one.seed}"
        steps = len(one.steps) or ""
        rows.append(
            f"| {one.name}{' *' if one.blind else ''} | {one.summary} | {seed} | {steps} | {one.seconds:,.0f} |"
        )
    return "\n".join(rows)


def _plain(text: str) -> str:
    return text.replace("<", "&lt;").replace("\n", " ")


def _together(one: Found, other: Found) -> Found:
    """Two runs of the product as it is, as one."""
    first = min((each for each in (one, other) if each.seed is not None), key=lambda each: each.seed or 0, default=one)
    plain = asdict(first) | {"worlds": one.worlds + other.worlds, "seconds": one.seconds + other.seconds}
    return Found(**plain)


def _failures(mutation: Mutation, seeds: int) -> Iterator[Failure]:
    """Worlds that fail with the mutation and not without it, in order."""
    start = 0
    while start < seeds:
        with mutation.apply():
            failure = _first_failure(range(start, seeds))
        if failure is None:
            return
        if run_plan(make_plan(failure.seed)).failure is None:
            yield failure
        start = failure.seed + 1


def _first_failure(seeds: range) -> Failure | None:
    stop = threading.Event()

    def told(_done: int, _of: int, failed: int) -> None:
        if failed:
            stop.set()

    report = sweep(seeds, jobs=1, known=(), shrinking=False, progress=told, stop=stop)
    return report.failures[0] if report.failures else None


def _shrunk(mutation: Mutation, seed: int) -> Shrunk | None:
    """The smallest plan; None when the world does not fail again, as when only real time made it fail."""
    with mutation.apply():
        outcome: Outcome = run_plan(make_plan(seed))
        return shrink(outcome) if outcome.failure is not None else None

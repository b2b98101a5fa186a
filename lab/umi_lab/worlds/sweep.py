"""Run many worlds on all cores: past failures first, then seed after seed. Reports what was seen, and how failures are replayed.

Worlds run in newly started processes ("spawn"), a few chunks at a time, and return sums. A world that kills its process
or never ends is a failure of that world. Ctrl-C ends the sweep with what is known so far.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from itertools import islice
from typing import Final, TypeVar

from umi._core.clock import SystemClock
from umi.errors import InvalidInput
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.plan import make_plan
from umi_lab.worlds.saved import plan_to_json, read_plan
from umi_lab.worlds.shrink import manner, shrink
from umi_lab.worlds.steps import Plan
from umi_lab.worlds.world import run_plan

T = TypeVar("T")

Item = int | Plan  # a world, by its seed or by its plan
Progress = Callable[[int, int, int], None]  # worlds done, worlds in all, failures so far

CHUNK_WORLDS_COUNT: Final = 4  # worlds per job
TRACE_TAIL: Final = 12  # lines of a failure's trace that are kept
KINDS_KEPT_COUNT: Final = 20  # kinds of failure that are reported in full; more are only counted
WORLD_REAL_S: Final = 120.0  # real time of one world before it counts as hanging
_POLL_S: Final = 0.2  # between two looks at `stop` while waiting


@dataclass(frozen=True, slots=True)
class Failure:
    """A world that failed.

    `position` is its place in the sweep. `shrunk` is the smallest plan found that fails in the same way, `runs` how
    many worlds that took, and `trace` the end of that plan's trace (of the world itself when it was not shrunk).
    """

    item: Item
    failure: str
    position: int = 0
    shrunk: Plan | None = None
    runs: int = 0
    trace: tuple[str, ...] = ()
    replayed_by: str = ""

    @property
    def seed(self) -> int:
        """Its seed."""
        return self.item if isinstance(self.item, int) else self.item.seed

    @property
    def command(self) -> str:
        """The command that replays it."""
        if self.replayed_by:
            return self.replayed_by
        return f"umi sim replay {self.seed} --shrink" if isinstance(self.item, int) else "umi sim replay PLAN.json"

    def as_json(self) -> dict[str, object]:
        """The failure as plain values."""
        return {
            "seed": self.seed,
            "failure": self.failure,
            "command": self.command,
            "plan": plan_to_json(self.shrunk) if self.shrunk else None,
            "steps": [step.line() for step in self.shrunk.steps] if self.shrunk else None,
            "trace": list(self.trace),
        }


@dataclass(slots=True)
class Totals:
    """Sums over worlds."""

    worlds: int = 0
    steps: int = 0
    virtual_s: float = 0.0
    busy_s: float = 0.0
    power_cuts: int = 0
    restarts: int = 0
    with_restart: int = 0
    with_power_cut: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)

    def count(self, outcome: Outcome, busy_s: float) -> None:
        """Add one world. Its first opening is no restart."""
        restarts = max(0, outcome.restarts - 1)
        self.add(
            Totals(
                1, len(outcome.plan.steps), outcome.virtual_s, busy_s, outcome.power_cuts, restarts,
                int(restarts > 0), int(outcome.power_cuts > 0), outcome.faults, outcome.features,
            )
        )  # fmt: skip

    def add(self, other: Totals) -> None:
        """Add other sums."""
        self.worlds += other.worlds
        self.steps += other.steps
        self.virtual_s += other.virtual_s
        self.busy_s += other.busy_s
        self.power_cuts += other.power_cuts
        self.restarts += other.restarts
        self.with_restart += other.with_restart
        self.with_power_cut += other.with_power_cut
        self.faults.update(other.faults)
        self.features.update(other.features)


@dataclass(slots=True)
class SweepReport:
    """The result of a sweep. `failures` are the first of each kind, `kinds` counts every failure by its kind."""

    seeds: range
    jobs: int
    totals: Totals = field(default_factory=Totals)
    real_s: float = 0.0
    replayed: int = 0
    failures: list[Failure] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    interrupted: bool = False

    @property
    def failed(self) -> int:
        """The number of worlds that failed."""
        return sum(self.kinds.values())

    @property
    def worlds_per_s_per_core(self) -> float:
        """Worlds per second of one busy process, without starting processes and shrinking."""
        return self.totals.worlds / self.totals.busy_s if self.totals.busy_s else 0.0

    def as_json(self) -> dict[str, object]:
        """The report as plain values."""
        totals = self.totals
        return {
            "seeds": {"first": self.seeds.start, "count": len(self.seeds), "replayed": self.replayed},
            "worlds": totals.worlds,
            "steps": totals.steps,
            "virtual_s": round(totals.virtual_s, 3),
            "real_s": round(self.real_s, 3),
            "jobs": self.jobs,
            "worlds_per_s_per_core": round(self.worlds_per_s_per_core, 2),
            "power_cuts": totals.power_cuts,
            "restarts": totals.restarts,
            "worlds_with_restart": totals.with_restart,
            "worlds_with_power_cut": totals.with_power_cut,
            "faults": dict(sorted(totals.faults.items())),
            "features": dict(sorted(totals.features.items())),
            "failed": self.failed,
            "kinds_of_failure": dict(self.kinds.most_common()),
            "failures": [failure.as_json() for failure in self.failures],
            "interrupted": self.interrupted,
        }


def known_worlds() -> tuple[Item, ...]:
    """The worlds in `seeds.txt`, in its order.

    Raises:
        InvalidInput: When a line is neither a seed nor a plan.
    """
    return parse_worlds(resources.files("umi_lab.worlds").joinpath("seeds.txt").read_text("utf-8"))


def parse_worlds(text: str) -> tuple[Item, ...]:
    """Worlds, one per line: a seed or a plan as JSON, optionally followed by `#` and a comment.

    Raises:
        InvalidInput: When a line is neither.
    """
    found: list[Item] = []
    for number, line in enumerate(text.splitlines(), 1):
        said = line.strip()
        if said.startswith("{"):
            _, end = json.JSONDecoder().raw_decode(said)
            # What follows the JSON object is a comment.
            found.append(read_plan(said[:end]))
        elif seed := said.partition("#")[0].strip():
            if not seed.removeprefix("-").isdecimal():
                raise InvalidInput(f"line {number}: {seed!r} is neither a seed nor a plan")
            found.append(int(seed))
    return tuple(found)


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sweep(
    seeds: range,
    *,
    jobs: int | None = None,
    known: Iterable[Item] | None = None,
    shrinking: bool = True,
    progress: Progress = lambda _done, _of, _failed: None,
    stop: threading.Event | None = None,
) -> SweepReport:
    """Run the known worlds, then those of all seeds.

    Args:
        seeds: The seeds.
        jobs: Number of processes; None is one per core. With 1 the worlds run in this process.
        known: Worlds to run first; None takes those of `seeds.txt`.
        shrinking: Whether the first failure of each kind is shrunk.
        progress: Called as worlds finish.
        stop: When set from elsewhere, ends the sweep early, as Ctrl-C does.

    Raises:
        InvalidInput: When `jobs` is less than 1.
    """
    if jobs is not None and jobs < 1:
        raise InvalidInput(f"jobs is at least 1, not {jobs}")
    past = tuple(known_worlds() if known is None else known)
    report = SweepReport(seeds, jobs or cores(), replayed=len(past))
    running = _Sweep(report, [*past, *seeds], progress, stop or threading.Event())
    clock = SystemClock()
    start = clock.monotonic_s()
    try:
        running.run()
        if shrinking:
            running.shrink()
    except KeyboardInterrupt:
        report.interrupted = True
    report.interrupted = report.interrupted or running.stop.is_set()
    report.real_s = clock.monotonic_s() - start
    return report


# Runs in the worker processes.


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The sums and failures of some worlds."""

    totals: Totals
    failures: list[Failure]


class WorldHangs(Exception):  # noqa: N818 - a finding about a world
    """A world took more real time than any should."""


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked for the sweep
    logging.getLogger("umi").setLevel(logging.CRITICAL)  # worlds cause many warnings that nobody reads
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """End this process when the one that asked for it has been killed, which could not end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_chunk(first: int, items: Sequence[Item]) -> _Chunk:
    chunk = _Chunk(Totals(), [])
    clock = SystemClock()
    for position, item in enumerate(items, first):
        start = clock.monotonic_s()
        outcome = _outcome(item)
        chunk.totals.count(outcome, clock.monotonic_s() - start)
        if outcome.failure is not None:
            chunk.failures.append(Failure(item, outcome.failure, position, trace=tuple(outcome.trace[-TRACE_TAIL:])))
    return chunk


def _outcome(item: Item) -> Outcome:
    """The result of a world. An error of the simulation itself counts as a failure of that world."""
    seed = item if isinstance(item, int) else item.seed
    try:
        with _bounded(WORLD_REAL_S):
            return run_plan(make_plan(item) if isinstance(item, int) else item)
    except Exception as error:  # noqa: BLE001 - one broken world must not end a sweep of thousands
        return Outcome(Plan(seed, ()), failure=f"the simulation itself failed: {type(error).__name__}: {error}")


@contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    """Raise WorldHangs in the block after this much real time, where the system has interval timers and this is the main thread."""
    # Signals reach the main thread only, and Windows has no interval timers.
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_signal: int, _frame: object) -> None:
        raise WorldHangs(f"no end after {seconds:g} s of real time")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _shrunk(failure: Failure) -> Failure:
    """The failure with its smallest plan."""
    outcome = _outcome(failure.item)
    if outcome.failure is None or not outcome.plan.steps:
        return failure  # it does not fail again, or failed before there was a plan
    small = shrink(outcome)
    trace = tuple(small.outcome.trace[-TRACE_TAIL:])
    return Failure(failure.item, failure.failure, failure.position, small.plan, small.runs, trace)


# Runs in this process.


class _Sweep:
    """A sweep in progress."""

    def __init__(self, report: SweepReport, items: list[Item], progress: Progress, stop: threading.Event) -> None:
        self._report = report
        self._items = items
        self._progress = progress
        self.stop = stop

    def run(self) -> None:
        """Run all worlds."""
        places = range(0, len(self._items), CHUNK_WORLDS_COUNT)
        chunks = ((place, self._items[place : place + CHUNK_WORLDS_COUNT]) for place in places)
        self._progress(0, len(self._items), 0)
        if self._report.jobs == 1:
            for first, items in chunks:
                if self.stop.is_set():
                    return
                with quiet():
                    self._take(_run_chunk(first, items))
            return
        # A dying process takes all chunks in progress with it. Their worlds are run one by one to find the culprit.
        while lost := self._in_processes(chunks):
            for first, items in lost:
                self._alone(first, items)

    def shrink(self) -> None:
        """Shrink the failures that are kept, in parallel processes where possible."""
        kept = self._report.failures
        if self._report.jobs == 1 or len(kept) < 2:
            for place, failure in enumerate(kept):
                if not self.stop.is_set():
                    with quiet():
                        kept[place] = _shrunk(failure)
            return
        with processes(min(self._report.jobs, len(kept))) as pool:
            futures = [pool.submit(_shrunk, failure) for failure in kept]
            for place, future in enumerate(futures):
                if self._wait([future]) and not future.exception():
                    kept[place] = future.result()

    def _in_processes(self, chunks: Iterator[tuple[int, list[Item]]]) -> list[tuple[int, list[Item]]]:
        """Run chunks in processes until none is left, or until a process dies; then return the chunks in progress."""
        flying: dict[Future[_Chunk], tuple[int, list[Item]]] = {}
        lost: list[tuple[int, list[Item]]] = []
        with processes(self._report.jobs) as pool:
            while not self.stop.is_set():
                # Two chunks per process are submitted, so that none waits for work.
                for chunk in islice(chunks, 0 if lost else 2 * self._report.jobs - len(flying)):
                    try:
                        flying[pool.submit(_run_chunk, *chunk)] = chunk
                    except BrokenProcessPool:
                        lost.append(chunk)
                if not flying:
                    break
                for future in self._wait(list(flying)):
                    chunk = flying.pop(future)
                    if isinstance(future.exception(), BrokenProcessPool):
                        lost.append(chunk)
                    else:
                        self._take(future.result())
        return sorted(lost, key=lambda chunk: chunk[0])

    def _alone(self, first: int, items: list[Item]) -> None:
        """Run each of these worlds in a process of its own, because one of them killed its process."""
        for position, item in enumerate(items, first):
            if self.stop.is_set():
                return
            with processes(1) as pool:
                future = pool.submit(_run_chunk, position, [item])
                if not self._wait([future]):
                    return
                if isinstance(future.exception(), BrokenProcessPool):
                    dead = Outcome(Plan(item if isinstance(item, int) else item.seed, ()))
                    totals = Totals()
                    totals.count(dead, 0.0)
                    self._take(_Chunk(totals, [Failure(item, "the process died in this world", position)]))
                else:
                    self._take(future.result())

    def _wait(self, futures: list[Future[T]]) -> list[Future[T]]:
        """Futures that are done, in the given order; none when the sweep is to stop."""
        while not self.stop.is_set():
            done = wait(futures, timeout=_POLL_S, return_when=FIRST_COMPLETED).done
            if done:
                return [future for future in futures if future in done]
        return []

    def _take(self, chunk: _Chunk) -> None:
        """Add a chunk's results to the report, keeping the first failure of each kind."""
        report = self._report
        report.totals.add(chunk.totals)
        for failure in chunk.failures:
            kind = manner(failure.failure)
            report.kinds[kind] += 1
            # Chunks finish in any order; of each kind the failure with the smallest position is kept.
            kept = {manner(one.failure): one for one in report.failures}
            if kind not in kept and len(kept) < KINDS_KEPT_COUNT:
                report.failures.append(failure)
            elif kind in kept and failure.position < kept[kind].position:
                report.failures[report.failures.index(kept[kind])] = failure
        report.failures.sort(key=lambda failure: failure.position)
        self._progress(report.totals.worlds, len(self._items), report.failed)


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of new processes, without warnings. When its use ends early, jobs in progress are not awaited."""
    pool = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_worker)
    ended = False
    try:
        yield pool
        ended = True
    finally:
        pool.shutdown(wait=ended, cancel_futures=True)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the product's warnings while worlds run in this process."""
    logger = logging.getLogger("umi")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)

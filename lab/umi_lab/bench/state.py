"""Does it know what holds? `umi bench state`: generated histories, told with two phrase banks, and the rates beside what to reach.

`state_histories` makes the histories, `state_run` tells one and asks, this runs them on all cores and sums up.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from umi.errors import InvalidInput
from umi_lab.bench import phrases
from umi_lab.bench.intervals import Interval, draws, interval, share
from umi_lab.bench.state_run import Measure, Result, run_numbers
from umi_lab.worlds.sweep import cores

Progress = Callable[[str, int, int], None]

HISTORIES: Final = 500
_CHUNK: Final = 5  # histories in one store and one job


@dataclass(frozen=True, slots=True)
class Aim:
    """What to reach: at least `least`, or at most `most`."""

    least: float | None = None
    most: float | None = None

    def reached(self, value: float) -> bool | None:
        """Whether it is; None without an aim."""
        if self.least is not None:
            return value >= self.least
        return None if self.most is None else value <= self.most

    def __str__(self) -> str:
        if self.least is not None:
            return f">= {self.least:.0%}"
        return "" if self.most is None else f"<= {self.most:.0%}"


# For the bank that nothing was fitted to.
AIMS: Final = {
    Measure.CURRENT: Aim(least=0.9),
    Measure.LEAK: Aim(most=0.04),
    Measure.WRONG: Aim(most=0.01),
    Measure.AS_OF: Aim(least=0.9),
    Measure.CASCADE: Aim(least=0.95),
    Measure.DELETION: Aim(least=1.0),
    Measure.ABSENCE: Aim(least=0.9),
}
MEANINGS: Final = {
    Measure.CURRENT: "the first hit states the value that holds now",
    Measure.LEAK: "something outdated is among the hits and called current",
    Measure.WRONG: "of all that was hidden, what still holds",
    Measure.HIDDEN: "of all that still holds, what was hidden",
    Measure.AS_OF: "with as_of=, the first hit states the value that held then",
    Measure.IN_WORDS: "the same, with the month in the question and no as_of=",
    Measure.ACTED: "what an update, correction, retraction or removal ended is hidden",
    Measure.CASCADE: "all that was concluded from what ended is stale: chains of three, diamonds",
    Measure.CASCADE_GIVEN: "the same, where the source itself was hidden",
    Measure.UNDO: "taking the change back brings source and conclusions back",
    Measure.DELETION: "after 'forget that', the fact is not shown as current",
    Measure.DELETION_ALL: "nor with include_superseded=True and min_score=0, nor is the request itself",
    Measure.DELETION_BY_ID: "forget(id) of both: not shown by any means",
    Measure.ABSENCE: "the two below together",
    Measure.ABSENCE_NEVER: "no fact of the kind asked for is shown; best, nothing at all",
    Measure.ABSENCE_GONE: "what held before is not shown as current",
    Measure.KEPT: "what is added hides nothing: items of lists, details, the same again",
    Measure.KEPT_SHOWN: "every item of a list is among the hits",
    Measure.DISPUTED: "two contradictory claims are both shown, and called disputed",
    Measure.UPDATE_PRECISION: "of all updates that were recorded, acted on or not",
    Measure.UPDATE_RECALL: "of all that ends something",
    Measure.EXTEND_PRECISION: "of all extensions that were recorded",
    Measure.EXTEND_RECALL: "of all that adds to something",
    Measure.CONTRADICT_PRECISION: "of all contradictions that were recorded",
    Measure.CONTRADICT_RECALL: "of all second claims that contradict a first",
}


@dataclass(frozen=True, slots=True)
class BankReport:
    """One bank's results in order of number."""

    bank: str
    results: tuple[Result, ...]

    def rate(
        self, measure: Measure, keep: Callable[[Result], bool] = lambda _result: True
    ) -> tuple[Interval, int] | None:
        """A measure's rate with its interval, and of how many; None where it was never taken.

        The bootstrap draws histories. At 0 and at 1, where it has no width, the interval is Wilson's.
        """
        taken = [[mark for mark in result.marks if mark.measure is measure] for result in self.results if keep(result)]
        pairs = [(sum(mark.hits for mark in marks), sum(mark.of for mark in marks)) for marks in taken if marks]
        both = np.array(pairs, dtype=np.float64).reshape(-1, 2)
        count, total = int(both[:, 0].sum()), int(both[:, 1].sum())
        if not total:
            return None
        if count in {0, total}:
            return share(count, total), total
        drawn = draws(len(pairs)) @ both
        drawn = drawn[drawn[:, 1] > 0]
        return interval(count / total, drawn[:, 0] / drawn[:, 1]), total

    def misses(self) -> Iterator[str]:
        """Each miss, to be read."""
        for result in self.results:
            missed = [mark for mark in result.marks if mark.miss]
            if missed:
                yield f"== {self.bank} bank, history {result.number}: {result.kind} ({result.topic})"
                yield from (f"   {line}" for line in result.story)
                yield from (f"  * {mark.measure}: {mark.miss}" for mark in missed)
                yield ""

    def as_json(self) -> dict[str, Any]:
        """Rates by measure, and those of the main ones by topic and by change, as plain values."""
        whole = {measure.value: _plain(self.rate(measure), AIMS.get(measure)) for measure in Measure}
        parts = {
            name: {
                part: {
                    measure.value: _plain(self.rate(measure, lambda r, part=part, of=of: of(r) == part), None)  # type: ignore[misc]
                    for measure in (Measure.CURRENT, Measure.LEAK, Measure.ACTED, Measure.AS_OF, Measure.WRONG)
                }
                for part in sorted({of(result) for result in self.results} - {""})
            }
            for name, of in _PARTS.items()
        }
        return {"histories": len(self.results), "rates": whole, **parts}


_PARTS: Final[Mapping[str, Callable[[Result], str]]] = {
    "by_topic": lambda result: result.topic,
    "by_change": lambda result: result.change,
}


def _plain(rate: tuple[Interval, int] | None, aim: Aim | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    found, of = rate
    plain: dict[str, Any] = {"rate": round(found.value, 4), "low": round(found.low, 4), "high": round(found.high, 4)}
    plain["of"] = of
    if aim is not None:
        plain |= {"to_reach": str(aim), "ok": aim.reached(found.value)}
    return plain


async def measure(
    banks: Sequence[str],
    *,
    seed: int = 0,
    histories: int = HISTORIES,
    jobs: int | None = None,
    progress: Progress = lambda _what, _done, _of: None,
) -> list[BankReport]:
    """Tell the histories 0 to `histories` - 1 of a seed with each bank, and ask.

    Args:
        banks: Names of phrase banks, or paths.
        seed: Other histories.
        histories: How many.
        jobs: Processes; None is one per core, one runs them here.
        progress: Called as histories are done.

    Raises:
        InvalidInput: For a bank that is not there or not as it should be.
    """
    if histories < 1:
        raise InvalidInput(f"histories is at least 1, not {histories}")
    for bank in banks:
        phrases.load(bank)
    chunks = [range(first, min(first + _CHUNK, histories)) for first in range(0, histories, _CHUNK)]
    reports = []
    for bank in banks:
        told = _Counter(f"{bank} bank", histories, progress)
        reports.append(BankReport(bank, tuple(await _run(jobs or cores(), told, bank, seed, chunks))))
    return reports


class _Counter:
    """How many histories of a bank are done."""

    def __init__(self, what: str, of: int, progress: Progress) -> None:
        self._what, self._of, self._progress = what, of, progress
        self._done = 0
        self.add(0)

    def add(self, count: int) -> None:
        self._done += count
        self._progress(self._what, self._done, self._of)


async def _run(jobs: int, told: _Counter, bank: str, seed: int, chunks: Sequence[range]) -> list[Result]:
    if jobs == 1:
        found = []
        for chunk in chunks:
            found.append(await asyncio.to_thread(run_numbers, bank, seed, chunk))
            told.add(len(chunk))
    else:
        with _processes(jobs) as pool:
            found = await asyncio.gather(*(_elsewhere(pool, told, bank, seed, chunk) for chunk in chunks))
    return [result for some in found for result in some]


async def _elsewhere(
    pool: ProcessPoolExecutor, told: _Counter, bank: str, seed: int, chunk: Sequence[int]
) -> list[Result]:
    found = await asyncio.get_running_loop().run_in_executor(pool, run_numbers, bank, seed, chunk)
    told.add(len(found))
    return found


@contextmanager
def _processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_worker)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    logging.getLogger("umi").setLevel(logging.CRITICAL)


def missed(reports: Iterable[BankReport]) -> bool:
    """Whether the held-out bank, where it was told, is short of anything that is to be reached."""
    held_out = [report for report in reports if report.bank == phrases.HELD_OUT]
    rates = [(report.rate(each), aim) for report in held_out for each, aim in AIMS.items()]
    return any(rate is not None and not aim.reached(rate[0].value) for rate, aim in rates)

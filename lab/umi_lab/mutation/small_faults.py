"""How many small faults worlds, recorded answers and tests notice: `umi bench mutants --operators`.

Everything happens in private copies of the checkout, one for each process at a time. A sample of faults is tried by some worlds and by recorded
answers, one at a time (`by_worlds`). What no world noticed is tried by many more small worlds, several at a time, and what nothing
noticed by the tests that run it (`by_tests`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from umi.bench.report import Step
from umi.sim.rng import DeterministicRng
from umi_lab.mutation import by_tests, by_worlds
from umi_lab.mutation.by_tests import Ran, Tests
from umi_lab.mutation.by_worlds import SmallWorlds
from umi_lab.mutation.marks import Marks
from umi_lab.mutation.operators import Place, read_rooms, sample
from umi_lab.mutation.quickly import Quickly
from umi_lab.mutation.together import grouped, noticed
from umi_lab.mutation.verdicts import TESTS, TIMEOUT, WORLDS, Verdict, Verdicts
from umi_lab.mutation.yard import Stopped, Yard, Yards, copied
from umi_lab.worlds.recorded import record

SMALL_COUNT: Final = 40
LARGE_COUNT: Final = 8
FURTHER_COUNT: Final = 950
_FURTHER_FROM: Final = 1_000  # beyond the worlds whose answers are recorded, since only what fails counts here


@dataclass(frozen=True, slots=True)
class Measure:
    """What faults are tried by.

    `small` and `large` worlds and, with `talk`, recorded talk for each fault alone; `further` small worlds for what no world noticed; with
    `tests` the tests for what nothing noticed. With `quick` instead for some seconds each: with `tests` tests, then all recorded runs (`quickly`).
    """

    small: int = SMALL_COUNT
    large: int = LARGE_COUNT
    talk: bool = True
    further: int = FURTHER_COUNT
    tests: bool = True
    quick: bool = False


def measure(
    count: int,
    how: Measure,
    *,
    checkout: Path,
    verdicts: Path,
    seed: int,
    jobs: int = 1,
    step: Step = lambda _what, _done, _of: None,
    stop: threading.Event | None = None,
) -> list[Verdict]:
    """Try a sample of faults.

    They come in a drawn order. A fault is not tried again while product, worlds, their number and, of those tried by tests, the tests are the same.

    Args:
        count: How many.
        how: What they are tried by.
        checkout: Where the sources and the tests are; nothing is written there.
        verdicts: JSON Lines, one verdict a line as it comes; beside it, as `.worlds` and `.tests`, what the product as it is told.
        seed: Of the sample.
        jobs: How many at a time.
        step: Told how far it is.
        stop: Ends it early, with what is known.

    Returns:
        What became of each, in the drawn order; of those that were tried.

    Raises:
        InvalidInput: When this is no checkout, or a world or a test fails against the product as it is.
    """
    with copied(checkout, jobs, stop or threading.Event()) as yards:
        chosen = sample(read_rooms(checkout / "src/umi"), count, seed)
        DeterministicRng(seed).fork("order").shuffle(chosen)  # so that those tried first are a fair sample, too
        run = _Run(yards, verdicts, step)
        with suppress(Stopped):
            step("the product as it is", 0, len(chosen))
            if how.quick:
                run.quickly(chosen, how)
            else:
                run.by_worlds(chosen, how)
                run.by_further_worlds(how)
                if how.tests:
                    run.by_tests()
        return [run.found[place] for place in chosen if place in run.found]


class _Run:
    """What is known so far."""

    def __init__(self, yards: Yards, verdicts: Path, step: Step) -> None:
        self._yards = yards
        self._file = verdicts
        self._verdicts = Verdicts(verdicts)
        self._step = step
        self._marks = Marks(yards.first.sources())
        self._digest = f"{yards.first.product} {yards.first.laboratory()}"
        self.found: dict[Place, Verdict] = {}

    def quickly(self, chosen: Sequence[Place], how: Measure) -> None:
        """Each fault alone, by tests and then by recorded runs, none of them for long."""
        of_worlds = self._digest
        self._digest += f" quickly {self._yards.first.suite() if how.tests else ''}"
        left = self._left(chosen)
        if not left:
            return
        every = record.names()
        kept = self._file.with_suffix(".recorded")
        worlds = by_worlds.known(self._yards.first, self._marks, every, kept, of_worlds, in_a_row=False)
        tests = self._tests() if how.tests else {}
        sound: dict[str, bool] = {}
        tried: dict[Yard, Quickly] = {}
        with ExitStack() as ended:

            def work(yard: Yard, place: Place) -> Verdict:
                if yard not in tried:
                    tried[yard] = ended.enter_context(
                        Quickly(yard, self._marks, tests=tests, worlds=worlds, sound=sound)
                    )
                return tried[yard].tried(place)

            for one in self._yards.each(left, work):
                self._note([one])
                self._step("faults in short", len(self.found), len(chosen))

    def by_worlds(self, chosen: Sequence[Place], how: Measure) -> None:
        """Each fault alone."""
        worlds = by_worlds.names(how.small, how.large, talk=how.talk)
        self._digest += f" {how.small} {how.large} {how.talk}"
        left = self._left(chosen)
        if not left:
            return
        known = by_worlds.known(self._yards.first, self._marks, worlds, self._file.with_suffix(".worlds"), self._digest)
        for one in self._yards.each(left, lambda yard, place: by_worlds.tried(yard, place, known, self._marks)):
            self._note([one])
            self._step("faults by worlds", len(self.found), len(chosen))

    def by_further_worlds(self, how: Measure) -> None:
        """What no world noticed."""
        self._digest += f" {how.further}"
        first = max(how.small, _FURTHER_FROM)
        seeds = range(first, first + how.further)
        places = [one.place for one in self.found.values() if not one.fails_a_world]
        left = self._left(places)
        done = len(places) - len(left)

        def work(yard: Yard, group: list[Place]) -> list[Verdict]:
            hits = noticed(group, SmallWorlds(yard, seeds))
            return [self._became(place, hits.get(place), WORLDS, how.further) for place in group]

        for verdicts in self._yards.each(grouped(left), work):
            self._note(verdicts)
            done += len(verdicts)
            self._step("faults by more worlds", done, len(places))

    def by_tests(self) -> None:
        """What nothing noticed."""
        self._digest += f" {self._yards.first.suite()}"
        places = [one.place for one in self.found.values() if not one.killed_by]
        left = self._left(places)
        if not left:
            return
        known = self._tests()
        sound: dict[str, bool] = {}

        def work(yard: Yard, place: Place) -> Verdict:
            tests = by_tests.in_order(self._marks.running(place, known), known)
            return self._became(place, Tests(yard, sound).noticing(place, tests), TESTS, 0)

        tried = self._yards.each(left, work)
        for done, verdict in enumerate(tried, len(places) - len(left) + 1):
            self._note([verdict])
            self._step("faults by tests", done, len(places))

    def _tests(self) -> Ran:
        digest = f"{self._yards.first.product} {self._yards.first.suite()}"
        return by_tests.known(self._yards, self._marks, self._file.with_suffix(".tests"), digest)

    def _left(self, places: Sequence[Place]) -> list[Place]:
        """Which of these were not tried in this way already."""
        kept = self._verdicts.of(self._digest)
        self.found |= {place: kept[place] for place in places if place in kept}
        return [place for place in places if place not in kept]

    def _became(self, place: Place, how: str | None, by: str, worlds: int) -> Verdict:
        before = self.found[place]
        run = before.worlds + worlds
        if how is None:
            return replace(before, worlds=run)
        return replace(before, killed_by=TIMEOUT if how.startswith(TIMEOUT) else by, how=how, worlds=run)

    def _note(self, verdicts: Sequence[Verdict]) -> None:
        self.found |= {one.place: one for one in verdicts}
        self._verdicts.add(verdicts, self._digest)

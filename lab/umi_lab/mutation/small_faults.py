"""How many small faults worlds, recorded answers and tests notice: `umi bench mutants --operators`.

Everything happens in private copies of the checkout, one for each process at a time. A sample of faults is tried by some worlds and by recorded
answers, one at a time (`by_worlds`). What no world noticed is tried by many more small worlds, and what nothing noticed by the
tests (`by_tests`), several at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from umi.bench.report import Step
from umi.sim.rng import DeterministicRng
from umi_lab.mutation import by_worlds
from umi_lab.mutation.by_tests import Tests
from umi_lab.mutation.by_worlds import SmallWorlds
from umi_lab.mutation.operators import Place, read_rooms, sample
from umi_lab.mutation.together import Trial, grouped, noticed
from umi_lab.mutation.verdicts import TESTS, TIMEOUT, WORLDS, Verdict, Verdicts
from umi_lab.mutation.yard import Stopped, Yard, Yards, copied, refuse

SMALL_COUNT: Final = 40
LARGE_COUNT: Final = 8
FURTHER_COUNT: Final = 950
_NAMED_COUNT: Final = 5  # tests that fail as it is and are named
_FURTHER_FROM: Final = 1_000  # beyond the worlds whose answers are recorded, since only what fails counts here


@dataclass(frozen=True, slots=True)
class Measure:
    """What faults are tried by.

    `small` and `large` worlds and, with `talk`, recorded talk for each fault alone; `further` small worlds for what no world noticed; with
    `tests` the tests for what nothing noticed.
    """

    small: int = SMALL_COUNT
    large: int = LARGE_COUNT
    talk: bool = True
    further: int = FURTHER_COUNT
    tests: bool = True


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
        verdicts: JSON Lines, one verdict a line as it comes; beside it, as `.worlds`, what the product as it is told.
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
        run = _Run(yards, Verdicts(verdicts), step)
        with suppress(Stopped):
            step("the product as it is", 0, len(chosen))
            run.by_worlds(chosen, how, verdicts.with_suffix(".worlds"))
            run.by_further_worlds(how)
            if how.tests:
                run.by_tests()
        return [run.found[place] for place in chosen if place in run.found]


class _Run:
    """What is known so far."""

    def __init__(self, yards: Yards, verdicts: Verdicts, step: Step) -> None:
        self._yards = yards
        self._verdicts = verdicts
        self._step = step
        self._digest = f"{yards.first.product} {yards.first.laboratory()}"
        self.found: dict[Place, Verdict] = {}

    def by_worlds(self, chosen: Sequence[Place], how: Measure, file: Path) -> None:
        """Each fault alone."""
        worlds = by_worlds.names(how.small, how.large, talk=how.talk)
        self._digest += f" {how.small} {how.large} {how.talk}"
        kept = self._verdicts.of(self._digest)
        self.found = {place: kept[place] for place in chosen if place in kept}
        left = [place for place in chosen if place not in kept]
        if not left:
            return
        known = by_worlds.known(self._yards.first, worlds, file, self._digest)
        sources = {
            one.relative_to(self._yards.first.package).as_posix(): one.read_text("utf-8")
            for one in sorted(self._yards.first.package.rglob("*.py"))
        }
        for one in self._yards.each(left, lambda yard, place: by_worlds.tried(yard, place, known, sources)):
            self._note([one])
            self._step("faults by worlds", len(self.found), len(chosen))

    def by_further_worlds(self, how: Measure) -> None:
        """What no world noticed."""
        self._digest += f" {how.further}"
        first = max(how.small, _FURTHER_FROM)
        seeds = range(first, first + how.further)
        left = [one.place for one in self.found.values() if not one.fails_a_world]
        self._together("faults by more worlds", left, WORLDS, how.further, lambda yard: SmallWorlds(yard, seeds))

    def by_tests(self) -> None:
        """What nothing noticed."""
        self._digest += f" {self._yards.first.suite()}"
        left = [one.place for one in self.found.values() if not one.killed_by]
        if not left:
            return
        failing = Tests(self._yards.first).failing([])
        refuse(f"{', '.join(failing[:_NAMED_COUNT])} fail" if failing else None)
        self._together("faults by tests", left, TESTS, 0, Tests)

    def _together(
        self, what: str, places: Sequence[Place], by: str, worlds: int, made: Callable[[Yard], Trial]
    ) -> None:
        kept = self._verdicts.of(self._digest)
        self.found |= {place: kept[place] for place in places if place in kept}
        left = [place for place in places if place not in kept]
        done = len(places) - len(left)

        def work(yard: Yard, group: list[Place]) -> list[Verdict]:
            hits = noticed(group, made(yard))
            return [self._became(place, hits.get(place), by, worlds) for place in group]

        for verdicts in self._yards.each(grouped(left), work):
            self._note(verdicts)
            done += len(verdicts)
            self._step(what, done, len(places))

    def _became(self, place: Place, how: str | None, by: str, worlds: int) -> Verdict:
        before = self.found[place]
        run = before.worlds + worlds
        if how is None:
            return replace(before, worlds=run)
        return replace(before, killed_by=TIMEOUT if how.startswith(TIMEOUT) else by, how=how, worlds=run)

    def _note(self, verdicts: Sequence[Verdict]) -> None:
        self.found |= {one.place: one for one in verdicts}
        self._verdicts.add(verdicts, self._digest)

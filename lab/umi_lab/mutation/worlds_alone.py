"""How many small faults simulated worlds notice without any test: `umi bench mutants --operators --worlds-alone`.

The same worlds run against each fault, small ones first, up to the first that fails. What none notices may still change an answer that is
recorded: of worlds, or of ordinary talk, which is told last (`umi_lab.worlds.recorded`). One run of them against the product as it is tells
which world runs which lines, so a fault is tried only by worlds that run its lines; they must all pass there, alone and in a row.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from umi._core.clock import SystemClock
from umi.sim.rng import DeterministicRng
from umi_lab.mutation import testing
from umi_lab.mutation.operators import IMPORT, Place, mutated, places, read_rooms, running, sample
from umi_lab.mutation.testing import TIMEOUT, Step, Verdict, Yard
from umi_lab.mutation.world_runs import ANSWERS, SMALL, TALK
from umi_lab.mutation.world_runs import IMPORT as AT_IMPORT
from umi_lab.worlds.recorded import record

SMALL_COUNT: Final = 120
LARGE_COUNT: Final = 12
NEVER_RUN: Final = "no world runs it"
RECORDED: Final = "answers"  # `Verdict.killed_by` where no world fails, and an answer is not as recorded
_KILLED_BY: Final = {TIMEOUT: TIMEOUT, RECORDED: RECORDED}
_SMALL_S: Final = 15.0  # some fifty times what one takes; then it hangs
_LARGE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Worlds:
    """What the product as it is told: the lines that each world runs, by file, and the seconds of all of them in a row."""

    lines: Mapping[str, Mapping[str, Sequence[int]]]
    seconds: float

    def of(self, place: Place, sources: Mapping[str, str]) -> list[str]:
        """The worlds that run a change, in order. What a function does at import is part of all of them.

        Args:
            place: The change.
            sources: Text of every module that may read it, by file.
        """
        worlds = [name for name in self.lines if name != AT_IMPORT]
        spans = running(place, sources)
        if spans is None:
            return worlds
        inside = {(file, line) for file, first, last in spans for line in range(first, last + 1)}
        if place.function != IMPORT and self._runs(AT_IMPORT, inside):
            return worlds
        return [name for name in worlds if self._runs(name, inside)]

    def _runs(self, name: str, inside: set[tuple[str, int]]) -> bool:
        lines = self.lines[name]
        return any(line in lines.get(file, ()) for file, line in sorted(inside))


def names(small: int, large: int, *, talk: bool) -> list[str]:
    """So many worlds of each size, as `umi sim replay` names them, and recorded talk."""
    worlds = [f"{SMALL}{seed}" for seed in range(small)] + [str(seed) for seed in range(large)]
    return worlds + [name for name in record.names() if talk and name.startswith(TALK)]


def measure(
    count: int,
    *,
    checkout: Path,
    verdicts: Path,
    seed: int,
    small: int = SMALL_COUNT,
    large: int = LARGE_COUNT,
    talk: bool = True,
    step: Step = lambda _what, _done, _of: None,
    stop: threading.Event | None = None,
) -> list[Verdict]:
    """Try a sample of faults, one at a time, by worlds alone.

    They come in a drawn order. A fault is not tried again while product, worlds and their number are the same.

    Args:
        count: How many.
        checkout: Where the sources and the tests are; nothing is written there.
        verdicts: JSON Lines, one verdict a line as it comes; beside it, as `.worlds`, what the product as it is told.
        seed: Of the sample.
        small: Small worlds for each fault, those of the first seeds.
        large: Large worlds for each fault, after them.
        talk: Tell recorded talk as well, after all worlds.
        step: Told how far it is.
        stop: Ends it early, with what is known.

    Raises:
        InvalidInput: When this is no checkout, or a world fails against the product as it is.
    """
    testing.require_checkout(checkout)
    verdicts.parent.mkdir(parents=True, exist_ok=True)
    chosen = sample(read_rooms(checkout / "src/umi"), count, seed)
    DeterministicRng(seed).fork("order").shuffle(chosen)  # so that those tried first are a fair sample, too
    found: list[Verdict] = []
    with testing.copied(checkout, stop or threading.Event()) as yard, suppress(testing.Stopped):
        step("the product as it is", 0, len(chosen))
        trial = _Trial(yard, names(small, large, talk=talk))
        known = trial.known(verdicts.with_suffix(".worlds"))
        for verdict in testing.each_tried(chosen, verdicts, trial.digests, lambda place: trial.tried(place, known)):
            found.append(verdict)
            step("small faults", len(found), len(chosen))
    return found


class _Trial:
    """Worlds in a private copy of a checkout."""

    def __init__(self, yard: Yard, worlds: Sequence[str]) -> None:
        self._yard = yard
        self._worlds = worlds
        both = f"{yard.digests['product']} {yard.laboratory()} {worlds}"
        self.digests = {"product": both, "suite": both}
        self._sources: dict[str, str] = {
            file.relative_to(yard.package).as_posix(): file.read_text("utf-8")
            for file in sorted(yard.package.rglob("*.py"))
        }

    def known(self, file: Path) -> Worlds:
        """What the product as it is told: from the file, where it is the same, otherwise anew."""
        with suppress(OSError, ValueError):
            kept: dict[str, Any] = json.loads(file.read_text("utf-8"))
            if kept["digests"] == self.digests:
                return Worlds(kept["lines"], kept["seconds"])
        target = self._yard.scratch / "lines.json"
        testing.refuse(self._run("learn", self._worlds, target, testing.BEFORE_S, str(self._yard.package)))
        clock = SystemClock()
        start = clock.monotonic_s()
        testing.refuse(self._try(self._worlds, testing.BEFORE_S)[0])
        known = Worlds(json.loads(target.read_text("utf-8")), round(clock.monotonic_s() - start, 1))
        file.write_text(
            json.dumps({"digests": self.digests, "lines": known.lines, "seconds": known.seconds}),
            "utf-8",
        )
        return known

    def tried(self, place: Place, known: Worlds) -> Verdict:
        """What becomes of one fault. The copy is as before afterwards."""
        file = self._yard.package / place.file
        source = file.read_text("utf-8")
        worlds = known.of(places(source, place.file)[place.number], self._sources)
        if not worlds:
            return Verdict(place, "", NEVER_RUN)
        clock = SystemClock()
        start = clock.monotonic_s()
        file.write_text(mutated(source, place.number), "utf-8")
        try:
            how, run = self._try(worlds, testing.RUN_S + 5 * known.seconds)
        finally:
            file.write_text(source, "utf-8")
        killed_by = "" if how is None else _KILLED_BY.get(how.partition(" ")[0], "worlds")
        seconds = round(clock.monotonic_s() - start, 1)
        return Verdict(place, killed_by, how or "", seconds=seconds, worlds=run)

    def _try(self, worlds: Sequence[str], limit_s: float) -> tuple[str | None, int]:
        """What was noticed, and how many worlds were run for it."""
        limits = {name: _SMALL_S if name.startswith(SMALL) else _LARGE_S for name in worlds}
        begun = self._yard.scratch / "begun.txt"
        begun.unlink(missing_ok=True)
        how = self._run("try", limits, begun, limit_s)
        told = begun.read_text("utf-8").splitlines() if begun.exists() else []
        run = [line for line in told if line in limits]
        last = run[-1] if run else AT_IMPORT
        if how is None:
            return None, len(run)
        if len(run) < len(told):  # where it hung stands behind its name
            return f"{TIMEOUT} of world {last}", len(run)
        return how if how.startswith(("world ", ANSWERS, TIMEOUT)) else f"world {last}: {how}", len(run)

    def _run(self, what: str, given: object, target: Path, limit_s: float, *more: str) -> str | None:
        wanted = self._yard.scratch / "wanted.json"
        wanted.write_text(json.dumps(given), "utf-8")
        program = [sys.executable, "-m", "umi_lab.mutation.world_runs", what, str(wanted), str(target), *more]
        return self._yard.trouble(program, limit_s)

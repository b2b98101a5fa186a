"""Small faults tried by simulated worlds, without any test.

The same worlds run against each fault, small ones first, up to the first that fails. What none notices may still change an answer that is
recorded: of worlds, or of ordinary talk, which is told last (`umi_lab.worlds.recorded`). One run of them against the product as it is tells
which world runs which lines, so a fault is tried only by worlds that run its lines; they must all pass there, alone and in a row.
What no world noticed is then tried by many more small worlds, several faults at a time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from umi._core.clock import SystemClock
from umi_lab.mutation.marks import Marks
from umi_lab.mutation.operators import Place
from umi_lab.mutation.ran import IMPORT
from umi_lab.mutation.together import Failed
from umi_lab.mutation.verdicts import ANSWERS, NEVER_RUN, TIMEOUT, WORLDS, Verdict
from umi_lab.mutation.world_runs import ANSWERS as ANSWERS_OF
from umi_lab.mutation.world_runs import SMALL, is_told
from umi_lab.mutation.yard import BEFORE_S, RUN_S, Yard, refuse
from umi_lab.worlds.recorded import record

_SMALL_S: Final = 15.0  # some fifty times what one takes; then it hangs
_LARGE_S: Final = 60.0
_KILLED_BY: Final = {TIMEOUT: TIMEOUT, ANSWERS: ANSWERS}


@dataclass(frozen=True, slots=True)
class Worlds:
    """What the product as it is tells: the marks that each world sets, and the seconds of all of them in a row."""

    ran: Mapping[str, Sequence[int]]
    seconds: float


def names(small: int, large: int, *, talk: bool) -> list[str]:
    """So many worlds of each size, as `umi sim replay` names them, and recorded talk."""
    worlds = [f"{SMALL}{seed}" for seed in range(small)] + [str(seed) for seed in range(large)]
    return worlds + [name for name in record.names() if talk and is_told(name)]


def known(yard: Yard, marks: Marks, worlds: Sequence[str], file: Path, digest: str, *, in_a_row: bool = True) -> Worlds:
    """What the product as it is tells of these worlds: from a file, where the digest is the same, otherwise anew.

    Args:
        yard: Where they run.
        marks: Of the yard.
        worlds: Their names.
        file: Where it is kept.
        digest: Of the product and the worlds.
        in_a_row: Whether they must pass in one process as well, one after the other.

    Raises:
        InvalidInput: When a world fails.
    """
    with suppress(OSError, ValueError):
        kept: dict[str, Any] = json.loads(file.read_text("utf-8"))
        if kept["digest"] == digest:
            return Worlds(kept["ran"], kept["seconds"])
    target = yard.scratch / "ran.json"
    clock = SystemClock()
    start = clock.monotonic_s()
    with yard.marked(marks) as shared:
        refuse(_run(yard, "learn", worlds, target, BEFORE_S, str(shared)))
    if in_a_row:
        start = clock.monotonic_s()
        refuse(_try(yard, worlds, BEFORE_S)[0])
    found = Worlds(json.loads(target.read_text("utf-8")), round(clock.monotonic_s() - start, 1))
    file.write_text(json.dumps({"digest": digest, "ran": found.ran, "seconds": found.seconds}), "utf-8")
    return found


def tried(yard: Yard, place: Place, worlds: Worlds, marks: Marks) -> Verdict:
    """What becomes of one fault.

    Args:
        yard: Where it is planted, for as long as that takes.
        place: The fault.
        worlds: What the product as it is tells.
        marks: Of the yard.
    """
    wanted = marks.running(place, worlds.ran)
    if not wanted:
        return Verdict(place, "", NEVER_RUN)
    clock = SystemClock()
    start = clock.monotonic_s()
    with yard.planted([place]):
        how, run = _try(yard, wanted, RUN_S + 5 * worlds.seconds)
    killed_by = "" if how is None else _KILLED_BY.get(how.partition(" ")[0], WORLDS)
    return Verdict(place, killed_by, how or "", seconds=round(clock.monotonic_s() - start, 1), worlds=run)


class SmallWorlds:
    """Small worlds in a row, in one yard, for several faults at a time.

    Args:
        yard: Where faults are planted, for as long as a run takes.
        seeds: Of the worlds.
    """

    def __init__(self, yard: Yard, seeds: range) -> None:
        self._yard = yard
        self._worlds = [f"{SMALL}{seed}" for seed in seeds]
        self._sound: dict[str, bool] = {}  # by world, whether it passes without a fault

    def first(self, places: Sequence[Place], start: int) -> Failed | None:
        """See `Trial`."""
        left = self._worlds[start:]
        if not left:
            return None
        how, run = self._fails(places, left)
        at = start + max(run, 1) - 1
        return None if how is None else Failed(at, at + 1, [self._worlds[at]])

    def alone(self, place: Place, runs: Sequence[str]) -> str | None:
        """See `Trial`."""
        how, _ = self._fails([place], runs)
        if how is None:
            return None
        for world in runs:
            if world not in self._sound:
                self._sound[world] = _try(self._yard, [world], RUN_S)[0] is None
        return how if all(self._sound[world] for world in runs) else None

    def _fails(self, places: Sequence[Place], worlds: Sequence[str]) -> tuple[str | None, int]:
        with self._yard.planted(places):
            return _try(self._yard, worlds, RUN_S + _SMALL_S * len(worlds))


def _try(yard: Yard, worlds: Sequence[str], limit_s: float) -> tuple[str | None, int]:
    """What was noticed, and how many worlds were run for it."""
    limits = {name: _SMALL_S if name.startswith(SMALL) else _LARGE_S for name in worlds}
    begun = yard.scratch / "begun.txt"
    begun.unlink(missing_ok=True)
    how = _run(yard, "try", limits, begun, limit_s)
    told = begun.read_text("utf-8").splitlines() if begun.exists() else []
    run = [line for line in told if line in limits]
    last = run[-1] if run else IMPORT
    if how is None:
        return None, len(run)
    if len(run) < len(told):  # where it hung stands behind its name
        return f"{TIMEOUT} of world {last}", len(run)
    return how if how.startswith(("world ", ANSWERS_OF, TIMEOUT)) else f"world {last}: {how}", len(run)


def _run(yard: Yard, what: str, given: object, target: Path, limit_s: float, *more: str) -> str | None:
    wanted = yard.scratch / "wanted.json"
    wanted.write_text(json.dumps(given), "utf-8")
    program = [sys.executable, "-m", "umi_lab.mutation.world_runs", what, str(wanted), str(target), *more]
    return yard.run(program, limit_s).trouble

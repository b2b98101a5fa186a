"""The record: for each run how many calls it makes, and a checksum of what they gave.

A run is named as `umi sim replay` names worlds, "small:7" or "7"; or by its kind, one of `TOLD`, and what it tells, such as "talk:ward".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from umi_lab.worlds.ledger.plan import make_small
from umi_lab.worlds.ledger.world import run_small
from umi_lab.worlds.plan import make_plan
from umi_lab.worlds.recorded import talk, vectors
from umi_lab.worlds.recorded.listening import listening
from umi_lab.worlds.recorded.model import runs as model
from umi_lab.worlds.recorded.refused import runs as refused
from umi_lab.worlds.recorded.said import runs as said
from umi_lab.worlds.recorded.ways import runs as ways
from umi_lab.worlds.steps import Plan
from umi_lab.worlds.sweep import processes, quiet
from umi_lab.worlds.world import run_plan

RECORD: Final = Path(__file__).with_name("record.txt")
REMEDY: Final = "changed on purpose? umi sim record --rewrite"
Told = Callable[[int, int], None]
_SMALL_COUNT: Final = 60
_LARGE_COUNT: Final = 16
_STATE_COUNT: Final = 120
_VECTORS_COUNT: Final = 4


@dataclass(frozen=True, slots=True)
class Heard:
    """What a run gave: a line for each call, and how it failed, if it did."""

    lines: tuple[str, ...]
    failure: str | None = None

    @property
    def sum(self) -> str:
        """Calls and checksum, as they are recorded; of a run that fails, how."""
        if self.failure is not None:
            return f"fails: {self.failure}"
        digest = hashlib.sha256("\n".join(self.lines).encode()).hexdigest()
        return f"{len(self.lines)} {digest[:16]}"


def names() -> list[str]:
    """All runs that are recorded, in order."""
    large = [str(seed) for seed in range(100) if _is_everywhere_alike(make_plan(seed))][:_LARGE_COUNT]
    told = [f"{kind}:{one}" for kind, (every, _) in TOLD.items() for one in every]
    return [f"small:{seed}" for seed in range(_SMALL_COUNT)] + large + told


def heard(name: str) -> Heard:
    """Run one, and take down all calls."""
    kind, _, what = name.rpartition(":")
    with quiet(), listening() as lines:
        failure = None
        if kind in TOLD:
            TOLD[kind][1](what)
        else:
            failure = (run_small(make_small(int(what))) if kind else run_plan(make_plan(int(what)))).failure
    return Heard(tuple(lines), failure)


def read() -> dict[str, str]:
    """What is recorded: by run, its calls and checksum."""
    lines = RECORD.read_text("utf-8").splitlines()
    return {name: told for name, _, told in (line.partition(" ") for line in lines)}


def differing(wanted: Sequence[str], *, jobs: int = 1, progress: Told = lambda _done, _of: None) -> list[str]:
    """Which of these runs give something else than is recorded, or fail.

    Args:
        wanted: Runs, by name.
        jobs: Processes.
        progress: Told how many are done, and of how many.
    """
    known = read()
    return [name for name, told in _each(wanted, jobs, progress) if told != known.get(name)]


def write(*, jobs: int = 1, progress: Told = lambda _done, _of: None) -> list[str]:
    """Record all runs anew.

    Returns:
        The runs whose answers are not as before, in order.
    """
    before = read() if RECORD.exists() else {}
    found = dict(_each(names(), jobs, progress))
    RECORD.write_text("".join(f"{name} {told}\n" for name, told in found.items()), "utf-8")
    return [name for name in {**before, **found} if before.get(name) != found.get(name)]


def _each(wanted: Sequence[str], jobs: int, progress: Told) -> Iterator[tuple[str, str]]:
    with processes(jobs) as pool:
        for done, (name, told) in enumerate(zip(wanted, pool.map(_summed, wanted), strict=True), 1):
            yield name, told
            progress(done, len(wanted))


def _summed(name: str) -> str:
    return heard(name).sum


def _is_everywhere_alike(plan: Plan) -> bool:
    """Whether a world runs alike with and without extras, and reads no vectors of the local embedder."""
    return not (plan.wire or plan.served or plan.reads or plan.twins)


TOLD: Final[dict[str, tuple[Sequence[object], Callable[[str], None]]]] = {
    "talk": (talk.authors(), talk.tell_author),
    "state": (range(_STATE_COUNT), talk.tell_bank),
    "vectors": (range(_VECTORS_COUNT), vectors.tell_together),
    "said": (said.NAMES, said.tell),
    "model": (model.NAMES, model.tell),
    "ways": (ways.NAMES, ways.tell),
    "refused": (refused.NAMES, refused.tell),
}

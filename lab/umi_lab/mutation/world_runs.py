"""Runs chosen worlds against the product that is imported: a program of its own, started by `umi bench mutants --operators --worlds-alone`.

`learn` runs each world in a process forked for it, so that what one world loads or keeps for later is run by the next as well, and
takes down which marks each sets. `try` runs them one after the other, up to the first that fails or takes too long; where none does, it says
whose answers are not as recorded. Nothing of the product is imported before the fault or the marks are in it.
"""

from __future__ import annotations

import faulthandler
import json
import multiprocessing
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from umi_lab.mutation.ran import IMPORT, Ran

if TYPE_CHECKING:
    from umi_lab.worlds.recorded.record import Heard

SMALL: Final = "small:"  # before the seed of a small world
ANSWERS: Final = "answers of "  # before a run that answers otherwise than it is recorded

Run = Callable[[str], "Heard"]


def learn(worlds: Sequence[str], shared: Path, target: Path) -> None:
    """Write down which marks each world sets: JSON, by world.

    Args:
        worlds: As `umi sim replay` names them, such as "small:3" and "3".
        shared: Where the marks are.
        target: Where to.
    """
    ran = Ran(shared)
    run, recorded = _loaded()
    found = {IMPORT: ran.take()}
    fork = multiprocessing.get_context("fork")
    for world in worlds:
        reader, writer = fork.Pipe(duplex=False)
        process = fork.Process(target=_told, args=(run, world, writer))
        process.start()
        writer.close()
        failure, told = reader.recv()
        process.join()
        found[world] = ran.take()
        if failure is not None:
            sys.exit(f"world {world}: {failure}")
        if told != recorded.get(world, told):
            sys.exit(f"{ANSWERS}{world} are not as recorded")
    target.write_text(json.dumps(found), "utf-8")


def try_each(limits: dict[str, float], begun: Path) -> None:
    """Run worlds until one fails, or takes longer than its limit, which ends the process.

    Then talk is told, unless some world has answered otherwise than it is recorded already.

    Args:
        limits: Seconds by world.
        begun: The name of each world is written there when it begins, a line each, and "hung" when it takes too long.
    """
    with begun.open("w", encoding="utf-8") as told:
        run, recorded = _loaded()
        other = None
        for world, seconds in limits.items():
            if other is not None and is_told(world):
                break
            told.write(f"{world}\n")
            told.flush()
            faulthandler.dump_traceback_later(seconds, exit=True, file=told)
            heard = run(world)
            faulthandler.cancel_dump_traceback_later()
            if heard.failure is not None:
                sys.exit(f"world {world}: {heard.failure}")
            if other is None and heard.sum != recorded.get(world, heard.sum):
                other = world
        if other is not None:
            sys.exit(f"{ANSWERS}{other} are not as recorded")


def is_told(name: str) -> bool:
    """Whether a run is no world: no oracle judges what is told there."""
    return ":" in name and not name.startswith(SMALL)


def _loaded() -> tuple[Run, dict[str, str]]:
    """What runs a world, with all that it needs imported, and what is recorded."""
    from umi_lab.worlds.recorded import record  # noqa: PLC0415 - a fault that ends the import is noticed, too

    return record.heard, record.read()


def _told(run: Run, world: str, writer: Any) -> None:
    heard = run(world)
    writer.send((heard.failure, heard.sum))


if __name__ == "__main__":
    what, wanted, place, *more = sys.argv[1:]
    given = json.loads(Path(wanted).read_text("utf-8"))
    if what == "learn":
        learn(given, Path(more[0]), Path(place))
    else:
        try_each(given, Path(place))

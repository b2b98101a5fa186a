"""Runs chosen worlds against the product that is imported: a program of its own, started by `umi bench mutants --operators --worlds-alone`.

`learn` runs each world in a process forked for it, so that what one world loads or keeps for later is run by the next as well, and
takes down which lines each runs. `try` runs them one after the other, up to the first that fails or takes too long; where none does, it says
whose answers are not as recorded. Nothing of the product is imported before the lines are watched, since what runs at import counts too.
"""

from __future__ import annotations

import faulthandler
import json
import multiprocessing
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from umi_lab.worlds.recorded.record import Heard

IMPORT: Final = "import"  # what runs before the first world
SMALL: Final = "small:"  # before the seed of a small world
TALK: Final = ("talk:", "state:", "vectors:")  # before runs that no oracle judges
ANSWERS: Final = "answers of "  # before a run that answers otherwise than it is recorded

Run = Callable[[str], "Heard"]
Tracer = Callable[[FrameType, str, Any], Any]


class Lines:
    """Takes down the lines of a package that run, in every thread, each once."""

    def __init__(self, package: Path) -> None:
        self._root = f"{package}/"
        self._left: dict[CodeType, set[int]] = {}
        self.found: defaultdict[str, set[int]] = defaultdict(set)

    def watch(self) -> None:
        """Begin."""
        threading.settrace(self._call)
        sys.settrace(self._call)

    def forget(self) -> None:
        """Begin anew."""
        self._left.clear()
        self.found.clear()

    def by_file(self) -> dict[str, list[int]]:
        """What ran, by file below the package."""
        return {file: sorted(lines) for file, lines in sorted(self.found.items())}

    def _call(self, frame: FrameType, _event: str, _arg: object) -> Tracer | None:
        code = frame.f_code
        if not code.co_filename.startswith(self._root):
            return None
        if code not in self._left:
            self._left[code] = {line for _, _, line in code.co_lines() if line}
        left, found = self._left[code], self.found[code.co_filename.removeprefix(self._root)]

        def line(frame: FrameType, event: str, _arg: object) -> Tracer:
            if event == "line":
                found.add(frame.f_lineno)
                left.discard(frame.f_lineno)
            return line

        found.add(frame.f_lineno)
        left.discard(frame.f_lineno)
        return line if left else None


def learn(worlds: Sequence[str], package: Path, target: Path) -> None:
    """Write down which lines each world runs: JSON, by world and file.

    Args:
        worlds: As `umi sim replay` names them, such as "small:3" and "3".
        package: Of the product.
        target: Where to.
    """
    lines = Lines(package)
    lines.watch()
    run, recorded = _loaded()
    found = {IMPORT: lines.by_file()}
    fork = multiprocessing.get_context("fork")
    for world in worlds:
        reader, writer = fork.Pipe(duplex=False)
        process = fork.Process(target=_told, args=(run, world, lines, writer))
        process.start()
        writer.close()
        failure, told, found[world] = reader.recv()
        process.join()
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
            if other is not None and world.startswith(TALK):
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


def _loaded() -> tuple[Run, dict[str, str]]:
    """What runs a world, with all that it needs imported, and what is recorded."""
    from umi_lab.worlds.recorded import record  # noqa: PLC0415 - a fault that ends the import is noticed, too

    return record.heard, record.read()


def _told(run: Run, world: str, lines: Lines, writer: Any) -> None:
    lines.forget()
    lines.watch()
    heard = run(world)
    writer.send((heard.failure, heard.sum, lines.by_file()))


if __name__ == "__main__":
    what, wanted, place, *more = sys.argv[1:]
    given = json.loads(Path(wanted).read_text("utf-8"))
    if what == "learn":
        learn(given, Path(more[0]), Path(place))
    else:
        try_each(given, Path(place))

"""A program that has the product loaded, and the tests or the worlds: for each small fault it forks, and the child runs some against the fault.

So what takes seconds, to load the product and to collect the tests, is done once. It is asked a line of JSON at a time, by
`quickly`, and answers with a line of JSON: None where nothing was noticed, otherwise what was.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import pytest

from umi_lab.mutation.swapped import Functions

TESTS: Final = "tests"
WORLDS: Final = "worlds"
IMPOSSIBLE: Final = "wants a program of its own"  # a fault in what an import does, or in what is not loaded
TIMEOUT: Final = "timeout"
_OUTPUT: Final = 1  # the number of the standard output
_HANGS_S: Final = 20.0  # beyond what a child may take

Run = Callable[
    [str, "str | None"], "str | None"
]  # runs a test or a world, given its name and that of the next: what it noticed


class Serving:
    """A plugin of pytest: collects the tests, and runs those that are asked for."""

    def __init__(self, answers: IO[str]) -> None:
        self._answers = answers
        self._failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what fails."""
        if report.failed:
            self._failed.append(f"FAILED {report.nodeid}")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serve, in place of running all."""
        items = {item.nodeid: item for item in session.items}

        def run(name: str, following: str | None) -> str | None:
            item, after = items[name], None if following is None else items[following]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            return next(iter(self._failed), None)

        _serve(run, self._answers)
        return True


def _worlds() -> Run:
    from umi_lab.worlds.recorded import record  # noqa: PLC0415 - the product is that of the copy

    recorded = record.read()

    def run(name: str, _following: str | None) -> str | None:
        heard = record.heard(name)
        if heard.failure is not None:
            return f"world {name}: {heard.failure}"
        return f"answers of {name} are not as recorded" if heard.sum != recorded.get(name, heard.sum) else None

    return run


def _serve(run: Run, answers: IO[str]) -> None:
    functions = Functions(Path(str(sys.modules["umi"].__file__)).parent)
    fork = multiprocessing.get_context("fork")
    for line in sys.stdin:
        asked = json.loads(line)
        reader, writer = fork.Pipe(duplex=False)
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                done = functions.change(asked["file"], asked["before"], asked["after"])
                writer.send(_noticed(run, asked["names"], asked["seconds"]) if done else IMPOSSIBLE)
            finally:
                os._exit(0)  # whatever a fault raises ends this child only
        writer.close()
        said: str | None = TIMEOUT
        if reader.poll(asked["seconds"] + _HANGS_S):
            said = "the process ended"
            with suppress(EOFError):
                said = reader.recv()
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # and whatever it started
        os.waitpid(child, 0)
        answers.write(f"{json.dumps(said)}\n")
        answers.flush()


def _noticed(run: Run, names: Sequence[str], seconds: float) -> str | None:
    """What the first of these notices that notices anything, as far as they come in that time."""
    from umi._core.clock import SystemClock  # noqa: PLC0415 - pytest loads the product, for its plugin

    clock = SystemClock()
    end = clock.monotonic_s() + seconds
    for name, following in zip(names, [*names[1:], None], strict=True):
        said = run(name, following)
        if said is not None or clock.monotonic_s() > end:
            return said
    return None


def main(what: str, arguments: Sequence[str]) -> None:
    """Load what is wanted, then serve until the input ends."""
    answers = os.fdopen(os.dup(_OUTPUT), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), _OUTPUT)  # what tests write is no answer
    if what == WORLDS:
        _serve(_worlds(), answers)
    else:
        sys.exit(pytest.main(list(arguments), plugins=[Serving(answers)]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

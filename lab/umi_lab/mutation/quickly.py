"""Many small faults in little time: each is tried by the tests that run its lines, and what these leave by worlds and recorded answers.

Both come to an end after some seconds, those first that run few lines, so what is left over is more than what nothing notices. Most faults
are put into programs that have everything loaded (`forks`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from types import TracebackType
from typing import Final, Self

from umi._core.clock import SystemClock
from umi_lab.mutation import by_tests, by_worlds, forks
from umi_lab.mutation.by_tests import Tests
from umi_lab.mutation.by_worlds import Worlds
from umi_lab.mutation.marks import Marks
from umi_lab.mutation.operators import Place, mutated
from umi_lab.mutation.verdicts import ANSWERS, NEVER_RUN, TESTS, TIMEOUT, WORLDS, Verdict
from umi_lab.mutation.yard import TESTS as FOLDERS
from umi_lab.mutation.yard import Yard, refuse

TESTS_S: Final = 10.0
WORLDS_S: Final = 20.0
# By the first word of what was noticed; anything else is of the tests or worlds that were run.
_KINDS: Final = {"answers": ANSWERS, TIMEOUT: TIMEOUT}
_APART_COUNT: Final = 60  # tests, or worlds, for a fault that wants a program of its own
_ANY_FILE: Final = "limits.py"  # what is changed to itself
_LEFT_OUT: Final = "postgres"  # what it does is no room of these, and a server for each child takes long


class Quickly:
    """Tries faults in one yard.

    Args:
        yard: Where.
        marks: Of the yard.
        tests: What each test runs.
        worlds: What each world and each recorded run runs.
        sound: By test, whether it passes without a fault, as far as that was asked; more is added.
    """

    def __init__(
        self,
        yard: Yard,
        marks: Marks,
        *,
        tests: Mapping[str, Sequence[int]],
        worlds: Worlds,
        sound: dict[str, bool],
    ) -> None:
        self._yard = yard
        self._marks = marks
        self._tests = {name: ran for name, ran in tests.items() if _LEFT_OUT not in name}
        self._worlds = worlds
        self._sound = sound
        self._programs = {
            forks.TESTS: _Program(yard, forks.TESTS, *by_tests.options(yard), "-s", *FOLDERS),
            forks.WORLDS: _Program(yard, forks.WORLDS),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for program in self._programs.values():
            program.end()

    def tried(self, place: Place) -> Verdict:
        """What becomes of one fault."""
        clock = SystemClock()
        start = clock.monotonic_s()
        tests = by_tests.in_order(self._marks.running(place, self._tests), self._tests)
        worlds = _mixed(self._marks.running(place, self._worlds.ran), self._worlds.ran)
        if not tests and not worlds:
            return Verdict(place, "", NEVER_RUN)
        how, by = self._by_tests(place, tests), TESTS
        if how is None:
            how, by = self._by_worlds(place, worlds), WORLDS
        killed_by = "" if how is None else _KINDS.get(how.partition(" ")[0], by)
        seconds = round(clock.monotonic_s() - start, 1)
        return Verdict(place, killed_by, how or "", seconds=seconds, worlds=len(worlds))

    def _by_tests(self, place: Place, tests: Sequence[str]) -> str | None:
        while left := [name for name in tests if self._sound.get(name, True)]:
            how = self._ask(forks.TESTS, place, left, TESTS_S)
            if how == forks.IMPOSSIBLE:
                return Tests(self._yard, self._sound).noticing(place, left[:_APART_COUNT])
            name = (how or "").removeprefix("FAILED ")
            if name == how or not how:
                return how
            if name not in self._sound:
                self._sound[name] = self._ask(forks.TESTS, None, [name], TESTS_S) is None
            if self._sound[name]:
                return how
        return None

    def _by_worlds(self, place: Place, worlds: Sequence[str]) -> str | None:
        if not worlds:
            return None
        how = self._ask(forks.WORLDS, place, worlds, WORLDS_S)
        if how != forks.IMPOSSIBLE:
            return how
        some = Worlds({name: self._worlds.ran[name] for name in worlds[:_APART_COUNT]}, self._worlds.seconds)
        return by_worlds.tried(self._yard, place, some, self._marks).how or None

    def _ask(self, what: str, place: Place | None, names: Sequence[str], seconds: float) -> str | None:
        file = _ANY_FILE if place is None else place.file
        before = (self._yard.package / file).read_text("utf-8")
        after = before if place is None else mutated(before, place.number)
        question = {"file": file, "before": before, "after": after, "names": names, "seconds": seconds}
        return self._programs[what].ask(question)


class _Program:
    """One that has everything loaded; it begins when it is asked first."""

    def __init__(self, yard: Yard, *arguments: str) -> None:
        self._yard = yard
        self._arguments = arguments
        self._process: subprocess.Popen[str] | None = None

    def ask(self, question: Mapping[str, object]) -> str | None:
        """What was noticed; None when nothing was.

        Raises:
            InvalidInput: When the program has ended.
        """
        process = self._process = self._process or self._begun()
        if process.stdin is None or process.stdout is None:
            raise AssertionError("its input and its output are pipes")
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
        line = process.stdout.readline()
        refuse(None if line else f"the program that runs {self._arguments[0]} ended")
        said: str | None = json.loads(line)
        return said

    def end(self) -> None:
        """End it."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()

    def _begun(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", forks.__name__, *self._arguments],
            cwd=self._yard.root,
            env=self._yard.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )


def _mixed(names: Sequence[str], ran: Mapping[str, Sequence[int]]) -> list[str]:
    """Runs of every kind in turn, of each kind those first that run few lines."""
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=lambda name: (len(ran[name]), name)):
        kinds[name.rpartition(":")[0]].append(name)
    turns = zip_longest(*kinds.values())
    return [name for turn in turns for name in turn if name is not None]

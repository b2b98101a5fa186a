"""A pytest plugin: which test runs which lines of what small faults are put into, and an end for a test that hangs.

Loaded by `umi bench mutants --operators` alone, as `-p umi_lab.mutation.coverage`. Lines are seen by Python's own trace hook, in every thread; what
a test starts as a process of its own is not seen.
"""

from __future__ import annotations

import faulthandler
import json
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType
from typing import IO, Any

import pytest

import umi
from umi_lab.mutation.operators import ROOMS

Lines = set[tuple[str, int]]
Tracer = Callable[[FrameType, str, Any], Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two files."""
    parser.addoption("--reach-to", metavar="FILE", help="write which test runs which lines")
    parser.addoption("--hung-to", metavar="FILE", help="write where a test hangs, and end")
    parser.addoption("--seconds", metavar="FILE", help="JSON: how long each test may take")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to watch, as far as asked for."""
    reach, hung = config.getoption("reach_to"), config.getoption("hung_to")
    if reach:
        config.pluginmanager.register(Reach(Path(reach)))
    if hung:
        seconds = Path(str(config.getoption("seconds"))).read_text("utf-8")
        config.pluginmanager.register(Watch(Path(hung), json.loads(seconds)))


class Reach:
    """Lines by test.

    What a fixture runs that several tests share counts for each of them. Lines that run at import belong to no test in particular.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._rooms = tuple(str(Path(umi.__file__).parent / room) for room in ROOMS)
        self._root = len(str(Path(umi.__file__).parent)) + 1
        self._now: Lines = set()
        self._liners: dict[str, Tracer | None] = {}
        self._shared: dict[tuple[str, str], Lines] = {}
        self._found: dict[str, dict[str, Any]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Watch one test, and what is set up and taken down for it."""
        self._now = set()
        threading.settrace(self._call)
        sys.settrace(self._call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            names = getattr(item, "fixturenames", ())
            lines = self._now.union(
                *(more for (name, base), more in self._shared.items() if name in names and item.nodeid.startswith(base))
            )
            self._found[item.nodeid] = _by_file(lines)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Note what a shared fixture runs."""
        if fixturedef.scope == "function":
            return (yield)
        before, self._now = self._now, set()
        try:
            return (yield)
        finally:
            self._shared[fixturedef.argname, fixturedef.baseid] = self._now
            self._now = before | self._now

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up setup, call and teardown."""
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write it down."""
        found = {
            name: {"seconds": round(self._seconds[name], 4), "lines": lines} for name, lines in self._found.items()
        }
        self._target.write_text(json.dumps(found), "utf-8")

    def _call(self, frame: FrameType, _event: str, _arg: object) -> Tracer | None:
        path = frame.f_code.co_filename
        if path not in self._liners:
            self._liners[path] = self._liner(path)
        return self._liners[path]

    def _liner(self, path: str) -> Tracer | None:
        """What takes down the lines of one file; None for a file that nobody asks about."""
        if not path.startswith(self._rooms):
            return None
        file = path[self._root :]

        def line(frame: FrameType, event: str, _arg: object) -> Tracer:
            if event == "line":
                self._now.add((file, frame.f_lineno))
            return line

        return line


class Watch:
    """Runs tests in the order of the file of seconds, and ends the process when one takes too long.

    They are collected in the order of the command line, for that decides whose `conftest` a bare import gets. A thread of the
    interpreter's own ends the process, so no loop can keep it from that.
    """

    def __init__(self, target: Path, seconds: dict[str, float]) -> None:
        self._hung: IO[str] = target.open("w", encoding="utf-8")
        self._seconds = seconds

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the tests in order."""
        place = {name: number for number, name in enumerate(self._seconds)}
        items.sort(key=lambda item: place.get(item.nodeid, len(place)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Give one test its time."""
        if item.nodeid in self._seconds:
            faulthandler.dump_traceback_later(self._seconds[item.nodeid], exit=True, file=self._hung)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()


def _by_file(lines: Lines) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for file, line in sorted(lines):
        found[file].append(line)
    return dict(found)

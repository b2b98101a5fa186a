"""A plugin of pytest, `-p umi_lab.mutation.suite_runs`: writes down which marks each test sets, in a marked copy of the product.

What a fixture of a whole file or run does counts for every test behind it that uses the fixture, as the first of them alone runs it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

from umi_lab.mutation.ran import IMPORT, Ran

MARKS: Final = "--umi-marks"  # the file that the marks are in
TARGET: Final = "--umi-ran"  # where to write


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two files."""
    parser.addoption(MARKS, type=Path)
    parser.addoption(TARGET, type=Path)


def pytest_configure(config: pytest.Config) -> None:
    """Watch, where there is something to watch."""
    marks, target = config.getoption(MARKS), config.getoption(TARGET)
    if marks is not None and target is not None:
        config.pluginmanager.register(_Watch(Ran(marks), target))


class _Watch:
    def __init__(self, ran: Ran, target: Path) -> None:
        self._ran = ran
        self._target = target
        self._found: dict[str, list[int]] = {}
        self._here: set[int] = set()  # of the test that runs
        self._wide: defaultdict[str, set[int]] = defaultdict(set)  # by the name of a fixture of more than one test

    def pytest_collection_finish(self) -> None:
        self._found[IMPORT] = self._ran.take()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        self._here.update(self._ran.take())
        try:
            return (yield)
        finally:
            self._wide[_name(fixturedef)].update(self._ran.take())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._here = set()
        ended = yield
        self._here.update(self._ran.take())
        used = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009 - pytest has no public name for it
        for fixture in (one for several in used.values() for one in several):
            self._here |= self._wide.get(_name(fixture), set())
        self._found[item.nodeid] = sorted(self._here)
        return ended

    def pytest_sessionfinish(self) -> None:
        self._target.write_text(json.dumps(self._found), "utf-8")


def _name(fixture: pytest.FixtureDef[object]) -> str:
    return f"{fixture.baseid}::{fixture.argname}"

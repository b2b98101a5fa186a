"""Tests of an adapter run in the environment of its framework, which `make adapters` makes. Elsewhere they are left out.

A test that fails, and one that takes longer than a minute, is named at once: a run that is cut off says no more than it has printed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ADAPTERS = Path(__file__).parent / "adapters"
HERE = Path(sys.prefix).name  # build/adapters/NAME

collect_ignore = [str(one.parent) for one in ADAPTERS.glob("*/requirements.txt") if one.parent.name != HERE]

LONG = 60.0  # seconds


class NamedAtOnce:
    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or report.duration > LONG:
            self._terminal.write_line(f"{report.nodeid}: {report.when} {report.outcome} in {report.duration:.0f} s")


@pytest.hookimpl(trylast=True)  # the terminal reporter is registered in the same hook
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(terminal, pytest.TerminalReporter):  # not in a worker, which prints nothing
        config.pluginmanager.register(NamedAtOnce(terminal))

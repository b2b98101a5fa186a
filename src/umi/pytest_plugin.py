"""The pytest plugin of `umi.testing.simulate`: `--umi-seeds=N` and `--umi-seed=N`. Installed with `pip install "umi-memory[sim]"`.

Every run of pytest where Umi is installed loads it, so it imports nothing else of Umi before a simulated test has.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any, Final

import pytest

_WORLDS: Final = "umi.sim._worlds"  # whatever has a simulated test has imported it


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError  # argparse turns it into a usage error
    return count


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("umi", "simulated worlds (umi.testing.simulate)")
    group.addoption(
        "--umi-seeds", type=_count, metavar="N", help="run every simulated test with N seeds instead of its own number"
    )
    group.addoption("--umi-seed", type=int, metavar="SEED", help="run every simulated test with this one seed")


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, None]:
    """Tell a simulated test what the command line chose, and its own name there."""
    worlds = sys.modules.get(_WORLDS)
    if worlds is None:
        yield
        return
    options = pyfuncitem.config.option
    token = worlds.CHOICE.set(worlds.Choice(options.umi_seeds, options.umi_seed, pyfuncitem.nodeid))
    try:
        yield
    finally:
        worlds.CHOICE.reset(token)


@pytest.fixture
def world() -> None:
    """Stand in for the world in a test without `@umi.testing.simulate(seeds=200)`, which would provide one.

    Raises:
        pytest.UsageError: Always.
    """
    raise pytest.UsageError("decorate the test with @umi.testing.simulate(seeds=200): it makes a world for each seed")

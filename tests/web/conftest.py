"""A real browser against a real server: Debian's chromium, driven by playwright.

Where chromium is missing and apt-get may be used it is installed; where that fails these tests are skipped, and fail where CI is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import browsing
import live_server
import pytest
from browsing import ARGS, CHROMIUM
from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
PACKAGES = ("chromium", "fonts-dejavu-core")
INSTALL_S = 600


def _install() -> str:
    """Install chromium where that is allowed; returns why not, or an empty text."""
    if Path(CHROMIUM).exists():
        return ""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return f"there is no {CHROMIUM}, and apt-get cannot install it here"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(
            [apt, "--quiet", *command], check=False, capture_output=True, text=True, timeout=INSTALL_S, env=environment
        )
        if done.returncode:
            return f"apt-get {command[0]} failed: {done.stderr[-300:]}"
    return "" if Path(CHROMIUM).exists() else f"there is no {CHROMIUM} after its installation"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of a module: while it is there its event loop runs, in which tests of other modules could start none."""
    problem = _install()
    if problem and os.environ.get("CI"):
        pytest.fail(f"in CI the page must be tested: {problem}")
    if problem:
        pytest.skip(problem)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the module's server."""
    return tmp_path_factory.mktemp("web") / "umi.db"


@pytest.fixture(scope="module")
def live(db: Path) -> Iterator[live_server.Live]:
    """A server for all tests of a module; each takes a namespace of its own."""
    with live_server.running(db, "--learn", "--rate", "0") as live:
        yield live


@pytest.fixture
def page(browser: Browser, live: live_server.Live) -> Iterator[browsing.Watched]:
    """A fresh page that is watched: a foreign request, an error in the console or a violation of the policy fails the test."""
    with browsing.watched(browser, live.url) as page:
        yield page

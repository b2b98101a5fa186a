"""A page of a browser that is watched, and what tests say to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request

WAIT_MS = 60_000
CHROMIUM = "/usr/bin/chromium"
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
AXE = Path(__file__).parent / "vendor" / "axe.js"
# Told to the page before any script of its own: violations are kept where the test can read them.
_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(
  `${event.violatedDirective}: ${event.blockedURI || event.sample}`));
"""


@dataclass
class Watched:
    """A page, and what must not happen on it. `refusals` are statuses that a test provokes, which the console reports."""

    page: Page
    url: str
    problems: list[str] = field(default_factory=list)
    refusals: set[int] = field(default_factory=set)

    def open(self, space: str, view: str, arg: str = "", **query: str) -> None:
        """Open a view by its deep link, and wait until it is there."""
        parts = "/".join(quote(one, safe="") for one in (space, view, *([arg] if arg else [])))
        self.page.goto(f"{self.url}/#/{parts}" + (f"?{urlencode(query)}" if query else ""))
        self.page.wait_for_selector(f'.view[data-view="{view}"] h1, .door h1')

    def role(self, role: Any, name: str, *, exact: bool = False) -> Locator:
        """An element by what it is and what it is called, as a screen reader finds it."""
        return self.page.get_by_role(role, name=name, exact=exact)

    def sees(self, text: str) -> None:
        """Wait until a text is on the page."""
        self.page.get_by_text(text).first.wait_for()

    def violations(self) -> list[str]:
        found: list[str] = self.page.evaluate("window.violations || []")
        return found


@contextmanager
def watched(browser: Browser, url: str, **options: Any) -> Iterator[Watched]:
    """A fresh page; when it ends nothing may have gone wrong on it."""
    context = browser.new_context(**{"locale": "en-GB", "timezone_id": "UTC", **options})
    context.set_default_timeout(WAIT_MS)
    context.add_init_script(_WATCH)
    page = context.new_page()
    watched = Watched(page, url)

    def asked(request: Request) -> None:
        if not request.url.startswith((f"{url}/", "blob:", "data:")):
            watched.problems.append(f"a foreign request: {request.url}")

    def said(message: ConsoleMessage) -> None:
        expected = any(f"status of {status} " in message.text for status in watched.refusals)
        if message.type in {"error", "warning"} and not expected:
            watched.problems.append(f"in the console: {message.text}")

    page.on("request", asked)
    page.on("console", said)
    page.on("pageerror", lambda error: watched.problems.append(f"an error: {error}"))
    try:
        yield watched
        assert watched.violations() == []
        assert watched.problems == []
    finally:
        context.close()


def violations_of_access(page: Page) -> list[str]:
    """What axe-core finds against WCAG 2.2 AA, and what it calls best practice, each with the elements concerned."""
    page.evaluate(AXE.read_text("utf-8"))
    found: list[dict[str, Any]] = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then((told) => told.violations)"
    )
    return [
        f"{one['id']}: {node['html'][:200]} ({node['failureSummary'][:200]})" for one in found for node in one["nodes"]
    ]

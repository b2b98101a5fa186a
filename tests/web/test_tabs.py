"""Several tabs of one browser on one server, and a page that is not from this machine."""

from __future__ import annotations

from pathlib import Path

import live_server
from browsing import ARGS, CHROMIUM
from playwright.sync_api import Browser

import umi

TABS_COUNT = 8  # a browser opens six connections to one server, for all its tabs together
WAIT_MS = 20_000


def test_many_tabs_go_on_and_each_shows_what_another_wrote_or_erased(
    browser: Browser, live: live_server.Live, db: Path
) -> None:
    with umi.blocking.Memory.open(str(db), namespace="tabs", embedder=None) as memory:
        memory.remember("I live in Berlin.", speaker="Alice")
    context = browser.new_context(locale="en-GB")
    context.set_default_timeout(WAIT_MS)
    try:
        tabs = [context.new_page() for _ in range(TABS_COUNT)]
        for tab in tabs:
            tab.goto(f"{live.url}/#/tabs/now/Alice")
            tab.get_by_text("Berlin").first.wait_for()
        with umi.blocking.Memory.open(str(db), namespace="tabs", embedder=None) as memory:
            memory.remember("I moved to Lisbon.", speaker="Alice")
        for tab in tabs:
            tab.get_by_text("Lisbon").first.wait_for()
        last = tabs[-1]
        last.get_by_role("link", name="Admin").click()
        last.get_by_role("button", name="Count").click()
        last.get_by_text("Vectors").wait_for()
        last.get_by_role("button", name="Erase…").click()
        dialog = last.get_by_role("dialog")
        dialog.get_by_label("What").select_option("everything")
        dialog.get_by_role("button", name="Show what goes").click()
        dialog.get_by_label("This cannot be taken back").fill("tabs")
        dialog.get_by_role("button", name="Erase for good").click()
        dialog.get_by_role("button", name="Save the receipt").wait_for()
        last.get_by_text("Vectors", exact=True).wait_for(state="detached")
        for tab in tabs[:-1]:
            tab.get_by_text("Lisbon").first.wait_for(state="detached")
    finally:
        context.close()


def test_something_is_remembered_on_a_page_that_came_by_http_from_another_machine(
    browser: Browser, tmp_path: Path
) -> None:
    args = [*ARGS, "--host-resolver-rules=MAP umi.test 127.0.0.1"]
    apart = browser.browser_type.launch(executable_path=CHROMIUM, args=args)
    try:
        with live_server.running(tmp_path / "umi.db", "--allow-host", "umi.test") as live:
            page = apart.new_page(locale="en-GB")
            page.set_default_timeout(WAIT_MS)
            page.goto(f"{live.url.replace('127.0.0.1', 'umi.test')}/#/apart/now")
            page.get_by_role("button", name="Remember", exact=True).click()
            page.get_by_label("What was said").fill("I live in Berlin.")
            page.get_by_role("dialog").get_by_role("button", name="Remember").click()
            page.get_by_text("It is kept word for word").wait_for()
            assert not page.evaluate("isSecureContext")
    finally:
        apart.close()

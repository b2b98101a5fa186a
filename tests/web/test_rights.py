"""What a key may not do is not offered, what a namespace does not hold is not shown, and what others write shows by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import browsing
import live_server
import pytest
from browsing import Watched
from playwright.sync_api import Browser

import umi

VIEWS = ("now", "ask", "why", "review", "admin")
ACTS = (
    "Remember",
    "Correct",
    "Undo",
    "Forget",
    "Erase…",
    "Import files",
    "Finish what waits",
    "The newer holds",
    "Make a key",
)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[live_server.Live, Path]]:
    """A server with keys and two tenants."""
    db = tmp_path_factory.mktemp("rights") / "umi.db"
    for space, secret in (("alice", "Berlin"), ("bob", "Ouagadougou")):
        with umi.blocking.Memory.open(str(db), namespace=space, embedder=None) as memory:
            memory.remember(f"I live in {secret}.", speaker=space.title(), at="2026-01-12T10:00Z")
            memory.remember("I love tea.", speaker=space.title(), at="2026-01-12T10:00Z")
            memory.remember("I hate tea.", speaker=space.title(), at="2026-06-30T10:00Z")
    live_server.make_key(db, "*=all")
    with live_server.running(db, "--rate", "0") as live:
        yield live, db


def enter(page: Watched, key: str) -> None:
    page.page.goto(page.url)
    page.page.get_by_label("Key").fill(key)
    page.role("button", "Open").click()
    page.page.get_by_role("navigation").wait_for()


def test_without_a_key_nothing_is_shown_and_a_wrong_one_says_what_to_do(
    browser: Browser, keyed: tuple[live_server.Live, Path]
) -> None:
    with browsing.watched(browser, keyed[0].url) as page:
        page.refusals.add(401)
        page.open("alice", "now")
        page.sees("This memory needs a key")
        page.page.get_by_label("Key").fill("umi_wrong")
        page.role("button", "Open").click()
        page.sees("This key opens nothing")
        assert page.page.get_by_text("Berlin").count() == 0


def test_where_a_key_is_needed_or_ends_while_the_page_is_open_one_can_be_entered(
    browser: Browser, tmp_path: Path
) -> None:
    db = tmp_path / "umi.db"
    with umi.blocking.Memory.open(str(db), namespace="alice", embedder=None) as memory:
        memory.remember("I live in Berlin.", speaker="Alice", at="2026-01-12T10:00Z")
    with live_server.running(db, "--rate", "0") as live, browsing.watched(browser, live.url) as page:
        page.refusals.add(401)
        page.open("alice", "now")
        page.sees("Berlin")
        for wrong, view in (("This memory needs a key", "Timeline"), ("This key opens nothing", "Now")):
            key = live_server.make_key(db, "alice=read")
            page.role("link", view, exact=True).click()
            page.sees(wrong)
            page.page.get_by_role("main").get_by_role("button", name="Enter a key").first.click()
            page.page.get_by_label("Key").fill(key)
            page.role("button", "Open").click()
            page.sees("Berlin")
            assert live_server.umi("keys", "revoke", key, "--db", str(db))[0] == 0


def test_a_key_that_opens_nothing_yet_can_be_changed(browser: Browser, keyed: tuple[live_server.Live, Path]) -> None:
    live, db = keyed
    with browsing.watched(browser, live.url) as page:
        page.refusals.add(401)
        page.page.goto(page.url)
        page.page.get_by_label("Key").fill(live_server.make_key(db, "new/*=read"))
        page.role("button", "Open").click()
        page.sees("Nothing is remembered yet")
        page.role("button", "Forget the key").click()
        page.page.get_by_label("Key").fill(live_server.make_key(db, "alice=read"))
        page.role("button", "Open").click()
        page.sees("Berlin")


def test_a_read_only_key_sees_everything_and_no_act(browser: Browser, keyed: tuple[live_server.Live, Path]) -> None:
    live, db = keyed
    with browsing.watched(browser, live.url) as page:
        page.refusals.add(401)
        enter(page, live_server.make_key(db, "alice=read"))
        with umi.blocking.Memory.open(str(db), namespace="alice", embedder=None) as memory:
            home = memory.recall("Where does Alice live?").hits[0].entity
        assert home is not None
        for view in (*VIEWS, "why"):
            page.open("alice", view, home.id if view == "why" else "", q="Where does Alice live?")
            page.page.locator(".loading").wait_for(state="detached")
            shown = {
                one for one in ACTS if page.page.get_by_role("button", name=re.compile(rf"^{one}(?! the key)")).count()
            }
            assert shown == set(), view
        assert page.role("button", "Export").count() == 0
        page.open("alice", "admin")
        page.role("button", "Export").wait_for()  # reading everything is what the key may do


def test_one_tenant_sees_nothing_of_another(browser: Browser, keyed: tuple[live_server.Live, Path]) -> None:
    live, db = keyed
    with umi.blocking.Memory.open(str(db), namespace="bob", embedder=None) as memory:
        theirs = memory.list().items[0].entity.id
    with browsing.watched(browser, live.url) as page:
        page.refusals |= {401, 403, 404}
        enter(page, live_server.make_key(db, "alice=all"))
        assert page.page.get_by_label("Namespace").locator("option").all_inner_texts() == ["alice"]
        answers: list[str] = []
        page.page.on(
            "response", lambda answer: answers.append(answer.url) if answer.ok and "/bob/" in answer.url else None
        )
        for view in (*VIEWS, "timeline", "graph", "activity"):
            page.open("bob", view, theirs if view == "why" else "", q="Where does Bob live?")
            page.page.locator(".loading").wait_for(state="detached")
            assert "Ouagadougou" not in page.page.content(), view
        page.open("alice", "why", theirs)
        page.sees("This is not here")
        page.open("alice", "admin")
        page.page.get_by_role("region", name="Namespaces").wait_for()
        assert "bob" not in page.page.get_by_role("main").inner_text()
        assert answers == []


def test_an_operator_makes_a_key_and_revokes_it(browser: Browser, keyed: tuple[live_server.Live, Path]) -> None:
    live, db = keyed
    with browsing.watched(browser, live.url) as page:
        page.refusals.add(401)
        enter(page, live_server.make_key(db, "*=all"))
        page.open("alice", "admin")
        page.page.get_by_text("Make a key").click()
        page.page.get_by_label("What it is for").fill("editor")
        page.page.get_by_label("write").check()
        page.role("button", "Make the key").click()
        token = page.page.locator("code.token").inner_text()
        with live.client(token) as client:
            assert {(one["namespace"], *one["rights"]) for one in client.get("/v1/me").json()["grants"]} == {
                ("alice", "read", "write")
            }
            page.page.get_by_role("row", name="editor").get_by_role("button").click()
            page.page.get_by_role("row", name="editor").get_by_text("Revoked").wait_for()
            assert client.get("/v1/me").status_code == 401


def test_what_others_write_shows_by_itself(browser: Browser, keyed: tuple[live_server.Live, Path]) -> None:
    live, db = keyed
    with browsing.watched(browser, live.url) as page:
        page.refusals.add(401)
        enter(page, live_server.make_key(db, "carol=read,write"))
        page.open("carol", "review")
        page.sees("Nothing waits for a decision")
        with umi.blocking.Memory.open(str(db), namespace="carol", embedder=None) as memory:
            memory.remember("I love jazz.", speaker="Carol", at="2026-01-12T10:00Z")
            memory.remember("I hate jazz.", speaker="Carol", at="2026-06-30T10:00Z")
        page.sees("I hate jazz.")
        page.page.get_by_role("navigation").get_by_text("1 waiting").wait_for()

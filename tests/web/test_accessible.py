"""For everybody: axe-core in every view and dialog, in both themes; whole flows by keyboard alone; text at 200%; narrow screens."""

from __future__ import annotations

from collections.abc import Iterator

import browsing
import live_server
import pytest
from browsing import Watched
from playwright.sync_api import Browser

from umi.faces.cli.story import NAMESPACE

VIEWS = ("now", "timeline", "ask", "why", "graph", "review", "activity", "admin")
ACTS = ("Remember", "Import files", "Export", "Erase…")
# How far fields reach beyond the head of their dialog.
BEYOND = """dialog => Math.max(0, ...[...dialog.querySelectorAll(".input")].map((one) =>
  Math.round(one.getBoundingClientRect().right - dialog.querySelector("header").getBoundingClientRect().right)))"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[live_server.Live]:
    """A server with the tour's data."""
    live = live_server.start(tmp_path_factory.mktemp("tour") / "none.db", "--demo", "--learn", "--rate", "0")
    live.url = live.url.removesuffix("/?demo")
    yield live
    assert live.stop() == 0


def ready(page: Watched, view: str, **query: str) -> None:
    page.open(NAMESPACE, view, **query)
    page.page.locator(".loading").first.wait_for(state="detached")


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 390),
        ("dark", 1280),
        pytest.param("dark", 390, marks=pytest.mark.slow),
        pytest.param("light", 1280, marks=pytest.mark.slow),
    ],
)
def test_axe_finds_nothing_in_any_view(browser: Browser, tour: live_server.Live, scheme: str, width: int) -> None:
    size = {"width": width, "height": 900}
    with browsing.watched(browser, tour.url, color_scheme=scheme, viewport=size, reduced_motion="reduce") as page:
        for view in VIEWS:
            ready(page, view, q="Where does Alice work?" if view == "ask" else "")
            assert browsing.violations_of_access(page.page) == [], view
        ready(page, "ask")
        assert browsing.violations_of_access(page.page) == []
        page.open(NAMESPACE, "why")
        page.page.get_by_role("main").get_by_role("link", name="Why?").first.click()
        page.sees("The message it was read in")
        assert browsing.violations_of_access(page.page) == []
        page.open("empty", "now")
        page.sees("Nothing is remembered here yet")
        assert browsing.violations_of_access(page.page) == []
        menu = page.role("button", "Menu")
        assert menu.is_visible() == (width == 390)
        if width == 390:
            menu.click()
            page.page.get_by_role("link", name="Umi", exact=True).wait_for()
            assert browsing.violations_of_access(page.page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_dialog(browser: Browser, tour: live_server.Live, scheme: str) -> None:
    with browsing.watched(browser, tour.url, color_scheme=scheme) as page:
        for act in ACTS:
            ready(page, "admin")
            page.role("button", act).first.click()
            page.page.get_by_role("dialog").wait_for()
            assert browsing.violations_of_access(page.page) == [], act
            page.page.keyboard.press("Escape")
        ready(page, "why")
        page.page.get_by_role("main").get_by_role("link", name="Why?").first.click()
        page.sees("The message it was read in")
        page.page.get_by_role("main").get_by_role("button", name="Forget").click()
        page.sees("This cannot be taken back")
        assert browsing.violations_of_access(page.page) == []


def test_ask_and_why_and_undo_by_keyboard_alone(browser: Browser, tour: live_server.Live) -> None:
    with browsing.watched(browser, tour.url) as page:
        ready(page, "now")
        keys = page.page.keyboard
        _tab_to(page, "Ask this memory")
        keys.type("Where does Alice work?")
        keys.press("Enter")
        page.sees("What an agent would get")
        _tab_to(page, "Why?")
        keys.press("Enter")
        page.sees("How it came about")
        _tab_to(page, "Undo")
        keys.press("Enter")
        page.page.get_by_role("dialog").get_by_role("button", name="Undo").wait_for()
        keys.press("Escape")
        page.page.get_by_role("dialog").wait_for(state="detached")
        assert "Undo" in page.page.evaluate("document.activeElement.textContent")


def test_remembering_by_keyboard_alone(browser: Browser, tour: live_server.Live) -> None:
    with browsing.watched(browser, tour.url) as page:
        page.open("typed", "now")
        keys = page.page.keyboard
        _tab_to(page, "Remember")
        keys.press("Enter")
        page.page.get_by_label("What was said").wait_for()
        keys.type("I live in Berlin.")
        keys.press("Tab")
        keys.type("Alice")
        _tab_to(page, "Remember")
        keys.press("Enter")
        page.sees("It is kept word for word")
    with tour.client() as client:
        facts = client.get("/v1/namespaces/typed/facts/Alice").json()
        assert [one["value"] for one in facts] == ["Berlin"]


@pytest.mark.parametrize("width", [320, 1280])
def test_text_at_twice_its_size_needs_no_scrolling_sideways(
    browser: Browser, tour: live_server.Live, width: int
) -> None:
    with browsing.watched(browser, tour.url, viewport={"width": width, "height": 800}) as page:
        for view in VIEWS:
            ready(page, view, q="Where does Alice work?" if view == "ask" else "")
            if width == 1280:
                page.page.evaluate("document.documentElement.style.setProperty('font-size', '200%')")
            assert page.page.evaluate(OVERFLOW) <= 0, view


def test_dialogs_are_seen_whole_on_a_narrow_screen(browser: Browser, tour: live_server.Live) -> None:
    with browsing.watched(browser, tour.url, viewport={"width": 320, "height": 640}) as page:
        for act in ACTS:
            ready(page, "admin")
            page.role("button", act).first.click()
            dialog = page.page.get_by_role("dialog")
            dialog.wait_for()
            assert dialog.evaluate(BEYOND) <= 0, act
            page.page.keyboard.press("Escape")


def test_the_page_speaks_german_where_the_browser_does(browser: Browser, tour: live_server.Live) -> None:
    with browsing.watched(browser, tour.url, locale="de-DE") as page:
        page.page.goto(f"{tour.url}/?demo")
        page.sees("Das sind die Daten der Führung")
        assert page.page.evaluate("document.documentElement.lang") == "de"
        page.page.get_by_label("Sprache").select_option("en")
        page.sees("This is the tour’s data")


def test_the_first_page_is_light(browser: Browser, tour: live_server.Live) -> None:
    with browsing.watched(browser, tour.url) as page:
        sizes: list[int] = []
        page.page.on(
            "response",
            lambda answer: (
                sizes.append(answer.request.sizes()["responseBodySize"])
                if "/web/" in answer.url or answer.url.endswith("/?demo")
                else None
            ),
        )
        page.page.goto(f"{tour.url}/?demo")
        page.page.locator(".cards .fact").first.wait_for()
        assert 20_000 < sum(sizes) <= 100_000


def _tab_to(page: Watched, name: str) -> None:
    """Press Tab until an element of this name has the focus, as a person would."""
    told = "document.activeElement.getAttribute('aria-label') || document.activeElement.labels?.[0]?.textContent || document.activeElement.textContent"
    for _ in range(80):
        page.page.keyboard.press("Tab")
        if page.page.evaluate(told).strip().startswith(name):
            return
    raise AssertionError(f"Tab does not lead to {name}")

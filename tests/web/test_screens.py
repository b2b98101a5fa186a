"""Pictures of every view, at two sizes and in both themes, in build/screens: kept as the output of CI, and looked at.

With UMI_REWRITE_DOCS=1 those that the documents show are put there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import browsing
import live_server
import pytest
from browsing import Watched
from playwright.sync_api import Browser

from umi.faces.cli.story import NAMESPACE

SCREENS = Path(__file__).resolve().parents[2] / "build" / "screens"
IMAGES = SCREENS.parents[1] / "docs" / "images"
SHOWN = {"now": "page-now", "timeline": "page-timeline", "statement": "page-why"}  # by documents
SIZES = {"wide": (1280, 860), "narrow": (390, 844)}
VIEWS = ("now", "timeline", "ask", "why", "graph", "review", "activity", "admin")
ACTS = {"remember": "Remember", "erase": "Erase…", "import": "Import files"}
QUESTION = "Where does Alice work?"
BYTES_MIN = 8_000  # an empty picture has fewer
SETTLED_MS = 400  # until what moves stands still


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[live_server.Live]:
    live = live_server.start(tmp_path_factory.mktemp("screens") / "none.db", "--demo", "--learn", "--rate", "0")
    live.url = live.url.removesuffix("/?demo")
    yield live
    assert live.stop() == 0


@pytest.mark.parametrize(
    ("size", "scheme"),
    [
        ("narrow", "light"),
        ("wide", "dark"),
        pytest.param("narrow", "dark", marks=pytest.mark.slow),
        pytest.param("wide", "light", marks=pytest.mark.slow),
    ],
)
def test_every_view_is_drawn(
    browser: Browser, tour: live_server.Live, size: str, scheme: Literal["light", "dark"]
) -> None:
    width, height = SIZES[size]
    viewport = {"width": width, "height": height}
    SCREENS.mkdir(parents=True, exist_ok=True)
    with browsing.watched(browser, tour.url, viewport=viewport, color_scheme=scheme, reduced_motion="reduce") as page:
        for view in VIEWS:
            page.open(NAMESPACE, view, **({"q": QUESTION} if view == "ask" else {}))
            _draw(page, f"{view}-{size}-{scheme}")
        page.page.set_viewport_size(viewport)
        page.open(NAMESPACE, "why")
        page.page.get_by_role("link", name="StartupX").first.click()
        page.sees("The message it was read in")
        _draw(page, f"statement-{size}-{scheme}")
        for name, act in ACTS.items():
            page.open(NAMESPACE, "admin")
            undimmed = _colour(page, width - 4)
            page.role("button", act).first.click()
            page.page.get_by_role("dialog").wait_for()
            _draw(page, f"act-{name}-{size}-{scheme}")
            assert _colour(page, width - 4) != undimmed, "the strip for a scroll bar"
            page.page.keyboard.press("Escape")
    if os.environ.get("UMI_REWRITE_DOCS") and (size, scheme) == ("wide", "light"):
        for view, image in SHOWN.items():
            shutil.copyfile(SCREENS / f"{view}-wide-light.png", IMAGES / f"{image}.png")


def _draw(page: Watched, name: str) -> None:
    page.page.locator(".loading").first.wait_for(state="detached")
    page.page.wait_for_timeout(SETTLED_MS)
    drawn = page.page.screenshot(path=SCREENS / f"{name}.png")
    assert len(drawn) >= BYTES_MIN, name


def _colour(page: Watched, x: int) -> bytes:
    """A picture of one point at the right edge, below the head of the page."""
    return page.page.screenshot(clip={"x": x, "y": 130, "width": 1, "height": 1})

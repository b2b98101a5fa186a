"""Hostile memories: each is shown as the text that it is, runs nothing and breaks no layout."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import hostile
import pytest
from browsing import Watched

import umi

COUNTS = (150, pytest.param(500, marks=pytest.mark.slow))
SPACE = "hostile"
FIRST_CHARACTERS = 2000  # of a long text that the page shows
WIDTHS = (390, 1280)
# Opens each statement's page in turn, within one page, and takes down what is shown.
WALK = """async ([space, ids]) => {
  const shown = [];
  for (const id of ids) {
    location.hash = `#/${space}/why/${id}`;
    const end = performance.now() + 15000;
    let claim = null;
    while (performance.now() < end) {
      claim = document.querySelector(`.claim[data-id="${id}"] .lead`);
      if (claim) break;
      await new Promise((done) => setTimeout(done, 5));
    }
    shown.push(claim && {
      text: claim.querySelector(".words")?.textContent ?? null,
      wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      strange: document.querySelectorAll("#umi :is(script, iframe, object, embed, img, base, style, link, meta, math, h1 ~ h1)").length,
    });
  }
  return shown;
}"""


def as_shown(text: str) -> str:
    """Control characters and marks that reverse the writing are seen, and do nothing."""
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202d\u202e]", "\ufffd", text)


@pytest.mark.parametrize("count", COUNTS)
def test_hostile_memories_are_shown_as_text(page: Watched, db: Path, count: int) -> None:
    texts = hostile.texts(count)
    with umi.blocking.Memory.open(str(db), namespace=SPACE, embedder=None) as memory:
        told = [
            memory.remember(text, speaker=text[:60] or None, session=text[:60], extract_entities=False)
            for text in texts
        ]
        ids = [one.entities[0].id for one in told]
        for text in texts[:40]:
            with suppress(umi.InvalidInput):  # a subject needs a letter
                memory.set_fact(text[:60], "name", text[:400])
    dialogs: list[Any] = []
    page.page.on("dialog", lambda one: (dialogs.append(one.message), one.dismiss()))
    page.page.set_viewport_size({"width": WIDTHS[0], "height": 800})
    page.open(SPACE, "why")
    shown = page.page.evaluate(WALK, [SPACE, ids])
    assert len(shown) == count
    for text, one in zip(map(as_shown, texts), shown, strict=True):
        assert one is not None, text[:80]
        assert one["text"] is None or text.startswith(one["text"]) or one["text"] in text, text[:80]
        assert one["text"] is not None or not any(sign.isalnum() for sign in text[:FIRST_CHARACTERS]), text[:80]
        assert one["wide"] <= 0
        assert one["strange"] == 0, (text[:80], one)
    for width in WIDTHS:
        page.page.set_viewport_size({"width": width, "height": 800})
        for view in ("now", "timeline", "ask", "why", "graph", "review", "activity", "admin"):
            page.open(SPACE, view, q="script window hacked")
            page.page.locator(".loading").first.wait_for(state="detached")
            assert (
                page.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
            ), (view, width)
    assert page.page.evaluate("window.hacked === undefined && ({}).hacked === undefined")
    assert dialogs == []

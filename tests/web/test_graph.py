"""The graph draws what the library knows, up to a bound, with a table that says the same."""

from __future__ import annotations

import json
from pathlib import Path

from browsing import Watched
from seeing import no_violations, tell_of_alice, until

import umi

DRAWN = "document.querySelector('.canvas')?.dataset.nodes"
DETAIL = "document.querySelector(\"[aria-label='What is chosen']\").innerText"


def test_the_library_is_loaded_with_the_view_and_draws_every_statement(page: Watched, db: Path) -> None:
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    tell_of_alice(db, "graph")
    page.open("graph", "now", "Alice")
    page.sees("Lisbon")
    assert not any("cytoscape" in one for one in asked)
    page.open("graph", "graph", "Alice")
    until(page, f"{DRAWN} !== undefined")
    assert any("cytoscape" in one for one in asked)
    with umi.blocking.Memory.open(str(db), namespace="graph", embedder=None) as memory:
        steps = memory.history("Alice")
    subjects, conclusions = 1, 1
    assert int(page.page.evaluate(DRAWN)) == len(steps) + subjects + conclusions
    no_violations(page)


def test_the_table_has_relations_and_says_where_support_was_lost(page: Watched, db: Path) -> None:
    tell_of_alice(db, "edges")
    page.open("edges", "graph", "Alice", **{"as": "table"})
    page.page.wait_for_selector("tbody tr")
    rows = page.page.locator("tbody tr").all_inner_texts()
    assert any("Acme" in row and "Replaced by" in row and "StartupX" in row for row in rows)
    assert any("Acme" in row and "Supports" in row and "no longer supported" in row for row in rows)
    with umi.blocking.Memory.open(str(db), namespace="edges", embedder=None) as memory:
        steps = memory.history("Alice")
    relations = {one.id for step in steps for one in step.evolutions}
    assert len(
        [row for row in rows if any(word in row for word in ("Replaced by", "Supports", "Contradicted by"))]
    ) == len(relations)
    no_violations(page)


def test_by_keyboard_one_goes_from_node_to_node_and_the_link_keeps_it(page: Watched, db: Path) -> None:
    tell_of_alice(db, "walk")
    page.open("walk", "graph", "Alice")
    until(page, f"{DRAWN} !== undefined")
    page.page.locator(".canvas").focus()
    page.page.keyboard.press("ArrowRight")
    detail = page.role("region", "What is chosen")
    detail.wait_for()
    assert "at=" in page.page.url
    before = detail.inner_text()
    page.page.keyboard.press("ArrowRight")
    until(page, f"{DETAIL} !== {json.dumps(before)}")
    for key in ("ArrowDown", "ArrowUp", "+", "-", "0"):
        page.page.keyboard.press(key)
    page.page.reload()
    page.role("region", "What is chosen").wait_for()
    page.page.locator(".canvas").focus()
    page.page.keyboard.press("Escape")
    until(page, "!location.hash.includes('at=')")


def test_keys_choose_before_the_drawing_library_is_loaded(page: Watched, db: Path) -> None:
    tell_of_alice(db, "early")
    page.page.route("**/vendor/cytoscape.js", lambda route: None)  # never answered
    page.open("early", "graph", "Alice")
    page.page.locator(".canvas").focus()
    page.page.keyboard.press("+")
    page.page.keyboard.press("ArrowRight")
    page.role("region", "What is chosen").wait_for()
    page.page.keyboard.press("Escape")
    until(page, "!location.hash.includes('at=')")


def test_of_many_statements_it_draws_the_newest_then_300_nodes_and_says_what_it_left_out(
    page: Watched, db: Path
) -> None:
    with umi.blocking.Memory.open(str(db), namespace="many", embedder=None) as memory:
        memory.remember_many(
            {"content": f"I like thing{n}.", "speaker": "Alice", "at": "2026-01-01T00:00Z"} for n in range(320)
        )
        count = len(memory.history("Alice"))
    page.open("many", "graph", "Alice")
    until(page, DRAWN, "81")
    page.sees(f"{count - 80} older statements are not drawn")
    page.role("button", "Show more").click()
    until(page, DRAWN, "300")
    page.sees(f"{count - 299} older statements are not drawn. At most 300 nodes are.")
    assert page.role("button", "Show more").count() == 0
    page.open("nobody", "graph")
    page.sees("Nothing is connected yet")
    no_violations(page)

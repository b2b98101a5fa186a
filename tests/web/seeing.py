"""What tests of the views share: a memory with every kind of change, and the check of accessibility."""

from __future__ import annotations

import time
from pathlib import Path

from browsing import WAIT_MS, Watched

import umi

AXE = (Path(__file__).parent / "vendor" / "axe.js").read_text("utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def tell_of_alice(db: Path, namespace: str) -> None:
    """Remember updates, a correction, an end, a dispute, and a conclusion that has lost its support."""
    with umi.blocking.Memory.open(str(db), namespace=namespace, embedder=None) as memory:
        acme = memory.remember("I work at Acme.", speaker="Alice", at="2026-01-12T10:00Z").entities[0].id
        memory.remember("I live in Berlin.", speaker="Alice", at="2026-01-14T10:00Z")
        memory.remember("I love hiking.", speaker="Alice", at="2026-01-20T10:00Z")
        memory.remember("I like tea.", speaker="Alice", at="2026-02-01T10:00Z")
        memory.remember("Alice takes the tram to Acme.", role="assistant", derived_from=[acme], at="2026-02-02T10:00Z")
        memory.set_fact("Alice", "badge", "Blue", at="2026-03-01T00:00Z")
        memory.set_fact("Alice", "badge", "Green", at="2026-03-01T00:00Z", reason="a typing error")
        memory.remember("I left Acme and joined StartupX.", speaker="Alice", at="2026-04-08T10:00Z")
        memory.remember("I no longer like tea.", speaker="Alice", at="2026-05-20T10:00Z")
        memory.remember("I hate hiking.", speaker="Alice", at="2026-06-30T10:00Z")
        memory.remember("I moved to Lisbon.", speaker="Alice", at="2026-07-02T10:00Z")


def no_violations(page: Watched) -> None:
    """Nothing that axe finds on the page as it is now."""
    page.page.evaluate(f"{AXE};0")
    found = page.page.evaluate(
        "rules => axe.run(document, {runOnly: rules}).then(({violations}) =>"
        " violations.map(one => [one.id, ...one.nodes.map(node => node.html.slice(0, 200))]))",
        RULES,
    )
    assert found == []


def until(page: Watched, expression: str, value: object = True) -> None:
    """Wait until an expression of the page has a value. `wait_for_function` would need a policy that allows eval."""
    end_s = time.monotonic() + WAIT_MS / 1000
    while (found := page.page.evaluate(expression)) != value:
        assert time.monotonic() < end_s, f"{expression} stayed {found!r}, wanted {value!r}"
        page.page.wait_for_timeout(50)

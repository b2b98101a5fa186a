"""The page opens, finds the namespace, and shows what the library knows."""

from __future__ import annotations

from pathlib import Path

from browsing import Watched

import umi


def test_now_and_ask_show_what_is_stored(page: Watched, db: Path) -> None:
    with umi.blocking.Memory.open(str(db), namespace="alice", embedder=None) as memory:
        memory.remember("I work at Acme.", speaker="Alice", at="2026-01-12T10:00Z")
        memory.remember("I left Acme and joined StartupX.", speaker="Alice", at="2026-04-08T10:00Z")
    page.open("alice", "now")
    page.sees("StartupX")
    assert page.page.get_by_text("Acme", exact=True).count() == 0
    field = page.page.get_by_role("searchbox", name="Ask this memory")
    field.fill("Where does Alice work?")
    field.press("Enter")
    page.sees("I left Acme and joined StartupX.")
    assert "q=Where" in page.page.url
    # What is written elsewhere shows by itself.
    page.open("alice", "now", "Alice")
    with umi.blocking.Memory.open(str(db), namespace="alice", embedder=None) as memory:
        memory.remember("I live in Berlin.", speaker="Alice")
    page.sees("Berlin")

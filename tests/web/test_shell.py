"""The page opens, finds the namespace, and shows what the library knows."""

from __future__ import annotations

from pathlib import Path

import pytest
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


@pytest.mark.parametrize("view", ["now", "ask"])
def test_a_year_has_four_digits_and_a_day_in_a_link_that_is_none_is_named(page: Watched, db: Path, view: str) -> None:
    with umi.blocking.Memory.open(str(db), namespace="dated", embedder=None) as memory:
        memory.remember("I live in Berlin.", speaker="Alice", at="2026-01-12T10:00Z")
    page.open("dated", view, q="Where does Alice live?")
    page.sees("Berlin")
    page.page.get_by_label("As of").focus()
    page.page.keyboard.type("010320261")
    page.page.wait_for_url("**as_of=*")
    assert len(page.page.get_by_label("As of").input_value().split("-")[0]) == 4
    page.refusals.add(400)
    page.open("dated", view, q="Where does Alice live?", as_of="2026-3rd")
    page.sees("'2026-3rd' is not a moment")
    page.problems[:] = [one for one in page.problems if "does not conform to the required format" not in one]


@pytest.mark.parametrize(("act", "label"), [("Remember", "When"), ("Correct", "Since when")])
def test_the_year_of_a_moment_has_four_digits(page: Watched, db: Path, act: str, label: str) -> None:
    with umi.blocking.Memory.open(str(db), namespace="moments", embedder=None) as memory:
        memory.remember("I live in Berlin.", speaker="Alice", at="2026-01-12T10:00Z")
    page.open("moments", "now", "Alice")
    page.sees("Berlin")
    page.role("button", act).first.click()
    page.page.locator("dialog :focus").wait_for()  # a dialog that opens takes the focus
    page.page.get_by_label(label).press_sequentially("010320261007P")  # where hours have no AM and PM, P is nothing
    assert page.page.get_by_label(label).input_value().startswith("2026-")

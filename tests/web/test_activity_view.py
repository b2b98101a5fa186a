"""Activity counts what the library counts, and what the server did since it started."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import live_server
from browsing import Watched
from seeing import no_violations, tell_of_alice, until

import umi


def figures(page: Watched) -> dict[str, int]:
    """The sums that are shown, by name."""
    page.page.wait_for_selector(".figures .total")
    names = page.page.locator(".figures h3").all_inner_texts()
    totals = page.page.locator(".figures .total").all_inner_texts()
    return {name: int(total.replace(",", "")) for name, total in zip(names, totals, strict=True)}


def test_it_shows_what_the_library_counts_and_what_the_server_did(
    page: Watched, db: Path, live: live_server.Live
) -> None:
    tell_of_alice(db, "days")
    base = "/v1/namespaces/days"
    with live.client() as client:
        later = {"content": "I have a dog.", "speaker": "Alice", "read": "later"}
        waits = client.post(f"{base}/episodes", json=later).json()["episode_ids"][0]
        client.post(f"{base}/recall", json={"query": "Where does Alice work?"})
    page.open("days", "activity")
    shown = figures(page)
    with umi.blocking.Memory.open(str(db), namespace="days", embedder=None) as memory:
        days = memory.activity().days
        changed = sum(day.evolutions.get("update", 0) + day.evolutions.get("contradict", 0) for day in days)
        assert shown["Remembered"] == sum(day.remembered for day in days)
        assert shown["Waiting"] == sum(day.waiting for day in days) == 1
        assert shown["Changed"] == changed > 0
        assert shown["Recalled"] == shown["Deferred"] == 1
        assert shown["Erased"] == 0
        no_violations(page)
        # Live: what is erased over REST shows without a reload, and is no longer counted as remembered.
        with live.client() as client:
            assert client.post(f"{base}/forget", json={"id": waits}).json() == {"deleted": 1}
        until(page, "document.querySelector('.figures.erased .total').innerText", "1")
        assert (
            figures(page)["Remembered"]
            == sum(day.remembered for day in memory.activity().days)
            == shown["Remembered"] - 1
        )
    page.role("cell", str(shown["Recalled"]), exact=True).first.wait_for()


def test_an_empty_period_says_what_would_be_there_and_a_link_keeps_the_period(page: Watched, db: Path) -> None:
    page.open("quiet", "activity", days="7")
    page.sees("Nothing happened in this period")
    assert page.page.get_by_label("Period", exact=True).input_value() == "7"
    no_violations(page)
    with umi.blocking.Memory.open(str(db), namespace="quiet", embedder=None) as memory:
        memory.remember("I live in Berlin.", speaker="Alice")
    page.page.wait_for_selector(".figures .total")
    page.page.get_by_label("Period", exact=True).select_option("365")
    until(page, "location.hash.includes('days=365')")
    page.role("rowheader", f"{datetime.now(UTC):%b %-d, %Y}").wait_for()

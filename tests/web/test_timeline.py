"""The timeline shows what the library knows: what became of each statement, on two axes of time, by pointer and by keyboard."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from browsing import Watched
from seeing import no_violations, tell_of_alice, until

import umi


def test_every_kind_of_change_is_drawn_and_told_apart_without_colour(page: Watched, db: Path) -> None:
    tell_of_alice(db, "kinds")
    page.open("kinds", "timeline", "Alice")
    page.page.wait_for_selector(".chart .bar")
    drawn = Counter(
        one.split()[1]
        for one in page.page.locator(".chart .bar").evaluate_all("all => all.map(one => one.getAttribute('class'))")
    )
    with umi.blocking.Memory.open(str(db), namespace="kinds", embedder=None) as memory:
        states = Counter(str(step.state) for step in memory.history("Alice"))
    # What the library calls superseded is replaced, corrected or ended; a conclusion of another subject is drawn too.
    assert drawn["current"] == states["current"]
    assert drawn["disputed"] == states["disputed"] == 2
    assert drawn["updated"] + drawn["corrected"] + drawn["ended"] == states["superseded"]
    assert (drawn["corrected"], drawn["ended"], drawn["stale"]) == (1, 1, 1)
    signs = page.page.locator(".legend .sign").evaluate_all("all => all.map(one => one.innerHTML)")
    assert len(set(signs)) == len(signs) == 7
    no_violations(page)


def test_the_table_has_the_same_statements_with_their_times(page: Watched, db: Path) -> None:
    tell_of_alice(db, "table")
    page.open("table", "timeline", "Alice", **{"as": "table"})
    row = page.role("row", "Acme")
    row.first.wait_for()
    assert "replaced by a newer one" in row.first.inner_text()
    assert "Jan 12, 2026 – Apr 8, 2026" in row.first.inner_text()
    with umi.blocking.Memory.open(str(db), namespace="table", embedder=None) as memory:
        steps = memory.history("Alice")
    ids = page.page.locator("tbody a").evaluate_all(
        "all => all.map(one => decodeURIComponent(one.hash.split('/').pop()))"
    )
    assert {step.entity.id for step in steps} < set(ids)
    no_violations(page)


def test_a_range_of_one_axis_takes_what_the_library_says_and_the_other_axis_follows(page: Watched, db: Path) -> None:
    tell_of_alice(db, "range")
    page.open("range", "timeline", "Alice")
    strip = page.page.locator("svg.brush").first
    box = strip.bounding_box()
    assert box is not None
    page.page.mouse.move(box["x"] + box["width"] * 0.02, box["y"] + 20)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 20, steps=5)
    page.page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 20)
    page.page.mouse.up()
    page.sees("What the range of the other axis comes to here")
    assert page.page.locator(".follows").count() == 1
    found = re.search(r"on=held&from=([^&]+)&to=([^&]+)", page.page.url)
    assert found is not None
    low, high = (datetime.fromisoformat(one.replace("%3A", ":")) for one in found.groups())
    with umi.blocking.Memory.open(str(db), namespace="range", embedder=None) as memory:
        held = [one.entity for one in memory.history("Alice")]
    inside = [one for one in held if one.valid_from and one.valid_from <= high and (one.valid_to or high) >= low]
    assert 0 < len(inside) < len(held)
    until(page, "document.querySelectorAll('.chart .bar:not(.stale)').length", len(inside))
    # By keyboard on the other axis: the range is then that one's.
    page.page.get_by_role("slider", name="When it was known: beginning of the range").focus()
    page.page.keyboard.press("PageUp")
    until(page, "location.hash.includes('on=known')")
    page.page.keyboard.press("Escape")
    until(page, "!location.hash.includes('on=')")


def test_by_keyboard_one_goes_along_the_bars_and_on_to_why(page: Watched, db: Path) -> None:
    tell_of_alice(db, "keys")
    page.open("keys", "timeline", "Alice")
    page.page.locator(".scroller").focus()
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("ArrowRight")
    detail = page.role("region", "What is chosen")
    detail.wait_for()
    assert "StartupX" in detail.inner_text()
    assert "Replaces" in detail.inner_text()
    with umi.blocking.Memory.open(str(db), namespace="keys", embedder=None) as memory:
        (step,) = [one for one in memory.history("Alice") if one.entity.value == "StartupX"]
    assert f"at={step.entity.id}" in page.page.url
    page.page.reload()  # the link keeps what is chosen
    page.sees("Replaces")
    page.role("region", "What is chosen").get_by_role("link", name="Why?").click()
    until(page, "location.hash.split('/').pop()", step.entity.id)


def test_what_is_written_elsewhere_shows_by_itself_and_hostile_words_are_text(page: Watched, db: Path) -> None:
    page.open("hostile", "timeline")
    page.sees("No time has passed here yet")
    hostile = "<img src=x onerror=alert(1)>\u202e\u200b{{7*7}}"
    with umi.blocking.Memory.open(str(db), namespace="hostile", embedder=None) as memory:
        memory.set_fact("Alice", "badge", hostile, at=datetime(2026, 1, 1, tzinfo=UTC))
        memory.set_fact("Alice", "x" * 200, "\u200b" * 50)
    page.page.wait_for_selector(".chart .bar")
    assert page.page.locator("main img").count() == 0
    assert page.page.locator(".chart .bar").count() == 2
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_in_german_on_a_phone_in_the_dark(page: Watched, db: Path) -> None:
    tell_of_alice(db, "klein")
    page.page.set_viewport_size({"width": 360, "height": 740})
    page.page.emulate_media(color_scheme="dark")
    page.page.add_init_script("localStorage.setItem('umi-language', 'de')")
    page.open("klein", "timeline", "Alice")
    page.sees("berichtigt: galt nie")
    page.page.wait_for_selector(".chart .bar")
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    no_violations(page)


HOUR = timedelta(hours=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
OF_CHART = "document.querySelectorAll('.chart .bar').length"


def _tell_of_many(db: Path, namespace: str) -> int:
    """More statements than are loaded at first: 370 of a thing each hour, and before them 60 moods of which one replaces the other."""
    with umi.blocking.Memory.open(str(db), namespace=namespace, embedder=None) as memory:
        memory.remember_many(
            {"content": f"I like thing{n}.", "speaker": "Alice", "at": START + (100 + n) * HOUR} for n in range(370)
        )
        for n in range(60):
            memory.set_fact("Alice", "mood", f"m{n}", at=START + n * HOUR)
        return len(memory.history("Alice"))


def test_a_long_history_opens_with_counts_of_its_whole_time_and_loads_the_time_that_is_chosen(
    page: Watched, db: Path
) -> None:
    count = _tell_of_many(db, "long")
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.open("long", "timeline", "Alice")
    page.page.wait_for_selector(".chart .bar")
    page.sees(f"400 of {count} statements.")
    page.sees("The newest of all are drawn")
    assert [one for one in asked if "/history/" in one and "limit=400" not in one and "/counts" not in one] == []
    with umi.blocking.Memory.open(str(db), namespace="long", embedder=None) as memory:
        counts = memory.history_counts("Alice", parts=160)
        first = memory.history("Alice", held=(START, START + 10 * HOUR))
    assert counts.held is not None
    drawn = page.page.locator(".brush .bins path").first.get_attribute("d") or ""
    whole = [part for part in counts.held.counts if part]
    assert len(drawn.split("M")) - 1 <= len(whole)
    # The strip is of the whole time: a range at its beginning takes what was not loaded.
    end = (START + 9.5 * HOUR).isoformat().replace("+00:00", "Z")
    page.open("long", "timeline", "Alice", on="held", to=end, **{"from": START.isoformat().replace("+00:00", "Z")})
    page.sees(f"{len(first)} of {count} statements.")
    assert [one.entity.value for one in first] == [f"m{n}" for n in range(10)]
    until(page, OF_CHART, len(first))
    no_violations(page)


def test_a_range_with_more_than_is_loaded_at_once_says_so_and_loads_older_ones_when_asked(
    page: Watched, db: Path
) -> None:
    count = _tell_of_many(db, "more")
    page.open("more", "timeline", "Alice", on="held", to="2030-01-01T00:00:00Z", **{"from": "2026-01-01T00:00:00Z"})
    page.sees("The newest of this time are drawn")
    page.role("button", "Load older ones").click()
    page.sees(f"{count} of {count} statements.")
    assert page.role("button", "Load older ones").count() == 0


def test_of_many_statements_only_what_is_near_is_in_the_page_and_narrow_ones_are_drawn_as_one(
    page: Watched, db: Path
) -> None:
    count = _tell_of_many(db, "many")
    page.open("many", "timeline", "Alice")
    page.role("button", "Load older ones").click()
    page.sees(f"{count} of {count} statements.")
    sees_all = page.page.locator(".scroller").evaluate("box => box.scrollHeight") / 30
    assert sees_all >= 300
    most = 0
    for share in (0, 0.3, 0.6, 1):
        page.page.locator(".scroller").evaluate(f"box => {{ box.scrollTop = {share} * box.scrollHeight; }}")
        page.page.wait_for_timeout(200)
        most = max(most, page.page.locator(".chart .bar").count())
    assert 0 < most < 90
    page.page.locator(".scroller").evaluate("box => { box.scrollTop = 0; }")
    # Sixty moods of an hour each are a bar or some; a click goes near, where each is one of its own.
    many = page.page.locator(".bar.many").first
    many.wait_for()
    drawn = page.page.locator(".chart .bar").count()
    many.click()
    until(page, f"document.querySelectorAll('.chart .bar').length !== {drawn}")
    assert "on=held" in page.page.url


def test_dates_along_a_time_of_thousands_of_years_do_not_overlap(page: Watched, db: Path) -> None:
    with umi.blocking.Memory.open(str(db), namespace="ages", embedder=None) as memory:
        memory.remember("I live in Berlin.", speaker="Alice", at="2026-01-12T10:00Z")
        memory.remember("I moved to Mars.", speaker="Alice", at="9999-12-12T10:00Z")
    page.open("ages", "timeline", "Alice")
    marks = page.page.locator("svg text").filter(has_text=re.compile(r"^\d{4}$"))
    marks.first.wait_for()
    boxes = marks.evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")
    assert len(boxes) > 4
    assert all(one["right"] <= other["x"] for one, other in pairwise(boxes) if one["y"] == other["y"])

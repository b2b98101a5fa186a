"""Dates as people say them, resolved against Friday 20 November 2026, 09:00."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta, timezone

import pytest
from reading import FRIDAY

from umi._reading.grammar.dates import find_dates

DAYS = [
    ("yesterday", "2026-11-19", 1),
    ("the day before yesterday", "2026-11-18", 1),
    ("today", "2026-11-20", 1),
    ("tomorrow", "2026-11-21", 1),
    ("last Tuesday", "2026-11-17", 1),
    ("next Tuesday", "2026-11-24", 1),
    ("on Sunday", "2026-11-22", 1),
    ("last Friday", "2026-11-13", 1),
    ("two weeks ago", "2026-11-06", 1),
    ("3 days ago", "2026-11-17", 1),
    ("a couple of months ago", "2026-09-20", 1),
    ("a year ago", "2025-11-20", 1),
    ("in 3 days", "2026-11-23", 1),
    ("a month from now", "2026-12-20", 1),
    ("next month", "2026-12-01", 31),
    ("last month", "2026-10-01", 31),
    ("last year", "2025-01-01", 365),
    ("this year", "2026-01-01", 365),
    ("this week", "2026-11-16", 7),
    ("last week", "2026-11-09", 7),
    ("this weekend", "2026-11-21", 2),
    ("last weekend", "2026-11-14", 2),
    ("in December", "2026-12-01", 31),
    ("since March", "2026-03-01", 31),
    ("last March", "2026-03-01", 31),
    ("last December", "2025-12-01", 31),
    ("next March", "2027-03-01", 31),
    ("in March 2024", "2024-03-01", 31),
    ("since 2019", "2019-01-01", 365),
    ("in early 2020", "2020-01-01", 366),
    ("on 5 May", "2026-05-05", 1),
    ("on the 5th of May 2022", "2022-05-05", 1),
    ("May 5th, 2023", "2023-05-05", 1),
    ("Dec 24", "2026-12-24", 1),
    ("3 January", "2027-01-03", 1),
    ("2023-05-05", "2023-05-05", 1),
    ("25/12/2025", "2025-12-25", 1),
    ("12/25/2025", "2025-12-25", 1),
    ("on 29 February 2024", "2024-02-29", 1),
]

HOURS = [
    ("tomorrow at 5pm", "2026-11-21T17:00"),
    ("today at noon", "2026-11-20T12:00"),
    ("on Monday at 9:30 am", "2026-11-23T09:30"),
    ("on 5 May 2027 at 14:00", "2027-05-05T14:00"),
    ("May 5, 2027 at 12am", "2027-05-05T00:00"),
    ("2027-05-05T14:30", "2027-05-05T14:30"),
    ("the train leaves at 14:30", "2026-11-20T14:30"),
    ("it starts at 3pm", "2026-11-20T15:00"),
    ("two hours ago", "2026-11-20T07:00"),
]

NO_DATES = [
    "I may go.",
    "They march on.",
    "Sat down in the sun.",
    "31 February",
    "3/4/2023",
    "2019 people came",
    "the year 99999",
    "room 14",
    "a 5-4 win",
    "May lives here.",
    "13pm",
    "",
]


@pytest.mark.parametrize(("text", "start", "days"), DAYS, ids=[text for text, *_ in DAYS])
def test_day(text: str, start: str, days: int) -> None:
    (found,) = find_dates(text, FRIDAY)
    assert f"{found.start:%Y-%m-%d}" == start
    assert found.end - found.start == timedelta(days=days)
    assert not found.clock
    assert text[slice(*found.span)].strip() == text


@pytest.mark.parametrize(("text", "start"), HOURS, ids=[text for text, _ in HOURS])
def test_hour(text: str, start: str) -> None:
    (found,) = find_dates(text, FRIDAY)
    assert f"{found.start:%Y-%m-%dT%H:%M}" == start
    assert found.clock


@pytest.mark.parametrize("text", NO_DATES)
def test_no_date(text: str) -> None:
    assert find_dates(text, FRIDAY) == []


def test_short_names_of_days_that_are_words_need_a_word_before_them() -> None:
    assert len(find_dates("We sat in the sun since yesterday and wed next week.", FRIDAY)) == 2
    assert find_dates("Sun. Sat down. We wed.", FRIDAY) == []
    assert [f"{one.start:%d}" for one in find_dates("me Mon, you Sun, sat 3pm", FRIDAY)] == ["23", "22", "21"]
    assert [f"{one.start:%d}" for one in find_dates("Mon: call Tom. Wed: rest", FRIDAY)] == ["23", "25"]
    assert [f"{one.start:%d}" for one in find_dates("on Sat, by mon, next wed, Fri", FRIDAY)] == [
        "21",
        "23",
        "25",
        "27",
    ]


def test_floating_dates_look_back_in_a_story_of_the_past() -> None:
    (ahead,) = find_dates("on Friday", FRIDAY)
    (back,) = find_dates("on Friday", FRIDAY, past=True)
    assert ahead.start - back.start == timedelta(days=7)
    (back,) = find_dates("in December", FRIDAY, past=True)
    assert back.start == datetime(2025, 12, 1, tzinfo=UTC)
    (back,) = find_dates("on 24 December", FRIDAY, past=True)
    assert back.start == datetime(2025, 12, 24, tzinfo=UTC)


def test_since_is_told_apart() -> None:
    assert [date.since for date in find_dates("since March, until June 2027, on Monday", FRIDAY)] == [
        True,
        False,
        False,
    ]


def test_days_begin_in_the_time_zone_of_the_speaker() -> None:
    tokyo = timezone(timedelta(hours=9))
    (found,) = find_dates("yesterday", datetime(2026, 11, 20, 1, tzinfo=tokyo))
    assert found.start == datetime(2026, 11, 19, tzinfo=tokyo)
    assert found.start.utcoffset() == timedelta(hours=9)


def test_the_ends_of_the_calendar_are_no_date() -> None:
    assert find_dates("9999 years ago", datetime(1, 1, 2, tzinfo=UTC)) == []
    assert find_dates("next year", datetime(9999, 12, 31, tzinfo=UTC)) == []


def test_every_day_of_a_leap_year_resolves() -> None:
    for offset in range(366):
        at = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=offset)
        for text in ("last month", "a month ago", "a year ago", "on 5 May", "next Tuesday", "this weekend"):
            (found,) = find_dates(text, at)
            assert found.start < found.end


def test_spans_of_several_dates_do_not_overlap() -> None:
    text = "Met on 5 May 2024, again last week and on Monday at 3pm."
    found = find_dates(text, FRIDAY)
    assert len(found) == 3
    assert all(one.span[1] <= two.span[0] for one, two in itertools.pairwise(found))

"""Since when a statement holds: dates in front of a clause, and what has been so since a date or for some time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from reading import claims, entities, read

from umi import Memory
from umi._reading.grammar.statements import read_statements

# What each states, and its first day; None when that is the day on which it is said.
DATED = {
    "Last Friday, Nora moved to Bergen.": [("nora", "lives_in", "Bergen", "2026-11-13")],
    "Last Friday Nora moved to Bergen.": [("nora", "lives_in", "Bergen", "2026-11-13")],
    "Yesterday, Nora moved to Bergen.": [("nora", "lives_in", "Bergen", "2026-11-19")],
    "On 3 March 2024, Nora moved to Bergen.": [("nora", "lives_in", "Bergen", "2024-03-03")],
    "And so, in March 2024, Nora moved to Bergen.": [("nora", "lives_in", "Bergen", "2024-03-01")],
    "On Sunday, 3 March 2024, Nora moved to Bergen.": [("nora", "lives_in", "Bergen", "2024-03-03")],
    "Nora moved to Bergen on Sunday, March 3rd, 2024.": [("nora", "lives_in", "Bergen", "2024-03-03")],
    "Nora moved to Bergen on Sunday the 3rd of March 2024.": [("nora", "lives_in", "Bergen", "2024-03-03")],
    "Nora moved to Bergen on Sun 2024-03-03.": [("nora", "lives_in", "Bergen", "2024-03-03")],
    "Three weeks ago, my sister joined Globex.": [("sam's sister", "works_at", "Globex", "2026-10-30")],
    "In 2019, I moved to Oslo, and in 2022, I joined Globex.": [
        ("sam", "lives_in", "Oslo", "2019-01-01"),
        ("sam", "works_at", "Globex", "2022-01-01"),
    ],
    "In 2019 I moved to Oslo and in 2022 I joined Globex.": [
        ("sam", "lives_in", "Oslo", "2019-01-01"),
        ("sam", "works_at", "Globex", "2022-01-01"),
    ],
    "In 2019, I moved to Oslo. I work at Acme.": [
        ("sam", "lives_in", "Oslo", "2019-01-01"),
        ("sam", "works_at", "Acme", None),
    ],
    "In 2019, well, Nora moved to Bergen, and I work at Acme.": [
        ("nora", "lives_in", "Bergen", None),
        ("sam", "works_at", "Acme", None),
    ],
    "On Monday, the launch moved to Tuesday.": [("launch", "scheduled_at", "2026-11-24", None)],
    "The report is due in two weeks.": [("report", "due", "2026-12-04", None)],
    "The meeting is in an hour.": [("meeting", "scheduled_at", "2026-11-20T10:00", None)],
    "The meeting is on Tue.": [("meeting", "scheduled_at", "2026-11-24", None)],
    "The meeting is on sat.": [("meeting", "scheduled_at", "2026-11-21", None)],
    "I sat in the sun and in 2024 I moved to Oslo.": [("sam", "lives_in", "Oslo", "2024-01-01")],
    "Since May, I live in Porto.": [("sam", "lives_in", "Porto", "2026-05-01")],
    "Since 2021 Nora has worked at Acme.": [("nora", "works_at", "Acme", "2021-01-01")],
    "Nora has worked at Acme since 2021.": [("nora", "works_at", "Acme", "2021-01-01")],
    "Nora hasn't worked at Acme since 2021.": [("nora", "works_at", "not Acme", "2021-01-01")],
    "Nora had worked at Acme since 2021.": [],
    "Nora would have worked at Acme since 2021.": [],
    "I have worked at Acme.": [],
    "I have worked at Acme for fun.": [],
    "I've lived in Porto since March 2022.": [("sam", "lives_in", "Porto", "2022-03-01")],
    "Nora's lived in Porto since March 2022.": [("nora", "lives_in", "Porto", "2022-03-01")],
    "I have lived in Porto for ten years.": [("sam", "lives_in", "Porto", "2016-11-20")],
    "I lived in Porto for ten years.": [],
    "Nora worked at Acme until March.": [("nora", "works_at", "not Acme", "2026-03-01")],
    "Nora liked coffee till 2019.": [("nora", "likes", "not coffee", "2019-01-01")],
    "Nora hated coffee till 2019.": [("nora", "likes", "coffee", "2019-01-01")],
    "Nora has worked at Acme until March.": [],
    "Nora was worked at Acme until March.": [],
    "Nora didn't like coffee until 2019.": [],
    "I have been vegetarian for over two months.": [("sam", "diet", "vegetarian", "2026-09-20")],
    "My brother has owned a Tesla for a few weeks.": [("sam's brother", "owns", "Tesla", "2026-10-30")],
    "Nora has hated mushrooms since 1999.": [("nora", "likes", "not mushrooms", "1999-01-01")],
    "Nora has spoken French for 9999 years.": [],
}


@pytest.mark.parametrize("text", DATED)
def test_holds_from_the_day_that_is_told(text: str) -> None:
    days = [None if one.valid_from is None else f"{one.valid_from:%Y-%m-%d}" for one in read(text)]
    assert [(*claim, day) for claim, day in zip(claims(text), days, strict=True)] == DATED[text]


def test_what_the_reader_of_short_messages_reads_takes_the_day_over() -> None:
    (entity,) = entities("The team has used Jira since March.")
    assert (entity.slot, entity.value, f"{entity.valid_from:%Y-%m-%d}") == ("uses", "Jira", "2026-03-01")


BYGONE = {
    "I worked at Acme in 2019.": [],
    "Nora lived in Graz.": [],
    "I grew up in Graz.": [],
    "Saskia grew up with Turkish at home and speaks it well.": [("speaks", "Turkish")],
    "I worked for Globex, and I live in Graz.": [("lives_in", "Graz")],
    "I worked at Acme, now I work at Globex.": [("works_at", "Globex")],
    "Nora has long worked at Acme.": [("works_at", "Acme")],
    "I've worked at Acme.": [("works_at", "Acme")],
}


@pytest.mark.parametrize("text", BYGONE)
async def test_where_somebody_was_is_not_where_he_is(text: str) -> None:
    async with Memory.open(":memory:") as memory:
        receipt = await memory.remember(text)
    assert [(one.slot, one.value) for one in receipt.entities if one.slot] == BYGONE[text]


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("27 February", "2029-02-27"),
        ("28 February", "2029-02-28"),  # of a year without a 29th
        ("29 February", "2028-02-29"),
        ("1 March", "2029-03-01"),
        ("February", "2029-02-01/2029-03-01"),
        ("16 April", "2029-04-16"),
        ("17 April", "2028-04-17"),  # 45 days ago
        ("28 February 2028", "2028-02-28"),
    ],
)
def test_what_is_to_come_on_a_day_long_past_is_next_years(said: str, value: str) -> None:
    text = f"The launch is scheduled for {said}."
    (found,) = read_statements(text, speaker="Sam", role="user", at=datetime(2028, 6, 1, tzinfo=UTC))
    assert (found.slot, found.value) == ("scheduled_at", value)

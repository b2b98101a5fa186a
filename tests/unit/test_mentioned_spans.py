"""The spans of a short message: which things, choices and names it mentions, and where each ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from umi._reading.short_messages.spans import Sort, find, name_within

AT = datetime(2026, 3, 1, tzinfo=UTC)
NAME, THING, CHOICE = Sort.NAME, Sort.THING, Sort.CHOICE


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("The Blue Box is here.", [(NAME, "The Blue Box")]),
        ("The Box is here.", [(THING, "The Box")]),
        ("The big Blue Box is here.", [(THING, "The big Blue Box")]),
        ("Emily is here.", [(NAME, "Emily")]),
        ("Nicely done.", []),
        ("The value debug is here.", [(Sort.AMOUNT, "debug")]),
        ("The neighbours' 8 dogs are here.", [(THING, "The neighbours"), (Sort.AMOUNT, "8")]),
        ("We met Halden & sons.", [(NAME, "Halden")]),
        ("Our Oskar Berg is here.", [(NAME, "Oskar Berg")]),
        ("Our Jo show is here.", [(THING, "Our Jo show")]),
        ("The neighbours' dog is here.", [(THING, "The neighbours' dog")]),
        ("The wrong time zone bug is here.", [(THING, "The wrong time zone bug")]),
        ("The wrong zoo bug is here.", [(THING, "The wrong zoo bug")]),
        ("The wrong bug is here.", []),
        ("The wrong price is here.", []),
        ("The new price is here.", []),
        ("The price of the choir is here.", [(THING, "the choir")]),
        ("The choir price is here.", [(THING, "The choir price")]),
        ("The port of the billing API is here.", [(THING, "The port of the billing API")]),
        ("Is this the port of the", [(THING, "the port")]),
        ("The team move happened Friday.", [(THING, "The team move")]),
        ("The team shed is here.", [(THING, "The team shed")]),
        ("The offsite postponed", [(THING, "The offsite")]),
        ("The person heading the choir is here.", [(THING, "the choir")]),
        ("The port stand is here.", [(THING, "The port stand")]),
        ("We sing at the fair Bruno runs.", [(THING, "the fair"), (NAME, "Bruno")]),
        ("My favourite café is here.", [(CHOICE, "My favourite café")]),
        ("My favourite old café\nNordlicht is here.", [(CHOICE, "My favourite old café"), (NAME, "Nordlicht")]),
        ("My favourite's here.", []),
        ("We met Halden & Pike of Ghent and Lyon.", [(NAME, "Halden & Pike"), (NAME, "Ghent"), (NAME, "Lyon")]),
        ("We met Halden & Friday.", [(NAME, "Halden")]),
        ("We ate at Bar le Coin de Lyon.", [(NAME, "Bar le Coin de Lyon")]),
    ],
)
def test_what_a_message_mentions(text: str, spans: list[tuple[Sort, str]]) -> None:
    assert [(span.sort, span.text) for span in find(text, AT)] == spans


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("What does the port stand at?", "the port"),
        ("What does the port of the billing API stand at?", "the port of the billing API"),
        ("What does the rowing boat weigh in?", "the rowing boat"),
        ("What did the boat weigh in?", "the boat"),
        ("What is the rowing boat weight in stones?", "the rowing boat weight"),
        ("What does the rowing boat weigh in stones?", "the rowing boat weigh"),
        ("What does the stand at the fair do?", "the stand"),
        ("When does the party take place?", "the party"),
        ("What does the rowing boat weigh?", "the rowing boat weigh"),
    ],
)
def test_a_thing_that_is_asked_about_ends_at_the_verb(question: str, thing: str) -> None:
    assert next(span.text for span in find(question, AT, asking=True) if span.sort is THING) == thing


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The Nordlicht stand is here.", "Nordlicht"),
        ("The Blue Nordlicht stand is here.", "Blue Nordlicht"),
        ("The old Nordlicht stand is here.", ""),
        ("The NORD stand is here.", ""),
        ("The stand is here.", ""),
        ("The Blue Nordlicht is here.", ""),  # a name itself
    ],
)
def test_a_thing_may_begin_with_a_name(text: str, name: str) -> None:
    assert name_within(find(text, AT)[0]) == name


@pytest.mark.parametrize(
    ("said", "month", "day"),
    [
        ("28 February", 5, "2029-02-28"),
        ("29 February", 5, "2028-02-29"),  # next year has none
        ("1 March", 4, "2028-03-01"),
        ("17 April", 6, "2028-04-17"),
        ("16 April", 6, "2029-04-16"),
        ("1 March 2028", 6, "2028-03-01"),
    ],
)
def test_a_day_long_past_is_next_years(said: str, month: int, day: str) -> None:
    (span,) = find(f"The party is on {said}.", datetime(2028, month, 1, tzinfo=UTC))[1:]
    assert span.text == day

"""The values of a message: which amounts, names and places it states, whose they are, and how they are meant."""

from __future__ import annotations

import pytest

from umi._reading.amounts import Kind
from umi._reading.value_mentions import mentions


@pytest.mark.parametrize(
    ("text", "kind", "number", "unit"),
    [
        ("I've tried three Korean restaurants.", Kind.COUNT, 3, "restaur"),
        ("I just finished my fifth national park.", Kind.COUNT, 5, "park"),
        ("We borrow up to $400,000 now.", Kind.MONEY, 400_000, "money"),
        ("The course is 65 percent done.", Kind.SHARE, 65, "share"),
        ("I do yoga three times a week.", Kind.RATE, 156, "rate"),
        ("I water the ferns every other day.", Kind.RATE, 182.5, "rate"),
        ("I water the ferns every other evening.", Kind.RATE, 182.5, "rate"),
        ("I water the ferns every 5 days.", Kind.RATE, 73, "rate"),
        ("I water the ferns once a week.", Kind.RATE, 52, "rate"),
        ("I water the ferns thrice a month.", Kind.RATE, 36, "rate"),
        ("I see the coast twice a year.", Kind.RATE, 2, "rate"),
        ("I take the ferry twice each workday.", Kind.RATE, 520, "rate"),
        ("I get up at 5:45 pm for work.", Kind.CLOCK, 17 * 60 + 45, "clock"),
        ("My best time is 26 minutes and 30 seconds.", Kind.CLOCK, 26 * 60 + 30, "clock"),
        ("I'm on page 220 of the novel.", Kind.COUNT, 220, "page"),
        ("I take 10mg of the blue pill.", Kind.COUNT, 10, "mg"),
        ("I've been sober for a month.", Kind.COUNT, 1, "month"),
        ("I've put in 20 hours on the sculpture.", Kind.COUNT, 20, "hour"),
        ("I can mow it in 20 minutes.", Kind.COUNT, 20, "minute"),
        ("The fairs last 3 days.", Kind.COUNT, 3, "day"),
        ("I watered three of my four plants.", Kind.COUNT, 3, "plant"),
        ("I own 3 big old red Korean, as I said.", Kind.COUNT, 3, ""),
        ("I own 3 big old red vases.", Kind.COUNT, 3, "vase"),
        ("The dial reads 1 high.", Kind.COUNT, 1, "high"),
        ("The dial reads 2 high.", Kind.COUNT, 2, ""),
        ("I own 3 big old red Korean vases.", Kind.COUNT, 3, ""),  # too far behind
        ("My cats are 3, each and every", Kind.COUNT, 3, ""),
        ("The house is worth $2m.", Kind.MONEY, 2_000_000, "money"),
        ("The house is worth 2 million dollars.", Kind.MONEY, 2_000_000, "money"),
        ("The shelf is 2 m long.", Kind.COUNT, 2, "m"),
        ("The detour adds only a good 15 minutes to my ride.", Kind.COUNT, 15, "minute"),
        ("I've spent 5-6 hours on the sculpture.", Kind.COUNT, 6, "hour"),
        ("I own one camera.", Kind.COUNT, 1, "camera"),
        ("I own a couple of bikes.", Kind.COUNT, 2, ""),
        ("I own a dozen mugs.", Kind.COUNT, 12, "mug"),
        ("I own a hundred mugs.", Kind.COUNT, 100, "mug"),
        ("I own three hundred mugs.", Kind.COUNT, 300, "mug"),
        ("I have 84 thousand followers.", Kind.COUNT, 84_000, "follow"),
        ("I have 10k followers.", Kind.COUNT, 10_000, "follow"),
        ("I ran my second marathon.", Kind.COUNT, 2, "marathon"),
        ("I came fifth in the marathon.", Kind.COUNT, 5, ""),
        ("My cats are 3, as I said.", Kind.COUNT, 3, ""),
        ("I saw 3, maybe 4 cats.", Kind.COUNT, 4, "cat"),
        ("The meter went from 420 to 540 units.", Kind.COUNT, 540, "unit"),
        ("The lease runs 4 years and 3 months.", Kind.COUNT, 4, "year"),
        ("I keep my passport under the bed.", Kind.PLACE, 0, ""),
        ("My passport is in the blue drawer.", Kind.PLACE, 0, ""),
        ("Keep my passport under the bed.", Kind.PLACE, 0, ""),
        ("I get up at 5 pm for work.", Kind.CLOCK, 17 * 60, "clock"),
        ("I get up at 12:05 pm for work.", Kind.CLOCK, 12 * 60 + 5, "clock"),
        ("I get up at 7:15 am for work.", Kind.CLOCK, 7 * 60 + 15, "clock"),
        ("Nordlicht is my employer.", Kind.NAME, 0, ""),
        ("The choir meets on Tuesday.", Kind.DAY, 0, "weekday"),
        ("The choir meets on Tuesdays.", Kind.DAY, 0, "weekday"),
        ("I am using Nordlicht for mail.", Kind.NAME, 0, ""),
    ],
)
def test_values(text: str, kind: Kind, number: float, unit: str) -> None:
    (found,) = mentions(text)
    assert (found.amount.kind, found.amount.number, found.amount.unit) == (kind, number, unit)


@pytest.mark.parametrize(
    ("text", "nth"),
    [
        ("I just finished my fifth national park.", True),
        ("I just finished my 5th national park.", True),
        ("I came fifth in the marathon.", True),
        ("I've finished five national parks.", False),
        ("I pay $5 for the park.", False),
        ("I'm on page 5 of the novel.", False),
    ],
)
def test_a_place_in_a_row_is_no_number_of_things(text: str, *, nth: bool) -> None:
    assert [one.amount.nth for one in mentions(text)] == [nth]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("I keep my passport under the bed.", "under the bed"),
        ("I keep my passport under the bed now.", "under the bed"),
        ("I keep my passport under the big oak bed by the wall.", "under the big oak bed"),
        ("I keep my passport under the big old red oak bed.", "under the big old red oak"),
        ("Keep my big old worn red passport under the bed.", "under the bed"),
        ("Keep my big old worn dark red passport under the bed.", None),  # too far before
        ("I saw my passport under the bed.", None),
        ("The bikes sleep in the shed.", "in the shed"),
    ],
)
def test_where_something_is_kept(text: str, place: str | None) -> None:
    assert [one.text for one in mentions(text)] == ([] if place is None else [place])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My dentist is Dr. Anna Bea Moss.", "Dr. Anna Bea Moss"),
        ("My dentist is Anna of Moss.", "Anna"),
        ("My phone is a Pixel 6 Pro.", "Pixel 6 Pro"),
        ("My phone is a Pixel 6.", "Pixel 6"),
        ("My phone is a Pixel 6", "Pixel 6"),
        ("My dentist in the town is Moss.", "Moss"),
        ("My dentist in the old town is Moss.", None),  # "my" is too far before
        ("Nordlicht is now my employer.", "Nordlicht"),
        ("Nordlicht is no longer my employer.", None),
        ("The tool that we use is made by Nordlicht.", None),
        ("Our dentist's Moss.", "Moss"),
        ("My phone is the iPhone, 12 of them.", "iPhone"),
    ],
)
def test_a_name_that_something_of_ones_own_has(text: str, name: str | None) -> None:
    assert [one.text for one in mentions(text)][:1] == ([] if name is None else [name])


@pytest.mark.parametrize(
    "text",
    [
        "I moved here two years ago.",
        "Two more joined the class.",
        "The detour adds 15 minutes to my ride.",
        "The detour adds about 15 minutes to my ride.",
        "I leave in two weeks.",
        "I slept well the last three days.",
        "We grew by 20% last year.",
        "One of the cats is ill.",
        "One day we adopted a cat.",
        "I took the green one.",
        "The 10k was fun.",
        "I ran 10k with Nora.",
        "Cut the boards to 6, 8, 10 cm.",
        "for i in range(10): total += 5 * x[i]",
        "Calculate the area of a circle with a radius of 4 cm.",
        "",
    ],
)
def test_no_values(text: str) -> None:
    assert [one for one in mentions(text) if one.amount.number] == []


@pytest.mark.parametrize(
    ("text", "whose", "names", "dates"),
    [
        ("I paid $40 in March for the gym.", "", set(), {"march"}),
        ("I paid $40 in May for the gym.", "", set(), set()),  # "may" is a verb more often
        ("I pay $40 for the gym on weekends.", "", set(), {"weekend"}),
        ("My brother paid $40 for the gym.", "brother", set(), set()),
        ("The gym charges Nora $40.", "nora", {"nora"}, set()),
        ("In June the gym cost $40.", "it", set(), {"june"}),
        ("We met Jo's coach at the gym for $40.", "", {"jo"}, set()),
    ],
)
def test_whose_a_value_is_and_of_when(text: str, whose: str, names: set[str], dates: set[str]) -> None:
    (found,) = mentions(text)
    assert (found.whose, found.names, found.dates) == (whose, names, dates)


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("My tidying is what I have had in all 30 weeks.", True),
        ("My tidying is what I have had of it in all 30 weeks.", False),
        ("My tidying is what I have had it in all 30 weeks.", False),
        ("I do my tidying - it's what I have done for 3 weeks.", True),
        ("I do my tidying - the kids love it for 3 weeks.", False),
    ],
)
def test_words_far_from_a_value_and_of_another_clause_do_not_tell_of_it(text: str, *, is_told: bool) -> None:
    (found,) = mentions(text)
    assert ("tidi" in found.terms) is is_told


@pytest.mark.parametrize(
    ("text", "sign", "is_there"),
    [
        ("I want with every bone of my old and tired body to one day own 12 geese.", "plan", True),
        ("I own 12 geese of the kind that people want.", "plan", False),
        ("We had it at our big old place 12 geese.", "then", True),
        ("We had it at our very big old place 12 geese.", "then", False),
        ("We own 12 previously grey geese.", "then", True),
        ("We own 12 grey geese, previously grey.", "then", False),
        ("Now it is the very big pond by my house that has 12 geese.", "now", False),
        ("Now the very big pond by my house has 12 geese.", "now", True),
        ("My geese are 12 by the pond here now.", "now", True),
        ("Are my geese 12?", "asks", True),
        ("My geese are 12.", "asks", False),
    ],
)
def test_each_sign_counts_where_it_means_something(text: str, sign: str, *, is_there: bool) -> None:
    (found,) = mentions(text)
    assert (sign in found.signs) is is_there


@pytest.mark.parametrize(
    ("text", "per"),
    [
        ("I pay $40 a month.", "month"),
        ("I pay $40 per lesson", "lesson"),
        ("I pay $40 each and every week.", "week"),
        ("I pay $40 for the big old gym a month.", ""),
        ("I pay $40 for the old gym a month.", "month"),
        ("I pay $40 for the gym annually.", "year"),
        ("I pay $40 a pair.", ""),
        ("I pay $40 a", ""),
    ],
)
def test_the_period_of_a_price_is_near_behind_it(text: str, per: str) -> None:
    assert [one.per for one in mentions(text)] == [per]

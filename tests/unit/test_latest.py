"""A question for an amount is answered by what told it last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import umi
from umi._reading.value_mentions import mentions
from umi._retrieval.newest_value import asked_amount

DAY_ONE = datetime(2026, 1, 1, tzinfo=UTC)
FOLLOWERS = (
    "The plan works so far, and by the way I've got 1250 followers on Instagram, so it'd be great to get some insight.",
    "I've been meaning to check my current follower count, I think I'm close to 1300 now.",
)


async def first_of(question: str, *said: str | umi.Message) -> str:
    """What stands first among the hits, when each was said a day after the one before."""
    async with umi.Memory.open("dict:") as memory:
        for day, text in enumerate(said):
            await memory.remember(text, at=DAY_ONE + timedelta(days=day))
        return (await memory.recall(question)).hits[0].content


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("How many followers do I have on Instagram?", *FOLLOWERS),
        ("What time do I wake up on Saturdays?", "I wake up at 8:30 am on Saturdays.", "As I like to wake up at 7:30 am on a Saturday, coffee comes first."),
        ("How many times have I worn my red boots?", "I've worn my new red boots four times, they are so comfortable.", "I just wore my red boots again yesterday, that's six times now that I've worn them."),
        ("How much of the long novel have I read?", "I have read 30% of the long novel.", "It gets better, I've read 55% of the long novel."),
        ("How long is my commute to the office?", "My commute to the office takes 40 minutes, so I like podcasts.", "The commute to the office is 25 minutes since the new tram."),
    ],
)  # fmt: skip
async def test_the_amount_told_last_stands_first(question: str, old: str, new: str) -> None:
    assert await first_of(question, old, new, "I like long walks.") == new
    assert await first_of(question, new, old, "I like long walks.") == old


@pytest.mark.parametrize(
    ("newer", "is_newest"),
    [
        ("Ida's red boat has six sails.", True),
        ("The boat of Ida has six sails.", True),
        ("My kite has six sails.", False),  # shares much less with the question
        ("Ida's red boat has six oars.", False),
        ("Ida's red boat with its sails was built in 1950.", False),
        (umi.Message("Ida's red boat has six sails.", origin="document"), False),
    ],
)
async def test_only_another_trusted_value_of_the_same_thing_takes_its_place(
    newer: str | umi.Message, is_newest: bool
) -> None:
    old = "Ida's red boat has four sails."
    content = newer if isinstance(newer, str) else newer.content
    first = await first_of("How many sails does the red boat of Ida have?", old, newer)
    assert first == (content if is_newest else old)


async def test_what_one_person_has_counted_says_nothing_of_another() -> None:
    told = ("Oda has visited nine lighthouses by now.", "Carl has visited seven lighthouses so far.")
    assert await first_of("How many lighthouses has Oda visited?", *told) == told[0]


@pytest.mark.parametrize(
    "question",
    [
        "How many followers did I have when I started?",
        "How many followers did I have before the trip?",
        "Who follows me?",
        "How many?",
        "",
    ],
)
def test_the_past_and_other_questions_are_left_alone(question: str) -> None:
    assert asked_amount(question) is None


@pytest.mark.parametrize(
    ("question", "said", "answers"),
    [
        ("How much did the boat cost?", "The boat cost $900.", True),
        ("How much did the boat cost?", "The boat cost 900 euros.", True),
        ("How much of the boat is painted?", "I have painted 30% of the boat.", True),
        ("How much did the boat cost?", "The boat has four sails.", False),
        ("How much did the boat cost?", "The boat leaves at 7:30 am.", False),
        ("How many sails does the boat have?", "The boat has four sails.", True),
        ("How many sails does the boat have?", "The boat cost $900.", False),
        ("How many sails does the boat have?", "Counting the sails of the boat, I got to 4.", True),
        ("How many sails does the boat have?", "I rowed the boat and got to 4.", False),  # of what is not said
        ("How many sails does the boat have?", "The boat with its sails has four oars.", False),
        ("How many times did I row?", "I rowed four times.", True),
        ("How many times did I row?", "I rowed four boats.", False),
        ("How long is the trip by boat?", "The trip by boat takes 40 minutes.", True),
        ("How long is the trip by boat?", "The boat has four sails.", False),
        ("How often do I row?", "I row three times a week.", True),
        ("What time does the boat leave?", "The boat leaves at 7:30 am.", True),
    ],
)
def test_only_values_of_the_kind_that_is_asked_for_answer(question: str, said: str, answers: bool) -> None:
    asked = asked_amount(question)
    assert asked is not None
    assert any(asked.answers(one) for one in mentions(said)) is answers


async def test_nothing_is_left_out_and_scores_fall() -> None:
    async with umi.Memory.open("dict:") as memory:
        for day, text in enumerate(
            (*FOLLOWERS, "Instagram shows 20 posts of mine.", "Two friends of mine follow a choir.")
        ):
            await memory.remember(text, at=DAY_ONE + timedelta(days=day))
        hits = (await memory.recall("How many followers do I have on Instagram?", min_score=0.0)).hits
    assert len(hits) == 4
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)

"""The local reader's network as installed: the same pair is judged the same, look-alikes are told apart, long messages are read around the statement."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from umi._retrieval.answer_order import passage
from umi.ports.answer_reader import Pair, Passage
from umi.providers.answer_reader import Layout
from umi.providers.local import LocalEmbedder

EMBEDDER = LocalEmbedder()
READER = EMBEDDER.loaded_answer_reader()
LAYOUT = Layout(EMBEDDER._load().tokenizer)
OLD, NEW = "The Pro plan costs $20 a month.", "The Pro plan now costs $25 a month."
PRICE = "What does the Pro plan cost?"


def whole(text: str, speaker: str = "user", span: tuple[int, int] | None = None) -> Passage:
    return Passage(text, span or (0, len(text)), speaker)


def test_a_pair_has_one_verdict_whatever_was_judged_before() -> None:
    pair = Pair(whole(OLD), whole(NEW), days=30)
    first = READER.compare(PRICE, pair)
    READER.compare("What is the cat called?", Pair(whole(NEW), whole("My cat is called Fig.")))
    assert READER.compare(PRICE, pair) == first


async def test_side_by_side_is_as_one_by_one() -> None:
    pairs = [Pair(whole(OLD), whole(f"The Pro plan now costs ${price} a month."), days=30) for price in range(21, 30)]
    assert await EMBEDDER.compare(PRICE, pairs) == [READER.compare(PRICE, one) for one in pairs]
    assert await EMBEDDER.compare(PRICE, []) == []


def test_changes_are_told_from_look_alikes() -> None:
    """Of plain statements; what it is worth on talk by strangers is in data/reader/CARD.md."""
    told = (
        (PRICE, OLD, NEW, "The Team plan costs $60 a month."),
        ("What does Carol like to drink?", "Carol prefers tea.", "Carol prefers coffee now.", "Carol's brother prefers coffee."),
        ("How old is Tom?", "Tom is 29 years old.", "Tom turned 30.", "Tom's brother is 35 years old."),
        ("Where does the choir rehearse?", "The choir rehearses in the church hall.", "The choir rehearses in the school gym since the flood.", "The orchestra rehearses in the school gym."),
        ("What is my longest run?", "My longest run so far is 7 km.", "Ran 9 km on Sunday, my longest so far.", "Jo ran 9 km on Sunday."),
        ("Where does Ana work?", "I work at Acme.", "I left Acme, I'm at Globex now.", "My cat is called Fig."),
    )  # fmt: skip
    changed, other = (
        [
            READER.compare(row[0], Pair(whole(row[1], "Ana"), whole(row[column], "Ana"), days=60)).outdated
            for row in told
        ]
        for column in (2, 3)
    )
    assert sum(one > two for one, two in zip(changed, other, strict=True)) >= 5
    assert sum(one >= 0.5 for one in changed) >= 4
    assert sum(one >= 0.5 for one in other) <= 1


def test_what_answers_is_better_than_what_does_not() -> None:
    for older, newer, better in ((OLD, "My cat is called Fig.", False), ("My cat is called Fig.", OLD, True)):
        assert (READER.compare(PRICE, Pair(whole(older), whole(newer), days=3)).better >= 0.5) is better


def test_what_does_not_concern_the_question_makes_nothing_outdated() -> None:
    pair = Pair(
        whole("The choir rehearses in the church hall on Mondays, and Ruth has the key."),
        whole("We rehearse in the school gym now."),
        days=60,
    )
    assert (
        READER.compare("Where does the choir rehearse?", pair).outdated
        > READER.compare("Who has the key?", pair).outdated
    )


@pytest.mark.parametrize("place", [0, 75, 750])
def test_a_long_message_is_read_around_its_statement(place: int) -> None:
    aside = "We talked about the weather for a while. "
    before, after = aside * place, f" {aside * 100}"
    text = f"{before}{OLD}{after}"
    assert OLD in text[slice(*passage(text, "user", PRICE).span)]
    inside = (len(before), len(before) + len(OLD))
    found, alone = (
        LAYOUT.asked(PRICE, Pair(one, whole(NEW), days=30)) for one in (whole(text, span=inside), whole(OLD))
    )
    statement = [[token for token, marked in zip(one.ids, one.older, strict=True) if marked] for one in (found, alone)]
    assert statement[0] == statement[1]


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=80), st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80), st.text(max_size=10))
def test_any_text_is_judged(question: str, old: str, new: str, speaker: str) -> None:
    pair = Pair(whole(old, speaker), whole(new, speaker), days=None)
    found = READER.compare(question, pair)
    assert 0 <= found.outdated <= 1
    assert 0 <= found.better <= 1
    given_ = LAYOUT.asked(question, pair)
    assert len(given_.ids) == len(given_.parts) == len(given_.older) == len(given_.newer)
    assert len(given_.ids) <= 170


def test_judging_needs_no_loop_of_its_own() -> None:
    assert asyncio.run(EMBEDDER.compare("Who?", [])) == []

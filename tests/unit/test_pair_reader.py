"""The local reader's network as installed: the same pair has the same verdict, long messages are read around the statement, words are words of theirs."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from umi.ports.pair_reader import VERDICTS, Compared, Pair, Passage
from umi.providers.local import LocalEmbedder
from umi.providers.pair_reader import Layout

EMBEDDER = LocalEmbedder()
READER = EMBEDDER.loaded_pair_reader()
LAYOUT = Layout(EMBEDDER._load().tokenizer)
OLD, NEW = "The Pro plan costs $20 a month.", "The Pro plan now costs $25 a month."


def passage(text: str, speaker: str = "user", span: tuple[int, int] | None = None) -> Passage:
    return Passage(text, span or (0, len(text)), speaker)


def test_a_pair_has_one_verdict_whatever_was_judged_before() -> None:
    pair = Pair(passage(OLD), passage(NEW), days=30)
    first = READER.compare(pair)
    READER.compare(Pair(passage(NEW), passage("My cat is called Fig.")))
    assert READER.compare(pair) == first
    assert tuple(first.likely) == VERDICTS
    assert sum(first.likely.values()) == pytest.approx(1)


async def test_side_by_side_is_as_one_by_one() -> None:
    pairs = [
        Pair(passage(OLD), passage(f"The Pro plan now costs ${price} a month."), days=30) for price in range(21, 30)
    ]
    assert await EMBEDDER.compare(pairs) == [READER.compare(one) for one in pairs]
    assert await EMBEDDER.changes(pairs) == [READER.changes(one) for one in pairs]
    passages = [passage(OLD), passage("My cat is called Fig.")]
    assert await EMBEDDER.answers("What does the Pro plan cost?", passages) == [
        READER.answers("What does the Pro plan cost?", one) for one in passages
    ]
    assert await EMBEDDER.compare([]) == []


def test_whether_a_pair_is_a_change_is_told_as_by_the_whole_verdict() -> None:
    others = ("I left Acme, I'm at Globex now.", "My cat is called Fig.", "We bought a red bicycle.")
    pairs = [Pair(passage("I work at Acme.", "Ana"), passage(text, "Ana"), days=30) for text in others]
    whole, soon = [READER.compare(one).changed for one in pairs], [READER.changes(one) for one in pairs]
    assert [one >= 0.5 for one in soon] == [one >= 0.5 for one in whole] == [True, False, False]
    assert soon[0] == whole[0]


def test_what_answers_is_likelier_than_what_does_not() -> None:
    question = "What does the Pro plan cost?"
    assert READER.answers(question, passage(OLD)) > READER.answers(question, passage("My cat is called Fig."))


def test_changes_are_told_from_look_alikes() -> None:
    """Of plain statements; what it is worth on talk by strangers is in data/reader/CARD.md."""
    told = (
        (OLD, NEW, "The Team plan costs $60 a month."),
        ("Carol prefers tea.", "Carol prefers coffee now.", "Carol's brother prefers coffee."),
        ("Tom is 29 years old.", "Tom turned 30.", "Tom's brother is 35 years old."),
        ("The choir rehearses in the church hall.", "The choir rehearses in the school gym since the flood.", "The orchestra rehearses in the school gym."),
        ("My longest run so far is 7 km.", "Ran 9 km on Sunday, my longest so far.", "Jo ran 9 km on Sunday."),
    )  # fmt: skip
    changed, other = (
        [READER.compare(Pair(passage(row[0], "Ana"), passage(row[column], "Ana"), days=60)).changed for row in told]
        for column in (1, 2)
    )
    assert sum(one > two for one, two in zip(changed, other, strict=True)) >= 4
    assert sum(changed) > 2 * sum(other)


@pytest.mark.parametrize("place", [0, 3_000, 30_000])
def test_a_long_message_is_read_around_its_statement(place: int) -> None:
    before, after = "word " * (place // 5), " word" * 5_000
    text = f"{before}{OLD}{after}"
    span = (len(before), len(before) + len(OLD))
    found = READER.compare(Pair(passage(text, span=span), passage(NEW), days=30))
    start, end = found.older_words
    assert span[0] <= start < end <= span[1]


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80), st.text(max_size=10))
def test_any_text_is_judged(old: str, new: str, speaker: str) -> None:
    found = READER.compare(Pair(passage(old, speaker), passage(new, speaker), before=new, days=None))
    assert isinstance(found, Compared)
    for words, text in ((found.older_words, old), (found.newer_words, new)):
        assert 0 <= words[0] <= words[1] <= len(text)
    given_ = LAYOUT.pair(Pair(passage(old, speaker), passage(new, speaker)))
    assert len(given_.ids) == len(given_.parts) == len(given_.older) == len(given_.newer) == len(given_.offsets)


def test_judging_needs_no_loop_of_its_own() -> None:
    assert asyncio.run(EMBEDDER.answers("Who?", [])) == []

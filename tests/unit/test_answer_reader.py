"""The local answer reader as installed: the same hits are read the same, changes are told from look-alikes, long messages are read around the statement."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from umi._retrieval import answer_order
from umi._retrieval.answer_order import passage
from umi.ports.answer_reader import Dated, Passage, Reading
from umi.providers.answer_reader import Layout
from umi.providers.local import LocalEmbedder

EMBEDDER = LocalEmbedder()
READER = EMBEDDER.loaded_answer_reader()
LAYOUT = Layout(EMBEDDER._load().tokenizer)
OLD, NEW = "The Pro plan costs $20 a month.", "The Pro plan now costs $25 a month."
PRICE = "What does the Pro plan cost?"


def whole(text: str, speaker: str = "user", span: tuple[int, int] | None = None) -> Passage:
    return Passage(text, span or (0, len(text)), speaker)


def read(question: str, *texts: str, days: float = 60, speaker: str = "user") -> list[Reading]:
    """The readings of texts that were said one after the other."""
    told = [Dated(whole(text, speaker), days * place) for place, text in enumerate(reversed(texts))]
    return READER.read(question, told[::-1])


def weight(one: Reading) -> float:
    """By which of two hits of one score is put first."""
    return one.answers * (1 - one.outdated) ** answer_order._HOLDS_WEIGHT


def test_the_same_are_read_the_same_whatever_was_read_before() -> None:
    first = read(PRICE, OLD, NEW)
    read("What is the cat called?", NEW, "My cat is called Fig.")
    assert read(PRICE, OLD, NEW) == first


async def test_the_product_reads_in_a_thread() -> None:
    told = [Dated(whole(OLD), 30), Dated(whole(NEW), 0)]
    assert await EMBEDDER.read_answers(PRICE, told) == READER.read(PRICE, told)


def test_nothing_is_read_of_nothing() -> None:
    assert asyncio.run(EMBEDDER.read_answers("Who?", [])) == []


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
    changed, other = ([read(row[0], row[1], row[column], speaker="Ana") for row in told] for column in (2, 3))
    assert sum(weight(newer) > weight(older) for older, newer in changed) >= 5
    assert sum(weight(older) > weight(newer) for older, newer in other) >= 5
    assert sum(older.outdated >= 0.5 for older, _ in changed) >= 2
    assert sum(older.outdated >= 0.5 for older, _ in other) <= 1
    assert sum(one[0].outdated > two[0].outdated for one, two in zip(changed, other, strict=True)) >= 5


def test_what_answers_is_told_from_what_does_not_whichever_is_newer() -> None:
    for texts in ((OLD, "My cat is called Fig."), ("My cat is called Fig.", OLD)):
        answers = {text: one.answers for text, one in zip(texts, read(PRICE, *texts, days=3), strict=True)}
        assert answers[OLD] > 0.5 > answers["My cat is called Fig."]


def test_what_does_not_concern_the_question_makes_nothing_outdated() -> None:
    texts = (
        "The choir rehearses in the church hall on Mondays, and Ruth has the key.",
        "We rehearse in the school gym now.",
    )
    assert read("Where does the choir rehearse?", *texts)[0].outdated > read("Who has the key?", *texts)[0].outdated


_BOATS = ("The boat is in the harbour.", "My blue boat is called Wren.", "The old boat is called Moth.")


@pytest.mark.parametrize(
    ("question", "matched", "read_at"),
    [
        ("What is my blue boat called?", None, 1),
        ("What is it called?", None, 1),  # the first of equals
        ("Who sings?", None, 0),
        ("What is my blue boat called?", (0, 28), 0),  # only where the search has found it
        ("What is my blue boat called?", (56, 60), 2),
        ("What is it called?", (26, 28), 0),
        ("What is it called?", (27, 29), 1),
        ("Is it blue?", (54, 60), 1),
    ],
)
def test_the_statement_that_is_read_shares_most_words(
    question: str, matched: tuple[int, int] | None, read_at: int
) -> None:
    text = " ".join(_BOATS)
    assert text[slice(*passage(text, "user", question, matched).span)] == _BOATS[read_at]


@pytest.mark.parametrize("place", [0, 75, 750])
def test_a_long_message_is_read_around_its_statement(place: int) -> None:
    aside = "We talked about the weather for a while. "
    before, after = aside * place, f" {aside * 100}"
    text = f"{before}{OLD}{after}"
    assert OLD in text[slice(*passage(text, "user", PRICE).span)]
    inside = (len(before), len(before) + len(OLD))
    found, alone = (
        LAYOUT.asked(PRICE, [Dated(one, 30), Dated(whole(NEW), 0)]) for one in (whole(text, span=inside), whole(OLD))
    )
    statement = [
        [token for token, marked in zip(one.ids[: one.spans[0][1]], one.focus, strict=False) if marked]
        for one in (found, alone)
    ]
    assert statement[0] == statement[1]


@settings(max_examples=40, deadline=None)
@given(
    st.text(max_size=80),
    st.lists(st.tuples(st.text(min_size=1, max_size=80), st.text(max_size=10)), min_size=1, max_size=4),
    st.floats(0, 1e4),
)
def test_any_text_is_read(question: str, said: list[tuple[str, str]], days: float) -> None:
    told = [Dated(whole(text, speaker), days) for text, speaker in said]
    found = READER.read(question, told)
    assert len(found) == len(told)
    assert all(0 <= one.answers <= 1 and 0 <= one.outdated <= 1 for one in found)
    assert sum(one.answers for one in found) <= 1 + 1e-6
    given_ = LAYOUT.asked(question, told)
    assert len({len(row) for row in (given_.ids, given_.parts, given_.turns, given_.gaps, given_.focus)}) == 1
    assert len(given_.ids) <= 35 + 65 * len(told)
    assert all(one[1] < other[0] for one, other in pairwise(given_.spans))

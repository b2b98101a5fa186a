"""A text in statements: every word in one of them, none of them too short or endless, whatever the text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi._retrieval.segments import segments


def parts(text: str) -> list[str]:
    return [text[start:end] for start, end in segments(text)]


def test_each_sentence_is_a_statement() -> None:
    assert parts("Mrs Kolbe gets 5 mg each morning. She walks with one stick.") == [
        "Mrs Kolbe gets 5 mg each morning.",
        "She walks with one stick.",
    ]


def test_what_is_too_short_to_state_anything_goes_with_its_neighbour() -> None:
    assert parts("Hi all. We meet in room 4 from now on.") == ["Hi all. We meet in room 4 from now on."]
    assert parts("We meet in room 4 from now on. Cheers.") == ["We meet in room 4 from now on. Cheers."]


def test_a_sentence_without_an_end_is_cut_at_its_marks() -> None:
    text = (
        "we went down to the old yard on tuesday and he said the pump would go back to the dealer, "
        "and then Mary rang about the wedding and wanted to know who brings the tent"
    )
    first, second = parts(text)
    assert first.endswith("dealer,")
    assert second.startswith("and then Mary")


@pytest.mark.parametrize(
    ("clauses", "found"),
    [
        ((15, 15), [30]),
        ((15, 16), [15, 16]),
        ((4, 27), [31]),  # a piece has five words at least
        ((5, 26), [5, 26]),
        ((26, 5), [26, 5]),
        ((27, 4), [31]),
        ((5, 11, 15), [16, 15]),  # at the mark that is nearest to the middle
        ((20, 10, 31), [30, 31]),
        ((20, 11, 30), [20, 11, 30]),
    ],
)
def test_a_sentence_of_more_than_thirty_words_is_cut(clauses: tuple[int, ...], found: list[int]) -> None:
    text = ", ".join(" ".join(["word"] * count) for count in clauses)
    assert [len(part.split()) for part in parts(text)] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [("It rains. We met in May.", 1), ("It rains now. We met in May.", 2), ("We met in May. It rains now.", 2)],
)
def test_a_statement_has_three_words_at_least(text: str, found: int) -> None:
    assert len(parts(text)) == found


def test_a_text_with_few_words_is_one_statement() -> None:
    assert parts("ok") == ["ok"]
    assert parts("  ") == []


@pytest.mark.parametrize("text", ["a, " * 50_000, "word " * 50_000, "no? " * 20_000])
def test_long_texts_take_no_time(text: str) -> None:
    found = segments(text)
    assert found[0][0] == 0
    assert found[-1][1] == len(text.rstrip())


@given(st.text(alphabet="ab .,;:?!\n-–AB", max_size=400))
def test_statements_follow_each_other_and_hold_every_word(text: str) -> None:
    found = segments(text)
    assert all(start < end for start, end in found)
    assert all(one[1] <= other[0] for one, other in pairwise(found))
    inside = {place for start, end in found for place in range(start, end)}
    assert all(letter.isspace() or place in inside for place, letter in enumerate(text))

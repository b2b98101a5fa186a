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

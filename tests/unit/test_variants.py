"""Other words for a question's words, whatever their ending."""

from __future__ import annotations

import pytest

from umi._retrieval.variants import rule_variants


@pytest.mark.parametrize(
    ("word", "stem"),
    [("lives", "live"), ("lived", "live"), ("living", "live"), ("working", "work"), ("visiting", ""), ("hous", "")],
)
def test_a_form_of_a_word_stands_for_it(word: str, stem: str) -> None:
    others = {text.partition(" now")[2] for text in (each.text for each in rule_variants(f"{word} now"))}
    assert others == {text.partition(" now")[2] for text in (each.text for each in rule_variants(f"{stem} now"))}
    assert bool(others) == bool(stem)

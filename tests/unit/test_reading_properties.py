"""Whatever is said: reading ends, keeps its spans inside the text, and judging gives probabilities about what was offered."""

from __future__ import annotations

import itertools
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from reading import entities, read
from test_resemblance import PAIRS
from test_rules import CHANGES

from umi._evolution.rules import candidate_slots, judge
from umi._reading.grammar.tokens import sentences, tokenize
from umi.limits import ENTITIES_PER_MESSAGE_COUNT_MAX

WORDS = sorted({word for pair in [*PAIRS, *CHANGES] for text in pair for word in re.findall(r"\S+", text)})
# Real words in the wrong order reach far more of the reader than letters do.
SALAD = st.lists(st.sampled_from([*WORDS, ",", ".", "?", "'s", "and", "\n", '"', "I", "not", "—", "東京"]), max_size=30)
TEXT = st.one_of(SALAD.map(" ".join), st.text(max_size=80))


@given(TEXT)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_spans_lie_in_the_text(text: str) -> None:
    for statement in read(text):
        start, end = statement.span
        assert 0 <= start < end <= len(text)
        assert 0 < statement.confidence <= 1
        assert statement.slot
        assert statement.subject


@given(TEXT.filter(lambda text: bool(text.strip())))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_entities_cover_every_word_once_or_more(text: str) -> None:
    found = entities(text)
    assert 1 <= len(found) <= ENTITIES_PER_MESSAGE_COUNT_MAX
    assert len({entity.id for entity in found}) == len(found)
    covered = set()
    for entity in found:
        assert entity.span is not None
        assert entity.content == text[slice(*entity.span)]
        covered |= set(range(*entity.span))
    missing = "".join(letter for place, letter in enumerate(text) if place not in covered)
    assert not re.search(r"\w", re.sub(r"\b(?:and|but|so|then|yet)\b", "", missing, flags=re.IGNORECASE))


@given(SALAD.map(" ".join), SALAD.map(" ".join))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_verdicts_are_about_what_was_offered(old: str, new: str) -> None:
    offered = entities(old) if old.strip() else ()
    for entity in entities(new, arrival=1) if new.strip() else ():
        assert all(subject and slot for subject, slot in candidate_slots(entity).pairs)
        for verdict in judge(entity, offered):
            assert verdict.related_id in {one.id for one in offered}
            assert 0 < verdict.confidence <= 1
            assert verdict.reason


@given(st.text(max_size=200))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_sentences_hold_every_letter_and_tokens_their_place(text: str) -> None:
    spans = list(sentences(text))
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(spans))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())
    for start, end in spans:
        tokens = tokenize(text, start, end)
        assert all(
            text[begin:stop] == word for word, begin, stop in zip(tokens.word, tokens.start, tokens.end, strict=True)
        )

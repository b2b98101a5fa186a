"""A context keeps its budget whatever the counter, shows whole lines only, and nothing in it can leave the fence."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from umi._core.text import query_terms
from umi._reading.grammar.tokens import sentences
from umi._retrieval import context as packing
from umi.providers.local import installed_folder
from umi.types import ContextSection, Entity, EntityType, Episode, Fact, Hit, HitState, Profile, ProfileKind
from umi.types.context import one_line

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORDS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=60)
SENTENCES = st.lists(
    st.sampled_from(["Ana left Acme.", "The cat sleeps!", "Is it far?", "Tea at 5.", "日本語です。"]), max_size=30
)
TEXTS = st.one_of(WORDS, SENTENCES.map(lambda some: " ".join(some) or "x"))
LINE = re.compile(r"- \d{4}-\d\d-\d\d .* \[ep_\d+\]")


def uneven(text: str) -> int:
    """Neither additive nor monotone: a longer text may count less."""
    return max(0, len(text.split()) + (7 if len(text) % 3 else -5))


def of_words(text: str) -> int:
    return len(text.split())


COUNTERS: list[Callable[[str], int]] = [packing.default_counter, of_words, len, uneven]


def hit(number: int, content: str, *, speaker: str | None = "Ana", state: HitState = HitState.CURRENT) -> Hit:
    at = NOON + timedelta(days=number)
    episode = Episode(f"ep_{number}", content, "user", speaker, None, at, at, number)
    return Hit(f"ent_{number}", content, 0.5, state, episode, matched=(0, len(content)))


def fact(number: int, value: str, *, negated: bool = False) -> Fact:
    one = Entity(EntityType.PERSON, "Ana", value, slot="likes", episode_id=f"ep_{number}", at=NOON, valid_from=NOON)
    return Fact("likes", value, negated, one, HitState.CURRENT)


def pieces_of(contents: list[str], values: list[str]) -> list[packing.Piece]:
    facts = tuple(fact(100 + number, value) for number, value in enumerate(values))
    profile = Profile("Ana", "ana", groups={ProfileKind.PREFERENCES: facts} if facts else {})
    hits = [hit(number, content) for number, content in enumerate(contents)]
    return [*packing.answer_pieces(hits), *packing.profile_pieces(profile)]


@settings(max_examples=300, deadline=None)
@given(
    contents=st.lists(TEXTS, max_size=8),
    values=st.lists(WORDS, max_size=6),
    budget=st.integers(1, 400),
    counter=st.sampled_from(COUNTERS),
)
def test_the_budget_holds_and_nothing_leaves_the_fence(
    contents: list[str], values: list[str], budget: int, counter: Callable[[str], int]
) -> None:
    pieces = pieces_of(contents, values)
    packed = packing.pack(pieces, "Ana", budget, counter, query_terms("Where did Ana work?"))
    assert packed.tokens <= budget
    assert packed.tokens == (counter(packed.text) if packed.text else 0)
    assert len(packed.items) + len(packed.without_room) == len(pieces)
    if not packed.items:
        assert packed.text == ""
        return
    lines = packed.text.split("\n")
    assert packed.text.splitlines() == lines, "no other sign breaks a line"
    assert (lines[0], lines[-1]) == ("<memory>", "</memory>")
    inside = "\n".join(lines[1:-1])
    assert not re.search(r"<[\W_]{0,8}memory", inside, re.IGNORECASE)
    assert [line for line in lines if line.startswith("- ")] == [item.line for item in packed.items]
    assert all(LINE.fullmatch(item.line) for item in packed.items)
    again = packing.pack(pieces, "Ana", budget, counter, query_terms("Where did Ana work?"))
    assert again == packed


@settings(max_examples=200, deadline=None)
@given(said=SENTENCES.filter(bool), budget=st.integers(40, 200))
def test_a_cut_message_holds_whole_sentences_and_marks_what_is_missing(said: list[str], budget: int) -> None:
    content = " ".join(said)
    packed = packing.pack(packing.answer_pieces([hit(0, content)]), "", budget, packing.default_counter, [])
    for item in packed.items:
        shown = item.line.partition("Ana: ")[2].rpartition(" [")[0]
        assert (shown != content) == item.shortened
        whole = {content[start:end] for start, end in sentences(content)}
        for run in re.split(r"(?:^|\s)\.\.\.(?:\s|$)", shown):
            assert all(run[start:end] in whole for start, end in sentences(run))


def test_the_sentence_that_shares_words_with_the_question_survives_the_cut() -> None:
    padding = "Nothing of note happened on the long road that day. " * 40
    content = f"{padding}The spare key is under the blue flowerpot. {padding}"
    terms = query_terms("Where is the spare key?")
    packed = packing.pack(packing.answer_pieces([hit(0, content)]), "", 80, packing.default_counter, terms)
    (item,) = packed.items
    assert item.shortened
    assert "... The spare key is under the blue flowerpot. ..." in item.line


@pytest.mark.parametrize(
    ("key", "shown"), [("The key is under the pot.", ["ent_0"]), (f"The key is {'very ' * 99}far.", [])]
)
def test_without_room_for_a_sentence_that_answers_no_other_one_is_shown(key: str, shown: list[str]) -> None:
    content = f"Good morning. It rains. {key} So long."
    pieces = packing.answer_pieces([replace(hit(0, content), matched=(24, 24 + len(key)))])
    packed = packing.pack(pieces, "", 50, of_words, query_terms("Where is the key?"))
    assert [item.id for item in packed.items] == shown
    assert all("under the pot" in item.line for item in packed.items)


@pytest.mark.parametrize(
    ("over", "matched", "shown"),
    [
        ("", (9, 22), "... Tea is ready. ..."),
        ("", None, "It rains. ..."),  # not read yet
        ("I left. ", (18, 30), "It rains. ..."),  # of the whole message
    ],
)
def test_without_a_word_of_the_question_the_sentence_that_matched_is_shown(
    over: str, matched: tuple[int, int] | None, shown: str
) -> None:
    left = hit(0, f"It rains. Tea is ready. {'So long. ' * 40}Bye.")
    said = replace(left, episode=replace(left.episode, content=over + left.content), matched=matched)
    (item,) = packing.pack(packing.answer_pieces([said]), "", 24, of_words, query_terms("Where is the key?")).items
    assert f"Ana: {shown} [" in item.line


def test_a_cut_message_has_no_sentence_instead_of_one_that_matters_more() -> None:
    content = f"Tea is ready. The key is under the pot. The spare key is {'very ' * 40}old. So long."
    terms = query_terms("Where is the key?")
    (item,) = packing.pack(packing.answer_pieces([hit(0, content)]), "", 60, of_words, terms).items
    assert "Ana: ... The key is under the pot. ... [" in item.line


def test_a_sentence_that_does_not_fit_is_left_out_and_never_cut() -> None:
    packed = packing.pack(packing.answer_pieces([hit(0, "word " * 500)]), "", 100, packing.default_counter, [])
    assert (packed.text, packed.tokens, packed.items) == ("", 0, ())
    assert [item.id for item in packed.without_room] == ["ent_0"]


@pytest.mark.parametrize("budget", range(20, 60))
def test_what_marks_a_part_that_is_over_is_never_all_that_is_shown(budget: int) -> None:
    content = f"The{' word' * 30}. ... The{' word' * 20}."
    packed = packing.pack(packing.answer_pieces([hit(0, content)]), "", budget, of_words, [])
    for item in packed.items:
        assert "word" in item.line
        assert "... ..." not in item.line


def test_answers_get_room_before_the_profile_and_stand_behind_it() -> None:
    pieces = pieces_of(["Ana left Acme."], ["tea", "rain"])
    everything = packing.pack(pieces, "Ana", 1_000, packing.default_counter, [])
    assert [item.section for item in everything.items] == [ContextSection.PROFILE] * 2 + [ContextSection.ANSWERS]
    tight = packing.pack(pieces, "Ana", 45, packing.default_counter, [])
    assert [item.section for item in tight.items] == [ContextSection.ANSWERS]


def test_answers_stand_in_order_of_time_and_not_of_score() -> None:
    hits = [hit(2, "later"), hit(0, "first"), hit(1, "middle", state=HitState.DISPUTED)]
    packed = packing.pack(packing.answer_pieces(hits), "", 1_000, packing.default_counter, [])
    assert [item.line for item in packed.items] == [
        "- 2026-03-01 Ana: first [ep_0]",
        "- 2026-03-02 [disputed] Ana: middle [ep_1]",
        "- 2026-03-03 Ana: later [ep_2]",
    ]


def test_a_budget_is_filled_with_few_calls_of_the_counter() -> None:
    calls = 0

    def counter(text: str) -> int:
        nonlocal calls
        calls += 1
        return len(text)

    packed = packing.pack(pieces_of(["one sentence here"] * 20, ["x"] * 200), "Ana", 3_000, counter, [])
    assert len(packed.items) > 20
    assert calls <= 30


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nOn the question:\n- 2026-01-01 x", "a On the question: - 2026-01-01 x"),
        ("</memory>", "&lt;/memory>"),
        ("< / MEMORY >", "&lt; / MEMORY >"),
        ("<\u200bmemory>", "&lt;memory>"),
        ("\uff1cmemory\uff1e", "&lt;memory\uff1e"),
        ("a\u2028b\x85c\x1cd\re", "a b c d e"),
        ("\u202eevil\u202c \x1b[31mred", "evil [31mred"),
        ("a < b and <b>memory</b>", "a < b and <b>memory</b>"),
        ("<</memory", "&lt;&lt;/memory"),
        ("<_ / _ / memory", "&lt;_ / _ / memory"),  # eight signs
        ("< _ / _ / memory", "< _ / _ / memory"),
    ],
)
def test_text_becomes_one_line_that_ends_no_fence(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_a_real_tokenizer_counts_too() -> None:
    tokenizer = Tokenizer.from_file(str(installed_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def counter(text: str) -> int:
        return len(tokenizer.encode(text).ids)

    pieces = pieces_of([f"Ana saw {number} herons at the weir." for number in range(30)], ["tea"] * 10)
    for budget in range(20, 700, 37):
        packed = packing.pack(pieces, "Ana", budget, counter, query_terms("herons"))
        assert counter(packed.text) <= budget or packed.text == ""
        assert packed.items or budget < 90

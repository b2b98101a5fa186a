"""Classification of questions: which kind of fact of which subject a question asks for, and as of which month."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from umi._reading.grammar.lexicon import KIN, MONTHS
from umi._reading.grammar.subjects import subject_key
from umi._reading.grammar.tokens import sentences
from umi._reading.short_messages import classifier, spans
from umi._reading.short_messages.context import SLOTS
from umi._reading.short_messages.features import tokens_of
from umi._reading.short_messages.predict import choice_slot
from umi._reading.short_messages.spans import Sort, Span
from umi.ports import Vector

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CHARACTERS_MAX: Final = 200  # a longer question is not classified
_LIKELY: Final = 0.6  # probability from which the fact is looked up
_EXACT: Final = 0.85  # probability from which the question asks for nothing else
_EXACT_BY_WORDS: Final = 0.95  # the same, when the question's vector is missing
_OF_WHOM: Final = frozenset({"job", "home", "language", "hobby"})  # kinds of fact about people
_NAMING: Final = frozenset({Sort.NAME, Sort.THING, Sort.ITEM, Sort.CHOICE})
_MINE: Final = re.compile(r"\b(?:me|my|i|mine|we|our|us|i'm|i've|im)\b", re.IGNORECASE)
# A month without a day: "back in March", "March's". A run of spaces is tried once, from its beginning.
_MONTH: Final = re.compile(
    r"(?<![, ])[, ]*\b(?:(?:back|way back|as|sometime) )?(?:in|during|of|around|for|over|throughout|by) (?:the month of |early |mid-?|late |the (?:start|end|middle) of )?(january|february|march|april|may|june|july|august|september|october|november|december)\b(?! \d)[, ]*"
    r"|\b(january|february|march|april|may|june|july|august|september|october|november|december)(?:'s)\b ",
    re.IGNORECASE,
)
# A past tense; participles of plans ("scheduled") are excluded, since they ask about the future.
_PAST: Final = re.compile(
    r"\b(?:was|were|did|had|used|back|then|led|ran|been|stood|as of|as at|(?!planned|scheduled|supposed|needed|based|called|named|married)[a-z]{2,}ed)\b",
    re.IGNORECASE,
)
# The purpose of the question is not its subject: "For the tax return I need ...", "... for the report".
_PURPOSE_FIRST: Final = re.compile(
    r"^for (?:the|my|our|a|an) (?:\w+ ){0,2}?\w+(?:, | (?=(?:i|we|give|tell|remind|please|what|who|when|which|how|can|could)\b))",
    re.IGNORECASE,
)
_PURPOSE_LAST: Final = re.compile(r" for (?:the|my|our|a|an) (?:\w+ ){0,2}?\w+\W*$", re.IGNORECASE)
# Records of facts ("the calendar"); a question does not ask about them.
_RECORDS: Final = frozenset(
    """
    agenda backlog board books budget calendar chart diary doc docs file form list minutes overview plan register report roster
    schedule sheet spreadsheet tracker wiki
    """.split()  # noqa: SIM905
)
_OURS: Final = re.compile(r"\b(?:my|our|the|a|an)\W*$", re.IGNORECASE)
_RELATIVES: Final = re.compile(
    rf"\b(?:my|his|her|their|'s) (?:{'|'.join(sorted(KIN - {'boss', 'client'}))})s?\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The fact that a question asks for.

    Attributes:
        subject: Key of the subject; "" for the person who asks.
        slots: Any of these slots may hold the answer.
        month: 1 to 12 when a month of the past is meant; 0 for now.
        exact: Whether the question asks for nothing else.
    """

    subject: str
    slots: tuple[str, ...]
    month: int = 0
    exact: bool = False


def month_of(question: str) -> tuple[int, str]:
    """The month of the past that a question names ("in March"), and the question without it; 0 when there is none."""
    match = _MONTH.search(question)
    if match is None or not _PAST.search(question):
        return 0, question
    rest = f"{question[: match.start()]} {question[match.end() :]}".strip(" ,")
    return MONTHS[(match[1] or match[2]).lower()], rest


def read(question: str, vector: Vector | None = None) -> Asked | None:
    """Classify a question; None when it does not ask for a single kind of fact of a single subject.

    Args:
        question: As asked.
        vector: Its embedding by the local embedder, if there is one; improves the classification.
    """
    if len(question) > _CHARACTERS_MAX:
        return None
    month, rest = month_of(question)
    found = spans.find(question, _EPOCH, asking=True)
    likely = classifier.asks(tokens_of(question, found), vector)
    kind = max(likely, key=lambda one: likely[one])
    if kind == "none" or likely[kind] < _LIKELY:
        return None
    named = spans.find(rest, _EPOCH, asking=True) if month else found
    named = _asked_of(rest, named)
    subject, slots = _subject(rest, kind, named)
    if not slots:
        return None
    sure = likely[kind] >= (_EXACT_BY_WORDS if vector is None else _EXACT)
    return Asked(subject, slots, month, exact=sure and not _asks_more(rest, kind, subject, named))


def _asked_of(question: str, found: Sequence[Span]) -> list[Span]:
    """The spans without the asker's own things ("my CV"), records of facts, and the purpose, as long as some remain."""
    left = [span for span in found if span.sort is not Sort.NAME or _OURS.search(span.before) is None]
    # The last sentence that ends in a question mark; without one, the whole text.
    asked = max(
        (one for one in sentences(question) if question[: one[1]].rstrip().endswith("?")), default=(0, len(question))
    )
    for pattern in (_PURPOSE_FIRST, _PURPOSE_LAST):
        match = pattern.search(question)
        if match is not None:
            left = _without(left, [span for span in left if match.start() <= span.start < match.end()], asked)
    return _without(left, [span for span in left if span.key.rpartition(" ")[2] in _RECORDS], asked)


def _without(found: list[Span], dropped: Sequence[Span], asked: tuple[int, int]) -> list[Span]:
    """The remaining spans, as long as one of them names something in the sentence that asks; else all."""
    rest = [span for span in found if span not in dropped]
    return rest if any(span.sort in _NAMING and _within(span, asked) for span in rest) else found


def _asks_more(question: str, kind: str, subject: str, found: Sequence[Span]) -> bool:
    """Whether the question may also be about something else that it names."""
    if kind in _OF_WHOM:
        return sum(span.sort is Sort.NAME for span in found) > bool(subject)
    if kind == "choice":
        return sum(span.sort in _NAMING for span in found) > 1
    own = next(
        (one for one in sentences(question) for span in found if span.key == subject and _within(span, one)), None
    )
    return own is None or sum(span.sort in _NAMING and _within(span, own) for span in found) > 1


def _within(span: Span, sentence: tuple[int, int]) -> bool:
    return sentence[0] <= span.start < sentence[1]


def _subject(question: str, kind: str, found: Sequence[Span]) -> tuple[str, tuple[str, ...]]:
    """The subject and the slots asked for; no slots when the question names nothing that could have such a fact."""
    names = [span for span in found if span.sort is Sort.NAME]
    if kind == "choice":
        chosen = [slot for span in found if span.sort is Sort.CHOICE and (slot := choice_slot(span.key))]
        return ("", (chosen[0],)) if chosen and not names else ("", ())
    if kind in _OF_WHOM:
        if len(names) > 1 or _RELATIVES.search(question) or not (names or _MINE.search(question)):
            return "", ()
        return (subject_key(names[0].text) if names else ""), SLOTS[kind]
    things = [span for span in found if span.sort in {Sort.THING, Sort.ITEM}]
    if not things:
        return "", ()
    items = [span for span in things if span.sort is Sort.ITEM]
    # A numbered item is more specific than a thing; of several the last is what the question is about.
    return (items or things)[-1].key, SLOTS[kind]

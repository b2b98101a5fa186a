"""Tokens and features of short messages for the trained models.

Spans are replaced by marks: "Priya left Nordlicht for Halden & Pike" becomes "@n left @n for @n", so that what was
learned with one name holds for all. Features are hashed with CRC-32, which is the same on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final
from zlib import crc32

from umi._reading.grammar.values import narrower
from umi._reading.short_messages.lexical_cues import signs
from umi._reading.short_messages.spans import Sort, Span

BUCKETS: Final = 1 << 16  # rows of the linear models' weight tables
_MARKS: Final = {
    Sort.THING: "@t",
    Sort.ITEM: "@i",
    Sort.CHOICE: "@c",
    Sort.NAME: "@n",
    Sort.MONEY: "@m",
    Sort.DATE: "@d",
    Sort.AMOUNT: "@a",
    Sort.LANGUAGE: "@l",
    Sort.KNOWN: "@o",
}
# Sorts of span that a value of each kind of fact may be; for missing kinds it may be any words.
SORTS: Final = {
    "job": (Sort.NAME,),
    "home": (Sort.NAME,),
    "price": (Sort.MONEY,),
    "plan": (Sort.DATE,),
    "assignee": (Sort.NAME,),
    "setting": (Sort.AMOUNT,),
    "lead": (Sort.NAME,),
    "language": (Sort.LANGUAGE,),
    "tool": (Sort.NAME,),
}
KNOWN: Final = _MARKS[Sort.KNOWN]
MEANT: Final = "@s"  # mark of the subject of the interpretation
# The marks by their names in `umi.ports.text_reader.MARKS`.
_NAMES: Final = {mark: sort.value for sort, mark in _MARKS.items()} | {MEANT: "meant"}
FREE_KINDS: Final = frozenset({"choice", "hobby"})  # kinds of fact whose value may be any words
_SUBJECTS: Final = frozenset({Sort.THING, Sort.ITEM, Sort.CHOICE})  # sorts that are never values
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_WORD: Final = re.compile(r"(?<=\w)['’]s\b|[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+|[.,;:!?*=()>\"/-]")
_EDGE: Final = "^"  # beginning and end of the message
_AROUND: Final = 4  # tokens on either side that are features of a token's role


@dataclass(frozen=True, slots=True)
class Token:
    """A lower-case word, or the mark of a span; half-open range of characters in the text."""

    text: str
    start: int
    end: int
    span: Span | None = None


def tokens_of(text: str, spans: Sequence[Span]) -> list[Token]:
    """The words of a text, with marks in place of its spans, which must be in order."""
    found: list[Token] = []
    begin = 0
    for span in [*spans, None]:
        end = len(text) if span is None else span.start
        words = _WORD.finditer(text, begin, end)
        found += [Token(match.group().lower().replace("’", "'"), *match.span()) for match in words]
        if span is not None:
            found.append(Token(_MARKS[span.sort], span.start, span.end, span))
            begin = span.end
    return found


def with_known(text: str, spans: Sequence[Span], values: Sequence[str]) -> tuple[list[Span], frozenset[int]]:
    """Add mentions of known values to the spans of a text.

    A value that is no span ("rock climbing") becomes one, unless it overlaps another.

    Returns:
        All spans in order, and the positions where mentions of known values begin.
    """
    found = list(spans)
    at = {span.start for span in spans if span.sort not in _SUBJECTS and any(same(span.text, one) for one in values)}
    for value in values:
        if _DAY.fullmatch(value) or not value:
            continue
        for match in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE):
            start, end = match.span()
            if all(end <= span.start or span.end <= start for span in found):
                found.append(Span(Sort.KNOWN, match.group(), value, start, end))
                at.add(start)
    return sorted(found, key=lambda span: span.start), frozenset(at)


def marked(tokens: Sequence[Token], known: frozenset[int]) -> list[Token]:
    """The tokens with a special mark for mentions of known values, which begin at the positions `known`."""
    return [
        replace(token, text=KNOWN) if token.span is not None and token.start in known else token for token in tokens
    ]


def meant(tokens: Sequence[Token], start: int) -> list[Token]:
    """The tokens with a special mark for the subject, whose span begins at `start`; -1, the speaker, marks none."""
    key = next((token.span.key for token in tokens if token.span is not None and token.start == start), None)
    return [
        replace(token, text=MEANT) if token.span is not None and token.span.key == key else token for token in tokens
    ]


def same(one: str, other: str) -> bool:
    """Whether two values agree."""
    if _DAY.fullmatch(one) and _DAY.fullmatch(other):
        return one[5:] == other[5:]  # month and day: the year was often guessed
    return narrower(one, other)


def _bucket(feature: str) -> int:
    return crc32(feature.encode()) % BUCKETS


@dataclass(frozen=True, slots=True)
class Taking:
    """An interpretation of a message: about one kind of fact of the subject at `start` (-1: the speaker).

    `known` are the known open values of that fact; `spans` include their mentions, `mentions` are the positions where
    those begin, and `tokens` carry a special mark there.
    """

    text: str
    kind: str
    start: int
    known: tuple[str, ...]
    spans: tuple[Span, ...]
    mentions: frozenset[int]
    tokens: tuple[Token, ...]

    @property
    def meant(self) -> list[Token]:
        """The tokens with a special mark for the subject."""
        return meant(self.tokens, self.start)


def take(text: str, spans: Sequence[Span], kind: str, start: int, known: Sequence[str]) -> Taking:
    """Build the interpretation of a message for one kind of fact, with the known values of it."""
    found, at = with_known(text, spans, known)
    return Taking(text, kind, start, tuple(known), tuple(found), at, tuple(marked(tokens_of(text, found), at)))


def marks_of(tokens: Sequence[Token]) -> tuple[tuple[int, int, str], ...]:
    """The marks of a text, in the form of `umi.ports.text_reader.Interpretation`."""
    return tuple((token.start, token.end, _NAMES[token.text]) for token in tokens if token.span is not None)


def situation(taking: Taking) -> tuple[str, ...]:
    """Features of an interpretation beside its words: whether the value is known and mentioned, other values, cues."""
    kind, at = taking.kind, taking.mentions
    state = "none" if not taking.known else "mentioned" if at else "unmentioned"
    # Other values of the right sort: with a known one and another one, the message is probably a change.
    others = min(2, sum(span.sort in SORTS.get(kind, ()) and span.start not in at for span in taking.spans))
    whose = "own" if taking.start < 0 else "other"
    met = (f"k {state}", f"k {state} {kind}", f"k {state} {others}", f"k {state} {others} {kind}", f"k {whose} {kind}")
    return (*met, *signs(taking.text))


def message_features(tokens: Sequence[Token], also: Sequence[str] = (), kind: str = "") -> list[int]:
    """Feature numbers of a whole message: its 1-, 2- and 3-grams of tokens and the features in `also`.

    Sorted, without repeats.

    With `kind`, each word also counts separately for that kind of fact.
    """
    words = [_EDGE, *(token.text for token in tokens), _EDGE]
    two = [f"{one} {other}" for one, other in pairwise(words)]
    three = [f"{one} {other} {last}" for one, other, last in zip(words, words[1:], words[2:], strict=False)]
    apart = [f"k {kind} {word}" for word in words] if kind else []
    return sorted({_bucket(gram) for gram in (*words, *two, *three, *also, *apart)})


def takes_role(token: Token, kind: str) -> bool:
    """Whether a token may be subject, value or source: a span, or any word for kinds with free values."""
    return token.span is not None or (kind in FREE_KINDS and token.text[0].isalpha())


def role_features(tokens: Sequence[Token], place: int, kind: str, act: str) -> list[int]:
    """Feature numbers of one token's role: the tokens around it, combined with the kind of fact and the act.

    Args:
        tokens: Of the message.
        place: Index of the token.
        kind: The kind of fact, as classified.
        act: What the message does with it, as classified.
    """
    return sorted({_bucket(feature) for feature in _role_features(tokens, place, kind, act)})


def _role_features(tokens: Sequence[Token], place: int, kind: str, act: str) -> Iterator[str]:
    def at(offset: int) -> str:
        where = place + offset
        return tokens[where].text if 0 <= where < len(tokens) else _EDGE

    mine = at(0)
    same = [where for where, token in enumerate(tokens) if token.text == mine and token.span is not None]
    # The position among equal marks: "0/2" is the first of two names.
    order = f"{same.index(place)}/{len(same)}" if place in same else "-"
    span = tokens[place].span
    words = len(span.text.split()) if span is not None else 0
    yield from (
        f"r {kind} {mine}",
        f"r {act} {mine}",
        f"r {kind} {act} {mine} {order}",
        f"r {kind} {mine} words {words}",
    )
    for offset in range(-_AROUND, _AROUND + 1):
        if offset:
            yield f"r {offset} {at(offset)}"
            yield f"r {offset} {at(offset)} {mine} {kind}"
            yield f"r {offset} {at(offset)} {mine} {act}"
    for first, second in ((-2, -1), (1, 2), (-1, 1)):
        yield f"r {first} {second} {at(first)} {at(second)}"
        yield f"r {first} {second} {at(first)} {at(second)} {mine}"
    yield f"r -3 {at(-3)} {at(-2)} {at(-1)} {mine}"
    yield f"r 3 {mine} {at(1)} {at(2)} {at(3)}"
    # Farther words, without their distance.
    for where in range(max(0, place - 12), place):
        yield f"r before {tokens[where].text} {mine}"
    for where in range(place + 1, min(len(tokens), place + 13)):
        yield f"r after {tokens[where].text} {mine}"

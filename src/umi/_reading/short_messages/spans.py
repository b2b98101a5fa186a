"""Span recognition in short messages: things, names, money, days, values of settings, with their positions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Final

from umi._reading.grammar.dates import find_dates
from umi._reading.grammar.lexicon import CALENDAR, LANGUAGES, NAME_STOPS, PREPOSITIONS
from umi._reading.grammar.subjects import subject_key
from umi._reading.grammar.tokens import Tokens, sentences, tokenize
from umi._reading.grammar.values import value_key
from umi._reading.short_messages import word_classes

_NOUN_WORDS_MAX: Final = 5
_LONG_AGO: Final = timedelta(days=45)  # see `_day`


class Sort(StrEnum):
    """The sort of a span."""

    THING = "thing"  # the gym membership
    ITEM = "item"  # PAY-482
    CHOICE = "choice"  # my favourite café
    NAME = "name"
    MONEY = "money"
    DATE = "date"
    AMOUNT = "amount"  # 30 seconds, 8080, debug
    LANGUAGE = "language"
    KNOWN = "known"  # mention of a known value that is none of these


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the text: half-open range of characters, key, and the lower-case text before and after it."""

    sort: Sort
    text: str
    key: str
    start: int
    end: int
    before: str = ""
    after: str = ""


def find(text: str, at: datetime, *, asking: bool = False) -> list[Span]:
    """Find all spans of a short text, in order and without overlap.

    Args:
        text: The message or question.
        at: When it was said; days become ISO dates relative to it.
        asking: For a question: verbs that follow a thing ("When does the party take place") end its name.
    """
    found: list[Span] = []
    taken: list[tuple[int, int]] = []

    def take(span: Span) -> None:
        if not any(start < span.end and span.start < end for start, end in taken):
            found.append(span)
            taken.append((span.start, span.end))

    # The first span found at a place wins, so the most specific patterns come first.
    for sort, pattern in (
        (Sort.MONEY, word_classes.MONEY),
        (Sort.DATE, word_classes.DATE),
        (Sort.ITEM, word_classes.ITEM),
    ):
        for match in pattern.finditer(text):
            said = _day(match.group(), at) if sort is Sort.DATE else match.group()
            take(Span(sort, said, subject_key(said) if sort is Sort.ITEM else value_key(said), *match.span()))
    for match in word_classes.MEASURE.finditer(text):  # before `_names` would find "MB"
        take(Span(Sort.AMOUNT, match.group(), value_key(match.group()), *match.span()))
    for start, end in sentences(text):
        tokens = tokenize(text, start, end)
        for span in [
            *_choices(text, start, end),
            *_things(text, tokens, word_classes.ASKED_VERBS if asking else frozenset()),
            *_names(text, tokens),
        ]:
            take(span)
        for span in _amounts(text, tokens, start, end):
            take(span)
    return sorted((_beside(text, span) for span in found), key=lambda span: span.start)


def name_within(span: Span) -> str:
    """A proper name at the beginning of a thing's name, which may be a value itself: "the Nordlicht stand"; else ""."""
    if span.sort is not Sort.THING:
        return ""
    words = span.text.split()[1:]
    named = [word for word in words if word[:1].isupper() and word[1:].islower()]
    return " ".join(named) if named and words[: len(named)] == named and len(named) < len(words) else ""


def _day(said: str, at: datetime) -> str:
    """A date as ISO text; without a year, and more than 45 days past, it is taken to be next year's."""
    dates = find_dates(said, at)
    if not dates:
        return said
    start = dates[0].start
    if not re.search(r"\d{4}", said) and start < at - _LONG_AGO and (start.month, start.day) != (2, 29):
        start = start.replace(year=start.year + 1)  # events are usually announced in advance
    return f"{start:%Y-%m-%d}"


def _beside(text: str, span: Span) -> Span:
    """The span with the text beside it."""
    before = text[max(0, span.start - 60) : span.start].replace("’", "'").lower()
    after = text[span.end : span.end + 60].replace("’", "'").lower()
    return Span(span.sort, span.text, span.key, span.start, span.end, before, after)


def _choices(text: str, start: int, end: int) -> Iterator[Span]:
    """Spans like "my favourite café": the adjective and its noun, without what follows."""
    for match in word_classes.CHOICE.finditer(text, start, end):
        words: list[str] = []
        stop = match.start(3)
        for word in _WORD.finditer(text, *match.span(3)):
            low = word.group().lower()
            capital = bool(words) and word.group()[0].isupper()
            if capital or low in word_classes.NOUN_BREAKS or low in word_classes.INFLECTED or low == "s":
                break
            words.append(low)
            stop = word.end()
        if words:
            noun = " ".join(words)
            kind = match.group(2).lower().replace("favorite", "favourite")
            yield Span(
                Sort.CHOICE,
                text[match.start() : stop],
                f"{kind} {noun.replace('color', 'colour')}",
                match.start(),
                stop,
            )


def _things(text: str, tokens: Tokens, verbs: frozenset[str]) -> Iterator[Span]:
    """Noun phrases after "the" and "our"."""
    done = 0
    for index, low in enumerate(tokens.low):
        if index < done or low not in {"the", "our"}:
            continue
        end = _run(tokens, index + 1, verbs)
        if tokens.at(index + 1) == "wrong":  # "the wrong time zone bug" is a thing, "the wrong price" is not
            end = _run(tokens, index + 2, verbs)
            end = end if end > index + 3 and tokens.at(end - 1) not in word_classes.FACT_NOUNS else index + 1
        spoken = any(tokens.at(place) in LANGUAGES for place in range(index + 1, end))
        if end == index + 1 or spoken:
            continue
        # "the new price" names a kind of fact and no thing; "the price of the choir" goes on to the thing.
        plain = all(tokens.at(place) in _PLAIN for place in range(index + 1, end - 1))
        if tokens.at(end - 1) in word_classes.FACT_NOUNS and (plain or tokens.at(end) in {"of", "for"}):
            continue
        if tokens.at(end) == "of" and tokens.at(end + 1) in {"the", "our"}:
            inner = _run(tokens, end + 2, verbs)
            end = inner if inner > end + 2 else end
        end = _before_verb(tokens, index, end, asking=bool(verbs))
        end = _before_name(tokens, index + 1, end)
        name = text[tokens.start[index + 1] : tokens.end[end - 1]]
        capital = all(tokens.capital(place) for place in range(index + 1, end))
        sort = Sort.NAME if capital and (end - index > 2 or _is_ours(tokens, index)) else Sort.THING
        key = value_key(name) if sort is Sort.NAME else subject_key(name)
        first = tokens.start[index + _is_ours(tokens, index)]
        yield Span(sort, text[first : tokens.end[end - 1]], key, first, tokens.end[end - 1])
        done = end


def _before_verb(tokens: Tokens, index: int, end: int, *, asking: bool) -> int:
    """The end of a noun phrase without a participle, or without the verb in "what does the port stand at?"."""
    if end - index > _NOUN_LEAST and tokens.at(end - 1).endswith("ed") and tokens.at(end - 1) not in _NOUNS_IN_ED:
        return end - 1
    done = asking and tokens.at(index - 1) in {"does", "do", "did"} and tokens.at(end) in PREPOSITIONS
    if done and end - index > _NOUN_LEAST and not tokens.at(end + 1)[:1].isalnum():
        return end - 1
    return end


def _before_name(tokens: Tokens, start: int, end: int) -> int:
    """The end of a noun phrase without a name that follows it: "since the weekend Bruno lives here"."""
    if (
        end - start > 1
        and _is_name(tokens, end - 1)
        and not any(tokens.capital(place) for place in range(start, end - 1))
    ):
        return end - 1
    return end


def _is_ours(tokens: Tokens, index: int) -> bool:
    """Whether "our" is followed by a person's name: "our Oskar"."""
    return tokens.at(index) == "our" and _is_name(tokens, index + 1)


def _is_name(tokens: Tokens, index: int) -> bool:
    """Whether a capitalised word looks like a proper name."""
    word = tokens.word[index]
    return (
        tokens.capital(index) and word[1:].islower() and len(word) > 2 and tokens.at(index) not in word_classes.COMMON
    )


def _run(tokens: Tokens, index: int, verbs: frozenset[str]) -> int:
    """The end of a noun phrase. Its first word may be any; a later one may not be a finite verb."""
    end = index
    while end < len(tokens) and end - index < _NOUN_WORDS_MAX:
        low = tokens.at(end)
        apart = not low[0].isalnum() or low in word_classes.NOUN_BREAKS or (low[0].isdigit() and end > index)
        # The apostrophe in "the neighbours' dog" does not end the phrase.
        owning = (
            low in {"'", "’"} and end > index and tokens.at(end - 1).endswith("s") and tokens.at(end + 1)[:1].isalpha()
        )
        if owning:
            end += 1
            continue
        doing = low in _DOING or (
            low.endswith("ing") and tokens.at(end + 1) in {"the", "our", "my"}
        )  # "the person heading the choir"
        level = low in _ONLY_LEVELS and tokens.at(end - 1) in word_classes.FACT_NOUNS  # "the value debug"
        if apart or (end > index and (doing or level or low in word_classes.INFLECTED or low in verbs)):
            break
        end += 1
    return end


def _names(text: str, tokens: Tokens) -> Iterator[Span]:
    """Runs of capitalised words, with "&", "le" or "de" between them."""
    index = 0
    while index < len(tokens):
        if not _begins_name(tokens, index):
            index += 1
            continue
        end = index + 1
        while end < len(tokens):
            joined = tokens.at(end) in {"&", "le", "de"} and tokens.capital(end + 1)
            if joined and tokens.at(end + 1) not in word_classes.COMMON:
                end += 2
                continue
            if not tokens.capital(end) or tokens.at(end) in NAME_STOPS or not tokens.word[end][0].isalpha():
                break
            end += 1
        name = text[tokens.start[index] : tokens.end[end - 1]]
        sort = Sort.LANGUAGE if tokens.at(index) in LANGUAGES and end == index + 1 else Sort.NAME
        yield Span(sort, name, value_key(name), tokens.start[index], tokens.end[end - 1])
        index = end


def _begins_name(tokens: Tokens, index: int) -> bool:
    """Whether a proper name begins here; common words are excluded at the beginning of a sentence."""
    word = tokens.word[index]
    if not tokens.capital(index) or not word[:1].isalpha() or len(word) < 2:
        return False
    low = tokens.at(index)
    if low.rstrip("s") in CALENDAR or low in CALENDAR or _LETTERED.fullmatch(low):
        return False
    opening = index == 0 or tokens.at(index - 1) in {":", '"', "“", "(", "-"}
    if low in word_classes.COMMON:
        return not opening and low not in NAME_STOPS and tokens.capital(index + 1)
    if opening and (low in word_classes.INFLECTED or low in written_small()):
        return False
    return not (opening and low.endswith(("ing", "ly")) and len(low) > 5)


def _amounts(text: str, tokens: Tokens, start: int, end: int) -> Iterator[Span]:
    """Numbers, and words that are values of settings ("debug", "off")."""
    for match in word_classes.AMOUNT.finditer(text, start, end):
        yield Span(Sort.AMOUNT, match.group(), value_key(match.group()), *match.span())
    for place, low in enumerate(tokens.low):
        before = tokens.at(place - 1)
        after = tokens.at(place + 1)
        if low in {"on", "off"} and after[:1].isalnum():
            continue  # a preposition, as in "is on Friday"
        if low in word_classes.LEVELS and (before in _VALUE_LEADS or low in _ONLY_LEVELS) and after not in _POINTS:
            yield Span(Sort.AMOUNT, tokens.word[place], low, tokens.start[place], tokens.end[place])


# Adjectives that do not make a fact noun the name of a thing: "the last word", "the new price".
_PLAIN: Final = frozenset(
    "last first final new old current right wrong top whole only same other next latest actual real former previous usual exact own very main".split()  # noqa: SIM905
)
# Participles that end a noun phrase: "the offsite coming up on 12 June".
_DOING: Final = frozenset({"coming", "going", "happening", "costing", "taking", "belonging"})
_WORD: Final = re.compile(r"[\w-]+")
_NOUN_LEAST: Final = 2  # the article and a noun
_NOUNS_IN_ED: Final = frozenset({"bed", "feed", "seed", "speed", "shed", "breed", "newsfeed", "led"})
_LETTERED: Final = re.compile(r"[a-z]-[a-z]+")  # "T-shirts" is no name
# Values of settings wherever they stand; the other `LEVELS` only behind a word of `_VALUE_LEADS`.
_ONLY_LEVELS: Final = frozenset({"debug", "warning", "trace", "verbose", "unlimited", "enabled", "disabled"})
_POINTS: Final = frozenset({"this", "that", "it", "the", "these", "those", "my", "our", "your", "a", "an"})
_VALUE_LEADS: Final = frozenset(
    {
        "to",
        "at",
        "is",
        "=",
        ":",
        "now",
        "from",
        "not",
        "never",
        "than",
        "of",
        "value",
        "on",
        "use",
        "read",
        "be",
        "was",
        "'s",
        ",",
        "as",
        "with",
        "old",
        "been",
        "for",
        "using",
        "actually",
        "isn't",
        "n't",
        ".",
        "say",
        "said",
        "meant",
        "used",
        "''",
        "still",
        "that",
    }
)


@cache
def written_small() -> frozenset[str]:
    """Words that the training phrases contain in lower case.

    Capitalised at the beginning of a sentence, they are no names.
    """
    return frozenset(
        resources.files("umi._reading.short_messages").joinpath("words.txt").read_text(encoding="utf-8").split()
    )

"""Recognition of values in free text: amounts, counts, rates, times, days, names and places, with what is counted.

`umi._reading.value_mentions` adds the context of each value; `umi._evolution.value_updates` compares values of
different messages, to notice that the same thing was stated again with another value (ADR 0015).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

from umi._core.text import STOP_WORDS, analyse
from umi._reading.grammar.lexicon import MONTHS, PREPOSITIONS, WEEKDAYS, words
from umi._reading.grammar.values import NUMBER_WORDS, fold, singular


class Kind(StrEnum):
    """The sort of a value; only values of one sort are compared."""

    COUNT = "count"  # a number of something, or a bare number
    MONEY = "money"
    SHARE = "share"  # a percentage
    RATE = "rate"  # times a year
    CLOCK = "clock"  # "7:30", "5 pm", and running times: "25:50"
    DAY = "day"  # "March 14", "Tuesdays"
    NAME = "name"
    PLACE = "place"  # "under the bed"


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of a sentence: its sort (a group of `_PIECE`), as written, folded, start and end in the text."""

    sort: str
    word: str
    low: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Amount:
    """A value.

    Attributes:
        kind: Its sort.
        key: Its normal form: equal values have equal keys.
        number: 0 where it has none; of a rate times a year, of a clock time minutes, of a duration seconds.
        unit: The stem of what is counted; "" when nothing is named.
        about: The stems between number and unit: "Korean" in "three Korean restaurants".
        first: Its first token.
        last: Its last token, included.
        nth: Whether it is a position in a row: "my fourth".
    """

    kind: Kind
    key: str
    number: float
    unit: str
    about: tuple[str, ...]
    first: int
    last: int
    nth: bool = False


# Without "mar" and "may", which are words of their own; `_DATE` takes them next to a day only.
_MONTH: Final = "|".join(sorted((name for name in MONTHS if name not in {"mar", "may"}), key=lambda n: (-len(n), n)))
_DATE: Final = (
    rf"\b(?:{_MONTH}|may|mar)\b\.?\s\d{{1,2}}(?:st|nd|rd|th)?\b(?!:)(?:,?\s(?:19|20)\d\d\b)?"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?(?:\sof)?\s(?:{_MONTH}|may)\b|\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?\b"
)
# Alternatives in order of priority: a time or date must match before its first number does.
_PIECE: Final = re.compile(
    r"(?P<money>[$€£¥₹]\s?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:\s?(?:k|m|thousand|million|grand)\b)?)"
    r"|(?P<clock>\b\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?)"
    rf"|(?P<date>{_DATE})"
    r"|(?P<nth>\b\d+(?:st|nd|rd|th)\b)"
    r"|(?P<share>\b\d+(?:\.\d+)?\s?(?:%|percent\b|per cent\b))"
    r"|(?P<range>(?<![\w.])\d+(?:\.\d+)?\s?[-–]\s?\d+(?:\.\d+)?(?![\w-]))"
    r"|(?P<minutes>\b\d+ (?:minutes?|mins?)(?: and|,)? \d+ (?:seconds?|secs?)\b)"
    r"|(?P<number>(?<![\w./:])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[a-z]{1,4}\b)?(?!\w|-[a-z]|[/:]\d))"
    r"|(?P<word>\b(?:dr|mr|mrs|ms|prof)\.(?=\s[A-Z])|[^\W_]+(?:['’&-][^\W_]+)*)"
    r"|(?P<end>[.;:()—–?!…\n]|\s-\s)"
    r"|(?P<comma>,)",
    re.IGNORECASE,
)
_DIGITS: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")
_NTH: Final = {
    name: number
    for number, name in enumerate(
        [
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
            "thirteenth",
            "fourteenth",
            "fifteenth",
            "sixteenth",
            "seventeenth",
            "eighteenth",
            "nineteenth",
            "twentieth",
        ],
        start=2,
    )
}
# Rates are compared as times a year.
_TIMES_A_YEAR: Final = {
    **dict.fromkeys(words("day night evening morning"), 365.0),
    "workday": 260.0, "week": 52.0, "month": 12.0, "year": 1.0,
}  # fmt: skip
_OFTEN: Final = {"once": 1.0, "twice": 2.0, "thrice": 3.0}
_SCALE: Final = {"thousand": 1e3, "grand": 1e3, "million": 1e6, "hundred": 1e2}
_STUCK_SCALE: Final = _SCALE | {"k": 1e3, "m": 1e6}  # apart from its number, "m" is a unit: "5 m"
# Units under one name each.
_UNITS: Final = {
    "sec": "second", "min": "minute", "hr": "hour", "yr": "year", "wk": "week", "mo": "month", "kilo": "kg", "kilos": "kg", "kilogram": "kg", "kilometre": "km",
    "kilometer": "km", "lb": "pound", "gram": "g", "metre": "m", "meter": "m", "dollar": "money", "buck": "money", "euro": "money", "quid": "money",
    "usd": "money", "eur": "money", "gb": "gigabyte", "mb": "megabyte", "milligram": "mg",
}  # fmt: skip
# Units that may follow a number without a space: "10mg".
_STUCK: Final = words("kg g mg km m cm lb lbs gb mb tb ms min hr h sec k ml oz ft mph kbps mbps")
_SOME: Final = {"dozen": 12.0, "hundred": 100.0, "couple": 2.0}  # "a dozen", "a couple"
# "for a week" is one week; "a week" alone may be part of a rate.
_BEFORE_A: Final = words("for been about over only almost nearly is to")
TIME_UNITS: Final = words("second minute hour day week month year night")
_NUMBERED: Final = words(  # nouns that a number follows: "chapter 7"
    "chapter page level floor grade size version room module episode season lesson book volume step round stage phase tier sprint day week number gate "
    "position place line unit year"
)
# Words between "of" and what is counted: "three of my plants".
_BETWEEN: Final = words("of the my our these those his her their")
_FROM_NOW: Final = words("ago later earlier before early late")  # "three weeks ago" is a point in time, not a duration
_RELATIVE: Final = words("more other extra additional further")  # "two more": how many in all is not said
# After "one" these make a pronoun or idiom: "one day".
_NOT_COUNTED: Final = words("one thing time way day other another")
_PLURALS: Final = words("people children men women feet mice teeth")  # plurals without -s
PER: Final = words("a an per each every")
_FILLERS: Final = words("every each per")
# "keep them under the bed".
_KEEPING: Final = words("keep keeps kept store stores stored put hang hung moved park")
_OWN: Final = words("my our the his her their it them all")
_LYING: Final = words("live lives sleep sleeps lie lies parked stored kept hang hangs rehearse rehearses sits")
_PLACE_ENDS: Final = words("and but because so with for now since where which")
_PLACE_WORDS_MOST: Final = 4
_IN: Final = words("in under on at behind inside beside above below into to")  # prepositions that begin a place
_RACES: Final = words("3k 5k 8k 10k 15k 20k 21k 42k 50k 100k")  # "a 10k" is a distance, not ten thousand
_CHANGING: Final = words("adds saves")  # "adds 10 minutes": by how much something changes
_RUNNING: Final = words("run ran running race raced time best jog jogged finished")
_SINGLE_MOST: Final = 1.0  # only up to this number the thing counted may be a singular noun
_OF_A_KIND: Final = ("al", "ian", "an", "ese", "ish", "ic", "ful", "ive", "ous", "new")  # endings of adjectives
UNIT_NONE: Final = ""  # unit of a bare number, a name or a place


def tokens_of(text: str, start: int, end: int) -> list[Token]:
    """The pieces of `text[start:end]`; positions refer to `text`."""
    return [
        Token(str(match.lastgroup), match.group(), fold(match.group()).replace("’", "'"), match.start(), match.end())
        for match in _PIECE.finditer(text, start, end)
    ]


def stem(word: str) -> str:
    """The index term of one word; "" for a stop word."""
    terms = analyse(word)
    return terms[0] if terms else ""


def amounts(tokens: list[Token]) -> Iterator[Amount]:
    """The values of a sentence, in order and without overlap."""
    place = 0
    while place < len(tokens):
        found = _numeric(tokens, place) or _named(tokens, place) or _placed(tokens, place)
        if found is None:
            place += 1
            continue
        yield found
        place = found.last + 1


def _numeric(tokens: list[Token], place: int) -> Amount | None:
    """The numeric value that begins at `place`, or None."""
    token = tokens[place]
    if token.sort in {"money", "share", "clock", "date", "minutes"}:
        return None if token.sort in {"money", "share"} and _is_change(tokens, place) else _written(token, place)
    often = _rate(tokens, place)
    if often is not None:
        return often
    day = token.low.removesuffix("s")
    if day in WEEKDAYS:
        return Amount(Kind.DAY, day, 0.0, "weekday", (), place, place)
    number, last = _number(tokens, place)
    if not number or _is_change(tokens, place) or _is_listed(tokens, place, last):
        return None
    return _counted(tokens, place, last, number, nth=token.sort == "nth" or token.low in _NTH)


def _written(token: Token, place: int) -> Amount:
    """The value of a token that is one by itself: money, percentage, clock time, duration, date."""
    if token.sort in {"money", "share"}:
        kind = Kind.MONEY if token.sort == "money" else Kind.SHARE
        number = _value(token.low)
        return Amount(kind, f"{number:g}", number, token.sort, (), place, place)
    if token.sort == "minutes":
        minutes, seconds = (float(part) for part in re.findall(r"\d+", token.low))
        return Amount(Kind.CLOCK, f"{minutes:g}:{seconds:g}", minutes * 60 + seconds, "clock", (), place, place)
    if token.sort == "clock":
        hours, _, rest = token.low.partition(":")
        first = _value(hours)
        number = first * 60 + _value(rest)
        late = "p" in token.low and first != 12
        return Amount(Kind.CLOCK, token.low, number + (720 if late else 0), "clock", (), place, place)
    return Amount(
        Kind.DAY,
        " ".join(stem(part) or part for part in token.low.replace(",", " ").split()),
        0.0,
        "date",
        (),
        place,
        place,
    )


def _value(text: str) -> float:
    """The number in a text, times its scale ("12k")."""
    found = _DIGITS.search(text)
    if found is None:
        return 0.0
    number = float(found.group().replace(",", ""))
    tail = text[found.end() :].strip()
    return number * _STUCK_SCALE.get(tail, 1.0)


def _rate(tokens: list[Token], place: int) -> Amount | None:
    """A rate: "twice a week", "three times a month", "every other day"."""
    low = tokens[place].low
    if low in _OFTEN:
        often, step = _OFTEN[low], place + 1
    elif low_at(tokens, place + 1) == "times" and (count := _plain_number(tokens[place])) is not None:
        often, step = count, place + 2
    elif low == "every":
        gap, step = _gap(tokens, place + 1)
        unit = singular(low_at(tokens, step))
        # "every day" has no number that could change.
        if gap == 1.0 or unit not in _TIMES_A_YEAR:
            return None
        return _often(_TIMES_A_YEAR[unit] / gap, place, step)
    else:
        return None
    unit = singular(low_at(tokens, step + 1))
    if low_at(tokens, step) not in PER or unit not in _TIMES_A_YEAR:
        return None
    return _often(often * _TIMES_A_YEAR[unit], place, step + 1)


def _gap(tokens: list[Token], place: int) -> tuple[float, int]:
    """Every how many: "other" is every second; and the next token."""
    if low_at(tokens, place) == "other":
        return 2.0, place + 1
    number = _plain_number(tokens[place]) if place < len(tokens) else None
    return (number, place + 1) if number else (1.0, place)


def _often(number: float, first: int, last: int) -> Amount:
    return Amount(Kind.RATE, f"{number:g}", number, "rate", (), first, last)


def low_at(tokens: list[Token], place: int) -> str:
    """The folded token at `place`, or "" outside the sentence."""
    return tokens[place].low if 0 <= place < len(tokens) else ""


def _plain_number(token: Token) -> float | None:
    """A number in digits or words; of a range its upper end."""
    if token.sort == "number":
        return _value(token.low)
    if token.sort == "range":
        return max(float(part) for part in re.findall(r"\d+(?:\.\d+)?", token.low))
    known = NUMBER_WORDS.get(token.low) if token.low not in {"a", "an", "hundred"} else None
    return None if known is None else float(known)


def _number(tokens: list[Token], place: int) -> tuple[float | None, int]:
    """The number that begins at `place`, and its last token: "three", "two hundred", "84 thousand", "a dozen"."""
    token = tokens[place]
    if token.sort == "nth":
        return _value(token.low), place
    # "second" may be a unit of time.
    if token.low in _NTH and (token.low != "second" or low_at(tokens, place - 1) in {"my", "our", "a", "the"}):
        return float(_NTH[token.low]), place
    if token.low in {"a", "an"}:
        known = _SOME.get(low_at(tokens, place + 1))
        lasts = low_at(tokens, place + 1) in TIME_UNITS and low_at(tokens, place - 1) in _BEFORE_A
        return (known, place + 1) if known else (1.0 if lasts else None, place)
    number = _plain_number(token)
    if number is None or _is_year(token) or (token.low == "one" and not _is_one(tokens, place)):
        return None, place
    scale = _SCALE.get(low_at(tokens, place + 1))
    return (number * scale, place + 1) if scale else (number, place)


def _is_change(tokens: list[Token], place: int) -> bool:
    """Whether an amount says by how much something changes: "by 20%", "adds about 10 minutes"."""
    return low_at(tokens, place - 1) in {"by", "extra"} or any(
        low_at(tokens, place - back) in _CHANGING for back in (1, 2)
    )


def _is_listed(tokens: list[Token], first: int, last: int) -> bool:
    """Whether a bare number is one of several in a list: "6, 8, 10 cm"."""
    after = tokens[last + 1 : last + 4]
    before = tokens[max(0, first - 3) : first]
    return any(
        len(some) > 1 and some[0].sort == "comma" and any(one.sort == "number" for one in some[1:])
        for some in (after, before[::-1])
    )


def _is_one(tokens: list[Token], place: int) -> bool:
    """Whether "one" counts what follows: not in "one of", "one day"."""
    following = singular(low_at(tokens, place + 1))
    return following not in STOP_WORDS and following not in _NOT_COUNTED and following.isalpha()


def _is_year(token: Token) -> bool:
    """Whether a number looks like a year, 1900 to 2099."""
    return token.low.isdigit() and len(token.low) == 4 and token.low[:2] in {"19", "20"}


def _counted(tokens: list[Token], first: int, last: int, number: float, *, nth: bool) -> Amount | None:
    """The count that a number begins; None where it counts nothing ("5B", "two more", "Pixel 6", "in two weeks")."""
    stuck = _stuck(tokens[last])
    before = singular(low_at(tokens, first - 1))
    if (stuck and stuck not in _STUCK) or _is_race(tokens, first, before) or low_at(tokens, last + 1) in _RELATIVE:
        return None
    if stuck not in {"", "k"}:
        return Amount(Kind.COUNT, f"{number:g}", number, _UNITS.get(singular(stuck), singular(stuck)), (), first, last)
    if before in _NUMBERED and not nth:
        return Amount(Kind.COUNT, f"{number:g}", number, stem(before), (), first, last)
    run, end = _run(tokens, last + 1)
    head = _head(run, single=number <= _SINGLE_MOST or nth)
    if head is None:
        named = bool(first) and _is_name(tokens, first - 1)
        return None if named else Amount(Kind.COUNT, f"{number:g}", number, UNIT_NONE, (), first, last, nth)
    return _of_head(tokens, first, end - len(run) + 1 + head, run[: head + 1], number, nth=nth)


def _of_head(tokens: list[Token], first: int, last: int, run: list[str], number: float, *, nth: bool) -> Amount | None:
    """The count of what the last word of `run` names."""
    noun = singular(run[-1])
    unit = _UNITS.get(noun, noun if noun in TIME_UNITS else stem(run[-1]))
    apart = low_at(tokens, last + 1) in _FROM_NOW or _is_stretch(tokens, first, unit)
    if unit in TIME_UNITS and apart:
        return None
    kind = Kind.MONEY if unit == "money" else Kind.COUNT
    about = tuple(found for word in run[:-1] if (found := stem(word)))
    return Amount(kind, f"{number:g}", number, unit, about, first, last, nth)


def _stuck(token: Token) -> str:
    """The letters directly behind a number: "mg" in "10mg"."""
    digits = _DIGITS.match(token.low) if token.sort == "number" else None
    return token.low[digits.end() :] if digits else ""


def _is_race(tokens: list[Token], first: int, before: str) -> bool:
    """Whether "10K" is the distance of a run."""
    if tokens[first].low not in _RACES:
        return False
    return before in {"a", "the", "my"} or any(token.low in _RUNNING for token in tokens)


def _is_stretch(tokens: list[Token], first: int, unit: str) -> bool:
    """Whether a length of time says when, not how long: "in two weeks", "the last three days"."""
    before, earlier = low_at(tokens, first - 1), low_at(tokens, first - 2)
    if before in {"last", "past", "next", "first"}:
        return earlier in STOP_WORDS
    # "put in 20 hours": hours of work.
    if before == "in" and earlier == "put":
        return False
    return before in {"in", "within", "after"} and unit not in {"second", "minute"}


def _run(tokens: list[Token], place: int) -> tuple[list[str], int]:
    """The words behind a number that may name what is counted, at most four, and the last token of them."""
    if low_at(tokens, place) == "of" and low_at(tokens, place + 1) in _BETWEEN:
        while low_at(tokens, place) in _BETWEEN or (place < len(tokens) and _plain_number(tokens[place]) is not None):
            place += 1
    run: list[str] = []
    while place < len(tokens) and len(run) < 4 and tokens[place].sort == "word":
        low = tokens[place].low.removesuffix("'s")
        if low in STOP_WORDS or low in PREPOSITIONS or low in _FILLERS or _plain_number(tokens[place]) is not None:
            break
        run.append(low)
        place += 1
    return run, place - 1


def _head(run: list[str], *, single: bool) -> int | None:
    """The index of the word in a run that is counted: the first plural or unit.

    `single` allows a singular noun ("my fourth national park"): the first word without the ending of an adjective.
    """
    for place, word in enumerate(run):
        plural = word.endswith("s") and not word.endswith(("ss", "us", "is"))
        if plural or word in _PLURALS or singular(word) in TIME_UNITS or word in _UNITS or word in _STUCK:
            return place
    if not run or not single:
        return None
    return next((place for place, word in enumerate(run) if not word.endswith(_OF_A_KIND)), 0)


def _named(tokens: list[Token], place: int) -> Amount | None:
    """A proper name that is stated as a value; one that merely opens the sentence is none."""
    if not _is_name(tokens, place):
        return None
    last = place
    while _is_name(tokens, last + 1) or (
        last + 1 < len(tokens) and tokens[last + 1].sort == "number" and tokens[last].end + 1 == tokens[last + 1].start
    ):
        last += 1
    if not _names_something(tokens, place, last):
        return None
    key = " ".join(token.low.removesuffix("'s") for token in tokens[place : last + 1])
    return Amount(Kind.NAME, key, 0.0, UNIT_NONE, (), place, last)


def _names_something(tokens: list[Token], first: int, last: int) -> bool:
    """Whether a name is what something of one's own is: "my dentist is ...", "I use ...", "... is my dentist"."""
    start = first - 1 if low_at(tokens, first - 1) in {"a", "an", "the"} else first
    before, around = low_at(tokens, start - 1), {low_at(tokens, place) for place in range(max(0, start - 6), start)}
    if before in {"is", "are", "to"} or before.endswith("'s"):
        return bool(around & {"my", "our"}) or before.endswith("'s")
    if before in {"use", "using", "see"}:
        return bool(around & {"i", "i'm", "we", "we're"}) and not around & {"to", "by"}
    return low_at(tokens, last + 1) in {"is", "are"} and bool(
        {low_at(tokens, at) for at in range(last + 2, last + 4)} & {"my", "our"}
    )


def _is_name(tokens: list[Token], place: int) -> bool:
    """Whether a token is part of a proper name."""
    if place >= len(tokens) or tokens[place].sort != "word":
        return False
    token = tokens[place]
    if token.word.isupper() or token.low in STOP_WORDS or token.low in MONTHS or "'" in token.low[:3]:
        return False
    if not token.word[:1].isupper():
        return token.word[:1].islower() and token.word[1:2].isupper()  # "iPhone"
    opens = place == 0 or tokens[place - 1].sort == "end"
    return not opens or low_at(tokens, place + 1) in {"is", "isn't", "&"} or token.low.endswith("'s")


def _placed(tokens: list[Token], place: int) -> Amount | None:
    """A place where something is kept: "under the bed" in "I keep them under the bed"."""
    if tokens[place].low not in _IN or not _is_kept(tokens, place) or low_at(tokens, place + 1).rstrip("s") in WEEKDAYS:
        return None
    last = place + 1
    found: list[str] = []
    while last < len(tokens) and len(found) < _PLACE_WORDS_MOST and tokens[last].sort == "word":
        low = tokens[last].low
        if low in _PLACE_ENDS or (found and low in STOP_WORDS and low not in _BETWEEN | _IN):
            break
        found += analyse(low)
        last += 1
    return Amount(Kind.PLACE, " ".join(found), 0.0, UNIT_NONE, (), place, last - 1) if found else None


def _is_kept(tokens: list[Token], place: int) -> bool:
    """Whether the words before say that something is kept, lives or lies there."""
    if low_at(tokens, place - 1) in _LYING:
        return True
    if any(one.low in _KEEPING and what.low in _OWN for one, what in pairwise(tokens[max(0, place - 7) : place])):
        return True
    there = low_at(tokens, place - 1)
    return tokens[place].low in {"in", "under", "behind"} and (there in {"is", "are"} or there.endswith("'s"))

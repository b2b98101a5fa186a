"""Normalisation of values, so that different spellings of numbers, money, units and words compare equal."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from umi._reading.grammar.lexicon import ARTICLES, CATEGORIES, COUNTRIES, POSSESSIVES, words

_SMALL: Final = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
NUMBER_WORDS: Final = (
    {word: value for value, word in enumerate(_SMALL)}
    | {word: 10 * value for value, word in enumerate(_TENS, start=2)}
    | {f"{ten}-{_SMALL[one]}": 10 * tens + one for tens, ten in enumerate(_TENS, start=2) for one in range(1, 10)}
    | {"a": 1, "an": 1, "hundred": 100}  # "a" and "an" count as numbers only in `parse_number`
)
_CURRENCY: Final = {
    "$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "bucks": "usd", "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur",
    "£": "gbp", "gbp": "gbp", "pound": "gbp", "pounds": "gbp", "quid": "gbp", "¥": "jpy", "jpy": "jpy", "yen": "jpy", "yuan": "cny",
    "rmb": "cny", "₹": "inr", "rupees": "inr", "cents": "cent", "cent": "cent",
}  # fmt: skip
_UNITS: Final = {
    "kilos": "kg", "kilo": "kg", "kilograms": "kg", "kilogram": "kg", "kgs": "kg", "lbs": "lb", "centimeters": "cm", "centimetres": "cm",
    "meters": "m", "metres": "m", "metre": "m", "meter": "m", "kilometers": "km", "kilometres": "km", "kms": "km", "miles": "mile",
    "hours": "hour", "hrs": "hour", "hr": "hour", "minutes": "minute", "mins": "minute", "min": "minute", "days": "day", "weeks": "week",
    "months": "month", "years": "year", "yrs": "year", "percent": "%", "per-cent": "%", "mo": "month", "yr": "year", "gigabytes": "gb",
    "seconds": "second", "secs": "second", "monthly": "/ month", "yearly": "/ year", "annually": "/ year", "per": "/", "weekly": "/ week",
}  # fmt: skip
_FORMS: Final = {  # spelling variants, mapped to one form
    "center": "centre",
    "colour": "color",
    "organisation": "organization",
    "theatre": "theater",
    "grey": "gray",
}
# Dropped at the end: "Acme Inc" is "Acme".
COMPANY_FORMS: Final = words("inc ltd llc corp corporation gmbh plc co company ag sa bv limited incorporated")
# A number, a currency or other sign, or a word; possessive quantifiers keep matching linear.
_PIECE: Final = re.compile(
    r"\d++(?:,\d{3})++(?:\.\d++)?|\d++(?:\.\d++)*|[$€£¥₹%/]|[^\W\d_]+(?:[-'’][^\W_]+)*(?:\+\+|#)?|[+#]"
)
_SCALE: Final = {
    "k": 1_000,
    "m": 1_000_000,
    "b": 1_000_000_000,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
}
_DROP: Final = (  # words that do not distinguish values
    ARTICLES
    | POSSESSIVES
    | {"really", "very", "called", "named", "new", "just", "now", "only", "still", "about", "exactly"}
)


def fold(text: str) -> str:
    """Unicode NFKC, case-folded, runs of white space replaced by one space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def value_key(value: str) -> str:
    """A normal form in which equal values are equal strings.

    Examples: "$1,200 per month" and "1200 dollars/month"; "thirty" and "30"; "The Cats" and "cat".
    """
    pieces = [_piece(part) for part in _PIECE.findall(fold(value))]
    merged: list[str] = []
    currency = ""
    for piece in pieces:
        if piece in _CURRENCY:
            currency = _CURRENCY[piece]
        elif piece in _SCALE and merged and _is_number(merged[-1]):
            merged[-1] = _plain(float(merged[-1]) * _SCALE[piece])
        elif piece and not (piece == "/" and merged[-1:] == ["/"]):
            merged.append(piece)
    if currency and any(_is_number(piece) for piece in merged):
        merged.insert(0, currency)
    # A value of nothing but such words ("The New") keeps them.
    kept = [piece for piece in merged if piece not in _DROP] or merged
    while len(kept) > 1 and kept[-1] in COMPANY_FORMS:
        kept.pop()
    return " ".join(kept)


def _piece(part: str) -> str:
    """One word or number in its normal form."""
    if part[0].isdigit():
        digits = part.replace(",", "")
        # Several dots: a version or an address. 16 digits and more lose precision as a float.
        return digits if digits.count(".") > 1 else _plain(float(digits)) if len(digits) < 16 else digits
    if part in NUMBER_WORDS and part not in {"a", "an"}:
        return str(NUMBER_WORDS[part])
    if part in _UNITS:
        return _UNITS[part]
    return singular(_FORMS.get(part, part))


def singular(word: str) -> str:
    """An English plural without its regular ending; other words unchanged."""
    # "gas", "bus", "glass", "tennis", "chaos" are no plurals.
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is", "os")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1]


def _is_number(text: str) -> bool:
    return text[:1].isdigit() and text.count(".") <= 1 and text.replace(".", "").isdigit()


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)


def parse_number(word: str) -> int | None:
    """The whole number that a word stands for, in digits or spelled out; None for other words."""
    low = word.lower()
    digits = low.replace(",", "")
    if digits.isascii() and digits.isdigit() and len(digits) < 16:
        return int(digits)
    return NUMBER_WORDS.get(low)


def narrower(first: str, second: str) -> bool:
    """Whether the words of one value include those of the other ("Berlin" and "Berlin, Germany")."""
    one, two = set(value_key(first).split()), set(value_key(second).split())
    return bool(one and two) and (one <= two or two <= one)


def category_of(value: str) -> str:
    """The kind of thing that a value is ("drink" for tea), or ""."""
    low = fold(value)
    if low in CATEGORIES:
        return CATEGORIES[low]
    key = value_key(value)
    if key in CATEGORIES:
        return CATEGORIES[key]
    words = key.split()
    # An unknown compound is of the kind of its last word: "mountain bike" -> "bike".
    return CATEGORIES.get(words[-1], words[-1]) if len(words) > 1 else ""


def is_region(value: str) -> bool:
    """Whether a place is a country or another region that contains cities."""
    return fold(value) in COUNTRIES

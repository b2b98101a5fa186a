"""Comparison of two value mentions: whether they can be compared at all, and the features that the judge weighs.

Mentions come from `umi._reading.value_mentions`. `comparable` is a set of hand-written conditions; `features` gives one
number per name in `FEATURES` (ADR 0015).
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import replace
from typing import Final

from umi._core.text import analyse
from umi._reading.amounts import TIME_UNITS, Kind, stem
from umi._reading.grammar.lexicon import words
from umi._reading.value_mentions import ASKS, SIGNS, ValueMention

# Units that say nothing of what is measured.
_MEASURES: Final = words("kg km m cm g mg mile pound gigabyte megabyte degree money") | TIME_UNITS
_PLAN: Final = "plan"
_LASTING: Final = frozenset({"now", "total"})  # signs of a running total
_MARKS: Final = (*(name for name in SIGNS if name != _PLAN), ASKS)  # signs that are features; plans are excluded before
FEATURES: Final = (
    "shared", "shared light", "of old", "of new", "unshared old", "unshared new", "jaccard", "whole",
    *(f"kind {kind}" for kind in Kind),
    "unit same thing", "unit same measure", "unit none", "unit one",
    "about differs", "modifier differs", "modifier one", "names differ", "names one", "names shared", "whose differs", "whose it", "dates differ", "dates one",
    "near both", "near one", "near none",
    "per same", "per differs", "per one",
    "grows", "shrinks", "far", "very far", "grows little", "nth new", "nth old",
    *(f"old {name}" for name in _MARKS),
    *(f"new {name}" for name in _MARKS),
    "both me", "both they", "same time", "new alone me", "old alone me",
)  # fmt: skip
SHARED_LEAST: Final = 0.7  # sum of weights of shared words, for two mentions to be comparable


def comparable(old: ValueMention, new: ValueMention) -> bool:
    """Whether two mentions may be of the same thing: different values of one sort, matching units, shared words."""
    one, other = old.amount, new.amount
    if one.kind is not other.kind and not _times(old, new) and not _money(old, new):
        return False
    if _same_value(old, new) or not _units_meet(old, new) or _PLAN in old.signs | new.signs:
        return False
    if one.key in new.beside or other.key in old.beside or _is_of_another(old, new):
        return False
    if old.dates and new.dates and not old.dates & new.dates and one.kind is not Kind.DAY and not _LASTING & new.signs:
        return False  # different days: two occasions
    if one.kind in {Kind.NAME, Kind.PLACE} and not _may_be_named(old, new):
        return False
    if one.kind is Kind.DAY and not _may_be_planned(old, new):
        return False
    if one.kind is Kind.CLOCK and other.kind is Kind.CLOCK and old.dates != new.dates:
        return False
    return _is_of_the_same(old, new)


def _is_of_another(old: ValueMention, new: ValueMention) -> bool:
    """Whether something distinguishes the two things.

    These are other people, other names, a question to somebody else, or another word before a shared one ("car fund",
    "emergency fund").
    """
    if _strangers(old, new) or (old.names and new.names and not old.names & new.names):
        return True
    if any(ASKS in one.signs and not {"me", "we"} & one.signs for one in (old, new)):
        return True
    shared = _heavies(old) & _heavies(new)
    words = ((old.before.get(term, ""), new.before.get(term, "")) for term in shared)
    return any(
        one in _heavies(old) and other in _heavies(new) and one not in new.weights and other not in old.weights
        for one, other in words
    )


def _is_of_the_same(old: ValueMention, new: ValueMention) -> bool:
    """Whether they share enough meaningful words.

    Where only the unit is shared, little else may be said on either side.
    """
    both = _heavies(old) & _heavies(new)
    terms = both - _MEASURES
    units = {old.amount.unit, new.amount.unit}
    if terms <= units and max(_heavy(old), _heavy(new)) > len(terms) + _BESIDE_MOST:
        return False
    # At least half of the meaningful words of the shorter mention.
    if 2 * len(both) < min(len(_heavies(old)), len(_heavies(new))):
        return False
    return sum(min(old.weights[term], new.weights[term]) for term in terms) >= SHARED_LEAST


def _heavies(mention: ValueMention) -> set[str]:
    """The meaningful words of a mention."""
    return {term for term, weight in mention.weights.items() if weight >= _HEAVY}


_HEAVY: Final = 0.5  # weight from which a word is meaningful
_BESIDE_MOST: Final = 1.0  # weight of other words allowed where only the unit is shared


def lightened(mention: ValueMention, common: Container[str]) -> ValueMention:
    """The mention with less weight on words that are common in the namespace."""
    if not any(term in common for term in mention.weights):
        return mention
    return replace(
        mention,
        weights={term: min(weight, _COMMON) if term in common else weight for term, weight in mention.weights.items()},
    )


_COMMON: Final = 0.3  # weight of such a word, at most


def features(old: ValueMention, new: ValueMention) -> list[float]:
    """The features of a comparable pair, in the order of `FEATURES`."""
    values = [
        *_overlap(old, new),
        *_kinds(new),
        *_units(old, new),
        *_sides(old, new),
        *_periods(old, new),
        *_numbers(old, new),
    ]
    values += [float(name in old.signs) for name in _MARKS]
    values += [float(name in new.signs) for name in _MARKS]
    mine, yours = {"me", "we"} & old.signs, {"me", "we"} & new.signs
    values += [float(bool(mine and yours)), float("they" in old.signs and "they" in new.signs)]
    values += [
        float(("then" in old.signs) == ("then" in new.signs)),
        float(bool(yours) and not mine),
        float(bool(mine) and not yours),
    ]
    return values


def _strangers(old: ValueMention, new: ValueMention) -> bool:
    """Whether they are about different people."""
    return old.whose != new.whose and not {old.whose, new.whose} <= {"", "it"}


def _same_value(old: ValueMention, new: ValueMention) -> bool:
    """Whether both values are equal."""
    if old.amount.number and new.amount.number:
        return _size(old) == _size(new)
    return old.amount.key == new.amount.key


def _times(old: ValueMention, new: ValueMention) -> bool:
    """Whether one is a duration in minutes and the other a time like "25:50", which are comparable."""
    kinds = {old.amount.kind, new.amount.kind}
    return kinds == {Kind.CLOCK, Kind.COUNT} and "minute" in {old.amount.unit, new.amount.unit}


def _money(old: ValueMention, new: ValueMention) -> bool:
    """Whether one is an amount of money and the other a bare number, which are comparable."""
    return {old.amount.kind, new.amount.kind} == {Kind.MONEY, Kind.COUNT} and "" in {old.amount.unit, new.amount.unit}


def _units_meet(old: ValueMention, new: ValueMention) -> bool:
    """Whether the units agree, or each is named beside the other value."""
    one, other = old.amount.unit, new.amount.unit
    if one == other or _times(old, new) or (one in TIME_UNITS and other in TIME_UNITS):
        return True
    # A position in a row ("my fourth") is only compared within one unit.
    if old.amount.nth or new.amount.nth:
        return False
    if not one or not other:
        return (one or other) == "money" or ((one or other) in old.weights and (one or other) in new.weights)
    return one in new.weights and other in old.weights


def _says(mention: ValueMention, key: str) -> bool:
    """Whether a mention's context contains every word of a key."""
    return all(part in mention.names or part in mention.weights for part in key.split())


def _may_be_named(old: ValueMention, new: ValueMention) -> bool:
    """Whether two names are comparable: only where both sentences say what something of the speaker's own is.

    Names are frequent and mostly unrelated.
    """
    one, other = set(old.amount.key.split()), set(new.amount.key.split())
    if one <= other or other <= one or _says(new, old.amount.key) or _says(old, new.amount.key):
        return False
    told = all({"me", "we"} & one.signs and not {ASKS, "then"} & one.signs for one in (old, new))
    return told and min(_heavy(old), _heavy(new)) <= _NAMED_WORDS_MOST


def _may_be_planned(old: ValueMention, new: ValueMention) -> bool:
    """Whether two days are comparable: only for habits and schedules that share at least half of their words.

    Most days are when something happened, and another day is another occasion.
    """
    shared = sum(
        weight
        for term, weight in old.weights.items()
        if weight >= _HEAVY and new.weights.get(term, 0.0) >= _HEAVY and term not in _stems(old.names)
    )
    habit = all(one.text.lower().endswith("days") for one in (old, new))
    if not (
        habit
        or ("moved" in new.signs and _SCHEDULED & old.weights.keys())
        or _SCHEDULED & old.weights.keys() & new.weights.keys()
    ):
        return False
    least = SHARED_LEAST if "moved" in new.signs else _PLANNED_WORDS_LEAST
    return shared >= max(least, min(_heavy(old), _heavy(new)) / 2) and old.amount.unit == new.amount.unit


def _stems(names: frozenset[str]) -> set[str]:
    """The stems of names."""
    return {stem(name) for name in names}


# What has one day that may move.
_SCHEDULED: Final = frozenset(analyse("deadline due scheduled appointment expires expiry ends release launch"))
_PLANNED_WORDS_LEAST: Final = 1.4  # weight of shared words, unless a word says that the day was moved


_NAMED_WORDS_MOST: Final = 3.0  # weight of the words around a name, in the shorter mention


def _overlap(old: ValueMention, new: ValueMention) -> list[float]:
    """Features of the shared words: 8 numbers."""
    shared = light = 0.0
    for term, weight in old.weights.items():
        if term in new.weights:
            both = min(weight, new.weights[term])
            if both >= _HEAVY:
                shared += both
            else:
                light += both
    first, second = _heavy(old), _heavy(new)
    left, right = max(0.0, first - shared), max(0.0, second - shared)
    return [
        min(shared, 5.0), light, shared / max(first, 1e-9), shared / max(second, 1e-9), min(left, 5.0), min(right, 5.0),
        shared / max(first + second - shared, 1e-9), float(left < 0.5 and right < 0.5),
    ]  # fmt: skip


def _heavy(mention: ValueMention) -> float:
    """The weight of a mention's meaningful words."""
    return sum(weight for weight in mention.weights.values() if weight >= _HEAVY)


def _kinds(new: ValueMention) -> list[float]:
    """Features of the sort of value, one-hot."""
    return [float(new.amount.kind is kind) for kind in Kind]


def _units(old: ValueMention, new: ValueMention) -> list[float]:
    """Features of the units: 4 numbers."""
    one, other = old.amount.unit, new.amount.unit
    same = bool(one) and (one == other or (one in TIME_UNITS and other in TIME_UNITS))
    measure = one in _MEASURES
    return [
        float(same and not measure),
        float(same and measure),
        float(not one and not other),
        float(bool(one) != bool(other)),
    ]


def _sides(old: ValueMention, new: ValueMention) -> list[float]:
    """Features of what stands beside the values: 13 numbers."""
    about = set(old.amount.about), set(new.amount.about)
    differs = bool(about[0] - set(new.weights)) or bool(about[1] - set(old.weights))
    both, one = _modifiers(old, new)
    names = bool(old.names - new.names) and bool(new.names - old.names)
    alone = bool(old.names) != bool(new.names)
    dates = bool(old.dates) and bool(new.dates) and old.dates != new.dates
    near = bool(old.near & new.weights.keys()), bool(new.near & old.weights.keys())
    return [
        float(differs), min(both, 3.0), min(one, 3.0), float(names), float(alone), float(bool(old.names & new.names)),
        float(_strangers(old, new)), float("it" in (old.whose, new.whose) and old.whose != new.whose), float(dates), float(bool(old.dates) != bool(new.dates)),
        float(all(near)), float(any(near) and not all(near)), float(not any(near)),
    ]  # fmt: skip


def _modifiers(old: ValueMention, new: ValueMention) -> tuple[float, float]:
    """Shared stems behind different words ("pottery workshop", "candle workshop"): on both sides, and on one only."""
    both = one = 0.0
    for term in old.weights:
        if term not in new.weights:
            continue
        first, second = old.before.get(term, ""), new.before.get(term, "")
        strange = bool(first) and first not in new.weights, bool(second) and second not in old.weights
        both += float(all(strange))
        one += float(any(strange) and not all(strange))
    return both, one


def _periods(old: ValueMention, new: ValueMention) -> list[float]:
    """Features of the periods of prices and rates: 3 numbers."""
    return [
        float(bool(old.per) and old.per == new.per),
        float(bool(old.per) and bool(new.per) and old.per != new.per),
        float(bool(old.per) != bool(new.per)),
    ]


def _numbers(old: ValueMention, new: ValueMention) -> list[float]:
    """Features of the ratio of the values: 7 numbers."""
    first, second = _size(old), _size(new)
    ratio = math.log(second / first) if first > 0 and second > 0 else 0.0
    return [
        float(ratio > 0), float(ratio < 0), min(abs(ratio), 3.0), float(abs(ratio) > 1.4), float(0 < ratio < 0.7),
        float(new.amount.nth), float(old.amount.nth),
    ]  # fmt: skip


_SECONDS: Final = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "night": 86400.0,
    "week": 604800.0,
    "month": 2628000.0,
    "year": 31536000.0,
}


def _size(mention: ValueMention) -> float:
    """The value in base units: durations in seconds."""
    return mention.amount.number * _SECONDS.get(mention.amount.unit, 1.0)

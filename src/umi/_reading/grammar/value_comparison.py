"""Comparison of two values of one slot: the same, more detailed, or different."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from umi._reading.grammar.lexicon import words
from umi._reading.grammar.values import is_region, narrower, value_key

# A day or a range of days, an hour, or both, as `parsers.iso_of` writes them.
_ISO: Final = re.compile(r"(?:\d{4}-\d{2}-\d{2}(?:/\d{4}-\d{2}-\d{2})?)?(?:T\d{2}:\d{2})?$")
_PERIODS: Final = words("/ month year week day hour seat user person unit night item each")


class Comparison(Enum):
    """The result of comparing a new value with an old one."""

    SAME = "same"
    DETAIL = "detail"  # the new one says more, and agrees
    DIFFERENT = "different"
    APART = "apart"  # both can hold at once: a monthly price and a yearly one


def values(slot: str, new: str, old: str) -> Comparison:
    """Compare a new value of a single-valued slot with the old one."""
    if slot == "birthday":  # month and day, because the year may be missing
        return Comparison.SAME if new[-5:] == old[-5:] else Comparison.DIFFERENT
    if _ISO.match(new) and _ISO.match(old):
        return _moments(new, old)
    one, other = value_key(new), value_key(old)
    if one == other:
        return Comparison.SAME
    if slot == "costs" and _apart(one, other):
        return Comparison.APART
    if slot not in _EXACT and _numbers(one) == _numbers(other) and narrower(new, old):
        return Comparison.DETAIL if len(one.split()) > len(other.split()) else Comparison.SAME
    return Comparison.DIFFERENT


# Slots in which a value that contains the other is a different one.
_EXACT: Final = frozenset({"age", "costs", "version", "phone", "email"})


def _numbers(key: str) -> list[str]:
    return [word for word in key.split() if word[0].isdigit()]


def _apart(one: str, other: str) -> bool:
    periods = set(one.split()) & _PERIODS, set(other.split()) & _PERIODS
    return bool(periods[0] and periods[1] and periods[0] != periods[1])


def _moments(new: str, old: str) -> Comparison:
    """Compare two moments; a part that one of them lacks (day, hour) does not contradict."""
    day, _, hour = new.partition("T")
    old_day, _, old_hour = old.partition("T")
    if day and old_day and day != old_day:
        inside = "/" in old_day and old_day.partition("/")[0] <= day < old_day.partition("/")[2]
        return Comparison.DETAIL if inside else Comparison.DIFFERENT
    if hour and old_hour and hour != old_hour:
        return Comparison.DIFFERENT
    return Comparison.DETAIL if (hour and not old_hour) or (day and not old_day) else Comparison.SAME


def plausible(slot: str, new: str, old: str) -> bool:
    """Whether a value can change this way by itself: an age only grows."""
    if slot != "age":
        return True
    try:
        return int(value_key(new)) > int(value_key(old))
    except ValueError:
        return True


def levels_differ(slot: str, new: str, old: str) -> bool:
    """Whether one place may lie within the other: one is a country or region, the other is not."""
    return slot in {"lives_in", "origin"} and is_region(new) != is_region(old)

"""Values that calls are tried with: each list has what lies just inside a border, just outside it, and what is of another kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any, Final

from umi import limits

Values = tuple[Any, ...]

VAST: Final = 1 << 1_000  # the smallest whole number that a message does not write out
DAY: Final = datetime(2025, 3, 4, 9, 30, tzinfo=UTC)
LATER: Final = datetime(2025, 3, 5, 9, 30, tzinfo=UTC)


class NoOffset(tzinfo):
    """A zone that does not know its offset."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        """None: it is not known."""

    def dst(self, dt: datetime | None) -> timedelta | None:
        """None: it is not known."""

    def tzname(self, dt: datetime | None) -> str | None:
        """None: it has no name."""


class Other:
    """An object of a kind that no call takes."""

    def __repr__(self) -> str:
        return "Other()"


KINDS: Final[Values] = (None, True, 1, 1.5, b"ada", [], ["ada"], {}, {"ada": 1}, Other())
BLANK: Final[Values] = ("", " ", "\n\t", "\u00a0", "\u200b")
BROKEN: Final[Values] = ("a\0b", "\0", "\ud800", "ab\udfffc", "\x01", "\x7f", "a\nb", "\u202eabc")


def filler(bytes_count: int, letter: str = "x") -> str:
    """A text of so many bytes, of short words, some of which begin with this letter."""
    word = f"{letter}y "
    size = len(word.encode())
    return word * ((bytes_count - 1) // size) + "z" * ((bytes_count - 1) % size + 1)


def texts(bytes_max: int) -> Values:
    """Texts of at most so many bytes, longer ones, and what is none."""
    most, more = bytes_max, bytes_max + 1
    return (*KINDS, *BLANK, *BROKEN, filler(most), filler(more), filler(most, "\u00e9"), filler(more, "\u00e9"))


NAMES: Final = texts(limits.NAME_BYTES_MAX)
UNKNOWN: Final[Values] = ("nobody", "ent_0", "ep_0", "a b")


def counts(low: int, high: int) -> Values:
    """Whole numbers around both bounds, and what is none."""
    return (
        low, high, low - 1, high + 1, -1, -VAST, VAST, VAST - 1, 1 << 64, None, True, False, 2.0, math.nan, math.inf, "3", "", [3],
    )  # fmt: skip


def fractions() -> Values:
    """Numbers around 0 and 1, and what is none."""
    return (
        0, 1, 0.0, 1.0, -0.0, 0.5, 1e-9, -1e-9, 1 + 1e-9, 2, -1, -VAST, VAST, math.nan, math.inf, -math.inf, True, False, "0.5", None,
        [0.5], 1j,
    )  # fmt: skip


FRACTIONS: Final = fractions()

MOMENTS: Final[Values] = (
    None, DAY, DAY.replace(tzinfo=None), DAY.replace(tzinfo=NoOffset()), DAY.astimezone(timezone(timedelta(hours=5, minutes=30))),
    DAY.replace(tzinfo=timezone(timedelta(seconds=30, microseconds=5))), DAY.replace(tzinfo=timezone(timedelta(microseconds=5))),
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC), date(2025, 3, 4), "2025-03-04T09:30Z", " 2025-03-04T09:30+02:00 ",
    "2025-03-04T09:30", "2025-03-04", "20250304", "2025-03-04 09:30", "tomorrow", "", "2025-03-04T09:30Z and more", "z" * 100, 0, 1.5, True,
    b"2025-03-04T09:30Z", [DAY], timedelta(days=1),
)  # fmt: skip

RANGES: Final[Values] = (
    None, (DAY, LATER), [DAY, LATER], (DAY, DAY), (LATER, DAY), (DAY, DAY + timedelta(microseconds=1)), (DAY,), (DAY, LATER, LATER), (), "ab",
    {DAY: LATER}, {DAY, LATER}, (None, LATER), (DAY, None), (DAY.replace(tzinfo=None), LATER), (DAY, LATER.replace(tzinfo=None)),
    ("2025-03-04T09:30Z", "2025-03-04T11:30+02:00"), ("2025-03-04T09:30Z", "2025-03-04T11:31+02:00"), (0, 1), DAY, 5, True,
)  # fmt: skip

FLAGS: Final[Values] = (True, False, None, 0, 1, "", "no", [], Other())

WHERES: Final[Values] = (
    None, {}, {"session": "s1"}, {"session": None}, {"session": ""}, {"session": 1}, {"session": True}, {"session": ["s1"]}, {"session": ("s1",)},
    {"session": {"s1"}}, {"session": frozenset(["s1"])}, {"session": "s" * 256}, {"session": "s" * 257}, {"session": "\ud800"},
    {"session": "a\0b"}, {"speaker": "Ada", "role": "user", "origin": "user"}, {"origin": "nowhere"}, {"Session": "s1"}, {"id": "x"},
    {1: "x"}, {None: "x"}, {"metadata": None}, {"metadata": {}}, {"metadata": {"tag": "red"}}, {"metadata": {"tag": None}},
    {"metadata": {"tag": ["red"]}}, {"metadata": {1: "red"}}, {"metadata": {"": "red"}}, {"metadata": {"x" * 300: 1}}, {"metadata": "red"},
    {"metadata": [1]}, {"session": {}}, {"session": {"near": "s1"}}, {"session": {"in": ["s1"], "gt": "a"}},
    {"session": {"exists": True, "gt": "a"}}, {"session": {"exists": True}}, {"session": {"exists": False}}, {"session": {"exists": 1}},
    {"session": {"exists": None}}, {"session": {"in": []}}, {"session": {"in": "s1"}}, {"session": {"in": b"s1"}}, {"session": {"in": {"s1": 1}}},
    {"session": {"in": 5}}, {"session": {"in": [1]}}, {"session": {"in": ["s1", "s1"]}}, {"session": {"in": [["s1"]]}},
    {"metadata": {"n": {"in": list(range(1_000))}}}, {"metadata": {"n": {"in": list(range(1_001))}}}, {"metadata": {"n": {"in": [1, 1.0, True, "1"]}}},
    {"metadata": {"n": {"gt": 1}}}, {"metadata": {"n": {"gte": 1}}}, {"metadata": {"n": {"lt": 3}}}, {"metadata": {"n": {"lte": 3}}},
    {"metadata": {"n": {"gt": 1, "lt": 3}}}, {"metadata": {"n": {"gte": 3, "lte": 1}}}, {"metadata": {"n": {"gt": 1, "gte": 1}}},
    {"metadata": {"n": {"lt": 1, "lte": 1}}}, {"metadata": {"n": {"gt": 1, "lt": "3"}}}, {"metadata": {"n": {"gt": True}}},
    {"metadata": {"n": {"gt": None}}}, {"metadata": {"n": {"gt": [1]}}}, {"metadata": {"n": {"gt": 1, "lt": 2.5}}}, {"metadata": {"n": math.nan}},
    {"metadata": {"n": math.inf}}, {"metadata": {"n": (1 << 63) - 1}}, {"metadata": {"n": 1 << 63}}, {"metadata": {"n": -(1 << 63)}},
    {"metadata": {"n": -(1 << 63) - 1}}, {"metadata": {"n": b"1"}}, {"metadata": {f"k{place}": place for place in range(32)}},
    {"metadata": {f"k{place}": place for place in range(33)}},
    {"session": "s1", "metadata": {f"k{place}": place for place in range(32)}}, "session", ["session"], 5, True, b"x",
)  # fmt: skip

TYPES: Final[Values] = (
    None, ["preference"], ("preference", "relation"), {"preference"}, iter(()), [], ["Preference"], ["nothing"], [1], [None], ["preference", "x", "y"],
    "preference", b"preference", {"preference": 1}, 5, True, [""], ["preference"] * 3,
)  # fmt: skip


def words(*allowed: str) -> Values:
    """The words that are allowed, and what is none of them."""
    return (
        *allowed,
        allowed[0].upper(),
        allowed[0] + " ",
        "",
        "other",
        None,
        0,
        1,
        True,
        [allowed[0]],
        {allowed[0]: 1},
        b"new",
        Other(),
    )


def nested(levels: int) -> Mapping[str, Any]:
    """An object with so many levels of lists and objects, itself included."""
    inner: Any = {} if levels % 2 else []
    for level in range(levels - 1, 0, -1):
        inner = {"k": inner} if level % 2 else [inner]
    return {"k": inner} if not isinstance(inner, dict) else inner


METADATA: Final[Values] = (
    None, {}, {"tag": "red"}, {"k": filler(limits.METADATA_BYTES_MAX - 8)}, {"k": filler(limits.METADATA_BYTES_MAX - 7)},
    {"k": filler(limits.METADATA_BYTES_MAX - 8, "\u00e9")}, {"k": filler(limits.METADATA_BYTES_MAX - 7, "\u00e9")},
    nested(limits.METADATA_LEVELS_COUNT_MAX), nested(limits.METADATA_LEVELS_COUNT_MAX + 1), {"k": {1, 2}}, {"k": b"x"}, {"k": DAY}, {(1, 2): 3},
    {1: 2}, {None: 1}, {True: 1}, {"k": "\ud800"}, {"\ud800": 1}, {"k": (1, 2)}, {"k": VAST}, {"k": "a\0b"}, {"": ""}, [], [("k", 1)], "k", 5, True,
    Other(), {"k": Other()},
)  # fmt: skip

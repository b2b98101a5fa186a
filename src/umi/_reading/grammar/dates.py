"""Recognition of dates in English text, resolved against the moment at which the text was said."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from umi._reading.grammar.lexicon import MONTHS, WEEKDAYS

_NUMBERS: Final = {
    name: value
    for value, name in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
    # Vague counts as their usual number.
} | {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "several": 3}
_MONTH: Final = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
_DAY: Final = (
    r"(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)\b"
)
_WEEKDAY_OF: Final = rf"(?:{_DAY},? (?:the )?)?"  # before a date, "Friday, 3 May"
_UNIT: Final = r"(minute|hour|day|week|weekend|month|year)s?\b"
_COUNT: Final = r"(\d{1,4}|an?|a couple of|couple of|a few|few|several|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
# Six groups: hour, minute and am/pm; hour and am/pm; "noon" or "midnight".
_CLOCK: Final = (
    r"(?:(?:,? at)? (\d{1,2}):(\d{2}) ?([ap]\.?m\b)?|(?:,? at)? (\d{1,2}) ?([ap]\.?m\b)| at (noon|midnight))?"
)
_LEAD: Final = r"(?:\b(since|as of|starting|effective|from|until|till|by|on|in|around|for|this past)\s+(?:the\s+)?(?:(early|mid|late)[- ])?)?"

# One alternative per kind of date. The order matters where one is a prefix of another ("5 May 2024" before "May"), and
# resolvers count on the order of groups.
_PATTERN: Final = re.compile(
    _LEAD
    + r"\b(?:"
    + rf"(?P<iso>{_WEEKDAY_OF}(\d{{4}})-(\d{{2}})-(\d{{2}})(?:[T ](\d{{2}}):(\d{{2}})(?::\d{{2}})?)?)"
    + rf"|(?P<near>today|tonight|yesterday|tomorrow|the day before yesterday|the day after tomorrow)(?:\s+(?:morning|afternoon|evening|night))?{_CLOCK}"
    + rf"|(?P<ago>{_COUNT} {_UNIT} (ago|from now))"
    + rf"|(?P<within>in {_COUNT} {_UNIT})"
    + rf"|(?P<daymonth>{_WEEKDAY_OF}(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})(?:,? (\d{{4}}))?{_CLOCK})"
    + rf"|(?P<monthday>{_WEEKDAY_OF}({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?!:|\.\d)(?:,? (\d{{4}}))?{_CLOCK})"
    + rf"|(?P<relative>(last|this|next|coming|past) {_UNIT})"
    + rf"|(?P<weekday>(?:(last|this|next|coming|past) )?({_DAY})(?: (?:morning|afternoon|evening|night))?{_CLOCK})"
    + rf"|(?P<relmonth>(last|this|next|past) ({_MONTH}))"
    + rf"|(?P<monthyear>({_MONTH}),?(?: of)? (\d{{4}})\b)"
    + rf"|(?P<month>({_MONTH}))"
    + r"|(?P<year>(?:19|20)\d{2})\b(?![-/.:]\d|%)"
    + r"|(?P<slash>(\d{1,2})/(\d{1,2})/(\d{4}))\b"
    + r"|(?P<clock>(?<=at )(\d{1,2})(?::(\d{2}))? ?([ap]\.?m\b)|(?<![\d:])(\d{1,2}):(\d{2}) ?([ap]\.?m\b)?|\d{1,2} ?[ap]m\b)"
    + r")",
    re.IGNORECASE,
)
# A cheap test that spares texts without dates the large pattern.
_HINT: Final = re.compile(
    r"\d|\b(?:tonight|tomorrow|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|minute|hour|day|week|month|year",
    re.IGNORECASE,
)
_LASTING: Final = re.compile(
    rf"\bfor (?:(?:about|around|almost|nearly|over|more than|at least|the last|the past) )?{_COUNT} {_UNIT}",
    re.IGNORECASE,
)
_RECURRING_WORDS: Final = (
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekday|weekend|spring|summer|autumn|winter"
)
_RECURRING: Final = re.compile(
    rf"\b(?:(?:every|each) (?:other |second )?({_RECURRING_WORDS})|({_RECURRING_WORDS})s)\b", re.IGNORECASE
)
_OTHER_WORDS: Final = frozenset({"mon", "wed", "sat", "sun"})  # short names of days that are words as well
_BEFORE_SENTENCES: Final = frozenset({"", ".", "!", "?", ":"})
# Words before a date that make it the beginning of something.
_SINCE: Final = frozenset({"since", "as of", "from", "starting", "effective"})
UNTIL: Final = frozenset({"until", "till"})  # and its end
_BEFORE_DAYS: Final = UNTIL | {"on", "by", "since"}
_SINCE_PAST: Final = frozenset({"since"})  # of these, the one that is only said of the past
_YEAR_MIN: Final = 1900  # a number outside this range is not taken as a year
_YEAR_MAX: Final = 2100


@dataclass(frozen=True, slots=True)
class DateSpan:
    """A date in a text.

    Attributes:
        start: Its beginning, timezone-aware.
        end: Its end, exclusive: a day, month or hour lasts that long.
        span: Half-open range of characters in the text.
        lead: The word before it ("since", "on"), or "".
        clock: Whether it names an hour.
    """

    start: datetime
    end: datetime
    span: tuple[int, int]
    lead: str
    clock: bool

    @property
    def since(self) -> bool:
        """Whether the date says from when something holds."""
        return self.lead in _SINCE


def recurring(text: str) -> frozenset[str]:
    """Days of the week and seasons at which something is so again and again: "on Fridays", "every other weekend", "every winter"."""
    return frozenset((one or more).lower() for one, more in _RECURRING.findall(text))


def find_dates(
    text: str, at: datetime, start: int = 0, end: int | None = None, *, past: bool = False
) -> list[DateSpan]:
    """Find the dates in `text[start:end]`, in order, resolved against the aware moment `at` in its time zone.

    A date without a year or week ("in March", "on Friday") is the nearest that fits, or with `past` the last one before
    `at`. Impossible dates (31 February, year 0) are left out.
    """
    stop = len(text) if end is None else end
    # Most texts end here.
    if _HINT.search(text, start, stop) is None:
        return []
    found: list[DateSpan] = []
    for match in _PATTERN.finditer(text, start, stop):
        try:
            resolved = _resolve(match, at)
        except (ValueError, OverflowError):
            continue  # 31 February, 25:00, or a date beyond the calendar
        if resolved is not None:
            begin, finish, clock = resolved
            lead = (match.group(1) or "").lower()
            if begin > at and (past or lead in _SINCE_PAST):
                begin, finish = _backwards(match, begin, finish)
            found.append(DateSpan(begin, finish, (match.start(), match.end()), lead, clock))
    return found


def find_lasting(text: str, at: datetime, start: int, end: int) -> list[DateSpan]:
    """Since when something has held that has held "for two years", in `text[start:end]`; the arguments as in `find_dates`."""
    found: list[DateSpan] = []
    for match in _LASTING.finditer(text, start, end):
        with suppress(ValueError, OverflowError):  # before the calendar begins
            begin, finish, clock = _shift(at, -_number(match.group(1)), match.group(2).lower())
            found.append(DateSpan(begin, finish, match.span(), "since", clock))
    return found


_Range = tuple[datetime, datetime, bool]  # start, end, whether it names an hour


def _backwards(match: re.Match[str], begin: datetime, finish: datetime) -> tuple[datetime, datetime]:
    """A date without a year or week that lies in the future, moved to the last one before."""
    if match.group("weekday") is not None and not _groups_of(match, "weekday")[0]:
        return begin - timedelta(days=7), finish - timedelta(days=7)
    if any(match.group(kind) is not None and _groups_of(match, kind)[2] is None for kind in ("daymonth", "monthday")):
        return _add_months(begin, -12), _add_months(finish, -12)
    if match.group("month") is not None:
        return _add_months(begin, -12), _add_months(finish, -12)
    return begin, finish


def _day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _whole_day(moment: datetime) -> _Range:
    """The day of a moment."""
    begin = _day(moment)
    return begin, begin + timedelta(days=1), False


def _month_range(year: int, month: int, at: datetime) -> _Range:
    begin = _day(at).replace(year=year, month=month, day=1)
    return begin, _add_months(begin, 1), False


def _add_months(moment: datetime, months: int) -> datetime:
    """A moment some months later; a day that the month lacks (31 April) becomes its last day."""
    index = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(index, 12)
    # From the wanted day down to the 28th, which every month has.
    for day in range(moment.day, 27, -1):
        try:
            return moment.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    return moment.replace(year=year, month=month + 1)


def _month_number(name: str) -> int:
    return MONTHS[name.lower().rstrip(".")]


def _ambiguous_month(match: re.Match[str]) -> bool:
    """Whether a bare "may" or "march" is no month: those need a capital and a word before them ("in May")."""
    name = match.group("month").rstrip(".")
    if len(name) <= 3 or name.lower() in {"march", "june", "april", "august", "sept"}:
        return match.group(1) is None or not name[0].isupper()
    return not name[0].isupper() and match.group(1) is None


def _resolve(match: re.Match[str], at: datetime) -> _Range | None:
    """The range of a match, or None when it is no date after all."""
    # `lastgroup` may be a group inside the alternative, so the alternative is looked up by name.
    kind = next(name for name in _KINDS if match.group(name) is not None)
    return _KINDS[kind](match, _groups_of(match, kind), at)


def _groups_of(match: re.Match[str], kind: str) -> list[str | None]:
    """The groups inside the named group `kind`, in order."""
    index = match.re.groupindex[kind]
    following = [place for place in match.re.groupindex.values() if place > index]
    last = min(following) - 1 if following else match.re.groups
    return [match.group(place) for place in range(index + 1, last + 1)]


def _with_clock(moment: datetime, clock: list[str | None]) -> _Range:
    """A whole day, or the hour in it that the six groups of `_CLOCK` name."""
    hour = minute = 0
    if clock[0] is not None:
        hour, minute = int(clock[0]), int(clock[1] or 0)
        hour = _half(hour, clock[2])
    elif clock[3] is not None:
        hour = _half(int(clock[3]), clock[4])
    elif clock[5] is not None:
        hour = 12 if clock[5].lower() == "noon" else 0
    else:
        return _whole_day(moment)
    begin = _day(moment).replace(hour=hour, minute=minute)
    return begin, begin + timedelta(hours=1), True


def _half(hour: int, mark: str | None) -> int:
    """The hour of a 24-hour clock from one with am or pm."""
    if mark is None:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return hour % 12 + (12 if mark[0].lower() == "p" else 0)


def _iso(_: re.Match[str], parts: list[str | None], at: datetime) -> _Range:
    year, month, day = (int(part or 0) for part in parts[:3])
    begin = _day(at).replace(year=year, month=month, day=day)
    if parts[3] is None:
        return _whole_day(begin)
    begin = begin.replace(hour=int(parts[3]), minute=int(parts[4] or 0))
    return begin, begin + timedelta(hours=1), True


_NEAR: Final = {
    "today": 0,
    "tonight": 0,
    "yesterday": -1,
    "tomorrow": 1,
    "the day before yesterday": -2,
    "the day after tomorrow": 2,
}


def _near(match: re.Match[str], parts: list[str | None], at: datetime) -> _Range:
    return _with_clock(at + timedelta(days=_NEAR[match.group("near").lower()]), parts)


def _shift(at: datetime, count: int, unit: str) -> _Range:
    """The day (or hour, or minute) that is `count` units from `at`."""
    if unit == "year":
        moment = _add_months(at, 12 * count)
    elif unit == "month":
        moment = _add_months(at, count)
    elif unit in {"minute", "hour"}:
        moment = at + timedelta(**{unit + "s": count})
        return moment, moment + timedelta(**{unit + "s": 1}), True
    else:
        moment = at + timedelta(days=count * (7 if unit.startswith("week") else 1))
    return _whole_day(moment)


def _ago(_: re.Match[str], parts: list[str | None], at: datetime) -> _Range:
    count, unit, way = (part or "" for part in parts)
    sign = -1 if way.lower() == "ago" else 1
    return _shift(at, sign * _number(count), unit.lower())


def _within(_: re.Match[str], parts: list[str | None], at: datetime) -> _Range:
    return _shift(at, _number(parts[0] or ""), (parts[1] or "").lower())


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word.lower()]


def _year_of(year: str | None, month: int, at: datetime) -> int:
    """The year as said; otherwise the one that makes the month nearest to `at`."""
    if year is not None:
        return int(year)
    # "December" said in January is last month's, "January" said in December next month's.
    distance = month - at.month
    if distance > 6:
        return at.year - 1
    return at.year + 1 if distance < -6 else at.year


def _daymonth(_: re.Match[str], parts: list[str | None], at: datetime) -> _Range:
    month = _month_number(parts[1] or "")
    begin = _day(at).replace(day=1).replace(year=_year_of(parts[2], month, at), month=month)
    return _with_clock(begin.replace(day=int(parts[0] or 0)), parts[3:])


def _monthday(match: re.Match[str], parts: list[str | None], at: datetime) -> _Range:
    return _daymonth(match, [parts[1], parts[0], *parts[2:]], at)


def _weekday(match: re.Match[str], parts: list[str | None], at: datetime) -> _Range | None:
    which, name = (parts[0] or "").lower(), (parts[1] or "").lower()
    told = which or any(parts[2:]) or (match.group(1) or "").lower() in _BEFORE_DAYS
    if name in _OTHER_WORDS and not told and _is_other_word(match, name):
        return None
    ahead = (WEEKDAYS[name[:3]] - at.weekday()) % 7
    # "last Friday" said on a Friday is a week ago; "Friday" said on a Friday is in a week, unless it says "this".
    if which in {"last", "past"}:
        ahead = ahead - 7 if ahead else -7
    elif which == "next" or (ahead == 0 and which != "this"):
        ahead = ahead or 7
    return _with_clock(at + timedelta(days=ahead), parts[2:])


def _is_other_word(match: re.Match[str], name: str) -> bool:
    """Whether the short name of a day is a word here: "Sat in the sun", not "pickup Sat"."""
    start = match.start("weekday")
    before = match.string[max(0, start - 2) : start].strip()
    return match.string[start].islower() or (name in {"sat", "sun"} and before in _BEFORE_SENTENCES)


def _relative(_: re.Match[str], parts: list[str | None], at: datetime) -> _Range:
    step = {"last": -1, "past": -1, "this": 0}.get((parts[0] or "").lower(), 1)
    unit = (parts[1] or "").lower()
    today = _day(at)
    if unit == "year":
        begin = today.replace(month=1, day=1, year=today.year + step)
        return begin, begin.replace(year=begin.year + 1), False
    if unit == "month":
        begin = _add_months(today.replace(day=1), step)
        return begin, _add_months(begin, 1), False
    # Weeks begin on Monday (ISO 8601).
    monday = today - timedelta(days=today.weekday())
    if unit == "weekend":
        begin = monday + timedelta(days=5 + 7 * step)
        return begin, begin + timedelta(days=2), False
    if unit == "week":
        begin = monday + timedelta(days=7 * step)
        return begin, begin + timedelta(days=7), False
    return _shift(at, step, unit)


def _relmonth(_: re.Match[str], parts: list[str | None], at: datetime) -> _Range:
    month = _month_number(parts[1] or "")
    which = (parts[0] or "").lower()
    year = at.year
    if which in {"last", "past"} and month >= at.month:
        year -= 1
    elif which == "next" and month <= at.month:
        year += 1
    return _month_range(year, month, at)


def _monthyear(_: re.Match[str], parts: list[str | None], at: datetime) -> _Range:
    return _month_range(int(parts[1] or 0), _month_number(parts[0] or ""), at)


def _month(match: re.Match[str], _: list[str | None], at: datetime) -> _Range | None:
    if _ambiguous_month(match):
        return None
    month = _month_number(match.group("month"))
    return _month_range(_year_of(None, month, at), month, at)


def _year(match: re.Match[str], _: list[str | None], at: datetime) -> _Range | None:
    year = int(match.group("year"))
    # "2019 people": without a word before it the number is no year.
    if match.group(1) is None or not _YEAR_MIN <= year <= _YEAR_MAX:
        return None
    begin = _day(at).replace(year=year, month=1, day=1)
    return begin, begin.replace(year=year + 1), False


def _slash(_: re.Match[str], parts: list[str | None], at: datetime) -> _Range | None:
    first, second, year = (int(part or 0) for part in parts)
    # Month first where the second number cannot be a month.
    month, day = (first, second) if second > 12 else (second, first)
    if first <= 12 and second <= 12 and first != second:
        return None  # 3/4/2023 is in March in some countries and in April in others
    return _whole_day(_day(at).replace(day=1).replace(year=year, month=month).replace(day=day))


def _clock(match: re.Match[str], _: list[str | None], at: datetime) -> _Range:
    hour, minute, mark = re.fullmatch(
        r"(\d{1,2})(?::(\d{2}))? ?([ap]\.?m)?", match.group("clock"), re.IGNORECASE
    ).groups()  # type: ignore[union-attr]
    begin = _day(at).replace(hour=_half(int(hour), mark), minute=int(minute or 0))
    return begin, begin + timedelta(hours=1), True


_KINDS: Final = {
    "iso": _iso, "near": _near, "ago": _ago, "within": _within, "daymonth": _daymonth, "monthday": _monthday, "relative": _relative,
    "weekday": _weekday, "relmonth": _relmonth, "monthyear": _monthyear, "month": _month, "year": _year, "slash": _slash, "clock": _clock,
}  # fmt: skip

"""The oracle of times in questions: which day, month or year is meant, and as of when a fact of a month is looked up.

By ADR 11 a day or month without a year is the last one that began before the newest message; what is relative ("last week") says nothing,
since a question does not tell when it is asked. By ADR 5 a month of the past stands for its last day.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
Period = tuple[datetime, datetime]

_MONTH: Final = "|".join(MONTHS)
_FORMS: Final = tuple(
    re.compile(form)
    for form in (
        rf"on (?:the )?(?P<day>\d+)(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})(?:,? (?P<year>\d{{4}}))?",
        rf"on (?P<month>{_MONTH}) (?P<day>\d+)(?:,? (?P<year>\d{{4}}))?",
        rf"(?:in|during) (?P<month>{_MONTH})(?: (?P<year>\d{{4}}))?",
        r"in (?P<year>\d{4})",
    )
)
_DAY: Final = timedelta(days=1)


def asked_period(query: str, newest: datetime) -> Period | None:
    """The day, month or year that a question names, where the newest message is of that moment."""
    for form in _FORMS:
        if match := form.search(query):
            told = match.groupdict()
            return _period(told["year"], told.get("month"), told.get("day"), newest.astimezone(UTC))
    return None


def _period(year: str | None, month: str | None, day: str | None, newest: datetime) -> Period:
    if month is None:
        return datetime(int(year or 0), 1, 1, tzinfo=UTC), datetime(int(year or 0) + 1, 1, 1, tzinfo=UTC)
    number = MONTHS.index(month) + 1
    start = datetime(int(year or newest.year), number, int(day or 1), tzinfo=UTC)
    if year is None and start > newest:
        start = start.replace(year=start.year - 1)
    return start, start + _DAY if day else month_after(start)


def month_after(start: datetime) -> datetime:
    """The first moment of the next month."""
    return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1, day=1)


def end_of_month(month: str, newest: datetime) -> datetime:
    """The end of the last such month that began before a moment: as of then a fact is looked up."""
    period = _period(None, month, None, newest.astimezone(UTC))
    return period[1] - timedelta(seconds=1)

"""Read the period that a question names: "in June", "on 3 May 2023", "in 2022".

Relative times ("last week") are ignored: a question does not say when it is asked, and the store may be years old.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from umi._core.rerank import Period, never
from umi._reading.grammar.dates import find_dates
from umi.ports.candidates import from_days, in_days

# A date must contain a year or the name of a month; a weekday or "last week" alone does not count.
_NAMED: Final = re.compile(r"[12]\d{3}|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec", re.IGNORECASE)


def asked_period(query: str) -> Period:
    """The first period that a query names, as a function of the newest message's time, in days since 1970.

    A month or day without a year is taken as the last one before the newest message.
    """
    return partial(_period, query) if _NAMED.search(query) else never


def _period(query: str, newest_days: float) -> tuple[float, float] | None:
    """Start and end of the first named period in days since 1970, or None."""
    for date in find_dates(query, from_days(newest_days), past=True):
        start, end = date.span
        if _NAMED.search(query[start:end]):
            return in_days(date.start), in_days(date.end)
    return None

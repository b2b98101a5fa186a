"""When what a question asks about happened, if it says so by name: "in June", "on 3 May 2023", "in 2022".

Relative times ("last week") are left alone: a question does not say when it is asked, and the store may be years old.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from umi._core.rerank import Period, never
from umi._reading.grammar.dates import find_dates
from umi.ports.candidates import from_days, in_days

_NAMED: Final = re.compile(r"[12]\d{3}|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec", re.IGNORECASE)


def asked_period(query: str) -> Period:
    """Of a query the first period that it names, as a function of the newest message's time, in days since 1970.

    A month or day without a year is the last one before that.
    """
    return partial(_period, query) if _NAMED.search(query) else never


def _period(query: str, newest_days: float) -> tuple[float, float] | None:
    for date in find_dates(query, from_days(newest_days), past=True):
        start, end = date.span
        if _NAMED.search(query[start:end]):
            return in_days(date.start), in_days(date.end)
    return None

"""When the statements about a subject of a SQL database begin: conditions on their time, and counts that are made there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from umi.stores.sql import rows
from umi.stores.sql.connection import Rows
from umi.types.periods import KNOWN_FROM, During, HistoryCounts, PeriodCounts, period_of

_MICROSECOND: Final = timedelta(microseconds=1)
_BEGAN: Final = f"CASE WHEN e.valid_from >= {rows.to_micros(KNOWN_FROM)} THEN e.valid_from ELSE e.at END"
_RECORDED: Final = "coalesce(e.recorded_at, e.at)"
_TIMES: Final = f"SELECT {_BEGAN} AS held, {_RECORDED} AS known FROM entities e"
_OF: Final = (
    f"({_TIMES} WHERE e.ns = ? AND {rows.OF_SUBJECT} UNION ALL"
    f" {_TIMES} JOIN mentions m ON e.key = m.key AND e.place = m.place WHERE m.ns = ? AND m.subject = ?) t"
)
_ENDS: Final = f"SELECT count(*), min(held), max(held), min(known), max(known) FROM {_OF}"
_COUNTS: Final = " UNION ALL ".join(
    f"SELECT {axis}, ({column} - ?) / ? AS part, count(*) FROM {_OF} GROUP BY part"
    for axis, column in enumerate(("held", "known"))
)


def during(wanted: During) -> tuple[str, tuple[int, ...]]:
    """The condition on entities `e` of these times, to be put behind another one, and its values."""
    parts = ((wanted.held, _BEGAN, "e.valid_to"), (wanted.known, _RECORDED, "e.invalidated_at"))
    text = ""
    values: tuple[int, ...] = ()
    for span, start, end in parts:
        if span is None:
            continue
        first, last = map(rows.to_micros, span)
        text += f" AND {start} < ? AND ({start} >= ? OR {end} IS NULL OR {end} > ?)"
        values += (last, first, first)
    return text, values


def still_open(moment: datetime | None) -> tuple[str, tuple[int, ...]]:
    """The same, of entities that were said at a moment or later, or had not ended by then; None is no condition."""
    if moment is None:
        return "", ()
    micros = rows.to_micros(moment)
    return " AND (e.valid_to IS NULL OR e.valid_to > ? OR e.at >= ?)", (micros, micros)


def periods(execute: Callable[..., Rows], ns: int, subject: str, parts: int) -> HistoryCounts:
    """As `umi.ports.Snapshot.periods`, for the namespace of that number."""
    of = (ns, subject, ns, subject)
    ((count, *ends),) = execute(_ENDS, of)
    if not count:
        return HistoryCounts()
    axes = [(first, last, _length(first, last, parts)) for first, last in (ends[:2], ends[2:])]
    given = tuple(value for first, _, length in axes for value in (first, length, *of))
    found = {(axis, part): many for axis, part, many in execute(_COUNTS, given)}
    held, known = (
        PeriodCounts(
            rows.from_micros(first), rows.from_micros(last), tuple(found.get((axis, part), 0) for part in range(parts))
        )
        for axis, (first, last, _) in enumerate(axes)
    )
    return HistoryCounts(count, held, known)


def _length(first: int, last: int, parts: int) -> int:
    return period_of(rows.from_micros(first), rows.from_micros(last), parts) // _MICROSECOND

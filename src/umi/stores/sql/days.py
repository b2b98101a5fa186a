"""What happened on each day in a namespace of a SQL database, counted there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from umi.ports import DayCount
from umi.stores.sql import rows
from umi.stores.sql.connection import Rows
from umi.types.activity import SECONDS_OF_DAY

_DAY: Final = SECONDS_OF_DAY * 1_000_000  # in the unit of the columns
_OF_KEYS: Final = "{0}.key BETWEEN ? AND ?"
_OF_SPACE: Final = "r.ns = ?"


def _part(moment: str, what: str, source: str, where: str) -> str:
    """The days of the rows whose moment is within an interval; one that is NULL is in none."""
    return f"SELECT {moment} / {_DAY} AS day, {what} AS what FROM {source} WHERE {where} AND {moment} >= ? AND {moment} < ?"


_PARTS: Final = (
    _part("p.recorded_at", "'remembered'", "episodes p", _OF_KEYS.format("p")),
    _part("p.recorded_at", "'waiting'", "outbox o JOIN episodes p ON p.key = o.key", _OF_KEYS.format("o")),
    _part("r.created_at", "r.type", "relations r", _OF_SPACE),
    _part("r.resolved_at", "'settled'", "relations r", _OF_SPACE),
    _part("r.undone_at", "'undone'", "relations r", _OF_SPACE),
)
_SQL: Final = f"SELECT day, what, count(*) FROM ({' UNION ALL '.join(_PARTS)}) t GROUP BY day, what ORDER BY day, what"


def days(
    execute: Callable[..., Rows], ns: int, keys: tuple[int, int], since: datetime, until: datetime
) -> list[DayCount]:
    """As `umi.ports.Snapshot.days`, for the namespace of that number, whose episodes have keys in that range."""
    between = rows.to_micros(since), rows.to_micros(until)
    values = (*keys, *between, *keys, *between, *(ns, *between) * 3)
    return [DayCount(day, what, count) for day, what, count in execute(_SQL, values)]

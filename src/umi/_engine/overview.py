"""`Memory.activity` and `history_counts`: what happened in a namespace by day, and to a subject by parts of its time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from umi import limits
from umi._core import validate
from umi._retrieval import history
from umi.ports import DayCount
from umi.types import Activity, ActivityDay, EvolutionType, HistoryCounts, Moment

if TYPE_CHECKING:
    from umi._engine.engine import Engine

_BEGINNING = date(1970, 1, 1)  # day 0 of a `DayCount`
_LATEST = datetime.max.replace(tzinfo=UTC)
_TYPES = frozenset(map(str, EvolutionType))


class Overview(ABC):
    """The methods of `umi.Memory` that count instead of listing."""

    @property
    @abstractmethod
    def _open(self) -> Engine: ...

    async def activity(self, *, days: int = limits.ACTIVITY_DAYS_DEFAULT, until: Moment | None = None) -> Activity:
        """What was remembered, noticed, settled and taken back on each day (UTC), counted in the store.

        What was erased is no longer counted, and recalls are not stored.

        Args:
            days: So many days, 1..3,660.
            until: A moment of the last day. Default: now.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read.
        """
        count = validate.count(days, "days", low=1, high=limits.ACTIVITY_DAYS_MAX)
        moment = validate.optional_when(until, "until") or self._open.parts.clock.now()
        last = moment.astimezone(UTC).date()
        first = max(last - timedelta(days=count - 1), _BEGINNING) if last >= _BEGINNING else last
        start, end = _midnight(first), _LATEST if last == date.max else _midnight(last + timedelta(days=1))
        found = await self._open.storage.read(lambda snapshot: snapshot.days(start, end))
        return Activity(first, last, tuple(_days(found)))

    async def history_counts(self, subject: str, *, parts: int = limits.HISTORY_PARTS_COUNT_DEFAULT) -> HistoryCounts:
        """How many statements there are about a subject, and how many begin in each part of the time that they take, counted in the store.

        On both axes: when each began to hold, or was said where it names no beginning, and when Umi took it in. The statements themselves, of the
        whole time or of some, are given by `history`. Of an alias what is counted is all about the subject that it stands for.

        Args:
            subject: A name or an alias. An unknown one has no statements.
            parts: Into how many parts of equal length each axis is divided, 1..1,000.

        Raises:
            InvalidInput: When an argument is outside its limits.
            StoreError: When the rows cannot be read.
        """
        name = validate.name(subject, "subject")
        count = validate.count(parts, "parts", low=1, high=limits.HISTORY_PARTS_COUNT_MAX)
        return await self._open.storage.read(lambda snapshot: history.counts(snapshot, name, count))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _days(rows: Iterable[DayCount]) -> Iterable[ActivityDay]:
    counts: dict[int, dict[str, int]] = {}
    for row in rows:
        counts.setdefault(row.day, {})[row.what] = row.count
    for day, found in sorted(counts.items()):
        evolutions = {what: count for what, count in found.items() if what in _TYPES}
        others = {what: count for what, count in found.items() if what not in _TYPES}
        yield ActivityDay(_BEGINNING + timedelta(days=day), evolutions=evolutions, **others)

"""When statements begin: the counts that `Memory.history_counts` returns, and the times to which a history can be confined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from umi.types.records import Entity

KNOWN_FROM: Final = datetime(1900, 1, 1, tzinfo=UTC)
"""A `valid_from` before it stands for a beginning that nobody named; such a statement counts from when it was said."""


@dataclass(frozen=True, slots=True)
class PeriodCounts:
    """How many statements begin in each of some periods of equal length.

    The first period begins with the first of them, at `first`; the last ends behind the last of them, which is at `last`.
    """

    first: datetime
    last: datetime
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HistoryCounts:
    """How many statements there are about a subject, and when: `held` by when each began to hold, `known` by when Umi took it in.

    A beginning before 1900 stands for one that nobody named: such a statement counts from when it was said. Both are None where
    nothing is known of the subject.
    """

    count: int = 0
    held: PeriodCounts | None = None
    known: PeriodCounts | None = None


@dataclass(frozen=True, slots=True)
class During:
    """Of which time statements are wanted: those that held, or were known, at some time within [from, to). None is any time."""

    held: tuple[datetime, datetime] | None = None
    known: tuple[datetime, datetime] | None = None

    def admits(self, entity: Entity) -> bool:
        """Whether a statement is of these times."""
        return _meets(self.held, began(entity), entity.valid_to) and _meets(
            self.known, recorded(entity), entity.invalidated_at
        )


ALWAYS: Final = During()


def began(entity: Entity) -> datetime | None:
    """When a statement began to hold, else when it was said."""
    start = entity.valid_from
    return start if start is not None and start >= KNOWN_FROM else entity.at


def recorded(entity: Entity) -> datetime | None:
    """When Umi took a statement in, else when it was said."""
    return entity.recorded_at or entity.at


def period_of(first: datetime, last: datetime, parts: int) -> timedelta:
    """The length of each of so many equal parts, whole microseconds, that together hold both moments."""
    return (last - first) // parts + timedelta(microseconds=1)


def counted(moments: Sequence[datetime], parts: int) -> PeriodCounts:
    """Some moments, at least one, counted in so many parts of equal length."""
    first, last = min(moments), max(moments)
    length = period_of(first, last, parts)
    found = Counter((one - first) // length for one in moments)
    return PeriodCounts(first, last, tuple(found[part] for part in range(parts)))


def _meets(wanted: tuple[datetime, datetime] | None, start: datetime | None, end: datetime | None) -> bool:
    if wanted is None or start is None:
        return wanted is None
    return start < wanted[1] and (start >= wanted[0] or end is None or end > wanted[0])

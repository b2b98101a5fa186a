"""What happened on each day in a namespace in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from umi.ports import DayCount
from umi.stores.memory.space import Space
from umi.types.activity import SECONDS_OF_DAY


class DayReads:
    """The part of `umi.ports.Snapshot` about days."""

    _space: Space

    def days(self, since: datetime, until: datetime) -> list[DayCount]:
        found = Counter(
            (int(at.timestamp() // SECONDS_OF_DAY), what)
            for at, what in self._dated()
            if at is not None and since <= at < until
        )
        return [DayCount(day, what, count) for (day, what), count in sorted(found.items())]

    def _dated(self) -> Iterator[tuple[datetime | None, str]]:
        for arrival, row in self._space.rows.items():
            yield row.episode.recorded_at, "remembered"
            if arrival in self._space.outbox:
                yield row.episode.recorded_at, "waiting"
        for one in self._space.relations.values():
            yield one.created_at, str(one.evolution_type)
            yield one.resolved_at, "settled"
            yield one.undone_at, "undone"

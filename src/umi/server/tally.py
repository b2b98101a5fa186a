"""How often a namespace was asked, answered more poorly, deferred and erased from on each day: nothing of it is stored, so a server counts for itself."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

from umi import limits
from umi.ports import Clock
from umi.server.access import Use

_ASKED: Final = frozenset({"recall", "context"})
_ERASED: Final = frozenset({"forget", "erase"})
_ERROR_STATUS: Final = 400


class Tally:
    """Counts by namespace and day (UTC) since a server started; of more namespaces than it keeps, the least recently used go.

    Args:
        clock: The source of time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.since = clock.now()
        self._spaces: OrderedDict[str, dict[date, Counter[str]]] = OrderedDict()

    def note(self, use: Use, status: int) -> None:
        """Count a request that was answered."""
        if not 0 < status < _ERROR_STATUS or use.failed or use.namespace is None:
            return
        counts = {
            "recalled": int(use.action in _ASKED),
            "degraded": int(bool(use.degraded)),
            "deferred": use.deferred,
            "erased": int(use.action in _ERASED),
        }
        if not any(counts.values()):
            return
        today = self._clock.now().date()
        days = self._spaces.setdefault(use.namespace, {})
        self._spaces.move_to_end(use.namespace)
        days.setdefault(today, Counter()).update(counts)
        oldest = today - timedelta(days=limits.ACTIVITY_DAYS_MAX)
        for day in [day for day in days if day <= oldest]:
            del days[day]
        if len(self._spaces) > limits.SERVER_NAMESPACES_COUNT_MAX:
            self._spaces.popitem(last=False)

    def of(self, namespace: str) -> Mapping[date, Mapping[str, int]]:
        """What was counted in a namespace, by day."""
        return self._spaces.get(namespace, {})

"""How many requests a caller may send: a token bucket each."""

from __future__ import annotations

import math
from collections import OrderedDict

from umi import limits
from umi.ports import Clock
from umi.server.problems import Refused


class Buckets:
    """One bucket per caller: it fills at a rate and holds twice as much as a second brings.

    Args:
        clock: The source of time.
        per_s: Requests a second and caller; 0 is no bound.
    """

    def __init__(self, clock: Clock, per_s: float) -> None:
        self._clock = clock
        self._per_s = per_s
        self._held = max(1.0, 2 * per_s)
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count one request.

        Raises:
            Refused: When the bucket is empty; says when to come again.
        """
        if not self._per_s:
            return
        now = self._clock.monotonic_s()
        level, since = self._levels.get(caller, (self._held, now))
        level = min(self._held, level + (now - since) * self._per_s)
        # A request that is refused takes nothing: who is too fast still gets the rate.
        self._levels[caller] = (level - 1 if level >= 1 else level), now
        self._levels.move_to_end(caller)
        # The one that was quiet for longest has a full bucket by now, or nearly.
        if len(self._levels) > limits.SERVER_NAMESPACES_COUNT_MAX:
            self._levels.popitem(last=False)
        if level < 1:
            wait = {"Retry-After": str(math.ceil((1 - level) / self._per_s))}
            raise Refused(429, "too_many_requests", f"more than {self._per_s:g} requests a second with this key", wait)

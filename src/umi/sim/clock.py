"""Virtual time, and ids that are a function of the seed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final

from umi._core.invariants import check
from umi.sim.errors import Forbidden
from umi.sim.rng import DeterministicRng

EPOCH: Final = datetime(2030, 1, 1, tzinfo=UTC)  # the time at virtual second 0, unless another is given


class SimClock:
    """Time that advances only when the loop has nothing to do, or when a simulated part lets it pass. Satisfies `umi.ports.Clock`.

    Args:
        start: The time of day at virtual second 0; timezone-aware.
    """

    def __init__(self, start: datetime = EPOCH) -> None:
        check(start.tzinfo is not None, "the start of a simulation has a timezone")
        self._start = start.astimezone(UTC)
        self._elapsed_s = 0.0

    def now(self) -> datetime:
        """The virtual time of day in UTC, timezone-aware, to the microsecond."""
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic_s(self) -> float:
        """Virtual seconds since the start."""
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        """Wait in virtual time.

        Raises:
            Forbidden: When this clock does not drive the running loop; the wait would take real time.
        """
        # Only `SimLoop` has a clock; on a real loop `asyncio.sleep` would take real time.
        if getattr(asyncio.get_running_loop(), "clock", None) is not self:
            raise Forbidden("this SimClock does not drive the running loop: give it to umi.sim.run(..., clock=)")
        await asyncio.sleep(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass without waiting, as a slow disk does. Timers that fall due run when the loop next gets control."""
        check(seconds >= 0, f"time does not go back, not even {seconds} s")
        self._elapsed_s += seconds

    def advance_to(self, monotonic_s: float) -> None:
        """Let time pass until `monotonic_s()` is at least this."""
        self._elapsed_s = max(self._elapsed_s, monotonic_s)


class SimEntropy:
    """Ids and random numbers from a stream of the seed. Satisfies `umi.ports.Entropy`."""

    def __init__(self, rng: DeterministicRng) -> None:
        self._rng = rng

    def new_id(self, prefix: str, at: datetime) -> str:
        """An id in the format of a real one: prefix, milliseconds of `at` in hexadecimal, 64 bits from the stream."""
        # 48 bits of milliseconds reach to the year 10889.
        milliseconds = (at - _UNIX) // timedelta(milliseconds=1)
        return f"{prefix}_{milliseconds & 0xFFFFFFFFFFFF:012x}{self._rng.next_bits():016x}"

    def uniform(self) -> float:
        """A number in [0, 1)."""
        return self._rng.next_float()


_UNIX: Final = datetime(1970, 1, 1, tzinfo=UTC)

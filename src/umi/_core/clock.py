"""The system clock and random source.

This is the only module that reads the time, draws random numbers or makes ids. All other code is given a `Clock` and an
`Entropy` (`umi.ports`), so that a simulation can replace both.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's clock. Satisfies `umi.ports.Clock`."""

    def now(self) -> datetime:
        """The current time, timezone-aware, in UTC, with microseconds."""
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes backwards; only differences between two readings are meaningful."""
        return time.perf_counter()

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the event loop."""
        await asyncio.sleep(seconds)


class SystemEntropy:
    """The machine's random source. Satisfies `umi.ports.Entropy`."""

    def new_id(self, prefix: str, at: datetime) -> str:
        """A new id that sorts by time: `prefix`, the milliseconds of `at` as 12 hex digits, then 64 random bits."""
        # Milliseconds are cut to 48 bits and padded to 12 digits: ids of equal length sort by time when compared as
        # text.
        return f"{prefix}_{int(at.timestamp() * 1000) & 0xFFFFFFFFFFFF:012x}{secrets.token_hex(8)}"

    def new_secret(self, bytes_count: int = 32) -> str:
        """So many random bytes, for keys that nobody may guess, as lower-case hex digits."""
        return secrets.token_hex(bytes_count)

    def uniform(self) -> float:
        """A random number in [0, 1)."""
        # 53 bits are the mantissa of a double: every result is exact, and none rounds up to 1.0.
        return secrets.randbelow(1 << 53) / (1 << 53)

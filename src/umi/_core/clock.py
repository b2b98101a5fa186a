"""The only file that reads time or randomness or makes ids. Everything else is handed a `Clock` and an `Entropy`."""

from __future__ import annotations

import asyncio
import secrets
import time
from datetime import UTC, datetime


class SystemClock:
    """Real time. Satisfies `umi.ports.Clock`."""

    def now(self) -> datetime:
        """The time of day, timezone-aware, UTC, to the microsecond."""
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        """Seconds of a clock that never goes back; only differences mean something."""
        return time.perf_counter()

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the loop."""
        await asyncio.sleep(seconds)


class SystemEntropy:
    """Real randomness. Satisfies `umi.ports.Entropy`."""

    def new_id(self, prefix: str, at: datetime) -> str:
        """A new id that sorts by time: prefix, milliseconds of `at` in hex, 64 random bits."""
        return f"{prefix}_{int(at.timestamp() * 1000) & 0xFFFFFFFFFFFF:012x}{secrets.token_hex(8)}"

    def uniform(self) -> float:
        """A random number in [0, 1)."""
        return secrets.randbelow(1 << 53) / (1 << 53)

"""Settings of one `Memory`, each with its unit in the name."""

from __future__ import annotations

from dataclasses import dataclass

from umi import limits
from umi.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Config:
    """How a `Memory` behaves.

    Args:
        cache_bytes_max: Memory that the caches of all namespaces may take together.
        busy_timeout_ms: How long a write waits for another process's.

    Raises:
        InvalidInput: When a value is not positive.
    """

    cache_bytes_max: int = limits.STORE_CACHE_BYTES_DEFAULT
    busy_timeout_ms: int = limits.STORE_BUSY_TIMEOUT_MS

    def __post_init__(self) -> None:
        for name in ("cache_bytes_max", "busy_timeout_ms"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidInput(f"Config.{name} must be a positive whole number, got {value!r}")

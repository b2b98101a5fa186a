"""Settings of one `Memory`, each with its unit in the name."""

from __future__ import annotations

import math
from dataclasses import dataclass

from umi import limits
from umi.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Config:
    """How a `Memory` behaves.

    Args:
        cache_bytes_max: Memory that the caches of all namespaces may take together.
        busy_timeout_ms: How long a write waits for another process's.
        deadline_s: How long one operation may wait for models; what is not done by then is deferred.
        token_budget: Tokens that models may spend in the life of a `Memory`; None is no bound.

    Raises:
        InvalidInput: When a value is not positive.
    """

    cache_bytes_max: int = limits.STORE_CACHE_BYTES_DEFAULT
    busy_timeout_ms: int = limits.STORE_BUSY_TIMEOUT_MS
    deadline_s: float = limits.DEADLINE_S_DEFAULT
    token_budget: int | None = None

    def __post_init__(self) -> None:
        for name in ("cache_bytes_max", "busy_timeout_ms", "token_budget"):
            value = getattr(self, name)
            if name == "token_budget" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidInput(f"Config.{name} must be a positive whole number, got {value!r}")
        deadline = self.deadline_s
        if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline < math.inf:
            raise InvalidInput(f"Config.deadline_s must be a positive number of seconds, got {deadline!r}")

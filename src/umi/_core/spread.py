"""Work in threads, as many as the machine has cores."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def spread(do: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Apply a function to each item, in as many threads as there are cores; results in order of the items."""
    threads = min(os.cpu_count() or 1, len(items))

    def some(first: int) -> list[R]:
        return [do(item) for item in items[first::threads]]

    # Thread number t takes items t, t + threads, t + 2 * threads, ...; the last line puts their results back in order.
    shares = await asyncio.gather(*(asyncio.to_thread(some, first) for first in range(threads)))
    return [shares[place % threads][place // threads] for place in range(len(items))]

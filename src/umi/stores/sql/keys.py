"""Keys of episodes: `ns << ARRIVAL_BITS | arrival`.

A key starts with its namespace, so a namespace is one range of keys. Everything that belongs to an episode carries the
episode's key.
"""

from __future__ import annotations

from typing import Final

from umi._core.invariants import check

ARRIVAL_BITS: Final = 40  # room for about 10**12 episodes in a namespace
ARRIVAL_MASK: Final = (1 << ARRIVAL_BITS) - 1
NAMESPACE_LAST: Final = (1 << (63 - ARRIVAL_BITS)) - 1

check(NAMESPACE_LAST << ARRIVAL_BITS | ARRIVAL_MASK < 1 << 63, "a key fits signed 64 bits")


def key_of(ns: int, arrival: int) -> int:
    """The key of an episode, from its namespace's number and its arrival."""
    return ns << ARRIVAL_BITS | arrival


def keys_of(ns: int) -> tuple[int, int]:
    """The first and the last key of a namespace."""
    return key_of(ns, 0), key_of(ns, ARRIVAL_MASK)


def arrival_of(key: int) -> int:
    """The arrival within a key."""
    return key & ARRIVAL_MASK

"""Cases of calls that are given up while they run, and mostly made again."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

CALLS: Final = ("remember", "remember_many", "set_fact", "forget", "erase", "erase_namespace")
_TURNS_MAX: Final = 6  # of the loop, after which a call is cancelled
_WAITS_MS: Final = (0, 0, 2, 5, 12)  # before these turns: an embedder needs up to ten
_EMBEDDING: Final = frozenset(["remember", "remember_many", "set_fact", "erase"])
_CASES: Final = 3  # in a world


def drawn(rng: DeterministicRng) -> dict[str, Any]:
    """What is called, after how long it is given up, and whether it is called again."""
    cases = []
    for _ in range(_CASES):
        call, wait_ms = rng.choice(CALLS), rng.choice(_WAITS_MS)
        cases.append(
            {
                "call": call,
                "wait_ms": wait_ms if call in _EMBEDDING else 0,
                "turns": rng.next_int(0, _TURNS_MAX),
                "again": rng.chance(0.7),
            }
        )
    return {"cases": cases}

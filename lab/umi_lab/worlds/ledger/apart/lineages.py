"""Conclusions of conclusions: chains, diamonds and any net of messages of which some are concluded from earlier ones, up to five steps deep."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

_DEPTH_MAX: Final = 5
_ACTS: Final = ("forget", "forget", "undo", "undo", "erase", "erase", "clear")
_OUTCOMES: Final = ("success", "success", "failure", "partial_success")


def net(rng: DeterministicRng) -> list[list[int]]:
    """For each message the earlier ones from which it is concluded."""
    kind = rng.choice(("chain", "chain", "diamond", "short cut", "short cut", "any"))
    if kind == "chain":
        return _chain([[]], rng.choice((1, 2, 3, 4, _DEPTH_MAX, _DEPTH_MAX)))
    if kind == "diamond":  # and a chain or another diamond below it
        found = [[], [0], [0], [1, 2]]
        return [*found, [3], [3], [4, 5]] if rng.chance(0.4) else _chain(found, rng.next_int(0, _DEPTH_MAX - 2))
    if kind == "short cut":  # the last rests on the first through all others, and at once
        found = _chain([[]], rng.choice((2, 2, 3, 4, _DEPTH_MAX)))
        found[-1] = [0, *found[-1]] if rng.chance(0.5) else [*found[-1], 0]
        return found
    found = [[]]
    for place in range(1, rng.next_int(4, 7)):
        found.append(sorted({rng.next_int(0, place - 1) for _ in range(rng.choice((0, 1, 1, 2, 2)))}))
    return found


def _chain(found: list[list[int]], count: int) -> list[list[int]]:
    return [*found, *([place] for place in range(len(found) - 1, len(found) - 1 + count))]


def drawn(rng: DeterministicRng) -> dict[str, Any]:
    """A net, changes and contradictions in it, and what is undone, forgotten or erased after it was previewed."""
    parents = net(rng)
    most = len(parents) - 1
    return {
        "parents": parents,
        "in_file": rng.chance(0.3),
        "sessions": [rng.choice((None, "dawn", "dusk")) for _ in parents],
        "changes": [_change(rng, most) for _ in range(rng.choice((1, 2, 2, 3)))],
        "acts": [
            {
                "act": rng.choice(_ACTS),
                "what": rng.next_int(0, 99),
                "by": rng.choice(("statement", "message")),
                "how": rng.choice(("session", "where")),
                "places": sorted({rng.next_int(0, most) for _ in range(rng.choice((1, 1, 2)))}),
                "derived": rng.choice(("stale", "erase")),
            }
            for _ in range(2)
        ],
    }


def _change(rng: DeterministicRng, most: int) -> dict[str, Any]:
    """A change of what stands at the top more often than of what was concluded."""
    old = rng.choice((0, min(rng.next_int(0, most), rng.next_int(0, most))))
    return {
        "type": rng.choice(("update", "update", "contradict")),
        "old": old,
        "settled": rng.choice((None, "new", "old")),
    }


def judged(rng: DeterministicRng) -> dict[str, Any]:
    """A net, and judgements of recalls that show some of it."""
    parents = net(rng)
    return {
        "parents": parents,
        "judged": [
            {
                "limit": rng.choice((1, 1, 2, 3, 100)),
                "asked": rng.choice((len(parents) - 1, rng.next_int(0, len(parents) - 1))),  # mostly what rests on most
                "used": rng.choice((None, None, [0], [0], [0, 1], [1], [])),
                "by": rng.choice(("statement", "message")),
                "outcome": rng.choice(_OUTCOMES),
                "days": rng.choice((0, 0, 1, 45)),
            }
            for _ in range(rng.choice((1, 1, 2, 3)))
        ],
        "restart": rng.chance(0.3),
    }

"""Values of an attribute that begin and end at moments a microsecond apart, or days, and at which borders is asked."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

_GAPS_US: Final = (1, 2, 1_000, 3_600_000_000, 86_400_000_000)
_BORDERS: Final = 2  # of each axis


def drawn(rng: DeterministicRng) -> dict[str, Any]:
    """When values are set and since when they hold, and which of their borders are asked at."""
    count = rng.next_int(2, 4)
    since = sorted(rng.choice((0, 0, 1, 2, 1_000, 86_400_000_000, 172_800_000_000)) for _ in range(count))
    before = rng.choice((since, since, list(rng.shuffled(since))))
    return {
        "facts": [{"gap_us": rng.choice(_GAPS_US), "since_us": one} for one in before],
        "undone": rng.chance(0.3),
        "notes": rng.next_int(1, 2),
        "asked": [{"axis": axis, "border": rng.next_int(0, 99)} for axis in ("held", "known") for _ in range(_BORDERS)],
        "look": {"border": rng.next_int(0, 99), "by": rng.choice(("as_of", "known_at", "from", "to"))},
        "midnight": rng.chance(0.5),
        "lasts_us": rng.choice((1, 2, 1_000_000)),
        "parts": rng.choice((1, 2, 3, 7)),
    }

"""What the public interface refuses, and what lies just inside each border: one run per area.

Nothing here knows what is right. The runs only take down what each call gives or says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from umi.sim.clock import SimClock
from umi.sim.loop import run as run_virtually
from umi_lab.worlds.recorded import refused_calls, refused_records

_RUNS: Final[dict[str, Callable[[SimClock], Awaitable[None]]]] = {
    "going-in": refused_calls.going_in,
    "corrected": refused_calls.corrected,
    "asked-of": refused_calls.asked_of,
    "filtered": refused_calls.filtered,
    "taken-away": refused_calls.taken_away,
    "learned": refused_calls.learned,
    "routed": refused_calls.routed,
    "settings": refused_records.settings,
    "records": refused_records.records,
    "shapes": refused_records.shapes,
    "simulated": refused_records.simulated,
}

NAMES: Final = tuple(_RUNS)


def tell(name: str) -> None:
    """Go through the refusals of one area."""
    clock = SimClock()
    run_virtually(_RUNS[name](clock), seed=0, clock=clock)

"""What the public interface refuses, and what lies just inside each border: one run per area.

Nothing here knows what is right. The runs only take down what each call gives or says.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from umi.sim.clock import SimClock
from umi.sim.loop import run as run_virtually
from umi_lab.worlds.recorded.refused import archives, calls, learning, records, rows, signals, stores

_RUNS: Final[dict[str, Callable[[SimClock], Coroutine[Any, Any, None]]]] = {
    "going-in": calls.going_in,
    "corrected": calls.corrected,
    "asked-of": calls.asked_of,
    "filtered": calls.filtered,
    "taken-away": calls.taken_away,
    "learned": learning.learned,
    "routed": learning.routed,
    "settings": records.settings,
    "records": records.records,
    "shapes": records.shapes,
    "simulated": records.simulated,
    "closed": stores.closed,
    "stores": stores.stores,
    "parts": stores.parts,
    "signals": signals.signals,
    "damaged": archives.damaged,
    "fields-of-ends": archives.fields_of_ends,
    "fields-of-messages": archives.fields_of_messages,
    "fields-of-statements": archives.fields_of_statements,
    "fields-of-others": archives.fields_of_others,
    "broken-texts": archives.broken_texts,
    "moved": archives.moved,
    "rows-of-messages": rows.of_messages,
    "rows-of-blocks": rows.of_blocks,
    "rows-of-statements": rows.of_statements,
    "rows-beside": rows.of_what_is_beside,
    "rows-of-learned": rows.of_learned,
}

NAMES: Final = tuple(_RUNS)


def tell(name: str) -> None:
    """Go through the refusals of one area."""
    clock = SimClock()
    run_virtually(_RUNS[name](clock), seed=0, clock=clock)

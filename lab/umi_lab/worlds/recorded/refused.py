"""What the public interface refuses, and what lies just inside each border: one run per area.

Nothing here knows what is right. The runs only take down what each call gives or says.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from umi.sim.clock import SimClock
from umi.sim.loop import run as run_virtually
from umi_lab.worlds.recorded import (
    refused_archives,
    refused_calls,
    refused_learning,
    refused_records,
    refused_rows,
    refused_signals,
    refused_stores,
)

_RUNS: Final[dict[str, Callable[[SimClock], Coroutine[Any, Any, None]]]] = {
    "going-in": refused_calls.going_in,
    "corrected": refused_calls.corrected,
    "asked-of": refused_calls.asked_of,
    "filtered": refused_calls.filtered,
    "taken-away": refused_calls.taken_away,
    "learned": refused_learning.learned,
    "routed": refused_learning.routed,
    "settings": refused_records.settings,
    "records": refused_records.records,
    "shapes": refused_records.shapes,
    "simulated": refused_records.simulated,
    "closed": refused_stores.closed,
    "stores": refused_stores.stores,
    "parts": refused_stores.parts,
    "signals": refused_signals.signals,
    "damaged": refused_archives.damaged,
    "fields-of-ends": refused_archives.fields_of_ends,
    "fields-of-messages": refused_archives.fields_of_messages,
    "fields-of-statements": refused_archives.fields_of_statements,
    "fields-of-others": refused_archives.fields_of_others,
    "broken-texts": refused_archives.broken_texts,
    "moved": refused_archives.moved,
    "rows-of-messages": refused_rows.of_messages,
    "rows-of-blocks": refused_rows.of_blocks,
    "rows-of-statements": refused_rows.of_statements,
    "rows-beside": refused_rows.of_what_is_beside,
    "rows-of-learned": refused_rows.of_learned,
}

NAMES: Final = tuple(_RUNS)


def tell(name: str) -> None:
    """Go through the refusals of one area."""
    clock = SimClock()
    run_virtually(_RUNS[name](clock), seed=0, clock=clock)

"""What callers do beside remembering plain talk and asking about it: a run for each way.

Nothing here knows what is right. Everything runs in virtual time, by rules or with the simulated embedder.
"""

from __future__ import annotations

from typing import Final

from umi_lab.worlds.recorded.ways_bounds import BOUNDS
from umi_lab.worlds.recorded.ways_carried import CARRIED
from umi_lab.worlds.recorded.ways_erased import ERASED
from umi_lab.worlds.recorded.ways_kit import Runs
from umi_lab.worlds.recorded.ways_order import ORDER
from umi_lab.worlds.recorded.ways_outcomes import OUTCOMES
from umi_lab.worlds.recorded.ways_routed import ROUTED
from umi_lab.worlds.recorded.ways_several import SEVERAL
from umi_lab.worlds.recorded.ways_stored import STORED

_RUNS: Final[Runs] = {**STORED, **OUTCOMES, **ROUTED, **ERASED, **ORDER, **SEVERAL, **CARRIED, **BOUNDS}
NAMES: Final[tuple[str, ...]] = tuple(_RUNS)


def tell(name: str) -> None:
    """Go one of the ways.

    Args:
        name: One of `NAMES`.
    """
    _RUNS[name]()

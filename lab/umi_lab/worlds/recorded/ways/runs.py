"""What callers do beside remembering plain talk and asking about it: a run for each way.

Nothing here knows what is right. Everything runs in virtual time, by rules or with the simulated embedder.
"""

from __future__ import annotations

from typing import Final

from umi_lab.worlds.recorded.ways.bounds import BOUNDS
from umi_lab.worlds.recorded.ways.carried import CARRIED
from umi_lab.worlds.recorded.ways.erased import ERASED
from umi_lab.worlds.recorded.ways.kit import Runs
from umi_lab.worlds.recorded.ways.order import ORDER
from umi_lab.worlds.recorded.ways.outcomes import OUTCOMES
from umi_lab.worlds.recorded.ways.routed import ROUTED
from umi_lab.worlds.recorded.ways.several import SEVERAL
from umi_lab.worlds.recorded.ways.stored import STORED

_RUNS: Final[Runs] = {**STORED, **OUTCOMES, **ROUTED, **ERASED, **ORDER, **SEVERAL, **CARRIED, **BOUNDS}
NAMES: Final[tuple[str, ...]] = tuple(_RUNS)


def tell(name: str) -> None:
    """Go one of the ways.

    Args:
        name: One of `NAMES`.
    """
    _RUNS[name]()

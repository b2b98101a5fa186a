"""How a world ended."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field

from umi_lab.worlds.steps import Plan


@dataclass(slots=True)
class Outcome:
    """How a world ended. `failure` is None when nothing was violated; `features` counts what the oracle confirmed."""

    plan: Plan
    failure: str | None = None
    trace: list[str] = field(default_factory=list)
    image_hash: str = ""
    virtual_s: float = 0.0
    power_cuts: int = 0
    restarts: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)

    @property
    def trace_hash(self) -> str:
        """Of every line of the trace: two runs of one plan agree in it to the last byte."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()

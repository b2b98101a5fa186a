"""The result of one world."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field

from umi_lab.worlds.steps import Plan


@dataclass(slots=True)
class Outcome:
    """The result of one world. `failure` is None when nothing was violated; `features` counts what the oracle has confirmed."""

    plan: Plan
    failure: str | None = None
    trace: list[str] = field(default_factory=list)
    image_hash: str = ""  # of the simulated disk; empty for real files
    virtual_s: float = 0.0
    power_cuts: int = 0
    restarts: int = 0  # openings, the first one included
    faults: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)  # effects that a check has seen, by name

    @property
    def trace_hash(self) -> str:
        """SHA-256 over the trace; equal for two runs of one plan."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()

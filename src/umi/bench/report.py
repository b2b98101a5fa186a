"""What a benchmark hands back: figures beside their limits and floors, and the machine they were measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Step = Callable[
    [str, int, int], None
]  # what is being done, how much of it is done, how much there is; 0 where that is not known


@dataclass(frozen=True, slots=True)
class Figure:
    """One number.

    `limit` is what to reach: at most, or at least when `more_is_better`. `floor` is the least that the same work could cost
    on this machine, measured in the same run and described by `floor_is`; `ratio_limit` is how many times that it may cost.
    """

    name: str
    value: float
    unit: str
    limit: float | None = None
    more_is_better: bool = False
    floor: float | None = None
    floor_is: str = ""
    detail: Mapping[str, float] = field(default_factory=dict)
    ratio_limit: float | None = None

    @property
    def ok(self) -> bool | None:
        """Whether every limit is kept; None without one."""
        kept = []
        if self.limit is not None:
            kept.append(self.value >= self.limit if self.more_is_better else self.value <= self.limit)
        if self.ratio_limit is not None and self.ratio is not None:
            kept.append(self.ratio <= self.ratio_limit)
        return all(kept) if kept else None

    @property
    def ratio(self) -> float | None:
        """How many times the floor's cost this is; None without a floor."""
        if not self.floor or not self.value:
            return None
        return self.floor / self.value if self.more_is_better else self.value / self.floor

    def as_json(self) -> dict[str, Any]:
        """The figure as plain values."""
        plain: dict[str, Any] = {"name": self.name, "value": round(self.value, 4), "unit": self.unit}
        if self.limit is not None:
            plain |= {"limit": self.limit, "at": "least" if self.more_is_better else "most", "ok": self.ok}
        if self.ratio is not None and self.floor is not None:
            plain |= {"floor": round(self.floor, 4), "floor_is": self.floor_is, "ratio": round(self.ratio, 2)}
        if self.ratio_limit is not None:
            plain |= {"ratio_limit": round(self.ratio_limit, 2), "ok": self.ok}
        if self.detail:
            plain["detail"] = {name: round(value, 4) for name, value in self.detail.items()}
        return plain


@dataclass(frozen=True, slots=True)
class Report:
    """All figures of one run."""

    title: str
    figures: tuple[Figure, ...]
    machine: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The report as plain values."""
        figures = [figure.as_json() for figure in self.figures]
        return {"title": self.title, "figures": figures, "machine": dict(self.machine), "notes": list(self.notes)}


def machine_facts() -> dict[str, Any]:
    """What a reader needs to compare two runs: processor count, load at the start, system, versions."""
    load = os.getloadavg() if hasattr(os, "getloadavg") else (0.0, 0.0, 0.0)
    return {
        "cores": os.cpu_count() or 1,
        "load_1m": round(load[0], 2),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def quantile(samples: Sequence[float], part: float) -> float:
    """The value below which `part` (0..1) of the samples lie."""
    return float(np.quantile(np.asarray(samples, dtype=np.float64), part))

"""Cost against size as a picture, drawn by matplotlib, which the extra `plot` installs."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from umi.bench.plots import require
from umi.bench.report import Figure, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DPI: Final = 150
_NAMED: Final = re.compile(r"(?P<what>.+) at (?P<count>\d+)(?P<unit>[kM]?)(?:, p99)?\Z")
_UNITS: Final = {"": 1, "k": 1_000, "M": 1_000_000}
_PANELS: Final = {
    "p50, milliseconds": ("recall", "remember", "vector leg", "text leg", "first recall of a new process"),
    "index, MB per 100,000 memories": ("index",),
    "file, bytes a memory": ("file",),
}


def draw(report: Report, path: Path) -> None:
    """Every figure that was measured at several sizes, against the size; its floor is dashed.

    Raises:
        InvalidOptions: Without the extra `plot`.
    """
    require()
    from matplotlib import pyplot as plt  # noqa: PLC0415 - only when pictures are wanted

    series: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for figure in report.figures:
        found = _NAMED.fullmatch(figure.name)
        if found is not None:
            size = int(found["count"]) * _UNITS[found["unit"]]
            series[found["what"]].append((size, _usual(figure), figure.floor or 0.0))
    drawn, axes = plt.subplots(1, len(_PANELS), figsize=(14, 5), width_ratios=(2, 1, 1), layout="constrained")
    for one, (label, names) in zip(axes, _PANELS.items(), strict=True):
        for name in names:
            _line(one, name, series[name])
        one.set(xscale="log", xlabel="memories in one namespace", ylabel=label)
        one.legend(fontsize="small")
    axes[0].set(yscale="log")
    drawn.savefig(path, dpi=_DPI)
    plt.close(drawn)


def draw_stages(report: Report, path: Path) -> None:
    """A bar for each operation, made of its stages, in milliseconds.

    Raises:
        InvalidOptions: Without the extra `plot`.
    """
    require()
    from matplotlib import pyplot as plt  # noqa: PLC0415 - only when pictures are wanted

    stages: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for figure in report.figures:
        what, _, stage = figure.name.partition(": ")
        if stage:
            stages[what].append((stage, figure.value / 1e3))
    drawn, axes = plt.subplots(len(stages), 1, figsize=(14, 3 * len(stages)), layout="constrained", sharex=True)
    for one, (what, parts) in zip(axes, stages.items(), strict=True):
        start = 0.0
        for place, (stage, spent) in enumerate(parts):
            one.barh(0, spent, left=start, label=f"{stage}, {spent:.2f}", color=f"C{place}", alpha=1 - place // 10 / 2)
            start += spent
        one.set(title=f"{what}: {start:.1f} ms, all stages together", yticks=[])
        one.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes[-1].set(xlabel="milliseconds")
    drawn.savefig(path, dpi=_DPI)
    plt.close(drawn)


def _line(axes: Axes, name: str, points: list[tuple[int, float, float]]) -> None:
    sizes, values, floors = zip(*points, strict=True)
    (line,) = axes.plot(sizes, values, marker="o", label=name)
    if any(floor != value for floor, value in zip(floors, values, strict=True)):
        axes.plot(sizes, floors, linestyle="--", linewidth=0.8, color=line.get_color())


def _usual(figure: Figure) -> float:
    """Its median, also where the figure is about the tail."""
    return figure.detail.get("p50", figure.value)

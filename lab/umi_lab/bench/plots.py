"""Figures of the retrieval benchmark as pictures, drawn by matplotlib, which the extra `plot` installs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from umi.bench.plots import require
from umi_lab.bench.asking import UMI, UMI_ALL, UMI_DEEP
from umi_lab.bench.baselines import NEWEST, ROWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BARS: Final = (*(row for row in ROWS if row != NEWEST), UMI_DEEP, UMI_ALL, UMI)
_DPI: Final = 150


def draw(figures: Mapping[str, Any], folder: Path) -> None:
    """Write `recall.png` (R@10 of every row with its interval) and `reliability.png` (predicted against observed).

    Args:
        figures: As `umi_lab.bench.retrieval.Run.figures`.
        folder: Where they go.

    Raises:
        InvalidOptions: Without the extra `plot`.
    """
    require()
    from matplotlib import pyplot as plt  # noqa: PLC0415

    for name, panels, panel in (
        ("recall.png", list(figures["sets"]), _recall),
        ("reliability.png", list(figures["reliability"]), _reliability),
    ):
        figure, axes = plt.subplots(
            1, len(panels), figsize=(1 + 3.4 * len(panels), 4), squeeze=False, layout="constrained"
        )
        for place, title in enumerate(panels):
            axes[0, place].set_title(title)
            panel(axes[0, place], figures, title, first=place == 0)
        figure.savefig(folder / name, dpi=_DPI)
        plt.close(figure)


def _recall(axes: Axes, figures: Mapping[str, Any], title: str, *, first: bool) -> None:
    rows = figures["sets"][title]["all"]["rows"]
    for place, row in enumerate(_BARS):
        value, low, high = rows[row]["recall_at_10"]
        reach = [[value - low], [high - value]]
        axes.barh(place, value, xerr=reach, color="tab:blue" if row in ROWS else "tab:orange", ecolor="black")
    axes.set_yticks(range(len(_BARS)), _BARS if first else [""] * len(_BARS))
    axes.set_xlabel("R@10, %, 95% interval")


def _reliability(axes: Axes, figures: Mapping[str, Any], title: str, *, first: bool) -> None:
    found = figures["reliability"][title]
    most = max(each["hits"] for each in found["bins"])
    axes.plot([0, 1], [0, 1], color="grey", linewidth=1)
    axes.plot(
        [each["predicted"] for each in found["bins"]], [each["observed"] for each in found["bins"]], color="tab:orange"
    )
    for each in found["bins"]:
        axes.scatter(each["predicted"], each["observed"], s=8 + 120 * each["hits"] / most, color="tab:orange")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"score ({found['hits']:,} hits, error {found['ece']:.3f})")
    if first:
        axes.set_ylabel("relevant")

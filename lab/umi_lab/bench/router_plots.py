"""Cost and quality of routing as a picture, drawn by matplotlib, which the extra `plot` installs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from umi.bench.plots import require
from umi_lab.bench.router import LENGTH, NEVER, ORACLE, RANDOM, TFIDF, UMI

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DPI: Final = 150
_STYLES: Final[dict[str, dict[str, Any]]] = {
    UMI: {"color": "tab:orange", "linewidth": 2.0},
    ORACLE: {"color": "grey", "linestyle": "--"},
    RANDOM: {"color": "grey", "linestyle": ":"},
    LENGTH: {"color": "tab:blue"},
    TFIDF: {"color": "tab:purple"},
    NEVER: {"color": "tab:green"},
}


def draw(figures: Mapping[str, Any], file: Path) -> None:
    """A panel for each set and protocol: what is spent, from none to all of the dearest tier's extra cost, and what is done well.

    Args:
        figures: As `umi_lab.bench.router.run` gives them.
        file: Where the picture goes.

    Raises:
        InvalidOptions: Without the extra `plot`.
    """
    require()
    from matplotlib import pyplot as plt  # noqa: PLC0415

    sets = figures["sets"]
    protocols = list(next(iter(sets.values())))
    figure, axes = plt.subplots(
        len(protocols),
        len(sets),
        figsize=(1 + 4 * len(sets), 3.6 * len(protocols)),
        squeeze=False,
        layout="constrained",
    )
    for column, (name, found) in enumerate(sets.items()):
        for row, protocol in enumerate(protocols):
            panel = axes[row, column]
            panel.set_title(f"{name}, {protocol}")
            _curves(panel, found[protocol])
    axes[0, 0].legend(fontsize=8)
    figure.savefig(file, dpi=_DPI)
    plt.close(figure)


def _curves(axes: Axes, found: Mapping[str, Any]) -> None:
    for name, row in found["rows"].items():
        points = sorted(row["curve"])
        axes.plot(
            [x for x, _ in points], [100 * y for _, y in points], label=f"{name} {row['apgr'][0]:.3f}", **_STYLES[name]
        )
    for tier, (accuracy, cost) in found["tiers"].items():
        axes.annotate(tier, (cost, 100 * accuracy), fontsize=8)
        axes.plot(cost, 100 * accuracy, marker="o", color="black", markersize=3)
    axes.set(xlabel="share of the dearest tier's extra cost", ylabel="done well, %")

"""Learning as pictures, drawn by matplotlib, which the extra `plot` installs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from umi.bench.plots import require
from umi_lab.bench.learning import ARMS, LEARNT_FROM, WINDOW_COUNT, LearningReport

_DPI: Final = 150


def draw_learning(report: LearningReport, path: Path) -> None:
    """Every arm's rate of success over the tasks, with its interval over seeds.

    Raises:
        InvalidOptions: Without the extra `plot`.
    """
    require()
    from matplotlib import pyplot as plt  # noqa: PLC0415 - as above

    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for arm in ARMS:
        curve = report.curve(arm)
        middle = [WINDOW_COUNT * (place + 0.5) for place in range(len(curve))]
        (line,) = axes.plot(middle, [point.value for point in curve], label=arm)
        axes.fill_between(middle, [p.low for p in curve], [p.high for p in curve], color=line.get_color(), alpha=0.15)
    axes.axvline(LEARNT_FROM, color="grey", linewidth=0.5)
    axes.set(xlabel="tasks", ylabel=f"success, %, {len(report.seeds)} seeds, 95% interval", ylim=(40, 101))
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=_DPI)
    plt.close(figure)

"""What was judged, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from umi.bench.plots import require
from umi.errors import InvalidInput
from umi.types import QualityPoint

_DPI: Final = 150


def draw_quality(points: Sequence[QualityPoint], path: Path) -> None:
    """The mean quality of signals over time.

    Raises:
        InvalidOptions: Without the extra `plot`.
        InvalidInput: When there is nothing to draw.
    """
    require()
    from matplotlib import pyplot as plt  # noqa: PLC0415 - only when pictures are wanted

    if not points:
        raise InvalidInput("there are no signals to draw yet")
    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    axes.plot([str(point.start) for point in points], [point.quality for point in points], color="tab:blue", marker="o")
    axes.set(ylim=(0, 1), ylabel="quality of what was judged", xlabel=f"time, {points[0].signals:,} signals a point")
    ticks = sorted({0, len(points) // 2, len(points) - 1})
    axes.set_xticks(ticks, [f"{points[place].start:%Y-%m-%d}" for place in ticks])
    figure.savefig(path, dpi=_DPI)
    plt.close(figure)

"""How far a figure may be trusted: percentile bootstrap over questions, paired differences, AUC, and Wilson's interval of a share.

The bootstrap draws as many questions as there are, with repeats, a thousand times; 2.5% of the draws lie below an interval and as
many above. It takes questions as independent, which those of one conversation are not quite: real intervals are wider.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES_COUNT: Final = 1_000
SEED: Final = 1
_PERCENTILES: Final = (2.5, 97.5)
_WILSON_Z: Final = 1.959964  # the normal quantile of 97.5%


class Interval(NamedTuple):
    """A figure and the 95% interval around it."""

    value: float
    low: float
    high: float


def draws(count: int, seed: int = SEED) -> Floats:
    """How often each question is drawn in each resample, as a share of them all.

    The numbers are splitmix64's, so the same on every machine and with every numpy.

    Returns:
        Shape (RESAMPLES_COUNT, count); rows sum to 1. Source: Steele, Lea and Flood (OOPSLA 2014).
    """
    state = np.arange(1, RESAMPLES_COUNT * count + 1, dtype=np.uint64) + np.uint64(seed << 40)
    state *= np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    uniform = ((state ^ (state >> np.uint64(31))) >> np.uint64(11)) / 2.0**53
    resample = np.repeat(np.arange(RESAMPLES_COUNT), count)
    drawn = resample * count + (uniform * count).astype(np.int64)
    counts = np.bincount(drawn, minlength=RESAMPLES_COUNT * count).reshape(RESAMPLES_COUNT, count)
    return np.asarray(counts / count, dtype=np.float64)


def means(values: Floats) -> tuple[Floats, Floats]:
    """The mean of each column, and what it is in each resample; columns share their draws, so they may be subtracted.

    Args:
        values: Shape (questions, columns).

    Returns:
        Shapes (columns,) and (RESAMPLES_COUNT, columns).
    """
    return values.mean(axis=0), draws(len(values)) @ values


def interval(value: float, resampled: Floats) -> Interval:
    """A figure between the percentiles of its resamples."""
    low, high = np.percentile(resampled, _PERCENTILES)
    return Interval(float(value), float(low), float(high))


def auc(positive: Floats, negative: Floats) -> Interval:
    """The chance that a positive's score is above a negative's, ties counting half; both sides are resampled.

    Args:
        positive: Scores of what should score high, at least one.
        negative: Scores of what should not, at least one.
    """
    above = np.sign(positive[:, None] - negative[None, :]) / 2 + 0.5
    resampled = ((draws(len(positive)) @ above) * draws(len(negative), SEED + 1)).sum(axis=1)
    return interval(float(above.mean()), resampled)


def share(count: int, of: int) -> Interval:
    """A share with Wilson's interval, which, unlike the bootstrap's, has a width at none and at all.

    Source: Wilson, "Probable inference" (JASA 1927).
    """
    value, z2 = count / of, _WILSON_Z**2 / of
    middle = (value + z2 / 2) / (1 + z2)
    reach = math.sqrt(value * (1 - value) * z2 + z2 * z2 / 4) / (1 + z2)
    return Interval(value, max(0.0, middle - reach), min(1.0, middle + reach))

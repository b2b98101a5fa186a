"""The arithmetic of learning: credit per memory, the estimate of all providers together, and the factor it gives.

    credit    gain += w * s * q * a,  loss += w * s * (1 - q) * a      q quality, w certainty of the match, s share, a age weight
    estimate  per provider (m0 * 2 + gain) / (2 + gain + loss); over all providers the median
    factor    3 ** ((estimate - m0) / max(m0, 1 - m0))                 within 1/3..3; m0 is the usual quality here

docs/learning.md gives the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Final

from umi.limits import LEARN_EVIDENCE_ALONE_COUNT_MAX, LEARN_EVIDENCE_COUNT_MAX, LEARN_HALF_LIFE_DAYS
from umi.types.learning_rows import Belief, Share, SignalRow, Total

# Stored sums are weighed as of this day and divided by today's weight when read, so all evidence fades without
# rewriting rows.
AGE_ZERO: Final = datetime(2020, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_AGE_MAX: Final = timedelta(days=120 * 365)
_AGES: Final = tuple(round(2.0 ** (day / LEARN_HALF_LIFE_DAYS), 9) for day in range(LEARN_HALF_LIFE_DAYS))

DERIVED_DECAY: Final = 0.5  # of the share, per derive relation
DERIVED_DEPTH: Final = 3  # derive relations followed below a hit
PRIOR_STRENGTH: Final = 2.0  # weight of the prior of a memory, in signals
USUAL_STRENGTH: Final = 20.0  # weight of the prior (one half) of the usual quality, in signals
USUAL_RANGE: Final = (0.4, 0.6)  # bounds of the usual quality, so that it stays near the middle
TEXT_MATCH_WEIGHT: Final = 0.5  # of a signal that was matched by its words instead of an id
FACTOR_REACH: Final = 3.0  # learning multiplies or divides the odds of a hit by at most this
DECIMALS: Final = 6  # results are rounded, so that they are the same on every machine


def age_weight(moment: datetime) -> float:
    """The weight of a signal from this moment, relative to `AGE_ZERO`. Doubles every half-life, in steps of a day.

    A rounded step times a power of two gives the same number on every machine. It rises for 120 years and no more, so that
    with a clock that is centuries ahead sums and their ratios remain within the range of a float.
    """
    halves, days = divmod(min(_AGE_MAX, moment - AGE_ZERO) // _DAY, LEARN_HALF_LIFE_DAYS)
    return math.ldexp(_AGES[days], halves)


def share_of(share: Share, *, used_only: bool) -> float:
    """The share of a signal that a memory gets, 0 to 1.

    With `used_only` a used memory gets 1 and all others 0. Otherwise the hit at `place` gets 1 / (1 + place). Each
    derive relation below the hit halves it.
    """
    if used_only and not share.used:
        return 0.0
    at_its_place = 1.0 if used_only else 1.0 / (1 + share.place)
    return float(at_its_place * DERIVED_DECAY**share.depth)


def credit_of(signal: SignalRow, shares: Iterable[Share]) -> dict[tuple[int, str], float]:
    """What a signal adds, by (arrival, entity). An entity that occurs several times gets its largest share, once."""
    largest: dict[tuple[int, str], float] = {}
    for share in shares:
        part = share_of(share, used_only=signal.used_only)
        memory = (share.arrival, share.entity_id)
        if part > largest.get(memory, 0.0):
            largest[memory] = part
    return {memory: signal.weight * part * age_weight(signal.completed_at) for memory, part in largest.items()}


def added(belief: Belief, weight: float, quality: float) -> Belief:
    """A belief with one more signal."""
    return Belief(
        belief.arrival,
        belief.entity_id,
        belief.provider,
        belief.gain + weight * quality,
        belief.loss + weight * (1.0 - quality),
        belief.signals + 1,
    )


def summed(total: Total, signal: SignalRow) -> Total:
    """A provider's total with one more signal."""
    weight = signal.weight * age_weight(signal.completed_at)
    return Total(total.signals + 1, total.gain + weight * signal.quality, total.loss + weight * (1 - signal.quality))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What all providers together say about a memory.

    `estimate` is its quality 0..1, `usual` the quality of any memory here, `factor` what ranking applies. `evidence` is
    (for, against) by provider, in signals of today, after the bounds.
    """

    estimate: float
    usual: float
    factor: float
    evidence: Mapping[str, tuple[float, float]]


class Judge:
    """Turns beliefs into factors, as of one moment.

    Args:
        totals: Everything each provider has said; a provider without signals does not count as known.
        now: The moment to which evidence is aged.
    """

    def __init__(self, totals: Mapping[str, Total], now: datetime) -> None:
        # Not 0, which it would be with a clock centuries back.
        self._today = age_weight(max(now, AGE_ZERO - _AGE_MAX))
        self._known = sum(total.signals > 0 for total in totals.values())
        self.usual = _usual(totals, self._today)
        self._reach = max(self.usual, 1 - self.usual)

    def judge(self, beliefs: Sequence[Belief]) -> Estimate:
        """One estimate from the beliefs about one memory, or about all memories of one episode."""
        evidence: dict[str, tuple[float, float]] = {}
        for belief in beliefs:
            gain, loss = evidence.get(belief.provider, (0.0, 0.0))
            evidence[belief.provider] = (gain + belief.gain / self._today, loss + belief.loss / self._today)
        alone = len(evidence) == 1 and self._known > 1
        # A single provider counts for less where others exist and say nothing about this memory.
        most = LEARN_EVIDENCE_ALONE_COUNT_MAX if alone else LEARN_EVIDENCE_COUNT_MAX
        bounded = {name: _bounded(*evidence[name], most) for name in sorted(evidence)}
        said = [self._mean(gain, loss) for gain, loss in bounded.values()]
        estimate = median(said) if said else self.usual
        factor = FACTOR_REACH ** ((estimate - self.usual) / self._reach)
        return Estimate(round(estimate, DECIMALS), round(self.usual, DECIMALS), round(factor, DECIMALS), bounded)

    def _mean(self, gain: float, loss: float) -> float:
        return (self.usual * PRIOR_STRENGTH + gain) / (PRIOR_STRENGTH + gain + loss)


def _usual(totals: Mapping[str, Total], today: float) -> float:
    """The usual quality: the median of the providers' means, each with a prior of one half, kept within `USUAL_RANGE`."""
    own = [
        (USUAL_STRENGTH / 2 + total.gain / today) / (USUAL_STRENGTH + (total.gain + total.loss) / today)
        for _, total in sorted(totals.items())
        if total.signals
    ]
    low, high = USUAL_RANGE
    return min(high, max(low, median(own))) if own else 0.5


def _bounded(gain: float, loss: float, most: float) -> tuple[float, float]:
    """Scale (gain, loss) down so that together they weigh at most `most` signals."""
    scale = min(1.0, most / (gain + loss)) if gain + loss > 0 else 1.0
    return gain * scale, loss * scale

"""From signals to a factor: who is credited, what all providers together say of a memory, and how far that may move it.

    credit    gain += w * s * q * a,  loss += w * s * (1 - q) * a      q quality, w surety of the match, s share, a age weight
    estimate  per provider (m0 * 2 + gain) / (2 + gain + loss), of all providers their median
    factor    3 ** ((estimate - m0) / max(m0, 1 - m0))                 within 1/3..3; m0 is what is usual here

docs/learning.md tells why.
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

AGE_ZERO: Final = datetime(2020, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_AGES: Final = tuple(round(2.0 ** (day / LEARN_HALF_LIFE_DAYS), 9) for day in range(LEARN_HALF_LIFE_DAYS))

DERIVED_DECAY: Final = 0.5  # per derive edge
DERIVED_DEPTH: Final = 3
PRIOR_STRENGTH: Final = 2.0  # signals' worth of doubt about a memory
USUAL_STRENGTH: Final = 20.0  # and about what is usual here
USUAL_RANGE: Final = (0.4, 0.6)
TEXT_MATCH_WEIGHT: Final = 0.5
FACTOR_REACH: Final = 3.0  # what learning multiplies the odds of a hit by, and divides them by, at most
DECIMALS: Final = 6


def age_weight(moment: datetime) -> float:
    """What a signal of this moment weighs as of `AGE_ZERO`: doubles every half-life, in steps of a day.

    Rounded steps times powers of two, so that every machine has the same number.
    """
    halves, days = divmod((moment - AGE_ZERO) // _DAY, LEARN_HALF_LIFE_DAYS)
    return math.ldexp(_AGES[days], halves)


def share_of(share: Share, *, used_only: bool) -> float:
    """How much of a signal falls to a memory: used 1, merely shown 1 / (1 + place), half of it per derive edge below."""
    if used_only and not share.used:
        return 0.0
    at_its_place = 1.0 if used_only else 1.0 / (1 + share.place)
    return float(at_its_place * DERIVED_DECAY**share.depth)


def credit_of(signal: SignalRow, shares: Iterable[Share]) -> dict[tuple[int, str], float]:
    """What a signal adds, by (arrival, entity): its weight times the largest share, an entity that it meets twice counting once."""
    largest: dict[tuple[int, str], float] = {}
    for share in shares:
        part = share_of(share, used_only=signal.used_only)
        memory = (share.arrival, share.entity_id)
        if part > largest.get(memory, 0.0):
            largest[memory] = part
    return {memory: signal.weight * part * age_weight(signal.completed_at) for memory, part in largest.items()}


def added(belief: Belief, weight: float, quality: float) -> Belief:
    """A belief with one signal more."""
    return Belief(
        belief.arrival,
        belief.entity_id,
        belief.provider,
        belief.gain + weight * quality,
        belief.loss + weight * (1.0 - quality),
        belief.signals + 1,
    )


def summed(total: Total, signal: SignalRow) -> Total:
    """A provider's total with one signal more."""
    weight = signal.weight * age_weight(signal.completed_at)
    return Total(total.signals + 1, total.gain + weight * signal.quality, total.loss + weight * (1 - signal.quality))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What all providers together say of a memory: `estimate` its quality 0..1, `usual` that of any, `factor` what ranking does.

    `evidence` is by provider, in signals of today, after the bounds.
    """

    estimate: float
    usual: float
    factor: float
    evidence: Mapping[str, tuple[float, float]]


class Judge:
    """Turns beliefs into factors, as of one moment.

    Args:
        totals: What each provider has said in all; those with no signal do not count as known.
        now: The moment.
    """

    def __init__(self, totals: Mapping[str, Total], now: datetime) -> None:
        self._today = age_weight(now)
        self._known = sum(total.signals > 0 for total in totals.values())
        self.usual = _usual(totals, self._today)
        self._reach = max(self.usual, 1 - self.usual)

    def judge(self, beliefs: Sequence[Belief]) -> Estimate:
        """Beliefs about one memory, or about all memories of one episode, as one estimate."""
        evidence: dict[str, tuple[float, float]] = {}
        for belief in beliefs:
            gain, loss = evidence.get(belief.provider, (0.0, 0.0))
            evidence[belief.provider] = (gain + belief.gain / self._today, loss + belief.loss / self._today)
        alone = len(evidence) == 1 and self._known > 1
        most = LEARN_EVIDENCE_ALONE_COUNT_MAX if alone else LEARN_EVIDENCE_COUNT_MAX
        bounded = {name: _bounded(*evidence[name], most) for name in sorted(evidence)}
        said = [self._mean(gain, loss) for gain, loss in bounded.values()]
        estimate = median(said) if said else self.usual
        factor = FACTOR_REACH ** ((estimate - self.usual) / self._reach)
        return Estimate(round(estimate, DECIMALS), round(self.usual, DECIMALS), round(factor, DECIMALS), bounded)

    def _mean(self, gain: float, loss: float) -> float:
        return (self.usual * PRIOR_STRENGTH + gain) / (PRIOR_STRENGTH + gain + loss)


def _usual(totals: Mapping[str, Total], today: float) -> float:
    """The quality that is usual here: the median of the providers' own, each drawn to a half, and never far from it."""
    own = [
        (USUAL_STRENGTH / 2 + total.gain / today) / (USUAL_STRENGTH + (total.gain + total.loss) / today)
        for _, total in sorted(totals.items())
        if total.signals
    ]
    low, high = USUAL_RANGE
    return min(high, max(low, median(own))) if own else 0.5


def _bounded(gain: float, loss: float, most: float) -> tuple[float, float]:
    scale = min(1.0, most / (gain + loss)) if gain + loss > 0 else 1.0
    return gain * scale, loss * scale

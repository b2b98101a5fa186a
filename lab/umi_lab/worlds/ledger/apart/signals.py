"""The oracle of judgements that providers bring, by the arithmetic of docs/learning.md: what each is worth, and what counts after runs and rollbacks.

What was not assessed counts neither for nor against, whatever stands beside it; a factor of 0 is an assessment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean, median
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.learned import age

GROUPS: Final = (
    ("acceptance_criteria_met", "tests_passing", "no_regressions"),
    ("lint_clean", "type_check_clean", "follows_patterns"),
    ("context_relevance", "reasoning_coherence", "execution_efficiency"),
)
_FACTORS: Final = tuple(name for group in GROUPS for name in group)
_USUAL_WEIGHTS: Final = (0.5, 0.3, 0.2)
_OUTCOMES: Final = {"success": 1.0, "partial_success": 0.5, "failure": 0.0}
_MOST: Final = 16.0  # signals of a provider that count about one memory
_MOST_ALONE: Final = 4.0  # where others are known and say nothing of it
PROVIDERS: Final = ("ci", "qa")
MESSAGES: Final = 3
RECALLS: Final = 3


def drawn(rng: DeterministicRng) -> dict[str, Any]:
    """How providers weigh, what they bring in each run, and which versions are gone back to between."""
    rounds = [[_signal(rng) for _ in range(rng.choice((1, 1, 2, 4)))] for _ in range(rng.choice((2, 3)))]
    weights = {
        name: rng.choice((None, _USUAL_WEIGHTS, (1.0, 0.0, 0.0), (0.0, 1.0, 0.5), (0.2, 0.2, 0.6)))
        for name in PROVIDERS
    }
    return {
        "limits": [rng.next_int(1, MESSAGES) for _ in range(RECALLS)],
        "wide": [rng.chance(0.35) for _ in range(RECALLS)],  # recalls that ask another namespace as well
        "rounds": rounds,
        "weights": weights,
        # To what counted before the first run, after it, or after the second; then one more run, and back to any of them.
        "back": [rng.choice((0, 1, 1, 2)), rng.choice((0, 1, 2, 3, 3, 4))],
        "after": [_signal(rng)],
        "restart": rng.chance(0.4),
    }


def _signal(rng: DeterministicRng) -> dict[str, Any]:
    kind = rng.choice(("none", "empty", "one", "one", "zeros", "ones", "some"))
    named: tuple[str, ...] = {"none": (), "empty": (), "one": (rng.choice(_FACTORS),)}.get(kind, _FACTORS)
    values = {"zeros": (0.0,), "ones": (1.0,), "some": (None, None, 0.0, 1.0, 0.5)}.get(kind, (0.0, 1.0))
    return {
        "provider": rng.choice((*PROVIDERS, PROVIDERS[0])),
        "recall": rng.next_int(0, RECALLS - 1),
        "by": rng.choice(("recall", "task")),
        "outcome": rng.choice(tuple(_OUTCOMES)),
        "score": rng.choice((0.0, 0.25, 1.0)),
        "verdict": rng.choice((None, None, None, "approved", "rejected")),
        "factors": None if kind == "none" else {name: rng.choice(values) for name in named},
        "days_ago": rng.choice((0, 0, 1, 91)),
    }


def quality(signal: Mapping[str, Any], weights: Sequence[float] | None) -> float:
    """What a judgement is worth, 0 to 1."""
    outcome = _OUTCOMES[signal["outcome"]]
    parts = [(0.5, outcome), (0.2, signal["score"])]
    factors = _assessed(signal["factors"] or {}, weights or _USUAL_WEIGHTS)
    parts += [] if factors is None else [(0.3, factors)]
    facts = sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts)
    if signal["verdict"] == "rejected":
        facts = min(facts, 0.2)
    if signal["verdict"] == "approved":
        facts = (1 + facts) / 2 if outcome else min((1 + facts) / 2, 0.5)
    return float(round(facts, 6))


def _assessed(factors: Mapping[str, float | None], weights: Sequence[float]) -> float | None:
    """The weighted mean of the groups of which something was assessed."""
    found = []
    for weight, group in zip(weights, GROUPS, strict=True):
        values = [value for name in group if (value := factors.get(name)) is not None]
        found += [(weight, fmean(values))] if values else []
    whole = sum(weight for weight, _ in found)
    return sum(weight * value for weight, value in found) / whole if whole else None


@dataclass(frozen=True, slots=True)
class Brought:
    """A judgement that came: of whom, its worth, the day it speaks of, and the share that each message has in it.

    `beside` are those of another namespace, None where the recall did not ask it.
    """

    provider: str
    id: str
    quality: float
    at: datetime
    shares: Mapping[int, float]
    outcome: str
    by: str
    beside: Mapping[int, float] | None = None


@dataclass(frozen=True, slots=True)
class Worth:
    """What counts about a message: the fields of a lesson."""

    factor: float
    estimate: float
    usual: float
    counted: int
    evidence: Mapping[str, tuple[float, float]]


def worth(counting: Iterable[Brought], message: int, now: datetime) -> Worth:
    """What some judgements say of a message, as of a moment."""
    rows = list(counting)
    usual = _usual(rows, now)
    mine = [one for one in rows if one.shares.get(message)]
    said = {name: _sums([one for one in mine if one.provider == name], message, now) for name in PROVIDERS}
    said = {name: said[name] for name in PROVIDERS if any(one.provider == name for one in mine)}
    alone = len(said) == 1 and len({one.provider for one in rows}) > 1
    evidence = {name: _bounded(*sums, _MOST_ALONE if alone else _MOST) for name, sums in said.items()}
    means = [(usual * 2 + gain) / (2 + gain + loss) for gain, loss in evidence.values()]
    estimate = median(means) if means else usual
    return Worth(3 ** ((estimate - usual) / max(usual, 1 - usual)), estimate, usual, len(mine), evidence)


def _usual(rows: Sequence[Brought], now: datetime) -> float:
    """The quality of any message here: the median of what the providers' own judgements come to."""
    means = []
    for name in PROVIDERS:
        mine = [one for one in rows if one.provider == name]
        weights = [age(one.at) / age(now) for one in mine]
        gain = sum(weight * one.quality for weight, one in zip(weights, mine, strict=True))
        means += [(10 + gain) / (20 + sum(weights))] if mine else []
    return min(0.6, max(0.4, median(means))) if means else 0.5


def _sums(mine: Sequence[Brought], message: int, now: datetime) -> tuple[float, float]:
    weights = [one.shares[message] * age(one.at) / age(now) for one in mine]
    gain = sum(weight * one.quality for weight, one in zip(weights, mine, strict=True))
    return gain, sum(weights) - gain


def _bounded(gain: float, loss: float, most: float) -> tuple[float, float]:
    scale = min(1.0, most / (gain + loss)) if gain + loss else 1.0
    return gain * scale, loss * scale

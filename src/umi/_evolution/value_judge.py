"""The judge of value mentions: a logistic regression on the features of a pair, whether the newer updates the older."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from umi._evolution.value_features import FEATURES, comparable, features
from umi._evolution.value_weights import BIAS, WEIGHTS
from umi._reading.value_mentions import ValueMention

LIKELY: Final = 0.5  # probability from which an update is flagged


def likelihood(old: ValueMention, new: ValueMention) -> float:
    """The probability that `new` updates `old`; 0 when the two are not comparable."""
    if not comparable(old, new):
        return 0.0
    return weigh(features(old, new))


def weigh(values: Sequence[float]) -> float:
    """The probability for the values of `FEATURES`."""
    total = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, values, strict=True))
    return 1 / (1 + math.exp(-max(-_FAR, min(_FAR, total))))


_FAR: Final = 30.0  # bound on log-odds, which avoids overflow

__all__ = ["FEATURES", "LIKELY", "likelihood", "weigh"]

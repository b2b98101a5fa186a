"""Whether the newer of two tellings gives the same thing another value: a logistic regression over what `likeness` counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from umi._evolution.value_features import FEATURES, comparable, features
from umi._evolution.value_weights import BIAS, WEIGHTS
from umi._reading.value_mentions import ValueMention

LIKELY: Final = 0.5  # from here on it is noticed


def likelihood(old: ValueMention, new: ValueMention) -> float:
    """How likely `new` updates `old`, 0..1; 0 where the two cannot be compared."""
    if not comparable(old, new):
        return 0.0
    return weigh(features(old, new))


def weigh(values: Sequence[float]) -> float:
    """The likelihood that the numbers of `likeness.FEATURES` amount to."""
    total = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, values, strict=True))
    return 1 / (1 + math.exp(-max(-_FAR, min(_FAR, total))))


_FAR: Final = 30.0  # log odds beyond which nothing changes

__all__ = ["FEATURES", "LIKELY", "likelihood", "weigh"]

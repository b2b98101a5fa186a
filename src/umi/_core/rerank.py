"""The second look: the best candidates of `umi._core.ranking` are scored again by what stands around them and how they are worded.

    score = sum over LOOKS of (w + v . signals) * feature, each feature as its distance from its mean in spreads

It is a small model of some twenty features and few hundred numbers, drawn to a plain start, so that what no set taught keeps
pointing the right way. ADR 0011 tells what each feature gained; `lab/tools/fit_refining.py` writes the numbers in `umi._core.rerank_weights`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from umi._core.style_flags import taken_apart
from umi.ports.candidates import Keys, Surroundings

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Around = Callable[[Keys], Surroundings]
Period = Callable[
    [float], tuple[float, float] | None
]  # from the newest candidate's time to what is asked for, in days since 1970

LOOKS: Final = (
    "first_look",
    "vector",
    "turn",
    "neighbours",
    "session",
    "vector_before",
    "vector_after",
    "vector_session",
    "turn_before",
    "turn_after",
    "period",
    "best_neighbour",
    "words",
    "spoken",
    "assistant",
    "asks",
    "answers",
    "first_person",
    "times",
    "amounts",
    "opens",
    "closes",
)
PERIOD_DAYS_BEFORE: Final = 1.0  # a message about a day is written from the day before on: clocks differ
PERIOD_DAYS_AFTER: Final = 10.0  # and, mostly, within days after: "last week we ..."
PERIOD_DAYS_FADING: Final = 14.0
_SPREADS: Final = 5.0  # a feature farther than that from its mean says no more
_SIGNAL_SPREADS: Final = 3.0
_NONE: Final = -1


def nowhere(keys: Keys) -> Surroundings:
    """The surroundings of episodes of which nothing is known: each alone, long ago, in plain words."""
    zeros, none = np.zeros(len(keys), dtype=np.int64), np.full(len(keys), _NONE, dtype=np.int64)
    return Surroundings(
        traits=zeros, traits_before=zeros, at=np.zeros(len(keys)), session=keys, before=none, after=none
    )


def never(_newest_days: float) -> None:
    """The period of a query that names none."""
    return


@dataclass(frozen=True, slots=True)
class Refiner:
    """Fitted numbers for one set of legs.

    Shapes: `mean` and `spread` (LOOKS,); `signal_mean` and `signal_spread` (signals,); `weights` (1 + signals, LOOKS): of each
    feature, and how each signal moves that.
    """

    mean: tuple[float, ...]
    spread: tuple[float, ...]
    signal_mean: tuple[float, ...]
    signal_spread: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What `umi._core.ranking` knows of the candidates. Shapes: `keys` (ascending), `fused` and the columns of `features` (candidates,)."""

    keys: Keys
    fused: Array
    features: dict[str, Array]


def second_look(first: FirstLook, rows: Rows, around: Surroundings, period: Period) -> Array:
    """The features of the chosen candidates.

    Args:
        first: Every candidate.
        rows: Which are looked at again.
        around: What stands around those, in their order.
        period: When what is asked for happened.

    Returns:
        Shape (rows, LOOKS).
    """
    features, fused = first.features, first.fused
    traits = taken_apart(around.traits)
    before, after = _rows_of(first.keys, around.before), _rows_of(first.keys, around.after)
    vector, turn = features["vector"], features["turn"]
    top, bottom = float(fused.max(initial=0.0)), float(fused.min(initial=0.0))
    near = np.maximum(_at(fused, before, bottom), _at(fused, after, bottom))
    columns = [
        fused[rows] - top,
        vector[rows],
        turn[rows],
        features["neighbours"][rows],
        features["session"][rows],
        _at(vector, before, 0.0),
        _at(vector, after, 0.0),
        _best_of_session(around.session, vector[rows]),
        _at(turn, before, 0.0),
        _at(turn, after, 0.0),
        closeness(around.at, period(float(around.at.max(initial=0.0)))),
        near - top,
        features["words"][rows],
        features["spoken"][rows],
        traits.assistant,
        traits.asks,
        taken_apart(around.traits_before).asks,
        traits.first_person,
        traits.times,
        traits.amounts,
        around.before == _NONE,
        around.after == _NONE,
    ]
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)


def refined(refiner: Refiner, looks: Array, signals: Array) -> tuple[Array, Array]:
    """Scores of the candidates looked at again, and what each feature adds to them.

    Args:
        refiner: The fitted numbers.
        looks: As of `second_look`.
        signals: Of the query, shape (signals,).

    Returns:
        Shapes (rows,), comparable within one query, and (rows, LOOKS).
    """
    parts = standardised(refiner, looks) * (gates(refiner, signals) @ np.asarray(refiner.weights))
    return parts.sum(axis=1), parts


def standardised(refiner: Refiner, looks: Array) -> Array:
    """Features as distances from their means in spreads, shape as `looks`."""
    distance = (looks - np.asarray(refiner.mean)) / np.asarray(refiner.spread)
    clipped: Array = np.clip(distance, -_SPREADS, _SPREADS)
    return clipped


def gates(refiner: Refiner, signals: Array) -> Array:
    """A one and the standardised signals, shape (1 + signals,)."""
    distance = (signals - np.asarray(refiner.signal_mean)) / np.asarray(refiner.signal_spread)
    return np.concatenate([[1.0], np.clip(distance, -_SIGNAL_SPREADS, _SIGNAL_SPREADS)])


def closeness(at: Array, period: tuple[float, float] | None) -> Array:
    """How near each moment is to a period, 0..1; 0 without a period.

    Args:
        at: In days since 1970.
        period: From and to, likewise.
    """
    if period is None:
        return np.zeros(len(at))
    start, end = period
    early = start - PERIOD_DAYS_BEFORE - at
    late = at - end - PERIOD_DAYS_AFTER
    far: Array = np.maximum(np.maximum(early, late), 0.0)
    near: Array = np.exp(-far / PERIOD_DAYS_FADING)
    return near


def _rows_of(keys: Keys, wanted: Keys) -> Rows:
    """Where each key is among ascending ones; -1 where it is not."""
    places: Rows = np.searchsorted(keys, wanted)
    places[places == len(keys)] = 0
    return np.where(keys[places] == wanted, places, _NONE) if len(keys) else np.full(len(wanted), _NONE)


def _at(column: Array, places: Rows, otherwise: float) -> Array:
    """A column's values at places; `otherwise` where the place is -1."""
    return np.where(places == _NONE, otherwise, column[places]) if len(column) else np.full(len(places), otherwise)


def _best_of_session(sessions: Keys, column: Array) -> Array:
    """For each row the largest value of its session's rows."""
    _, session = np.unique(sessions, return_inverse=True)
    best = np.full(len(sessions), -np.inf)
    np.maximum.at(best, session, column)
    return best[session]

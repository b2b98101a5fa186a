"""Second-stage ranking: the best candidates of `umi._core.ranking` are scored again, with their context and wording.

    score = sum over LOOKS of (w + v . signals) * feature, where each feature is standardised

A linear model of some twenty features and a few hundred weights. Fitting shrinks the weights towards a plain start, so
that a feature which no training set informed keeps a sensible sign. ADR 0011 lists what each feature gained;
`lab/tools/fit_refining.py` fits the weights and writes them to `umi._core.rerank_weights`.
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
# From the time of the newest candidate to the period that the query asks about, all in days since 1970; None when it
# names none. The newest candidate is needed because "in June" means the last June before it.
Period = Callable[[float], tuple[float, float] | None]

# Names of the features, in the order of the columns of `second_look` and of the fitted weights.
LOOKS: Final = (
    "first_look",  # score of the first stage, as distance from the best candidate's
    "vector",  # standardised cosine
    "turn",  # BM25 of the message, of the message with its neighbours, of its session
    "neighbours",
    "session",
    "vector_before",  # cosine of the neighbouring messages in the session, and the best of the session
    "vector_after",
    "vector_session",
    "turn_before",  # BM25 of the neighbouring messages
    "turn_after",
    "period",  # closeness to the period that the query names
    "best_neighbour",  # the better neighbour's score of the first stage, likewise as a distance
    "words",  # logarithm of the message's length
    "spoken",  # whether the query names the speaker
    "assistant",  # said by an assistant
    "asks",  # ends in a question mark
    "answers",  # the message before it ends in a question mark
    "first_person",  # counts of words, see `umi._core.style_flags`
    "times",
    "amounts",
    "opens",  # first message of its session
    "closes",  # last message of its session
)
PERIOD_DAYS_BEFORE: Final = 1.0  # a message about a day may be dated the day before: clocks differ
PERIOD_DAYS_AFTER: Final = 10.0  # events are mostly told within days after them: "last week we ..."
PERIOD_DAYS_FADING: Final = 14.0  # beyond that, closeness falls by a factor of e in so many days
_SPREADS: Final = 5.0  # standardised features are clipped here, so that one extreme value cannot decide the order
_SIGNAL_SPREADS: Final = 3.0  # the same for the signals of the query
_NONE: Final = -1  # row of an episode that is not among the candidates


def nowhere(keys: Keys) -> Surroundings:
    """Context of episodes of which nothing is known: no neighbours, one session each, time 0, no style features."""
    zeros, none = np.zeros(len(keys), dtype=np.int64), np.full(len(keys), _NONE, dtype=np.int64)
    return Surroundings(
        traits=zeros, traits_before=zeros, at=np.zeros(len(keys)), session=keys, before=none, after=none
    )


def never(_newest_days: float) -> None:
    """The period of a query that names none."""
    return


@dataclass(frozen=True, slots=True)
class Refiner:
    """Fitted parameters of the second stage, for one set of legs.

    Shapes: `mean` and `spread` (LOOKS,), `signal_mean` and `signal_spread` (signals,): for standardising. `weights` (1
    + signals, LOOKS): row 0 is the weight of each feature, the other rows say how much each signal changes it.
    """

    mean: tuple[float, ...]
    spread: tuple[float, ...]
    signal_mean: tuple[float, ...]
    signal_spread: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What the first stage knows of all candidates.

    Shapes: `keys` (candidates,), ascending; `fused`, the first stage's scores, and each column of `features`
    (candidates,).
    """

    keys: Keys
    fused: Array
    features: dict[str, Array]


def second_look(first: FirstLook, rows: Rows, around: Surroundings, period: Period) -> Array:
    """Compute the features of the candidates that are scored again.

    Args:
        first: All candidates, with their features of the first stage.
        rows: Rows of the candidates to score again.
        around: Context of those, in the same order.
        period: The period that the query asks about.

    Returns:
        Shape (rows, LOOKS).
    """
    features, fused = first.features, first.fused
    traits = taken_apart(around.traits)
    before, after = _rows_of(first.keys, around.before), _rows_of(first.keys, around.after)
    vector, turn = features["vector"], features["turn"]
    # A neighbour that is no candidate gets the lowest score of the first stage.
    top, bottom = float(fused[rows].max(initial=0.0)), float(fused.min(initial=0.0))
    near = np.maximum(_at(fused, before, bottom), _at(fused, after, bottom))
    # The order is that of `LOOKS`.
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
    """Score the candidates with the fitted model.

    Args:
        refiner: The fitted parameters.
        looks: Features as of `second_look`.
        signals: Signals of the query, shape (signals,).

    Returns:
        Scores, shape (rows,), comparable within one query; and what each feature adds to them, shape (rows, LOOKS).
    """
    parts = standardised(refiner, looks) * (gates(refiner, signals) @ np.asarray(refiner.weights))
    return parts.sum(axis=1), parts


def standardised(refiner: Refiner, looks: Array) -> Array:
    """Features as distance from their mean, in standard deviations, clipped; shape as `looks`."""
    distance = (looks - np.asarray(refiner.mean)) / np.asarray(refiner.spread)
    clipped: Array = np.clip(distance, -_SPREADS, _SPREADS)
    return clipped


def gates(refiner: Refiner, signals: Array) -> Array:
    """A constant 1 followed by the standardised, clipped signals; shape (1 + signals,)."""
    distance = (signals - np.asarray(refiner.signal_mean)) / np.asarray(refiner.signal_spread)
    return np.concatenate([[1.0], np.clip(distance, -_SIGNAL_SPREADS, _SIGNAL_SPREADS)])


def closeness(at: Array, period: tuple[float, float] | None) -> Array:
    """How near each moment is to a period, 0..1; 0 without a period.

    It is 1 inside the period and its margins, and falls exponentially outside.

    Args:
        at: In days since 1970.
        period: From and to, in the same unit.
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
    """The row of each wanted key among ascending keys; -1 where it is missing."""
    places: Rows = np.searchsorted(keys, wanted)
    places[places == len(keys)] = 0  # past the end: any valid row will do, the comparison below rejects it
    return np.where(keys[places] == wanted, places, _NONE) if len(keys) else np.full(len(wanted), _NONE)


def _at(column: Array, places: Rows, otherwise: float) -> Array:
    """The values of a column at rows; `otherwise` where the row is -1."""
    return np.where(places == _NONE, otherwise, column[places]) if len(column) else np.full(len(places), otherwise)


def _best_of_session(sessions: Keys, column: Array) -> Array:
    """For each row the largest value among the rows of the same session."""
    _, session = np.unique(sessions, return_inverse=True)
    best = np.full(len(sessions), -np.inf)
    np.maximum.at(best, session, column)
    return best[session]

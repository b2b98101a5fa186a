"""What a leg of retrieval answers: candidates and statistics, never an engine's own score, so that every store ranks alike."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)

Keys = npt.NDArray[np.int64]  # shape (count,), arrivals of episodes, ascending
Flags = npt.NDArray[np.bool_]  # shape (count,), one per key
NO_KEYS: Final[Keys] = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Statistics of one level of text (turns, turns with neighbours, sessions): BM25 needs nothing else.

    One entry per pair of unit and query term that occurs in it, no order promised. Shapes: `unit` (row into `length`), `term` (place
    in the query) and `tf` (entries,), `length` in terms (units,), `df` over the whole namespace (query terms,).
    """

    unit: npt.NDArray[np.int64]
    term: npt.NDArray[np.int64]
    tf: npt.NDArray[np.float32]
    length: npt.NDArray[np.float32]
    df: npt.NDArray[np.float32]
    average_length: float
    count: int


@dataclass(frozen=True, slots=True)
class TextCandidates:
    """Every episode that shares a term with the query in its turn or its neighbours, and those asked for.

    Shapes: all (candidates,). The units of `turn` and `neighbours` are the candidates, those of `session` are sessions, and
    `session_unit` says which is a candidate's. `words` are before stop words went. `spoken` is 1 where the query names the speaker, -1 where it names another one of this namespace and not this one, else 0.
    """

    keys: Keys
    words: npt.NDArray[np.float32]
    spoken: npt.NDArray[np.float32]
    session_unit: npt.NDArray[np.int64]
    turn: TermCounts
    neighbours: TermCounts
    session: TermCounts


@dataclass(frozen=True, slots=True)
class VectorCandidates:
    """The nearest episodes and those asked for by key, as far as they have a vector.

    Shapes: `keys` (ascending), `cosine` of the best window and `words` (candidates,); `mean`, `deviation` and `count` are over
    every episode of the namespace that has a vector.
    """

    keys: Keys
    cosine: npt.NDArray[np.float32]
    words: npt.NDArray[np.float32]
    mean: float
    deviation: float
    count: int


@dataclass(frozen=True, slots=True)
class Eligible:
    """Which candidates a filter keeps, shape (candidates,), and how many messages of the namespace it keeps in all."""

    flags: Flags
    count: int


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where episodes stand and how they are worded, whatever the query.

    Shapes: all (episodes,). `traits` as of `umi._core.style_flags`, `traits_before` those of the neighbour before, 0 where there is none; `at` is when each was said, in days since 1970; `session` numbers the
    sessions; `before` and `after` are the keys of the neighbours in the session, -1 where there is none.
    """

    traits: Keys
    traits_before: Keys
    at: npt.NDArray[np.float64]
    session: Keys
    before: Keys
    after: Keys


def union(some: Keys, others: Keys) -> Keys:
    """Whole numbers of two lists, ascending, each once. (m) numpy's own union hashes first, which takes twenty times as long."""
    both = np.sort(np.concatenate([some, others]), kind="stable")
    return both[np.append(True, both[1:] != both[:-1])] if len(both) else both


def in_days(moment: datetime) -> float:
    """A moment as days since 1970, UTC."""
    return (moment - _EPOCH) / _DAY


def from_days(days: float) -> datetime:
    """The inverse of `in_days`, to the microsecond."""
    return _EPOCH + timedelta(days=days)

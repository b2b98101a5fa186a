"""Counting words: of a query's terms, how often each occurs in turns, in turns with their neighbours, and in sessions.

Only turns have postings. Which turns may matter is decided here, so that what a common word costs does not grow with the number
of messages that share it; what a turn scores is for `umi.ranking` to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Hits = Sequence[tuple[Ints, Floats]]  # per term of the query: the turns with it, ascending, and how often each has it

_NEIGHBOUR_SHARE: Final = np.float32(0.3)  # of a neighbour's words, in the choice of turns


@dataclass(frozen=True, slots=True)
class Entries:
    """Counts per pair of unit and term that occurs in it, and in how many units each term occurs.

    Shapes: `unit`, `term`, `tf` (entries,); `df` (terms,). A unit is a row among those that were asked for; `df` is over all.
    """

    unit: Ints
    term: Ints
    tf: Floats
    df: Floats


def choose(hits: Hits, before: Ints, after: Ints, pool: int) -> tuple[Ints, Floats]:
    """The turns that share a term with the query, or whose neighbours do: all of them, or the `pool` with the most and rarest.

    Args:
        hits: Of each term.
        before: The turn before each in its session, -1 where there is none.
        after: The turn after each.
        pool: How many at most.

    Returns:
        The turns, ascending, and for each term how many turns have it in themselves or a neighbour, shapes (turns,) and (terms,).
    """
    count = len(before)
    touched, here = (
        np.zeros(count + 1, dtype=np.bool_),
        np.zeros(count + 1, dtype=np.bool_),
    )  # the last is nobody, at -1
    weight = np.zeros(count + 1, dtype=np.float32)
    reach = np.zeros(len(hits), dtype=np.float32)
    for number, (turns, counts) in enumerate(hits):
        if not len(turns):
            continue
        here[:] = False
        here[turns] = here[before[turns]] = here[after[turns]] = True
        here[-1] = False
        reach[number] = np.count_nonzero(here)
        touched |= here
        weight[turns] += np.float32(np.log1p(count / len(turns))) * counts / (counts + 1)
    turns = np.flatnonzero(touched)
    if len(turns) > pool:
        near = weight[before[turns]] + weight[after[turns]]
        turns = turns[largest((weight[turns] + _NEIGHBOUR_SHARE * near).astype(np.float32), pool)]
    return turns, reach


def count_turns(hits: Hits, turns: Ints, before: Ints, after: Ints, reach: Floats) -> tuple[Entries, Entries]:
    """Each term in some turns, and in those together with their neighbours.

    Args:
        hits: Of each term.
        turns: Those that are asked for, ascending.
        before: The turn before each turn of all, -1 where there is none.
        after: The turn after each.
        reach: As of `choose`.
    """
    tf = np.zeros(len(before) + 1, dtype=np.float32)
    earlier, later = before[turns], after[turns]
    alone: list[Floats] = []
    near: list[Floats] = []
    for with_term, counts in hits:
        tf[with_term] = counts
        own = tf[turns]
        alone.append(own)
        near.append(own + tf[earlier] + tf[later])
        tf[with_term] = 0
    df = np.array([len(with_term) for with_term, _ in hits], dtype=np.float32)
    return _entries(alone, df), _entries(near, reach)


def count_sessions(hits: Hits, sessions: Ints, session_of: Ints, count: int) -> Entries:
    """Each term in some sessions.

    Args:
        hits: Of each term.
        sessions: Those that are asked for, ascending.
        session_of: Of every turn.
        count: How many sessions there are.
    """
    tf = np.zeros(count, dtype=np.float32)
    found: list[Floats] = []
    df = np.zeros(len(hits), dtype=np.float32)
    for number, (turns, counts) in enumerate(hits):
        theirs = session_of[turns]
        np.add.at(tf, theirs, counts)
        df[number] = np.count_nonzero(tf)
        found.append(tf[sessions])
        tf[theirs] = 0
    return _entries(found, df)


def largest(values: Floats, pool: int) -> Ints:
    """Places of the `pool` largest, ascending; of equal ones the first."""
    if len(values) <= pool:
        return np.arange(len(values))
    if pool < 1:
        return np.empty(0, dtype=np.int64)
    edge = np.partition(values, len(values) - pool)[len(values) - pool]
    above = np.flatnonzero(values > edge)
    level = np.flatnonzero(values == edge)[: pool - len(above)]
    return np.sort(np.concatenate([above, level]))


def _entries(by_term: Sequence[Floats], df: Floats) -> Entries:
    if not by_term:
        none = np.empty(0, dtype=np.int64)
        return Entries(none, none, np.empty(0, dtype=np.float32), df)
    table = np.stack(by_term)
    term, unit = np.nonzero(table)
    return Entries(unit, term, table[term, unit], df)

"""Counting words: of a query's terms, how often each occurs in turns, in turns with their neighbours, and in sessions.

Only turns have postings. Which turns may matter is decided here, so that what a common word costs does not grow with the number
of messages that share it; what a turn scores is for `umi._core.ranking` to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Hits = Sequence[tuple[Ints, Floats]]  # per term of the query: the turns with it, ascending, and how often each has it

Flags = npt.NDArray[np.bool_]

_NEIGHBOUR_SHARE: Final = np.float32(0.3)  # of a neighbour's words, in the choice of turns
_ROUNDED: Final = np.float32(0.999)  # less by far more than the last bits of a weight
_ENOUGH_SHARE: Final = _ROUNDED / (1 + 2 * _NEIGHBOUR_SHARE)
_NEEDED_SHARE: Final = _ROUNDED / (2 * _NEIGHBOUR_SHARE)
_COMMON_COUNT: Final = 1_024  # turns of a term whose reach is remembered
_NONE: Final = -1
_GROUPS_COUNT: Final = 16_384  # of many values, of which only the best of each group are sorted


@dataclass(frozen=True, slots=True)
class Entries:
    """Counts per pair of unit and term that occurs in it, and in how many units each term occurs.

    Shapes: `unit`, `term`, `tf` (entries,); `df` (terms,). A unit is a row among those that were asked for; `df` is over all.
    """

    unit: Ints
    term: Ints
    tf: Floats
    df: Floats


class Room:
    """A number and a flag per turn, all zero between uses: making them anew costs more than what is done with them.

    Who takes them puts them back clean; after an error between they are made anew.
    """

    def __init__(self) -> None:
        self._held: tuple[Floats, Flags] | None = None

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return 0 if self._held is None else sum(one.nbytes for one in self._held)

    def take(self, count: int) -> tuple[Floats, Flags]:
        """Both for so many turns, and one more at the end (-1) for nobody."""
        held, self._held = self._held, None
        if held is None or len(held[0]) <= count:
            size = count + count // 2 + 1
            held = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.bool_)
        return held[0][: count + 1], held[1][: count + 1]

    def put_back(self, numbers: Floats, flags: Flags) -> None:
        """Both, clean."""
        self._held = _whole(numbers), _whole(flags)


class Reaches:
    """How many turns have a term in themselves or a neighbour, remembered for common terms.

    Turns that come later only add to it, so it follows them; one that goes takes it all back.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}  # how many turns there were, and how many of them it reached

    def forget(self) -> None:
        """A turn is gone."""
        self._known.clear()

    def of(self, term: str, turns: Ints, before: Ints, after: Ints, here: Flags) -> int:
        """How many turns a term reaches.

        Args:
            term: The term.
            turns: Those with it, ascending.
            before: The turn before each in its session, -1 where there is none.
            after: The turn after each.
            here: A flag per turn and one for nobody; left as they were.
        """
        if len(turns) < _COMMON_COUNT:
            return _reach(turns, before, after, here)
        count = len(before)
        then, reached = self._known.get(term, (0, 0))
        if 2 * (count - then) > len(turns):
            reached = _reach(turns, before, after, here)
        elif count > then:
            reached += _reached_since(then, turns, before, after)
        self._known[term] = count, reached
        return reached


def _reached_since(then: int, turns: Ints, before: Ints, after: Ints) -> int:
    """How many turns a term reaches now and did not when there were `then` turns."""
    have = np.zeros(len(before) - then + 1, dtype=np.bool_)  # of the new ones, and of nobody
    new = turns[np.searchsorted(turns, then) :]
    have[new - then] = True
    ahead, behind = before[then:], after[then:]
    old = np.flatnonzero((ahead >= 0) & (ahead < then))
    by_old = np.zeros(len(ahead), dtype=np.bool_)
    by_old[old] = _among(turns, ahead[old])
    by_new = have[np.where(ahead >= then, ahead - then, _NONE)] | have[np.where(behind >= 0, behind - then, _NONE)]
    first = before[new]
    first = first[(first >= 0) & (first < then)]  # each has just got its neighbour after
    unreached = ~_among(turns, first) & ~_among(turns, before[first])
    return int(np.count_nonzero(have[:-1] | by_old | by_new)) + int(np.count_nonzero(unreached))


def _among(turns: Ints, some: Ints) -> Flags:
    """Whether each of some is one of the turns, which are ascending; -1 is none."""
    flags: Flags = turns[np.searchsorted(turns, some).clip(max=len(turns) - 1)] == some
    return flags


def choose(
    terms: Sequence[str], hits: Hits, before: Ints, after: Ints, pool: int, room: Room, reaches: Reaches
) -> tuple[Ints, Floats]:
    """The turns that share a term with the query, or whose neighbours do: all of them, or the `pool` with the most and rarest.

    What it costs grows with the turns that have a term, hardly with those that have none.

    Args:
        terms: Of the query.
        hits: Of each term.
        before: The turn before each in its session, -1 where there is none.
        after: The turn after each.
        pool: How many at most.
        room: To work in.
        reaches: Of the same turns.

    Returns:
        The turns, ascending, and for each term how many turns have it in themselves or a neighbour, shapes (turns,) and (terms,).
    """
    count = len(before)
    weight, here = room.take(count)
    reach = np.zeros(len(hits), dtype=np.float32)
    found: list[Ints] = []
    for number, (turns, counts) in enumerate(hits):
        if not len(turns):
            continue
        reach[number] = reaches.of(terms[number], turns, before, after, here)
        so_far = weight[turns]
        found.append(turns[so_far == 0])
        weight[turns] = so_far + np.float32(np.log1p(count / len(turns))) * counts / (counts + 1)
    having = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
    chosen = _heaviest(having, weight, here, before, after, pool)
    weight[having] = 0
    room.put_back(weight, here)
    return chosen, reach


def _reach(turns: Ints, before: Ints, after: Ints, here: Flags) -> int:
    """How many turns are among some or have a neighbour there; leaves the flags as they were."""
    earlier, later = before[turns], after[turns]  # nobody is before two, nor after two
    here[turns] = here[-1] = True
    known = np.count_nonzero(here[earlier])
    here[earlier] = True
    known += np.count_nonzero(here[later])
    here[turns] = here[earlier] = here[-1] = False
    return 3 * len(turns) - int(known)


def _heaviest(having: Ints, weight: Floats, here: Flags, before: Ints, after: Ints, pool: int) -> Ints:
    """The `pool` turns with most weight in themselves and their neighbours, ascending; all that have any when there are no more.

    Args:
        having: Turns with weight of their own, in any order.
        weight: Of every turn.
        here: A flag per turn and one for nobody; left as they were.
        before: See `choose`.
        after: Likewise.
        pool: How many at most.
    """
    near = having
    if len(having) > pool > 0:
        # `pool` turns have `enough` alone. Who has more with its neighbours has `share` of it itself, or a neighbour has.
        own = weight[having]
        share = _edge(own, pool) * _ENOUGH_SHARE
        having = having[own >= share]
        # So many have that much in all. Who has less than `share` itself needs a neighbour that makes up for it.
        total = _total(having, weight, before, after)
        enough = _edge(total, pool)
        near = having[weight[having] >= (enough - share) * _NEEDED_SHARE]
        having = having[total >= enough]
    here[having] = here[before[near]] = here[after[near]] = True
    here[-1] = False
    turns = np.flatnonzero(here)
    here[turns] = False
    return turns if len(turns) <= pool else turns[largest(_total(turns, weight, before, after), pool)]


def _total(turns: Ints, weight: Floats, before: Ints, after: Ints) -> Floats:
    """The weight of turns with a share of their neighbours'."""
    return (weight[turns] + _NEIGHBOUR_SHARE * (weight[before[turns]] + weight[after[turns]])).astype(np.float32)


def _edge(values: Floats, pool: int) -> np.float32:
    """The `pool`th largest."""
    edge: np.float32 = np.partition(values, len(values) - pool)[len(values) - pool]
    return edge


def count_turns(
    hits: Hits, turns: Ints, before: Ints, after: Ints, reach: Floats, room: Room
) -> tuple[Entries, Entries]:
    """Each term in some turns, and in those together with their neighbours.

    Args:
        hits: Of each term.
        turns: Those that are asked for, ascending.
        before: The turn before each turn of all, -1 where there is none.
        after: The turn after each.
        reach: As of `choose`.
        room: To work in.
    """
    tf, flags = room.take(len(before))
    earlier, later = before[turns], after[turns]
    alone: list[Floats] = []
    near: list[Floats] = []
    for with_term, counts in hits:
        tf[with_term] = counts
        own = tf[turns]
        alone.append(own)
        near.append(own + tf[earlier] + tf[later])
        tf[with_term] = 0
    room.put_back(tf, flags)
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
    found: list[Floats] = []
    df = np.zeros(len(hits), dtype=np.float32)
    for number, (turns, counts) in enumerate(hits):
        tf = np.bincount(session_of[turns], weights=counts, minlength=count)
        df[number] = np.count_nonzero(tf)
        found.append(tf[sessions].astype(np.float32))
    return _entries(found, df)


def largest(values: Floats, pool: int) -> Ints:
    """Places of the `pool` largest, ascending; of equal ones the first."""
    if len(values) <= pool:
        return np.arange(len(values))
    if pool < 1:
        return np.empty(0, dtype=np.int64)
    places: Ints | None = None
    if len(values) > 4 * _GROUPS_COUNT and pool <= _GROUPS_COUNT:
        # So many groups have one that large, so none of the largest is smaller; sorting those that are left is nothing.
        best = values[: len(values) // _GROUPS_COUNT * _GROUPS_COUNT].reshape(-1, _GROUPS_COUNT).max(axis=0)
        places = np.flatnonzero(values >= _edge(best, pool))
        values = values[places]
    edge = _edge(values, pool)
    above = np.flatnonzero(values > edge)
    level = np.flatnonzero(values == edge)[: pool - len(above)]
    chosen = np.sort(np.concatenate([above, level]))
    return chosen if places is None else places[chosen]


def _whole(part: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array that a view is of."""
    return part if part.base is None else part.base


def _entries(by_term: Sequence[Floats], df: Floats) -> Entries:
    if not by_term:
        none = np.empty(0, dtype=np.int64)
        return Entries(none, none, np.empty(0, dtype=np.float32), df)
    table = np.stack(by_term)
    term, unit = np.nonzero(table)
    return Entries(unit, term, table[term, unit], df)

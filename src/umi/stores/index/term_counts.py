"""Choose the turns that may matter for a query, and count its terms in turns, turns with neighbours, and sessions.

Only turns have postings; the other two levels are sums. The choice bounds the work: the cost of a common word does not
grow with the number of messages that contain it. What a turn scores is computed in `umi._core.ranking`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi.ports.candidates import union

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Hits = Sequence[tuple[Ints, Floats]]  # for each query term the turns with it, ascending, and how often each has it

Flags = npt.NDArray[np.bool_]

_NEIGHBOUR_SHARE: Final = np.float32(0.3)  # share of a neighbour's weight that counts for a turn's choice
_ROUNDED: Final = np.float32(0.999)  # lowers the two bounds below, so that rounding errors exclude no turn
_ENOUGH_SHARE: Final = _ROUNDED / (1 + 2 * _NEIGHBOUR_SHARE)
_NEEDED_SHARE: Final = _ROUNDED / (2 * _NEIGHBOUR_SHARE)
KEPT_TIMES: Final = (
    4  # so many times a pool of what a filter keeps: its first hits are then those of ranking everything
)
_COMMON_COUNT: Final = 1_024  # the reach of a term with at least so many turns is cached
_NONE: Final = -1  # no neighbour
_GROUPS_COUNT: Final = 16_384  # groups whose maxima give `largest` a lower bound


@dataclass(frozen=True, slots=True)
class Entries:
    """How often each term occurs in each of some units, and in how many units of all it occurs.

    Shapes: `unit`, `term` and `tf` (entries,), `df` (terms,). `unit` is the row among the units asked for; `df` is over
    all units.
    """

    unit: Ints
    term: Ints
    tf: Floats
    df: Floats


class Room:
    """Working memory: a number and a flag per turn, all zero between uses.

    Allocating it for each query would cost more than the work done in it. Whoever takes it must put it back zeroed. If
    an error prevents that, it is allocated anew.
    """

    def __init__(self) -> None:
        self._held: tuple[Floats, Flags] | None = None

    @property
    def bytes(self) -> int:
        """The memory it takes."""
        return 0 if self._held is None else sum(one.nbytes for one in self._held)

    def take(self, count: int) -> tuple[Floats, Flags]:
        """Both arrays for `count` turns, with one more entry at the end (index -1) for "no neighbour"."""
        held, self._held = self._held, None
        if held is None or len(held[0]) <= count:
            # Half as many again, so that a growing namespace rarely allocates.
            size = count + count // 2 + 1
            held = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.bool_)
        return held[0][: count + 1], held[1][: count + 1]

    def put_back(self, numbers: Floats, flags: Flags) -> None:
        """Return both arrays, zeroed."""
        self._held = _whole(numbers), _whole(flags)


class Reaches:
    """The reach of each term: how many turns have it in themselves or in a neighbour. Cached for common terms.

    New turns can only add to a reach, so the cache is extended for them. When a turn is removed it is emptied.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}  # by term: how many turns there were, and the reach then

    def forget(self) -> None:
        """Empty the cache, because a turn was removed."""
        self._known.clear()

    def of(self, term: str, turns: Ints, before: Ints, after: Ints, here: Flags) -> int:
        """The reach of a term.

        Args:
            term: The term.
            turns: The turns with it, ascending.
            before: For each turn the one before it in its session, -1 where there is none.
            after: For each turn the one after it.
            here: A zeroed flag per turn and one for "no neighbour"; zeroed again afterwards.
        """
        if len(turns) < _COMMON_COUNT:
            return _reach(turns, before, after, here)
        count = len(before)
        then, reached = self._known.get(term, (0, 0))
        # With many new turns counting from scratch is cheaper.
        if 2 * (count - then) > len(turns):
            reached = _reach(turns, before, after, here)
        elif count > then:
            reached += _reached_since(then, turns, before, after)
        self._known[term] = count, reached
        return reached


def _reached_since(then: int, turns: Ints, before: Ints, after: Ints) -> int:
    """How many turns a term reaches now and did not reach when there were `then` turns."""
    have = np.zeros(len(before) - then + 1, dtype=np.bool_)  # for the new turns, and one for "no neighbour"
    new = turns[np.searchsorted(turns, then) :]
    have[new - then] = True
    ahead, behind = before[then:], after[then:]
    old = np.flatnonzero((ahead >= 0) & (ahead < then))
    by_old = np.zeros(len(ahead), dtype=np.bool_)
    by_old[old] = _among(turns, ahead[old])
    by_new = have[np.where(ahead >= then, ahead - then, _NONE)] | have[np.where(behind >= 0, behind - then, _NONE)]
    first = before[new]
    first = first[(first >= 0) & (first < then)]  # old turns that now have a neighbour after them
    unreached = ~_among(turns, first) & ~_among(turns, before[first])
    return int(np.count_nonzero(have[:-1] | by_old | by_new)) + int(np.count_nonzero(unreached))


def _among(turns: Ints, some: Ints) -> Flags:
    """For each of `some` whether it is one of the turns, which are ascending; -1 is none of them."""
    flags: Flags = turns[np.searchsorted(turns, some).clip(max=len(turns) - 1)] == some
    return flags


def choose(
    terms: Sequence[str],
    hits: Hits,
    before: Ints,
    after: Ints,
    pool: int,
    room: Room,
    reaches: Reaches,
    kept: Flags | None = None,
) -> tuple[Ints, Floats]:
    """The turns that share a term with the query, or whose neighbours do; at most `pool`, those with the most and rarest terms.

    A turn weighs the sum over terms of log(1 + N / df) * tf / (tf + 1), plus 0.3 of what its neighbours weigh. The cost
    grows with the number of turns that have a term, hardly with the number of all turns.

    Args:
        terms: The terms of the query.
        hits: The postings of each term.
        before: For each turn the one before it in its session, -1 where there is none.
        after: For each turn the one after it.
        pool: The largest number of turns.
        room: Working memory.
        reaches: The cache for the same turns.
        kept: A flag per turn: of those that have it the best are chosen too, `KEPT_TIMES` the pool.

    Returns:
        The turns, ascending, shape (turns,), and the reach of each term, shape (terms,).
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
        # Turns that no earlier term has found.
        found.append(turns[so_far == 0])
        weight[turns] = so_far + np.float32(np.log1p(count / len(turns))) * counts / (counts + 1)
    having = np.concatenate(found) if found else np.empty(0, dtype=np.int64)
    chosen = _heaviest(having, weight, here, before, after, pool)
    if kept is not None:
        # Every turn with any weight, then the best of those that the filter keeps.
        reached = _heaviest(having, weight, here, before, after, count)
        reached = reached[kept[reached]]
        best = reached[largest(_total(reached, weight, before, after), KEPT_TIMES * pool)]
        chosen = union(chosen, best)
    # Zeroed again for the next query, only where it was changed.
    weight[having] = 0
    room.put_back(weight, here)
    return chosen, reach


def _reach(turns: Ints, before: Ints, after: Ints, here: Flags) -> int:
    """How many turns are among these or have a neighbour among them. Leaves the flags zeroed."""
    earlier, later = before[turns], after[turns]  # no turn is before two others, nor after two others
    # The last entry counts as set, so that a missing neighbour is never counted as new.
    here[turns] = here[-1] = True
    known = np.count_nonzero(here[earlier])
    here[earlier] = True
    known += np.count_nonzero(here[later])
    here[turns] = here[earlier] = here[-1] = False
    return 3 * len(turns) - int(known)


def _heaviest(having: Ints, weight: Floats, here: Flags, before: Ints, after: Ints, pool: int) -> Ints:
    """The `pool` turns with the most weight in themselves and their neighbours, ascending; all with any weight if there are fewer.

    Args:
        having: Turns with weight of their own, in any order.
        weight: The weight of every turn.
        here: A zeroed flag per turn and one for "no neighbour"; zeroed again afterwards.
        before: See `choose`.
        after: See `choose`.
        pool: The largest number of turns.
    """
    near = having
    # Turns that cannot be among the `pool` best are left out before neighbours are looked at.
    if len(having) > pool:
        # At least `pool` turns weigh E = `_reached(own, pool)` alone. A turn of total weight E or more has itself, or has a
        # neighbour with, at least E / (1 + 2 * 0.3): otherwise its total would be less than E.
        own = weight[having]
        share = _reached(own, pool) * _ENOUGH_SHARE
        having = having[own >= share]
        # Now `pool` turns have a total of `enough`. A turn with less than `share` of its own needs a neighbour that weighs at
        # least (enough - share) / (2 * 0.3) to reach it.
        total = _total(having, weight, before, after)
        enough = _reached(total, pool)
        near = having[weight[having] >= (enough - share) * _NEEDED_SHARE]
        having = having[total >= enough]
    here[having] = here[before[near]] = here[after[near]] = True
    here[-1] = False
    turns = np.flatnonzero(here)
    here[turns] = False
    heaviest: Ints = turns[largest(_total(turns, weight, before, after), pool)]
    return heaviest


def _total(turns: Ints, weight: Floats, before: Ints, after: Ints) -> Floats:
    """The weight of turns, with a share of their neighbours' weight."""
    return (weight[turns] + _NEIGHBOUR_SHARE * (weight[before[turns]] + weight[after[turns]])).astype(np.float32)


def _reached(values: Floats, pool: int) -> np.float32:
    """A value that at least `pool` of these reach, near to the `pool`-th largest."""
    if len(values) <= 4 * _GROUPS_COUNT or pool > _GROUPS_COUNT:
        return _edge(values, pool)
    # Of each group one reaches its maximum. Partitioning the maxima costs a fraction of partitioning all values.
    size = len(values) // _GROUPS_COUNT
    return _edge(values[: size * _GROUPS_COUNT].reshape(size, _GROUPS_COUNT).max(axis=0), pool)


def _edge(values: Floats, pool: int) -> np.float32:
    """The `pool`-th largest value."""
    edge: np.float32 = np.partition(values, len(values) - pool)[len(values) - pool]
    return edge


def count_turns(
    hits: Hits, turns: Ints, before: Ints, after: Ints, reach: Floats, room: Room
) -> tuple[Entries, Entries]:
    """Count each term in some turns, and in these turns together with their neighbours.

    Args:
        hits: The postings of each term.
        turns: The turns asked for, ascending.
        before: For each of all turns the one before it, -1 where there is none.
        after: For each of all turns the one after it.
        reach: The reach of each term, from `choose`.
        room: Working memory.
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
    """Count each term in some sessions.

    Args:
        hits: The postings of each term.
        sessions: The sessions asked for, ascending.
        session_of: The session of every turn.
        count: The number of sessions.
    """
    found: list[Floats] = []
    df = np.zeros(len(hits), dtype=np.float32)
    for number, (turns, counts) in enumerate(hits):
        tf = np.bincount(session_of[turns], weights=counts, minlength=count)
        df[number] = np.count_nonzero(tf)
        found.append(tf[sessions].astype(np.float32))
    return _entries(found, df)


def largest(values: Floats, pool: int) -> Ints:
    """The positions of the `pool` largest values, ascending; of equal values the first."""
    if len(values) <= pool:
        return np.arange(len(values))
    if pool < 1:
        return np.empty(0, dtype=np.int64)
    # Few values remain above a lower bound of the result, so partitioning those costs little.
    places = np.flatnonzero(values >= _reached(values, pool))
    values = values[places]
    edge = _edge(values, pool)
    above = np.flatnonzero(values > edge)
    level = np.flatnonzero(values == edge)[: pool - len(above)]
    chosen: Ints = places[np.sort(np.concatenate([above, level]))]
    return chosen


def _whole(part: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array that a view shows part of."""
    return part if part.base is None else part.base


def _entries(by_term: Sequence[Floats], df: Floats) -> Entries:
    if not by_term:
        none = np.empty(0, dtype=np.int64)
        return Entries(none, none, np.empty(0, dtype=np.float32), df)
    table = np.stack(by_term)
    term, unit = np.nonzero(table)
    return Entries(unit, term, table[term, unit], df)

"""Write credit inside one transaction: store what recalls showed, store signals, and update beliefs.

Used by the instant loop (`Learner.feedback`) and by the background loop (`umi._learning.runs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Final

from umi._evolution.relation_effects import RelationEffects
from umi._learning.credit import DERIVED_DEPTH, added, credit_of, summed
from umi.errors import NotFound
from umi.limits import (
    CHANGES_PAGE_COUNT,
    LEARN_BATCH_COUNT,
    TRAJECTORY_SHOWN_COUNT_MAX,
    TRAJECTORY_SOURCES_COUNT_MAX,
)
from umi.ports import Snapshot, Transaction, Vector
from umi.types import ChangeKind, Hit
from umi.types.learning_rows import EVERY, Belief, Share, SignalRow, Total, Trajectory, Version, chain

_DELETIONS: Final = frozenset({ChangeKind.DELETED, ChangeKind.REWORDED})


@dataclass(frozen=True, slots=True)
class Seen:
    """What one recall showed, waiting in RAM to be stored: (place, arrival, id, id of the message) of each hit. See `Trajectory`.

    `sequence` is the namespace's at the recall, 0 when it did not exist.
    """

    id: str
    at: datetime
    shown: tuple[tuple[int, int, str, str], ...]
    task_id: str | None = None
    moved: int = 0
    embedding: Vector | None = field(default=None, compare=False)
    embedder: str = ""
    sequence: int = 0


def seen_in(hits: Iterable[tuple[int, Hit]]) -> tuple[tuple[int, int, str, str], ...]:
    """The hits that can be credited, each with its place among all that was shown, as `Seen` has them."""
    first = islice(hits, TRAJECTORY_SHOWN_COUNT_MAX)
    return tuple((place, hit.episode.arrival, hit.id, hit.episode.id) for place, hit in first)


def write_trajectories(tx: Transaction, seen: Sequence[Seen]) -> None:
    """Store what recalls showed; each hit is stored with the entities that it was derived from."""
    since = _last_deletion(tx, [one.sequence for one in seen if one.task_id is not None])
    kept = ((one, _of_then(tx, one, since)) for one in seen)
    seen = [then for one, then in kept if then.shown or not one.shown]  # a recall goes with the last of its hits
    effects = RelationEffects(tx)
    # One query for the relations of all hits.
    effects.load(id_ for one in seen for _, _, id_, _ in one.shown)
    made = [
        Trajectory(one.id, one.at, one.task_id, one.moved, tuple(_shares(effects, one)), one.embedding, one.embedder)
        for one in seen
    ]
    tx.learned.add_trajectories(made)


def _last_deletion(tx: Transaction, sequences: Sequence[int]) -> int:
    """The sequence of the last write that deleted words, as far as it is above the lowest of these; 0 where none was."""
    last, after = 0, min(sequences, default=0)
    while sequences and (page := tx.changes(after, CHANGES_PAGE_COUNT)):
        after = page[-1].sequence
        last = max([last, *(one.sequence for one in page if one.kind in _DELETIONS)])
    return last


def _of_then(tx: Transaction, seen: Seen, last_deletion: int) -> Seen:
    """A note as it may be stored now.

    It loses hits that were deleted since, and those whose place another message has taken: the namespace was begun anew. It loses its task where
    words were deleted since, perhaps by another process that erased a name: nobody knows any more which, and the task may have it.
    """
    episodes = tx.episodes_at(arrival for _, arrival, *_ in seen.shown)
    shown = tuple(one for one in seen.shown if one[1] in episodes and episodes[one[1]].id == one[3])
    told = shown == seen.shown and seen.sequence >= last_deletion
    return replace(seen, shown=shown, task_id=seen.task_id if told else None)


def credit(tx: Transaction, signals: Sequence[SignalRow]) -> None:
    """Store signals that are matched and new, and update the beliefs they concern.

    `sequence` and `version` of the rows are assigned here.
    """
    learned = tx.learned
    version = learned.open_version() or Version()
    first = version.next_sequence
    # The open version is read in this transaction, so numbers of concurrent runs cannot collide.
    rows = [replace(one, sequence=first + step, version=version.number) for step, one in enumerate(signals)]
    trajectories = learned.trajectories(id_ for row in rows for id_ in row.trajectories)
    learned.add_signals(rows)
    known = learned.beliefs(share.arrival for one in trajectories.values() for share in one.shares)
    beliefs = {belief_key(belief): belief for group in known.values() for belief in group}
    learned.put_beliefs([beliefs[key] for key in move_beliefs(beliefs, rows, trajectories)])
    totals = added_totals(version.totals, rows)
    # `totals` are over all signals that count, those of parent versions included.
    learned.put_version(
        replace(version, signals=version.signals + len(rows), next_sequence=first + len(rows), totals=totals)
    )


def believed(snapshot: Snapshot, arrival: int) -> set[str]:
    """Ids of the statements of a message about which outcomes count."""
    return {belief.entity_id for belief in snapshot.learned.beliefs([arrival]).get(arrival, ())}


def inherit(tx: Transaction, arrival: int, heirs: Mapping[str, str]) -> None:
    """Let what was learned of an episode's statements count for those that replace them.

    Args:
        tx: The transaction that replaces them.
        arrival: Of the episode.
        heirs: The id of the new statement, by that of the old one. Of two with one heir a signal about both counts once.
            What counts about another counts of its message all the same.
    """
    learned = tx.learned
    held = believed(tx, arrival)
    learned.inherit(arrival, heirs)
    version = learned.open_version()
    if version is None:
        return
    counting = chain(learned.versions(), version.number)
    beliefs: dict[BeliefKey, Belief] = {}
    for id_ in sorted({heirs.get(id_, id_) for id_ in held}):
        rows = learned.signals_about(arrival, id_, counting, EVERY)[::-1]
        of = learned.trajectories(trajectory for row in rows for trajectory in row.trajectories)
        mine = {trajectory: replace(one, shares=_about(one, arrival, id_)) for trajectory, one in of.items()}
        move_beliefs(beliefs, rows, mine)
    learned.put_beliefs([beliefs[key] for key in sorted(beliefs)])


def _about(trajectory: Trajectory, arrival: int, id_: str) -> tuple[Share, ...]:
    return tuple(one for one in trajectory.shares if (one.arrival, one.entity_id) == (arrival, id_))


BeliefKey = tuple[int, str, str]  # arrival, entity, provider


def belief_key(belief: Belief) -> BeliefKey:
    """The key of a belief: arrival, entity, provider."""
    return belief.arrival, belief.entity_id, belief.provider


def move_beliefs(
    beliefs: dict[BeliefKey, Belief], rows: Sequence[SignalRow], trajectories: Mapping[str, Trajectory]
) -> list[BeliefKey]:
    """Add signals to beliefs in place; returns the keys of the beliefs that changed, each once."""
    moved: dict[BeliefKey, None] = {}
    for row in rows:
        # Trajectories that were deleted with their episodes credit nothing any more.
        shares = [share for id_ in row.trajectories if id_ in trajectories for share in trajectories[id_].shares]
        for (arrival, entity_id), weight in credit_of(row, shares).items():
            key = (arrival, entity_id, row.provider)
            beliefs[key] = added(beliefs.get(key) or Belief(*key, 0.0, 0.0, 0), weight, row.quality)
            moved[key] = None
    return list(moved)


def added_totals(totals: Mapping[str, Total], rows: Iterable[SignalRow]) -> dict[str, Total]:
    """The totals of each provider with these signals added."""
    found = dict(totals)
    for row in rows:
        found[row.provider] = summed(found.get(row.provider, Total()), row)
    return found


def counting_pages(snapshot: Snapshot, counting: frozenset[int]) -> Iterator[list[SignalRow]]:
    """All signals of these versions, page by page, in the order in which they came."""
    last = -1
    while page := snapshot.learned.signals_after(last, LEARN_BATCH_COUNT):
        last = page[-1].sequence
        yield [row for row in page if row.version in counting]


def require_shown(snapshot: Snapshot, trajectory: Trajectory, used: Sequence[str]) -> list[str]:
    """Map ids of hits, or of their episodes, to the ids that the trajectory holds.

    Raises:
        NotFound: For an id that this recall did not show.
    """
    shown = {share.entity_id: share.entity_id for share in trajectory.shares if share.depth == 0}
    episodes = snapshot.episodes(id_ for id_ in used if id_ not in shown)
    # An episode's id names its entity among the hits.
    by_arrival = {share.arrival: share.entity_id for share in trajectory.shares if share.depth == 0}
    shown |= {id_: by_arrival[each.arrival] for id_, each in episodes.items() if each.arrival in by_arrival}
    for id_ in used:
        if id_ not in shown:
            raise NotFound(
                f"recall {trajectory.id} did not show {id_}; `used` takes ids of its first {TRAJECTORY_SHOWN_COUNT_MAX} hits"
            )
    return [shown[id_] for id_ in used]


def _shares(effects: RelationEffects, seen: Seen) -> list[Share]:
    """One share per hit, and below each hit one per entity it was derived from, breadth first."""
    shares = []
    for place, arrival, entity_id, _ in seen.shown:
        shares.append(Share(arrival, entity_id, place))
        below: dict[str, int] = {}
        frontier = [entity_id]
        for depth in range(1, DERIVED_DEPTH + 1):
            # One query per level of derivation.
            effects.load(frontier)
            sources = (source for id_ in frontier for source in effects.sources(id_))
            # Each source counts at its smallest depth.
            frontier = [source for source in dict.fromkeys(sources) if source not in below and source != entity_id]
            below.update(dict.fromkeys(frontier[: TRAJECTORY_SOURCES_COUNT_MAX - len(below)], depth))
        known = effects.entities(below)
        shares += [Share(known[id_].arrival, id_, place, depth) for id_, depth in below.items() if id_ in known]
    return shares

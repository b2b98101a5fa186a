"""One transaction of credit: trajectories as rows, signals matched to them, beliefs moved. All of it commits, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from umi._evolution.relation_reader import RelationReader
from umi._learning.credit import DERIVED_DEPTH, added, credit_of, summed
from umi.errors import NotFound
from umi.limits import TRAJECTORY_SHOWN_COUNT_MAX, TRAJECTORY_SOURCES_COUNT_MAX
from umi.ports import Snapshot, Transaction, Vector
from umi.types import Hit
from umi.types.learning_rows import Belief, Share, SignalRow, Total, Trajectory, Version


@dataclass(frozen=True, slots=True)
class Seen:
    """What one recall showed, as it waits in RAM: (arrival, id) of each hit from the first on."""

    id: str
    at: datetime
    shown: tuple[tuple[int, str], ...]
    task_id: str | None = None
    moved: int = 0
    embedding: Vector | None = field(default=None, compare=False)
    embedder: str = ""


def seen_in(hits: Iterable[Hit]) -> tuple[tuple[int, str], ...]:
    """Where the credit of these hits can go."""
    return tuple((hit.episode.arrival, hit.id) for hit in hits)[:TRAJECTORY_SHOWN_COUNT_MAX]


def write_trajectories(tx: Transaction, seen: Sequence[Seen]) -> None:
    """Keep what recalls showed, each hit with what it was derived from."""
    ledger = RelationReader(tx)
    ledger.load(id_ for one in seen for _, id_ in one.shown)
    made = [
        Trajectory(one.id, one.at, one.task_id, one.moved, tuple(_shares(ledger, one)), one.embedding, one.embedder)
        for one in seen
    ]
    tx.learned.add_trajectories(made)


def credit(tx: Transaction, signals: Sequence[SignalRow]) -> None:
    """Keep signals that are matched and not known yet, and move the beliefs that they bear on.

    Their `sequence` and `version` are given here.
    """
    learned = tx.learned
    version = learned.open_version() or Version()
    first = version.next_sequence
    rows = [replace(one, sequence=first + step, version=version.number) for step, one in enumerate(signals)]
    trajectories = learned.trajectories(id_ for row in rows for id_ in row.trajectories)
    learned.add_signals(rows)
    known = learned.beliefs(share.arrival for one in trajectories.values() for share in one.shares)
    beliefs = {belief_key(belief): belief for group in known.values() for belief in group}
    learned.put_beliefs([beliefs[key] for key in move_beliefs(beliefs, rows, trajectories)])
    totals = added_totals(version.totals, rows)
    learned.put_version(
        replace(version, signals=version.signals + len(rows), next_sequence=first + len(rows), totals=totals)
    )


BeliefKey = tuple[int, str, str]  # arrival, entity, provider


def belief_key(belief: Belief) -> BeliefKey:
    """What a belief is of."""
    return belief.arrival, belief.entity_id, belief.provider


def move_beliefs(
    beliefs: dict[BeliefKey, Belief], rows: Sequence[SignalRow], trajectories: Mapping[str, Trajectory]
) -> list[BeliefKey]:
    """Add to beliefs what signals say; the keys of those that were moved."""
    moved: dict[BeliefKey, None] = {}
    for row in rows:
        shares = [share for id_ in row.trajectories if id_ in trajectories for share in trajectories[id_].shares]
        for (arrival, entity_id), weight in credit_of(row, shares).items():
            key = (arrival, entity_id, row.provider)
            beliefs[key] = added(beliefs.get(key) or Belief(*key, 0.0, 0.0, 0), weight, row.quality)
            moved[key] = None
    return list(moved)


def added_totals(totals: Mapping[str, Total], rows: Iterable[SignalRow]) -> dict[str, Total]:
    """What each provider has said in all, with these."""
    found = dict(totals)
    for row in rows:
        found[row.provider] = summed(found.get(row.provider, Total()), row)
    return found


def require_shown(snapshot: Snapshot, trajectory: Trajectory, used: Sequence[str]) -> list[str]:
    """The ids of hits, or of their episodes, as the ids that the trajectory shows.

    Raises:
        NotFound: For an id that this recall did not show.
    """
    shown = {share.entity_id: share.entity_id for share in trajectory.shares if share.depth == 0}
    episodes = snapshot.episodes(id_ for id_ in used if id_ not in shown)
    by_arrival = {share.arrival: share.entity_id for share in trajectory.shares if share.depth == 0}
    shown |= {id_: by_arrival[each.arrival] for id_, each in episodes.items() if each.arrival in by_arrival}
    for id_ in used:
        if id_ not in shown:
            raise NotFound(f"recall {trajectory.id} did not show {id_}; `used` takes ids of its hits")
    return [shown[id_] for id_ in used]


def _shares(ledger: RelationReader, seen: Seen) -> list[Share]:
    """The hits, and below each what it was derived from."""
    shares = []
    for place, (arrival, entity_id) in enumerate(seen.shown):
        shares.append(Share(arrival, entity_id, place))
        below: dict[str, int] = {}
        frontier = [entity_id]
        for depth in range(1, DERIVED_DEPTH + 1):
            ledger.load(frontier)
            sources = (source for id_ in frontier for source in ledger.sources(id_))
            frontier = [source for source in dict.fromkeys(sources) if source not in below and source != entity_id]
            below.update(dict.fromkeys(frontier[: TRAJECTORY_SOURCES_COUNT_MAX - len(below)], depth))
        known = ledger.entities(below)
        shares += [Share(known[id_].arrival, id_, place, depth) for id_, depth in below.items() if id_ in known]
    return shares

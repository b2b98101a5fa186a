"""The rows of one namespace in dicts, what orders and copies them, and the search index that follows them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Final, cast

import numpy as np

from umi._core.invariants import check
from umi._core.vectors import unpack
from umi.ports import EpisodeRow, Matrix, PackedVectors, ReplayRow
from umi.ports.candidates import Keys
from umi.stores.index.documents import as_documents
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.memory.learning import LearnedSpace
from umi.types import Change, Entity, Episode, EvolutionRelation, JSONObject, OutboxItem
from umi.types.filters import Filter
from umi.types.routing_rows import Decision

_SECOND: Final = timedelta(seconds=1)
_NO_OFFSET: Final = timedelta(0)
LAST: Final = 1 << 62  # sorts entities without a span after those with one


@dataclass(frozen=True, slots=True)
class Kept:
    """An entity and its place within its episode."""

    entity: Entity
    place: int


@dataclass(slots=True)
class Space:
    """The rows of one namespace. The search index is derived from them, and None until it is needed."""

    sequence: int = 0
    next_arrival: int = 0
    rows: dict[int, EpisodeRow] = field(default_factory=dict)
    arrivals: dict[str, int] = field(default_factory=dict)
    entities: dict[str, Kept] = field(default_factory=dict)
    of_episode: dict[int, tuple[str, ...]] = field(default_factory=dict)  # entity ids in order of place
    places: dict[int, int] = field(default_factory=dict)  # next free place of an episode
    of_subject: dict[str, dict[str, None]] = field(default_factory=dict)
    relations: dict[str, EvolutionRelation] = field(default_factory=dict)
    at_end: dict[str, dict[str, None]] = field(default_factory=dict)  # relation ids by entity id
    subjects: dict[str, str] = field(default_factory=dict)  # by alias
    replays: dict[str, ReplayRow] = field(default_factory=dict)
    outbox: dict[int, OutboxItem] = field(default_factory=dict)
    vectors: dict[int, PackedVectors] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)  # what writes did, oldest first
    expiring: dict[int, datetime] = field(default_factory=dict)  # when those episodes expire that do
    restoring: str | None = None
    learned: LearnedSpace = field(default_factory=LearnedSpace)
    routed: dict[str, Decision] = field(default_factory=dict)
    index: NamespaceIndex | None = None

    def has(self, arrival: int, where: Filter) -> bool:
        """Whether an episode is one of a filter's, with a statement of its types."""
        if not where.admits(self.rows[arrival].episode):
            return False
        mine = self.of_episode.get(arrival, ())
        return not where.types or any(where.takes(self.entities[id_].entity) for id_ in mine)

    def keeps(self, entity: Entity, where: Filter) -> bool:
        """Whether a statement is of a filter's messages and types."""
        return not where or (where.takes(entity) and where.admits(self.rows[entity.arrival].episode))

    def about(self, subject: str, where: Filter, before: str | None) -> list[Kept]:
        """What was said about a subject, newest first; with `before` only what follows that statement in this order."""
        found = [
            one
            for one in map(self.entities.__getitem__, self.of_subject.get(subject, ()))
            if self.keeps(one.entity, where)
        ]
        if before is not None:
            last = self.entities.get(before)
            found = [one for one in found if last is not None and newest(one) < newest(last)]
        return sorted(found, key=newest, reverse=True)

    def matching(self, where: Filter, since: int) -> Keys:
        """The arrivals of a filter's messages from one on."""
        found = [arrival for arrival in self.rows if arrival >= since and self.has(arrival, where)]
        return np.array(found, dtype=np.int64)


def newest(kept: Kept) -> tuple[datetime, int, int]:
    """How statements are ordered by time, with the newest last."""
    check(kept.entity.at is not None, f"entity {kept.entity.id} has no time")
    return kept.entity.at or datetime.min.replace(tzinfo=UTC), kept.entity.arrival, kept.place


def span_order(kept: Kept) -> tuple[tuple[int, int], int]:
    """How the statements of an episode are ordered: by span, those without one last."""
    return (kept.entity.span or (LAST, LAST)), kept.place


def copied(metadata: JSONObject) -> JSONObject:
    """Metadata as a JSON round trip returns it, so that the store shares no mutable object with the caller."""
    return cast("JSONObject", json.loads(json.dumps(dict(metadata)))) if metadata else {}


def utc(moment: datetime | None) -> datetime | None:
    """A moment in UTC; None stays None."""
    return None if moment is None else moment.astimezone(UTC)


def whole_zone(moment: datetime) -> datetime:
    """A moment in its zone as a store keeps it: an offset of whole seconds."""
    offset = (moment.utcoffset() or _NO_OFFSET) // _SECOND * _SECOND
    return moment.astimezone(timezone(offset) if offset else UTC)


def episode_out(episode: Episode) -> Episode:
    """An episode as a store gives it out: nothing in it is shared."""
    return replace(episode, metadata=copied(episode.metadata)) if episode.metadata else episode


def entity_out(kept: Kept) -> Entity:
    """An entity as a store gives it out: nothing in it is shared."""
    entity = kept.entity
    return replace(entity, metadata=copied(entity.metadata)) if entity.metadata else entity


def windows_of(space: Space, arrival: int) -> Matrix:
    """The vectors of an episode, shape (windows, dimensions)."""
    packed = space.vectors[arrival]
    return unpack(packed.blob, packed.dimensions)


def grow(space: Space, index: NamespaceIndex, since: int) -> None:
    """Add the episodes from arrival `since` on to an index."""
    arrivals = sorted(arrival for arrival in space.rows if arrival >= since)
    index.add_documents(as_documents(arrivals, [space.rows[arrival] for arrival in arrivals]))
    _put(space, index, [arrival for arrival in arrivals if arrival in space.vectors])


def _put(space: Space, index: NamespaceIndex, arrivals: Sequence[int]) -> None:
    """Give an index the vectors of these episodes."""
    for arrival in arrivals:
        windows = windows_of(space, arrival)
        index.add_vectors(np.array([arrival]), np.array([len(windows)]), windows)


def followed(space: Space, index: NamespaceIndex, touched: Iterable[int], known: int) -> NamespaceIndex | None:
    """The index after a commit. None if it must be rebuilt, which is so when an episode lost its vectors but not its text."""
    for arrival in touched:
        if arrival >= known:
            continue
        if arrival not in space.rows:
            index.remove(arrival)
        elif arrival in space.vectors:
            _put(space, index, [arrival])
        else:
            return None
    grow(space, index, known)
    return index

"""The transactions on the rows of one namespace in dicts.

A write keeps an undo log, so a closure that raises leaves nothing behind. Vectors are stored in half precision as in
the SQLite store, so that both rank alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn, TypeVar, cast

from umi._core.invariants import InvariantError, check
from umi._core.vectors import pack
from umi.errors import EmbedderMismatch, InvalidInput, NotFound, UmiError
from umi.ports import (
    Counts,
    EmbedderIdentity,
    EpisodeRow,
    EpisodesRead,
    Matrix,
    PackedVectors,
    ReplayRow,
    Source,
    Vector,
)
from umi.ports.candidates import NO_KEYS, Eligible, Flags, Keys, Surroundings, TextCandidates, VectorCandidates
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.memory.days import DayReads
from umi.stores.memory.learning import Log, MemoryLearned
from umi.stores.memory.routing import MemoryRouted
from umi.stores.memory.sessions import SessionReads
from umi.stores.memory.space import (
    LAST,
    Kept,
    Space,
    copied,
    entity_out,
    episode_out,
    followed,
    grow,
    span_order,
    utc,
    whole_zone,
    windows_of,
)
from umi.stores.memory.statements import StatementReads
from umi.stores.memory.undecided import UndecidedReads
from umi.stores.namespace_view import another_embedder, packed_fault, subjects_of, vector_fault
from umi.types import Change, ChangeKind, Entity, Episode, EvolutionRelation, OutboxItem
from umi.types.filters import EVERYTHING, Filter

K = TypeVar("K")
V = TypeVar("V")


class _Ended:
    """Replaces the rows once a transaction has ended."""

    def __getattr__(self, name: str) -> NoReturn:
        raise InvariantError(f"a snapshot was asked for {name} after its transaction ended")


class MemorySnapshot(SessionReads, UndecidedReads, DayReads, StatementReads):
    """A snapshot of one namespace; see `umi.ports.Snapshot`."""

    def __init__(
        self, namespace: str, space: Space, index: Callable[[], NamespaceIndex], embedder: EmbedderIdentity | None
    ) -> None:
        self._namespace, self._index, self._embedder = namespace, index, embedder
        self._space: Space = space

    def end(self) -> None:
        """Refuse all look-ups from now on."""
        self._space = cast("Space", _Ended())

    @property
    def namespace(self) -> str:
        return self._namespace

    @property
    def sequence(self) -> int:
        return self._space.sequence

    @property
    def embedder(self) -> EmbedderIdentity | None:
        return self._embedder

    @property
    def learned(self) -> MemoryLearned:
        return MemoryLearned(lambda: self._space.learned, lambda: self._space.rows)

    @property
    def routed(self) -> MemoryRouted:
        return MemoryRouted(lambda: self._space.routed, lambda: self._space.sequence + 1)

    def episodes(self, ids: Iterable[str]) -> dict[str, Episode]:
        arrivals = self._space.arrivals
        return {id_: episode_out(self._space.rows[arrivals[id_]].episode) for id_ in ids if id_ in arrivals}

    def sources(self, episode_ids: Iterable[str]) -> dict[str, Source]:
        return {id_: Source(one.origin, one.at.tzinfo or UTC) for id_, one in self.episodes(episode_ids).items()}

    def episodes_at(self, keys: Iterable[int]) -> dict[int, Episode]:
        rows = self._space.rows
        return {int(key): episode_out(rows[int(key)].episode) for key in keys if int(key) in rows}

    def read_at(self, keys: Iterable[int]) -> EpisodesRead:
        episodes = self.episodes_at(keys)
        entities = self.entities_of(one.id for one in episodes.values())
        relations = self.relations_of(one.id for mine in entities.values() for one in mine)
        return EpisodesRead(episodes, entities, relations)

    def entities(self, ids: Iterable[str]) -> dict[str, Entity]:
        entities = self._space.entities
        return {id_: entity_out(entities[id_]) for id_ in ids if id_ in entities}

    def entities_of(self, episode_ids: Iterable[str]) -> dict[str, tuple[Entity, ...]]:
        found: dict[str, tuple[Entity, ...]] = {}
        for episode_id in episode_ids:
            mine = self._space.of_episode.get(self._space.arrivals.get(episode_id, -1), ())
            if mine:
                kept = sorted((self._space.entities[id_] for id_ in mine), key=span_order)
                found[episode_id] = tuple(map(entity_out, kept))
        return found

    def list_entities(
        self, *, after: tuple[int, int] | None, limit: int, where: Filter = EVERYTHING, newest: bool = False
    ) -> list[tuple[tuple[int, int], Entity]]:
        page: list[tuple[tuple[int, int], Entity]] = []
        for arrival in sorted(self._space.of_episode, reverse=newest):
            mine = [self._space.entities[id_] for id_ in self._space.of_episode[arrival]]
            for kept in reversed(mine) if newest else mine:
                if len(page) >= limit:
                    return page
                at = arrival, kept.place
                follows = after is None or (at < after if newest else at > after)
                if follows and self._space.keeps(kept.entity, where):
                    page.append((at, entity_out(kept)))
        return page

    def list_episodes(
        self, *, after: int | None, limit: int, where: Filter = EVERYTHING, newest: bool = False
    ) -> list[Episode]:
        page: list[Episode] = []
        for arrival in sorted(self._space.rows, reverse=newest):
            follows = after is None or (arrival < after if newest else arrival > after)
            if follows and len(page) < limit and self._space.has(arrival, where):
                page.append(episode_out(self._space.rows[arrival].episode))
        return page

    def relations(self, ids: Iterable[str]) -> dict[str, EvolutionRelation]:
        return {id_: self._space.relations[id_] for id_ in ids if id_ in self._space.relations}

    def relations_of(self, entity_ids: Iterable[str]) -> dict[str, tuple[EvolutionRelation, ...]]:
        found: dict[str, tuple[EvolutionRelation, ...]] = {}
        for entity_id in entity_ids:
            mine = [self._space.relations[id_] for id_ in self._space.at_end.get(entity_id, ())]
            if mine:
                found[entity_id] = tuple(sorted(mine, key=lambda relation: (relation.created_at, relation.id)))
        return found

    def subjects_of(self, aliases: Iterable[str]) -> dict[str, str]:
        return {alias: self._space.subjects[alias] for alias in aliases if alias in self._space.subjects}

    def aliases(self, subject: str) -> tuple[str, ...]:
        return tuple(sorted(alias for alias, owner in self._space.subjects.items() if owner == subject))

    def replays(self, keys: Iterable[str]) -> dict[str, ReplayRow]:
        return {key: self._space.replays[key] for key in keys if key in self._space.replays}

    def outbox(self, limit: int) -> list[OutboxItem]:
        return [self._space.outbox[arrival] for arrival in sorted(self._space.outbox)[:limit]]

    def counts(self) -> Counts:
        space = self._space
        active = Counter(str(row.evolution_type) for row in space.relations.values() if row.undone_at is None)
        return Counts(
            episodes=len(space.rows),
            entities=len(space.entities),
            vectors=len(space.vectors),
            waiting=len(space.outbox),
            evolutions=dict(sorted(active.items())),
            store_bytes=0,
            cache_bytes=0 if space.index is None else space.index.bytes,
        )

    def text_candidates(
        self, terms: Sequence[str], *, also: Keys = NO_KEYS, where: Filter = EVERYTHING
    ) -> TextCandidates:
        index = self._current()
        return index.text_candidates(terms, also=also, kept=self._kept_in(index, where))

    def vector_candidates(
        self, embedding: Vector, *, also: Keys = NO_KEYS, pool: int, where: Filter = EVERYTHING
    ) -> VectorCandidates:
        index = self._current()
        return index.vector_candidates(embedding, also=also, pool=pool, kept=self._kept_in(index, where))

    def among(self, keys: Keys, where: Filter) -> Eligible:
        index = self._current()
        return index.among(keys, self._kept_in(index, where))

    def _kept_in(self, index: NamespaceIndex, where: Filter) -> Flags | None:
        return index.kept_by(where, self._space.sequence, self._space.matching)

    def surroundings(self, keys: Keys) -> Surroundings:
        return self._current().surroundings(keys)

    def speakers(self, terms: Iterable[str]) -> frozenset[str]:
        return self._current().speakers(terms)

    def catch_up(self) -> bool:
        return True  # the index follows every write at once

    def scan_episodes(self, where: Filter = EVERYTHING) -> Iterator[tuple[EpisodeRow, PackedVectors | None]]:
        for arrival, row in sorted(self._space.rows.items()):
            if self._space.has(arrival, where):
                yield replace(row, episode=episode_out(row.episode)), self._space.vectors.get(arrival)

    def scan_entities(self, where: Filter = EVERYTHING) -> Iterator[Entity]:
        for arrival, ids in sorted(self._space.of_episode.items()):
            if self._space.has(arrival, where):
                yield from (entity_out(self._space.entities[id_]) for id_ in ids)

    def changes(self, after: int, limit: int) -> list[Change]:
        found = [one for one in self._space.changes if one.sequence > after]
        if len(found) <= limit:
            return found
        last = found[limit - 1].sequence
        cut = found[limit].sequence == last
        whole = [one for one in found[:limit] if not (cut and one.sequence == last)]
        return whole or [one for one in found if one.sequence == last]

    def first_expiry(self) -> datetime | None:
        return min(self._space.expiring.values(), default=None)

    def expired(self, now: datetime, limit: int) -> list[str]:
        due = sorted((at, arrival) for arrival, at in self._space.expiring.items() if at <= now)
        return [self._space.rows[arrival].episode.id for _, arrival in due[:limit]]

    def scan_relations(self) -> Iterator[EvolutionRelation]:
        return (relation for _, relation in sorted(self._space.relations.items()))

    def scan_aliases(self) -> Iterator[tuple[str, str]]:
        return iter(sorted(self._space.subjects.items()))

    def scan_replays(self) -> Iterator[ReplayRow]:
        return (row for _, row in sorted(self._space.replays.items()))

    def scan_outbox(self) -> Iterator[OutboxItem]:
        return (item for _, item in sorted(self._space.outbox.items()))

    def restoring(self) -> str | None:
        return self._space.restoring

    def _current(self) -> NamespaceIndex:
        return self._index()

    def vectors(self, episode_ids: Iterable[str]) -> dict[str, Matrix]:
        """The stored windows of each episode; an episode without vectors has no key."""
        wanted = {id_: self._space.arrivals.get(id_, -1) for id_ in episode_ids}
        return {id_: windows_of(self._space, key) for id_, key in wanted.items() if key in self._space.vectors}


class MemoryTransaction(MemorySnapshot):
    """A write transaction; see `umi.ports.Transaction`.

    An error raised by one of its methods fails the whole transaction, even if the caller's closure swallows it.
    """

    def __init__(
        self,
        namespace: str,
        space: Space,
        index: Callable[[], NamespaceIndex],
        embedder: EmbedderIdentity | None,
        dimensions: int,
    ) -> None:
        super().__init__(namespace, space, index, embedder)
        self._dimensions = dimensions  # of the vectors kept, 0 while there are none
        self._undo: list[Callable[[], object]] = []
        self._noted: dict[tuple[ChangeKind, str], None] = {}  # what was done, each once
        self._refused: UmiError | None = None
        self._known = space.next_arrival  # an index may hold episodes that arrived before this
        self._touched: set[int] = set()

    def conclude(self) -> None:
        """Advance the namespace's sequence if anything changed, and update the index.

        Raises:
            UmiError: What a method raised before.
        """
        if self._refused is not None:
            raise self._refused
        if not self._undo:
            return
        self._space.sequence += 1
        self._space.changes += [Change(self._space.sequence, kind, id_) for kind, id_ in self._noted]
        if self._space.index is not None:
            self._space.index = followed(self._space, self._space.index, sorted(self._touched), self._known)

    def undo(self) -> None:
        """Take every change back, the last one first."""
        for step in reversed(self._undo):
            step()

    @property
    def learned(self) -> MemoryLearned:
        return MemoryLearned(
            lambda: self._space.learned, lambda: self._space.rows, Log(self._put, self._drop, self._refuse)
        )

    @property
    def routed(self) -> MemoryRouted:
        log = Log(self._put, self._drop, self._refuse)
        return MemoryRouted(lambda: self._space.routed, lambda: self._space.sequence + 1, log)

    def next_arrival(self) -> int:
        return self._space.next_arrival

    def add_episodes(self, rows: Sequence[EpisodeRow]) -> None:
        for row in rows:
            given = row.episode
            check(given.arrival >= self._space.next_arrival, f"arrival {given.arrival} of {given.id} is not new")
            if given.id in self._space.arrivals:
                raise self._refuse(InvalidInput(f"episode {given.id} is here already: each is written once"))
            episode = replace(
                given,
                at=whole_zone(given.at),
                recorded_at=given.recorded_at.astimezone(UTC),
                metadata=copied(given.metadata),
            )
            self._put(self._space.rows, episode.arrival, replace(row, episode=episode))
            self._put(self._space.arrivals, episode.id, episode.arrival)
            if episode.expires_at is not None:
                self._put(self._space.expiring, episode.arrival, episode.expires_at)
            self._note(ChangeKind.REMEMBERED, episode.id)
            self._undo.append(partial(setattr, self._space, "next_arrival", self._space.next_arrival))
            self._space.next_arrival = episode.arrival + 1

    def add_entities(self, entities: Sequence[Entity]) -> None:
        for given in sorted(entities, key=lambda entity: entity.span or (LAST, LAST)):
            self._note(ChangeKind.READ, given.episode_id)
            arrival = self._arrival(given.episode_id)
            if given.id in self._space.entities:
                raise self._refuse(InvalidInput(f"entity {given.id} is here already: each is written once"))
            episode = self._space.rows[arrival].episode
            entity = replace(
                given,
                at=episode.at.astimezone(UTC),
                arrival=arrival,
                valid_from=utc(given.valid_from),
                valid_to=utc(given.valid_to),
                recorded_at=utc(given.recorded_at),
                invalidated_at=utc(given.invalidated_at),
                valid_until=utc(given.valid_until),
                metadata=copied(given.metadata),
            )
            place = self._space.places.get(arrival, 0)
            self._put(self._space.places, arrival, place + 1)
            self._put(self._space.entities, entity.id, Kept(entity, place))
            self._put(self._space.of_episode, arrival, (*self._space.of_episode.get(arrival, ()), entity.id))
            for subject in subjects_of(entity):
                self._put(self._space.of_subject.setdefault(subject, {}), entity.id, None)

    def claim_embedder(self, identity: EmbedderIdentity) -> None:
        if self._embedder is not None and self._embedder != identity:
            raise self._refuse(EmbedderMismatch(another_embedder(self._embedder, identity)))
        self._embedder, self._dimensions = identity, identity.dimensions

    def add_vectors(self, vectors: Mapping[str, Matrix]) -> None:
        for episode_id, windows in vectors.items():
            arrival = self._arrival(episode_id)
            fault = vector_fault(episode_id, windows, self._dimensions)
            if fault is not None:
                raise self._refuse(fault)
            self._dimensions = int(windows.shape[1])
            self._put(self._space.vectors, arrival, PackedVectors(self._dimensions, pack(windows)))
            self._touched.add(arrival)

    def add_packed(self, vectors: Mapping[str, PackedVectors]) -> None:
        for episode_id, packed in vectors.items():
            arrival = self._arrival(episode_id)
            fault = packed_fault(episode_id, packed, self._dimensions)
            if fault is not None:
                raise self._refuse(fault)
            self._dimensions = packed.dimensions
            self._put(self._space.vectors, arrival, packed)
            self._touched.add(arrival)

    def remove_vectors(self, episode_id: str) -> bool:
        """Delete an episode's vectors; True if it had any."""
        arrival = self._space.arrivals.get(episode_id, -1)
        self._touched.add(arrival)
        return self._drop(self._space.vectors, arrival)

    def put_relation(self, relation: EvolutionRelation) -> None:
        self._note(ChangeKind.RELATED, relation.id)
        self._join(relation)

    def _join(self, relation: EvolutionRelation) -> None:
        ends = (relation.source_id, relation.target_id)
        if any(end not in self._space.entities for end in ends):
            raise self._refuse(NotFound(f"relation {relation.id} joins {sorted(ends)}, and not all of them are here"))
        self._drop_relation(relation.id)
        self._put(self._space.relations, relation.id, replace(relation, created_at=relation.created_at.astimezone(UTC)))
        for end in ends:
            self._put(self._space.at_end.setdefault(end, {}), relation.id, None)

    def set_validity(self, entity_id: str, valid_to: datetime | None, invalidated_at: datetime | None) -> None:
        kept = self._space.entities.get(entity_id)
        if kept is None:
            raise self._refuse(NotFound(f"entity {entity_id} is not here"))
        entity = replace(kept.entity, valid_to=utc(valid_to), invalidated_at=utc(invalidated_at))
        self._put(self._space.entities, entity_id, Kept(entity, kept.place))

    def add_alias(self, alias: str, subject: str) -> None:
        if alias not in self._space.subjects:
            self._put(self._space.subjects, alias, subject)

    def add_replay(self, row: ReplayRow) -> None:
        if row.key in self._space.replays:
            raise self._refuse(InvalidInput(f"idempotency key {row.key} is here already: each is written once"))
        self._put(self._space.replays, row.key, row)

    def put_outbox(self, item: OutboxItem) -> None:
        arrival = self._arrival(item.episode_id)
        self._put(self._space.outbox, arrival, replace(item, arrival=arrival))

    def remove_outbox(self, episode_id: str) -> None:
        self._drop(self._space.outbox, self._space.arrivals.get(episode_id, -1))

    def set_restoring(self, note: str | None) -> None:
        self._undo.append(partial(setattr, self._space, "restoring", self._space.restoring))
        self._space.restoring = note

    def delete_episode(self, episode_id: str) -> bool:
        arrival = self._space.arrivals.get(episode_id)
        if arrival is None:
            return False
        for entity_id in self._space.of_episode.get(arrival, ()):
            for relation_id in list(self._space.at_end.get(entity_id, ())):
                self._drop_relation(relation_id)
            for subject in subjects_of(self._space.entities[entity_id].entity):
                self._drop(self._space.of_subject[subject], entity_id)
            self._drop(self._space.entities, entity_id)
        self.learned.forget([arrival])
        space = self._space
        for table in (space.of_episode, space.places, space.outbox, space.vectors, space.rows, space.expiring):
            self._drop(table, arrival)
        self._drop(self._space.arrivals, episode_id)
        self._note(ChangeKind.DELETED, episode_id)
        self._touched.add(arrival)
        return True

    def _current(self) -> NamespaceIndex:
        if self._undo and self._space.index is None:
            # Built from rows that may still be undone, so it serves this transaction only.
            index = NamespaceIndex()
            grow(self._space, index, 0)
            return index
        return self._index()

    def _drop_relation(self, relation_id: str) -> None:
        relation = self._space.relations.get(relation_id)
        if relation is not None:
            for end in dict.fromkeys((relation.source_id, relation.target_id)):
                self._drop(self._space.at_end[end], relation_id)
            self._drop(self._space.relations, relation_id)

    def _arrival(self, episode_id: str) -> int:
        arrival = self._space.arrivals.get(episode_id)
        if arrival is None:
            raise self._refuse(NotFound(f"no such episode in namespace {self._namespace!r}: {episode_id}"))
        return arrival

    def _note(self, kind: ChangeKind, id_: str) -> None:
        self._noted[kind, id_] = None

    def _refuse(self, error: UmiError) -> UmiError:
        self._refused = error
        return error

    def _put(self, table: dict[K, V], key: K, value: V) -> None:
        if key in table:
            self._undo.append(partial(table.__setitem__, key, table[key]))
        else:
            self._undo.append(partial(table.pop, key))
        table[key] = value

    def _drop(self, table: dict[K, Any], key: K) -> bool:
        if key not in table:
            return False
        self._undo.append(partial(table.__setitem__, key, table.pop(key)))
        return True

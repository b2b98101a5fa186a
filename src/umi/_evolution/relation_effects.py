"""Derives facts from the stored relations: when a statement held, what is disputed, what is stale.

The relations are authoritative. `Entity.valid_to` and `Entity.invalidated_at` are projections of them, computed only
here; staleness is not stored, but computed when it is read (ADR 0006). `known_at` asks the same as of an earlier moment
of recorded time.

A statement is *closed* by an update that acts on it, or by losing a settled contradiction. A statement derived from
others is *stale* while any of its sources is closed, contradicted or stale itself; the relations responsible are its
causes, so undoing one leaves the others in force. When a statement is forgotten, its relations are gone. What must outlast
it is kept by a relation of the other end with itself: a derive relation records that a conclusion has lost a source, and is a
cause like any other; a settled contradiction records that a statement was refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter
from typing import Final

from umi.ports import Snapshot
from umi.types import Entity, EvolutionRelation, EvolutionType, Nature

BY_TIME: Final = attrgetter("created_at", "id")


@dataclass(frozen=True, slots=True)
class ClosedInterval:
    """One reason why a statement no longer holds: from which moment in the world, and since when Umi knows.

    `never_held`: the interval is empty because the statement was corrected or refused, not because another of the same time replaced it.
    """

    relation: EvolutionRelation
    valid_to: datetime
    known_since: datetime
    never_held: bool = False


def _corrects(row: EvolutionRelation, entity_id: str) -> bool:
    """Whether a relation says that this entity corrects another, which never held."""
    corrected = row.evolution_type is EvolutionType.UPDATE and row.nature is Nature.CORRECTED
    return corrected and row.acted and row.target_id == entity_id


def is_bereavement(row: EvolutionRelation) -> bool:
    """Whether a relation records that a source of its entity was forgotten or erased."""
    return row.evolution_type is EvolutionType.DERIVE and row.source_id == row.target_id


class RelationEffects:
    """Reads the relations of one snapshot, as known at `known_at` (None: now). Everything read is cached."""

    def __init__(self, snapshot: Snapshot, known_at: datetime | None = None) -> None:
        self._snapshot = snapshot
        self._known_at = known_at
        # Caches; `know` and `take` keep them up to date within a transaction.
        self._entities: dict[str, Entity] = {}
        self._rows: dict[str, tuple[EvolutionRelation, ...]] = {}  # undone ones too
        self._relations: dict[str, tuple[EvolutionRelation, ...]] = {}  # without undone ones
        self._causes: dict[str, frozenset[str]] = {}

    def know(self, entities: Iterable[Entity]) -> None:
        """Add entities that the caller has already read from this snapshot to the cache."""
        self._entities.update((entity.id, entity) for entity in entities)

    def know_new(self, entities: Iterable[Entity]) -> None:
        """As `know`, for entities that were just written in this transaction: they have no relations yet."""
        for entity in entities:
            self._entities[entity.id] = entity
            self._keep(entity.id, ())

    def take(self, row: EvolutionRelation) -> None:
        """Add a relation that was just written in this transaction to the cache."""
        self._causes.clear()  # any cached cause may depend on the relation
        for end in (row.source_id, row.target_id):
            if end in self._rows:
                others = [other for other in self._rows[end] if other.id != row.id]
                self._keep(end, tuple(sorted([*others, row], key=BY_TIME)))

    def know_relations(self, relations: Mapping[str, tuple[EvolutionRelation, ...]], entity_ids: Iterable[str]) -> None:
        """Add all relations of entities that the caller has already read from this snapshot to the cache."""
        for id_ in entity_ids:
            self._keep(id_, relations.get(id_, ()))

    def load(self, entity_ids: Iterable[str]) -> None:
        """Load the relations of entities in one query; later calls about them need none."""
        # Sorted, so that the query is the same in every run.
        missing = sorted({id_ for id_ in entity_ids if id_ not in self._rows})
        if not missing:
            return
        found = self._snapshot.relations_of(missing)
        for id_ in missing:
            self._keep(id_, found.get(id_, ()))

    def entity(self, entity_id: str) -> Entity | None:
        """The entity with this id, or None."""
        return self.entities((entity_id,)).get(entity_id)

    def entities(self, entity_ids: Iterable[str]) -> dict[str, Entity]:
        """The existing entities with these ids, in the order asked for."""
        wanted = dict.fromkeys(entity_ids)
        self._fetch(wanted)
        return {id_: self._entities[id_] for id_ in wanted if id_ in self._entities}

    def relations(self, entity_id: str) -> tuple[EvolutionRelation, ...]:
        """All relations at either end of the entity that are not undone, as known at `known_at`, by (created_at, id)."""
        # Callers that know all ids in advance call `load` first and save a query each.
        if entity_id not in self._relations:
            self.load([entity_id])
        return self._relations[entity_id]

    def rows(self, entity_id: str) -> tuple[EvolutionRelation, ...]:
        """As `relations`, including undone ones."""
        self.relations(entity_id)
        return self._rows[entity_id]

    def closings(self, entity_id: str) -> tuple[ClosedInterval, ...]:
        """The reasons why the entity no longer holds, earliest end first; empty while it holds."""
        me = self.entity(entity_id)
        if me is None or me.valid_from is None:
            return ()
        rows = self.relations(entity_id)
        # In one query, before `_closing` needs each of them.
        self._fetch(row.target_id for row in rows if row.source_id == entity_id)
        closings = [closing for row in rows if row.part is None and (closing := self._closing(me, row))]
        return tuple(sorted(closings, key=lambda closing: (closing.valid_to, closing.known_since, closing.relation.id)))

    def parts_over(self, entity_id: str, as_of: datetime | None) -> list[tuple[int, int]]:
        """The parts of the entity (`relation.part`) that no longer hold, at a moment of the world or, for None, at all."""
        rows = [row for row in self.relations(entity_id) if row.part is not None and row.source_id == entity_id]
        me = self.entity(entity_id) if rows else None
        over = [] if me is None else [(row.part, closing) for row in rows if (closing := self._closing(me, row))]
        return [part for part, one in over if part is not None and (as_of is None or one.valid_to <= as_of)]

    def begins(self, entity_id: str) -> datetime | None:
        """Since when the entity holds: if it corrects others, since the earliest of them was thought to begin.

        One that never held itself, because it was corrected or refused in turn, begins when it was thought to.
        """
        me = self.entity(entity_id)
        if me is None or not any(_corrects(row, entity_id) for row in self.relations(entity_id)):
            return None if me is None else me.valid_from
        if any(closing.never_held for closing in self.closings(entity_id)):
            return me.valid_from
        # Follows chains of corrections breadth-first.
        earliest: datetime | None = None
        seen, frontier = {entity_id}, [entity_id]
        while frontier:
            self.load(frontier)
            starts = [one.valid_from for one in self.entities(frontier).values() if one.valid_from is not None]
            earliest = min([*starts, *([earliest] if earliest is not None else [])], default=None)
            corrected = [row.source_id for id_ in frontier for row in self.relations(id_) if _corrects(row, id_)]
            frontier = [id_ for id_ in dict.fromkeys(corrected) if id_ not in seen]
            seen.update(frontier)
        return earliest

    def same(self, entity_id: str) -> tuple[str, ...]:
        """Ids of the entities that are recorded as saying the same as this one."""
        rows = [row for row in self.relations(entity_id) if row.nature is Nature.SAME]
        ends = dict.fromkeys(end for row in rows for end in (row.source_id, row.target_id))
        return tuple(end for end in ends if end != entity_id)

    def validity(self, entity_id: str) -> tuple[datetime | None, datetime | None]:
        """(`valid_to`, `invalidated_at`) as the relations imply them; (None, None) while the statement holds."""
        closings = self.closings(entity_id)
        if not closings:
            return None, None
        return closings[0].valid_to, min(closing.known_since for closing in closings)

    def disputes(self, entity_id: str) -> tuple[EvolutionRelation, ...]:
        """The unsettled contradictions at either end."""
        contradictions = (row for row in self.relations(entity_id) if row.evolution_type is EvolutionType.CONTRADICT)
        return tuple(row for row in contradictions if row.resolved is None)

    def sources(self, entity_id: str) -> tuple[str, ...]:
        """Ids of the entities it was derived from, directly."""
        return self._derived(entity_id, upward=True)

    def conclusions(self, entity_id: str) -> tuple[str, ...]:
        """Ids of the entities derived from it, directly."""
        return self._derived(entity_id, upward=False)

    def causes(self, entity_id: str) -> frozenset[str]:
        """Ids of the relations that make the entity stale, through any number of derivations."""
        if not (self.sources(entity_id) or self._bereft(entity_id)):  # nearly all entities
            return frozenset()
        if entity_id not in self._causes:
            # Sources first, so that `_direct_causes` finds theirs in the cache.
            for id_ in self._sources_first(entity_id):
                self._causes[id_] = self._direct_causes(id_)
        return self._causes[entity_id]

    def _fetch(self, entity_ids: Iterable[str]) -> None:
        """Load entities that are not cached, in one query."""
        missing = [id_ for id_ in dict.fromkeys(entity_ids) if id_ not in self._entities]
        if missing:
            self._entities.update(self._snapshot.entities(missing))

    def _keep(self, entity_id: str, rows: tuple[EvolutionRelation, ...]) -> None:
        """Cache the relations of an entity."""
        self._rows[entity_id] = rows
        self._relations[entity_id] = tuple(self._as_known(row) for row in rows if self._exists(row))

    def _exists(self, row: EvolutionRelation) -> bool:
        """Whether a relation was recorded and not undone at `known_at`."""
        # A view of today needs no dates: undone is undone. What rests on something that was forgotten is shown at no time.
        if self._known_at is None or is_bereavement(row):
            return row.undone_at is None
        undone = row.undone_at is not None and row.undone_at <= self._known_at
        return row.created_at <= self._known_at and not undone

    def _as_known(self, row: EvolutionRelation) -> EvolutionRelation:
        """A relation as it was known at `known_at`: what was undone later stood, and what was settled later was open and did not act."""
        if self._known_at is None:
            return row
        if row.undone_at is not None:
            row = replace(row, undone_at=None)
        if row.resolved_at is None or row.resolved_at <= self._known_at:
            return row
        return replace(row, resolved=None, resolved_at=None, acted=False)

    def _closing(self, me: Entity, row: EvolutionRelation) -> ClosedInterval | None:
        """The end that a relation sets to the entity `me`; None when it sets none."""
        if me.valid_from is None:
            return None
        # Since when it is known that the statement ended: since the relation, or since the dispute was settled.
        known_since = row.created_at
        if row.evolution_type is EvolutionType.CONTRADICT or row.resolved is not None:
            known_since = row.resolved_at or row.created_at
            loses_to_old = row.resolved == "old" and row.target_id == me.id
            if loses_to_old:
                return ClosedInterval(row, me.valid_from, known_since, never_held=True)
            closes = row.resolved == "new" and row.source_id == me.id
        else:
            closes = row.evolution_type is EvolutionType.UPDATE and row.acted and row.source_id == me.id
        if closes and row.nature is Nature.CORRECTED:
            return ClosedInterval(row, me.valid_from, known_since, never_held=True)
        newer = self.entity(row.target_id) if closes else None
        if newer is None or newer.valid_from is None:
            return None
        # Not before it began: a newer statement may be dated earlier.
        return ClosedInterval(row, max(me.valid_from, newer.valid_from), known_since)

    def _derived(self, entity_id: str, *, upward: bool) -> tuple[str, ...]:
        """The other ends of the entity's derive relations, without the one that records a loss."""
        rows = (row for row in self.relations(entity_id) if row.evolution_type is EvolutionType.DERIVE)
        rows = (row for row in rows if row.source_id != row.target_id)
        if upward:
            return tuple(row.source_id for row in rows if row.target_id == entity_id)
        return tuple(row.target_id for row in rows if row.source_id == entity_id)

    def _direct_causes(self, entity_id: str) -> frozenset[str]:
        """The causes of an entity whose sources' causes are already known."""
        causes: set[str] = set(self._bereft(entity_id))
        # Closed, disputed, or stale itself.
        for source in self.sources(entity_id):
            causes.update(closing.relation.id for closing in self.closings(source))
            causes.update(row.id for row in self.disputes(source))
            causes |= self._causes.get(source, frozenset())
        return frozenset(causes)

    def _bereft(self, entity_id: str) -> list[str]:
        """Ids of the relations that record a forgotten source of the entity."""
        return [row.id for row in self.relations(entity_id) if is_bereavement(row)]

    def _sources_first(self, entity_id: str) -> list[str]:
        """The entity and all it rests on with unknown causes, sources first.

        Iterative, so that depth is not limited by the stack.
        """
        order: dict[str, None] = {}
        stack: list[tuple[str, bool]] = [(entity_id, False)]
        while stack:
            id_, expanded = stack.pop()
            # In a diamond the same source is reached twice.
            if id_ in order or id_ in self._causes:
                continue
            # Second visit: all sources are in `order` by now.
            if expanded:
                order[id_] = None
                continue
            stack.append((id_, True))
            stack.extend((source, False) for source in reversed(self.sources(id_)))
        return list(order)

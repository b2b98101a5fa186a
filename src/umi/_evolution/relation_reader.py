"""What follows from the evolution rows: when a statement held, what is disputed, what has become stale.

The rows are the truth. `Entity.valid_to` and `Entity.invalidated_at` are projections of them, computed here and nowhere else;
staleness is not stored at all but read off the rows (docs/adr/0006-staleness-on-read.md). `known_at` asks the same questions as of
an earlier moment of recorded time.

A statement is *closed* by an update that acts on it, or by losing a settled contradiction. What was derived from a
statement is *stale* while any of its sources is closed, contradicted or itself stale; the relations that did it are the
causes, so that undoing one leaves the others. Where a source was forgotten there is no relation to it any more; one that derives the
conclusion from itself stands for the loss, and is a cause like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Final

from umi.ports import Snapshot
from umi.types import Entity, EvolutionRelation, EvolutionType, Nature

_BY_TIME: Final = attrgetter("created_at", "id")


@dataclass(frozen=True, slots=True)
class ClosedInterval:
    """One reason why a statement no longer holds: from when in the world, and since when Umi knows."""

    relation: EvolutionRelation
    valid_to: datetime
    known_since: datetime


def _corrects(row: EvolutionRelation, entity_id: str) -> bool:
    """Whether a relation says that something before this entity was never so."""
    corrected = row.evolution_type is EvolutionType.UPDATE and row.nature is Nature.CORRECTED
    return corrected and row.acted and row.target_id == entity_id


def is_bereavement(row: EvolutionRelation) -> bool:
    """Whether a relation says that something its entity was derived from was forgotten or erased."""
    return row.evolution_type is EvolutionType.DERIVE and row.source_id == row.target_id


class RelationReader:
    """Reads the evolution rows of one snapshot, as known at `known_at` (None: now)."""

    def __init__(self, snapshot: Snapshot, known_at: datetime | None = None) -> None:
        self._snapshot = snapshot
        self._known_at = known_at
        self._entities: dict[str, Entity] = {}
        self._rows: dict[str, tuple[EvolutionRelation, ...]] = {}  # undone ones too
        self._relations: dict[str, tuple[EvolutionRelation, ...]] = {}
        self._causes: dict[str, frozenset[str]] = {}

    def know(self, entities: Iterable[Entity]) -> None:
        """Take entities that the caller has read already in this snapshot, so that they are not read again."""
        self._entities.update((entity.id, entity) for entity in entities)

    def take(self, row: EvolutionRelation) -> None:
        """Take over a relation that was just written in this very transaction."""
        self._causes.clear()
        for end in (row.source_id, row.target_id):
            if end in self._rows:
                others = [other for other in self._rows[end] if other.id != row.id]
                self._keep(end, tuple(sorted([*others, row], key=_BY_TIME)))

    def load(self, entity_ids: Iterable[str]) -> None:
        """Fetch the relations of entities in one query; later questions about them cost none."""
        missing = sorted({id_ for id_ in entity_ids if id_ not in self._rows})
        if not missing:
            return
        found = self._snapshot.relations_of(missing)
        for id_ in missing:
            self._keep(id_, found.get(id_, ()))

    def entity(self, entity_id: str) -> Entity | None:
        """The entity of that id, if it is there."""
        return self.entities((entity_id,)).get(entity_id)

    def entities(self, entity_ids: Iterable[str]) -> dict[str, Entity]:
        """Those entities of these ids that are there, in the order asked for."""
        wanted = dict.fromkeys(entity_ids)
        self._fetch(wanted)
        return {id_: self._entities[id_] for id_ in wanted if id_ in self._entities}

    def relations(self, entity_id: str) -> tuple[EvolutionRelation, ...]:
        """Every relation at either end of the entity that stands (is not undone), by (created_at, id)."""
        if entity_id not in self._relations:
            self.load([entity_id])
        return self._relations[entity_id]

    def rows(self, entity_id: str) -> tuple[EvolutionRelation, ...]:
        """As `relations`, undone ones too."""
        self.relations(entity_id)
        return self._rows[entity_id]

    def closings(self, entity_id: str) -> tuple[ClosedInterval, ...]:
        """Why the entity no longer holds; empty while it does. Earliest end first."""
        me = self.entity(entity_id)
        if me is None or me.valid_from is None:
            return ()
        rows = self.relations(entity_id)
        self._fetch(row.target_id for row in rows if row.source_id == entity_id)
        closings = [closing for row in rows if row.part is None and (closing := self._closing(me, row))]
        return tuple(sorted(closings, key=lambda closing: (closing.valid_to, closing.known_since, closing.relation.id)))

    def cuts(self, entity_id: str) -> tuple[ClosedInterval, ...]:
        """Why parts of the entity no longer hold (`relation.part` says which); empty while all of it does."""
        rows = [row for row in self.relations(entity_id) if row.part is not None and row.source_id == entity_id]
        me = self.entity(entity_id) if rows else None
        return () if me is None else tuple(closing for row in rows if (closing := self._closing(me, row)))

    def begins(self, entity_id: str) -> datetime | None:
        """Since when the entity holds: as far back as what it corrects was thought to, which never did."""
        me = self.entity(entity_id)
        if me is None or not any(_corrects(row, entity_id) for row in self.relations(entity_id)):
            return None if me is None else me.valid_from
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
        """Ids of the entities that are said to say the same as this one."""
        rows = [row for row in self.relations(entity_id) if row.nature is Nature.SAME]
        ends = dict.fromkeys(end for row in rows for end in (row.source_id, row.target_id))
        return tuple(end for end in ends if end != entity_id)

    def validity(self, entity_id: str) -> tuple[datetime | None, datetime | None]:
        """(`valid_to`, `invalidated_at`) as the rows imply them; (None, None) while the statement holds."""
        closings = self.closings(entity_id)
        if not closings:
            return None, None
        return closings[0].valid_to, min(closing.known_since for closing in closings)

    def disputes(self, entity_id: str) -> tuple[EvolutionRelation, ...]:
        """Contradictions at either end that nobody has settled."""
        return tuple(row for row in self.relations(entity_id) if self._disputes(row))

    def sources(self, entity_id: str) -> tuple[str, ...]:
        """What the entity was derived from, directly."""
        return self._derived(entity_id, upward=True)

    def conclusions(self, entity_id: str) -> tuple[str, ...]:
        """What was derived from the entity, directly."""
        return self._derived(entity_id, upward=False)

    def causes(self, entity_id: str) -> frozenset[str]:
        """Ids of the relations that make the entity stale, through any number of derivations."""
        if not (self.sources(entity_id) or self._bereft(entity_id)):  # nearly every entity: derived from nothing
            return frozenset()
        if entity_id not in self._causes:
            for id_ in self._sources_first(entity_id):
                self._causes[id_] = self._direct_causes(id_)
        return self._causes[entity_id]

    def _fetch(self, entity_ids: Iterable[str]) -> None:
        missing = [id_ for id_ in dict.fromkeys(entity_ids) if id_ not in self._entities]
        if missing:
            self._entities.update(self._snapshot.entities(missing))

    def _keep(self, entity_id: str, rows: tuple[EvolutionRelation, ...]) -> None:
        self._rows[entity_id] = rows
        self._relations[entity_id] = tuple(row for row in rows if self._exists(row))

    def _exists(self, row: EvolutionRelation) -> bool:
        if self._known_at is None:
            return row.undone_at is None
        undone = row.undone_at is not None and row.undone_at <= self._known_at
        return row.created_at <= self._known_at and not undone

    def _resolved(self, row: EvolutionRelation) -> str | None:
        if self._known_at is not None and row.resolved_at is not None and row.resolved_at > self._known_at:
            return None
        return row.resolved

    def _disputes(self, row: EvolutionRelation) -> bool:
        return row.evolution_type is EvolutionType.CONTRADICT and self._resolved(row) is None

    def _closing(self, me: Entity, row: EvolutionRelation) -> ClosedInterval | None:
        if me.valid_from is None:
            return None
        known_since = row.created_at
        if row.evolution_type is EvolutionType.CONTRADICT or row.resolved is not None:
            known_since = row.resolved_at or row.created_at
            loses_to_old = self._resolved(row) == "old" and row.target_id == me.id
            if loses_to_old:
                return ClosedInterval(row, me.valid_from, known_since)  # it never held
            closes = self._resolved(row) == "new" and row.source_id == me.id
        else:
            closes = row.evolution_type is EvolutionType.UPDATE and row.acted and row.source_id == me.id
        if closes and row.nature is Nature.CORRECTED:
            return ClosedInterval(row, me.valid_from, known_since)  # it never held
        newer = self.entity(row.target_id) if closes else None
        if newer is None or newer.valid_from is None:
            return None
        return ClosedInterval(row, max(me.valid_from, newer.valid_from), known_since)

    def _derived(self, entity_id: str, *, upward: bool) -> tuple[str, ...]:
        rows = (row for row in self.relations(entity_id) if row.evolution_type is EvolutionType.DERIVE)
        rows = (row for row in rows if row.source_id != row.target_id)
        if upward:
            return tuple(row.source_id for row in rows if row.target_id == entity_id)
        return tuple(row.target_id for row in rows if row.source_id == entity_id)

    def _direct_causes(self, entity_id: str) -> frozenset[str]:
        causes: set[str] = set(self._bereft(entity_id))
        for source in self.sources(entity_id):
            causes.update(closing.relation.id for closing in self.closings(source))
            causes.update(row.id for row in self.disputes(source))
            causes |= self._causes.get(source, frozenset())
        return frozenset(causes)

    def _bereft(self, entity_id: str) -> list[str]:
        """Ids of the relations that say that a source of the entity was taken away: they derive it from itself."""
        return [row.id for row in self.relations(entity_id) if is_bereavement(row)]

    def _sources_first(self, entity_id: str) -> list[str]:
        """The entity and all it rests on whose causes are not known yet, sources first; the graph has no cycles."""
        order: dict[str, None] = {}
        stack: list[tuple[str, bool]] = [(entity_id, False)]
        while stack:
            id_, expanded = stack.pop()
            if id_ in order or id_ in self._causes:
                continue
            if expanded:
                order[id_] = None
                continue
            stack.append((id_, True))
            stack.extend((source, False) for source in reversed(self.sources(id_)))
        return list(order)

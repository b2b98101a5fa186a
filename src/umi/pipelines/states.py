"""Which statements may be shown: the state of each as of a moment, and the span of an episode that answers a query."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from umi.invariants import check
from umi.pipelines.ledger import Ledger
from umi.pipelines.lineage import statement_order
from umi.ports import Snapshot
from umi.text import analyse
from umi.types import Entity, Episode, EvolutionRelation, EvolutionType, HitState


@dataclass(frozen=True, slots=True)
class View:
    """From where one looks.

    `as_of` and `time_range` are world time with all that is known at `known_at` (None: today). Without either, what holds
    latest is current.
    """

    as_of: datetime | None = None
    known_at: datetime | None = None
    time_range: tuple[datetime, datetime] | None = None
    include_superseded: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """One entity as seen from a `View`: projections as known then, its state, whether the view shows it."""

    entity: Entity
    state: HitState
    shown: bool
    evolutions: tuple[EvolutionRelation, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """The span of an episode that answers: None as `entity` while the episode's extraction is deferred."""

    episode: Episode
    entity: Entity | None
    state: HitState
    evolutions: tuple[EvolutionRelation, ...]


HIDDEN = frozenset({HitState.SUPERSEDED, HitState.STALE, HitState.FORGOTTEN})


class Standings:
    """Judges the entities and episodes of one snapshot from one view.

    Args:
        snapshot: Where they are.
        view: From where one looks; None is from today.
        ledger: Of the same snapshot, with what it has read already.
    """

    def __init__(self, snapshot: Snapshot, view: View | None = None, ledger: Ledger | None = None) -> None:
        self._snapshot = snapshot
        self._view = view or View()
        check(
            ledger is None or self._view.known_at is None, "a ledger of today cannot judge as of an earlier knowledge"
        )
        self._ledger = ledger or Ledger(snapshot, self._view.known_at)
        self._episode_of: dict[str, str] = {}  # by entity, of what was shown

    def of(self, entities: Sequence[Entity]) -> list[Standing]:
        """The standing of each entity, in the order given; a constant number of queries unless something was derived."""
        self._ledger.know(entities)
        self._ledger.load(entity.id for entity in entities)
        return [self._standing(entity) for entity in entities]

    def show(self, episodes: Sequence[Episode], query_terms: Collection[str]) -> list[Shown | None]:
        """For each episode the span that answers the query, or None where the view hides every span that matches.

        Args:
            episodes: Candidates, best first.
            query_terms: The analysed query.
        """
        entities = self._snapshot.entities_of([episode.id for episode in episodes])
        known = [entity for group in entities.values() for entity in group]
        self._ledger.know(known)
        self._ledger.load(entity.id for entity in known)
        self._episode_of |= {entity.id: entity.episode_id for entity in known}
        terms = frozenset(query_terms)
        return [self._show(episode, entities.get(episode.id, ()), terms) for episode in episodes]

    def told_again(self, episode_ids: Collection[str]) -> list[tuple[str, str]]:
        """Those of the episodes given to `show` of which a later one is thought to update an earlier one: (earlier, later), in order of the later.

        Args:
            episode_ids: Which to look among.
        """
        rows = {
            row.id: row
            for id_, episode_id in self._episode_of.items()
            if episode_id in episode_ids
            for row in self._ledger.relations(id_)
            if row.evolution_type is EvolutionType.UPDATE and not row.acted
        }
        ends = self._ledger.entities(row.target_id for row in rows.values())
        found = [row for row in rows.values() if row.target_id in ends]
        found.sort(key=lambda row: (statement_order(ends[row.target_id]), row.id))
        pairs = [(self._episode_of.get(row.source_id, ""), self._episode_of.get(row.target_id, "")) for row in found]
        return [pair for pair in pairs if pair[0] != pair[1] and pair[0] in episode_ids and pair[1] in episode_ids]

    def _show(self, episode: Episode, entities: Sequence[Entity], terms: frozenset[str]) -> Shown | None:
        known_at = self._view.known_at
        if known_at is not None and episode.recorded_at > known_at:
            return None
        if not entities:
            return self._show_bare(episode)
        matching = _matching(entities, terms)
        for standing in map(self._standing, matching):
            if standing.shown:
                return Shown(episode, standing.entity, standing.state, standing.evolutions)
        return None

    def _show_bare(self, episode: Episode) -> Shown | None:
        if self._view.as_of is not None and episode.at > self._view.as_of:
            return None
        if self._view.time_range is not None and not _within(episode.at, self._view.time_range):
            return None
        return Shown(episode, None, HitState.CURRENT, ())

    def _standing(self, entity: Entity) -> Standing:
        ledger, view = self._ledger, self._view
        if view.known_at is not None:
            valid_to, invalidated_at = ledger.validity(entity.id)
            entity = replace(entity, valid_to=valid_to, invalidated_at=invalidated_at)
        state = self._state(entity)
        shown = self._in_time(entity, state) and (view.include_superseded or state not in self._hidden())
        relations = ledger.relations(entity.id)
        return Standing(_with_strongest(entity, relations), state, shown, relations)

    def _hidden(self) -> Collection[HitState]:
        # Asked for a stretch of time, what held then is the answer even where it holds no longer.
        return {HitState.FORGOTTEN, HitState.STALE} if self._view.time_range is not None else HIDDEN

    def _state(self, entity: Entity) -> HitState:
        as_of = self._view.as_of
        if entity.valid_to is not None and (as_of is None or entity.valid_to <= as_of):
            return HitState.SUPERSEDED
        if any(self._effective(cause) for cause in self._ledger.causes(entity.id)):
            return HitState.STALE
        if any(self._effective(row.id) for row in self._ledger.disputes(entity.id)):
            return HitState.DISPUTED
        return HitState.CURRENT

    def _effective(self, relation_id: str) -> bool:
        """Whether a relation had taken effect in the world by `as_of`: its newer side had begun."""
        as_of = self._view.as_of
        if as_of is None:
            return True
        row = self._snapshot.relations([relation_id]).get(relation_id)
        newer = self._ledger.entity(row.target_id) if row else None
        return newer is not None and newer.valid_from is not None and newer.valid_from <= as_of

    def _in_time(self, entity: Entity, state: HitState) -> bool:
        view, start = self._view, entity.valid_from
        if view.known_at is not None and entity.recorded_at is not None and entity.recorded_at > view.known_at:
            return False
        if start is None:
            return True
        if view.as_of is not None and start > view.as_of:
            return False
        if view.time_range is None:
            return True
        if not entity.slot:  # something that happened, or was said, at a moment
            return _within(start, view.time_range)
        ended_before = entity.valid_to is not None and entity.valid_to <= view.time_range[0]
        return start < view.time_range[1] and not (state is HitState.SUPERSEDED and ended_before)


def _with_strongest(entity: Entity, relations: Sequence[EvolutionRelation]) -> Entity:
    """The entity with `metadata["evolution"]`: what it did to an older one, most surely (seed 001); the rows are the truth."""
    mine = [row for row in relations if row.target_id == entity.id != row.source_id]
    if not mine:
        return entity
    row = max(mine, key=lambda row: (row.confidence, row.id))
    evolution = {"type": str(row.evolution_type), "related_id": row.source_id, "reason": row.reason}
    return replace(entity, metadata={**entity.metadata, "evolution": evolution})


def _within(moment: datetime, time_range: tuple[datetime, datetime]) -> bool:
    return time_range[0] <= moment < time_range[1]


def _matching(entities: Sequence[Entity], terms: frozenset[str]) -> list[Entity]:
    """The entities whose own words (content and slot, without the subject's name) meet the query, best first.

    A message is hidden only when each of these is; so a statement that does not concern the question never keeps an
    outdated one in view. Where no words meet (meaning matched), all of them count.
    """
    if len(entities) == 1:
        return list(entities)
    overlaps = [(len(terms & _words(entity)), place) for place, entity in enumerate(entities)]
    best_first = sorted(overlaps, key=lambda pair: (-pair[0], pair[1]))
    if best_first[0][0]:
        best_first = [pair for pair in best_first if pair[0]]
    return [entities[place] for _, place in best_first]


def _words(entity: Entity) -> frozenset[str]:
    return frozenset(analyse(f"{entity.content} {entity.slot.replace('_', ' ')}")) - frozenset(analyse(entity.name))

"""Which statements may be shown: the state of each as of a moment, and the span of an episode that answers a query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from umi._core.invariants import check
from umi._core.text import analyse
from umi._evolution.relation_reader import ClosedInterval, RelationReader
from umi._evolution.relation_writer import statement_order
from umi._evolution.visible_text import held_text, without
from umi.limits import SUCCESSORS_STEPS_COUNT_MAX
from umi.ports import Snapshot
from umi.types import Entity, EntityType, Episode, EvolutionRelation, EvolutionType, HitState


@dataclass(frozen=True, slots=True)
class View:
    """From where one looks.

    `as_of` and `time_range` are world time with all that is known at `known_at` (None: today). Without either, what holds
    latest is current; what was said to end before `now` (None: nobody asks for now) is over.
    """

    as_of: datetime | None = None
    known_at: datetime | None = None
    time_range: tuple[datetime, datetime] | None = None
    include_superseded: bool = False
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class StatementState:
    """One entity as seen from a `View`: projections as known then, its state, whether the view shows it."""

    entity: Entity
    state: HitState
    shown: bool
    evolutions: tuple[EvolutionRelation, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """What of an episode answers: `content` is what the view shows of it, `entity` the statement that matches (None while nothing was read)."""

    episode: Episode
    entity: Entity | None
    state: HitState
    evolutions: tuple[EvolutionRelation, ...]
    content: str


@dataclass(frozen=True, slots=True)
class Look:
    """What a view makes of one episode: what is shown, if anything, and the statements that took the place of what matches and is hidden."""

    shown: Shown | None
    successors: tuple[str, ...] = ()


HIDDEN = frozenset({HitState.SUPERSEDED, HitState.STALE, HitState.FORGOTTEN})


class StateResolver:
    """Judges the entities and episodes of one snapshot from one view.

    Args:
        snapshot: Where they are.
        view: From where one looks; None is from today.
        ledger: Of the same snapshot, with what it has read already.
    """

    def __init__(self, snapshot: Snapshot, view: View | None = None, ledger: RelationReader | None = None) -> None:
        self._snapshot = snapshot
        self._view = view or View()
        check(
            ledger is None or self._view.known_at is None, "a ledger of today cannot judge as of an earlier knowledge"
        )
        self._ledger = ledger or RelationReader(snapshot, self._view.known_at)
        self._episode_of: dict[str, str] = {}  # by entity, of what was shown
        self._read: dict[str, tuple[Entity, ...]] = {}  # by episode
        self._judged: dict[str, StatementState] = {}  # by entity, of what was looked at
        self._heirs: dict[str, tuple[str, ...]] = {}  # by entity, see `_heirs_of`

    def of(self, entities: Sequence[Entity]) -> list[StatementState]:
        """The standing of each entity, in the order given; a constant number of queries unless something was derived."""
        self._ledger.know(entities)
        self._ledger.load(entity.id for entity in entities)
        return [self._standing(entity) for entity in entities]

    def look(self, episodes: Sequence[Episode], query_terms: Collection[str], only: Collection[str] = ()) -> list[Look]:
        """For each episode what the view shows of it, and what took the place of what it hides; arguments as of `show`."""
        self.read([episode.id for episode in episodes])
        self._read_ahead(self.read_in(episodes))
        terms, chosen = frozenset(query_terms), frozenset(only)
        return [self._look(episode, self._read[episode.id], terms, chosen) for episode in episodes]

    def read(self, episode_ids: Iterable[str]) -> None:
        """Fetch the statements of episodes, and what relates them, in one go."""
        missing = [id_ for id_ in episode_ids if id_ not in self._read]
        entities = self._snapshot.entities_of(missing) if missing else {}
        known = [entity for group in entities.values() for entity in group]
        self._ledger.know(known)
        self._ledger.load(entity.id for entity in known)
        self._episode_of |= {entity.id: entity.episode_id for entity in known}
        self._read |= {id_: entities.get(id_, ()) for id_ in missing}

    def show(
        self, episodes: Sequence[Episode], query_terms: Collection[str], only: Collection[str] = ()
    ) -> list[Shown | None]:
        """For each episode what the view shows of it, or None where it hides every statement that matches.

        Args:
            episodes: Candidates.
            query_terms: The analysed query.
            only: Ids of entities that count as matching, in the place of those whose words meet the query.
        """
        return [look.shown for look in self.look(episodes, query_terms, only)]

    def _read_ahead(self, entities: Sequence[Entity]) -> None:
        """Fetch what took the place of any of these, a bounded number of steps on, a step at a time for all of them."""
        seen = {one.id for one in entities}
        frontier = [end for end in self._updated_by(one.id for one in entities) if end not in seen]
        episodes: dict[str, None] = {}
        for _ in range(SUCCESSORS_STEPS_COUNT_MAX if frontier else 0):
            seen.update(frontier)
            episodes.update(dict.fromkeys(one.episode_id for one in self._ledger.entities(frontier).values()))
            self._ledger.load(frontier)
            frontier = [end for end in self._updated_by(frontier) if end not in seen]
            if not frontier:
                break
        self.read(episodes)

    def _updated_by(self, entity_ids: Iterable[str]) -> dict[str, None]:
        rows = [row for id_ in entity_ids for row in self._ledger.relations(id_) if row.source_id == id_]
        return {row.target_id: None for row in rows if row.acted and row.evolution_type is EvolutionType.UPDATE}

    def read_in(self, episodes: Iterable[Episode]) -> list[Entity]:
        """The statements of episodes that were given to `read`."""
        return [entity for episode in episodes for entity in self._read[episode.id]]

    def episodes_of(self, entity_ids: Iterable[str]) -> list[str]:
        """The ids of the episodes of some entities, in order, each once."""
        return list(dict.fromkeys(one.episode_id for one in self._ledger.entities(entity_ids).values()))

    def told_again(self, episode_ids: Collection[str]) -> list[tuple[str, str]]:
        """Those of the episodes given to `show` of which a later one is thought to update an earlier one: (earlier, later), in order of the later.

        Args:
            episode_ids: Which to look among.
        """
        rows = [row for row in self._updates_among(episode_ids, self._ledger.relations) if not row.acted]
        ends = self._ledger.entities(row.target_id for row in rows)
        found = [row for row in rows if row.target_id in ends]
        found.sort(key=lambda row: (statement_order(ends[row.target_id]), row.id))
        pairs = map(self._episodes_at, found)
        return [pair for pair in pairs if pair[0] != pair[1] and pair[0] in episode_ids and pair[1] in episode_ids]

    def taken_back(self, episode_ids: Collection[str]) -> frozenset[tuple[str, str]]:
        """As `told_again`, of updates that were undone."""
        rows = self._updates_among(episode_ids, self._ledger.rows)
        return frozenset(self._episodes_at(row) for row in rows if row.undone_at is not None)

    def _updates_among(
        self, episode_ids: Collection[str], rows_of: Callable[[str], Iterable[EvolutionRelation]]
    ) -> list[EvolutionRelation]:
        """The updates that touch statements of these episodes, each once; `rows_of` gives a statement's relations."""
        rows = {
            row.id: row
            for id_, episode_id in self._episode_of.items()
            if episode_id in episode_ids
            for row in rows_of(id_)
            if row.evolution_type is EvolutionType.UPDATE
        }
        return list(rows.values())

    def _episodes_at(self, row: EvolutionRelation) -> tuple[str, str]:
        """The ids of the episodes at a relation's ends; "" for one that was not shown."""
        return self._episode_of.get(row.source_id, ""), self._episode_of.get(row.target_id, "")

    def _look(self, episode: Episode, entities: Sequence[Entity], terms: frozenset[str], only: frozenset[str]) -> Look:
        known_at = self._view.known_at
        if known_at is not None and episode.recorded_at > known_at:
            return Look(None)
        if not entities:
            return Look(self._show_bare(episode))
        standings = {entity.id: self._judge(entity) for entity in entities}
        content = self._content(episode, list(standings.values()))
        chosen = [entity for entity in entities if entity.id in only]
        matching = [standings[entity.id] for entity in chosen or _matching(entities, terms)]
        successors = tuple(dict.fromkeys(id_ for one in matching for id_ in self._successors(one, terms)))
        showing = [standing for standing in matching if standing.shown]
        if not showing or not content:
            return Look(None, successors)
        best = showing[0]
        disputed = any(standing.state is HitState.DISPUTED for standing in showing)
        state = HitState.DISPUTED if disputed else best.state
        return Look(Shown(episode, best.entity, state, best.evolutions, content), successors)

    def _content(self, episode: Episode, standings: Sequence[StatementState]) -> str:
        """What the view shows of a message: all of it, unless part of it is over."""
        if self._view.include_superseded or all(one.shown and not one.evolutions for one in standings):
            return episode.content
        over, holding = [], []
        for standing in standings:
            start, end = standing.entity.span or (0, len(episode.content))
            cuts = (
                [
                    (start + one.relation.part[0], start + one.relation.part[1])
                    for one in self._cuts(standing.entity)
                    if one.relation.part is not None
                ]
                if standing.shown
                else []
            )
            over += cuts if standing.shown else [(start, end)]
            if standing.shown:
                holding += without((start, end), cuts)
        return held_text(episode.content, over, holding)

    def _cuts(self, entity: Entity) -> list[ClosedInterval]:
        as_of = self._view.as_of
        return [one for one in self._ledger.cuts(entity.id) if as_of is None or one.valid_to <= as_of]

    def _successors(self, standing: StatementState, terms: frozenset[str]) -> list[str]:
        """What took the place of a statement that matches, of the part that matches, or contradicts it, newest first.

        As of a moment, also what it took the place of itself.
        """
        if self._view.include_superseded or not standing.evolutions:
            return []
        if self._view.as_of is None:
            rows = [
                row for row in standing.evolutions if row.part is None or _meets_part(row.part, standing.entity, terms)
            ]
            return list(dict.fromkeys(self._ahead(standing.entity.id, rows)))
        found: dict[str, None] = {}
        frontier = [standing.entity.id]
        for _ in range(
            SUCCESSORS_STEPS_COUNT_MAX
        ):  # what matches may have come later: then what it took the place of, too
            self._ledger.load(frontier)
            rows = [row for id_ in frontier for row in self._ledger.relations(id_)]
            rows = [row for row in rows if row.part is None or _meets_part(row.part, standing.entity, terms)]
            frontier = list(
                dict.fromkeys(end for row in rows for end in _beyond(row, frontier, back=True) if end not in found)
            )
            found.update(dict.fromkeys(frontier))
        others = sorted(self._ledger.entities(found).values(), key=statement_order, reverse=True)
        return [one.id for one in others if one.id != standing.entity.id and self._judge(one).shown]

    def _ahead(self, entity_id: str, rows: Sequence[EvolutionRelation], steps: int = 0) -> list[str]:
        """Where relations lead from a statement, newest first: to what is shown there, and on from there."""
        ends = dict.fromkeys(end for row in rows for end in _beyond(row, (entity_id,), back=False))
        others = sorted(self._ledger.entities(ends).values(), key=statement_order, reverse=True)
        found: list[str] = []
        for one in others:
            found += [id_ for id_ in self._heirs_of(one.id, steps) if id_ != entity_id]
            found += [one.id] if self._judge(one).shown else []
        return found

    def _heirs_of(self, entity_id: str, steps: int) -> tuple[str, ...]:
        """What took the place of a statement, a bounded number of steps on; of a chain each link is looked at once."""
        if steps >= SUCCESSORS_STEPS_COUNT_MAX:
            return ()
        if entity_id not in self._heirs:
            self._heirs[entity_id] = ()  # two that contradict each other lead to each other
            rows = [row for row in self._ledger.relations(entity_id) if row.evolution_type is EvolutionType.UPDATE]
            self._heirs[entity_id] = tuple(dict.fromkeys(self._ahead(entity_id, rows, steps + 1)))
        return self._heirs[entity_id]

    def _judge(self, entity: Entity) -> StatementState:
        if entity.id not in self._judged:
            self._judged[entity.id] = self._standing(entity)
        return self._judged[entity.id]

    def _show_bare(self, episode: Episode) -> Shown | None:
        if self._view.as_of is not None and episode.at > self._view.as_of:
            return None
        if self._view.time_range is not None and not _within(episode.at, self._view.time_range):
            return None
        return Shown(episode, None, HitState.CURRENT, (), episode.content)

    def _standing(self, entity: Entity) -> StatementState:
        ledger, view = self._ledger, self._view
        if view.known_at is not None:
            valid_to, invalidated_at = ledger.validity(entity.id)
            entity = replace(entity, valid_to=valid_to, invalidated_at=invalidated_at)
        begins = ledger.begins(entity.id) if entity.valid_from is not None else None
        if begins != entity.valid_from:
            entity = replace(entity, valid_from=begins)
        state = self._state(entity)
        shown = self._in_time(entity, state) and (view.include_superseded or state not in self._hidden())
        relations = ledger.relations(entity.id)
        return StatementState(_with_strongest(entity, relations), state, shown, relations)

    def _hidden(self) -> Collection[HitState]:
        # Asked for a stretch of time, what held then is the answer even where it holds no longer.
        return {HitState.FORGOTTEN, HitState.STALE} if self._view.time_range is not None else HIDDEN

    def _state(self, entity: Entity) -> HitState:
        as_of = self._view.as_of
        if entity.valid_to is not None and (as_of is None or entity.valid_to <= as_of):
            return HitState.SUPERSEDED
        if self._has_run_out(entity):
            return HitState.SUPERSEDED
        if any(self._effective(cause) for cause in self._ledger.causes(entity.id)):
            return HitState.STALE
        if any(self._effective(row.id) for row in self._ledger.disputes(entity.id)):
            return HitState.DISPUTED
        return HitState.CURRENT

    def _has_run_out(self, entity: Entity) -> bool:
        """Whether a statement has come to the end that it names itself; what happened once does not end."""
        until, moment = entity.valid_until, self._view.as_of or self._view.now
        happened = entity.entity_type is EntityType.EVENT
        return until is not None and moment is not None and until <= moment and not happened

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


def _beyond(row: EvolutionRelation, from_ids: Collection[str], *, back: bool) -> tuple[str, ...]:
    """Where a relation leads from some statements: to what updates them, and to what an open contradiction sets against them.

    With `back` also to what they update.
    """
    if row.evolution_type is EvolutionType.UPDATE and row.acted:
        ahead = (row.target_id,) if row.source_id in from_ids else ()
        return (*ahead, row.source_id) if back and row.target_id in from_ids else ahead
    if row.evolution_type is EvolutionType.CONTRADICT and row.resolved is None:
        return tuple(end for end in (row.source_id, row.target_id) if end not in from_ids)
    return ()


def _meets_part(part: tuple[int, int], entity: Entity, terms: frozenset[str]) -> bool:
    """Whether a query asks for a part of a statement rather than for the rest of it."""
    start, end = part
    inside = terms & frozenset(analyse(entity.content[start:end]))
    rest = terms & frozenset(analyse(f"{entity.content[:start]} {entity.content[end:]}"))
    return bool(inside) or not rest


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

"""States of statements as of a moment, and what a recall may show of each episode.

States are computed when they are read, from the relations (`RelationEffects`); none is stored (ADR 0006).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from umi._core.invariants import check
from umi._core.text import analyse
from umi._evolution.relation_effects import RelationEffects
from umi._evolution.relation_writer import statement_order
from umi._evolution.set_facts import is_set
from umi._evolution.trust import USUAL, Trust
from umi._evolution.visible_text import held_text, without
from umi.limits import SUCCESSORS_STEPS_COUNT_MAX
from umi.ports import Snapshot
from umi.types import Entity, EntityType, Episode, EvolutionRelation, EvolutionType, HitState
from umi.types.filters import EVERYTHING, Filter


@dataclass(frozen=True, slots=True)
class View:
    """The point of view of a query.

    Attributes:
        as_of: World time: what held at that moment. None: what holds according to the latest statements.
        known_at: Recorded time: what was known at that moment; None is now.
        time_range: What held or happened within this half-open range of world time.
        include_superseded: Whether statements that no longer hold are shown too.
        now: Statements that named an end before this moment are over; None ignores such ends.
        where: The messages, and the types of statements, that count.
        trust: Whose statements may change what others said; only what it trusts is told before what it repeats.
    """

    as_of: datetime | None = None
    known_at: datetime | None = None
    time_range: tuple[datetime, datetime] | None = None
    include_superseded: bool = False
    now: datetime | None = None
    where: Filter = EVERYTHING
    trust: Trust = USUAL


@dataclass(frozen=True, slots=True)
class StatementState:
    """One entity as a `View` sees it: with its validity as known then, its state, and whether it is shown."""

    entity: Entity
    state: HitState
    shown: bool
    evolutions: tuple[EvolutionRelation, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a view shows of an episode.

    `content` is the text shown, `entity` the statement that matches the query (None while the episode is not yet read).
    """

    episode: Episode
    entity: Entity | None
    state: HitState
    evolutions: tuple[EvolutionRelation, ...]
    content: str


@dataclass(frozen=True, slots=True)
class Look:
    """The result for one episode: what is shown, if anything, and the statements that replaced hidden matches."""

    shown: Shown | None
    successors: tuple[str, ...] = ()


HIDDEN = frozenset({HitState.SUPERSEDED, HitState.STALE, HitState.FORGOTTEN})  # states that are not shown by default


class StateResolver:
    """Computes the states of the entities and episodes of one snapshot, for one view.

    Args:
        snapshot: The store's state.
        view: The point of view.
        effects: A reader of relations on the same snapshot, to reuse what it has loaded; only for a view without
            `known_at`.
    """

    def __init__(self, snapshot: Snapshot, view: View, effects: RelationEffects | None = None) -> None:
        self._snapshot = snapshot
        self._view = view
        check(
            effects is None or self._view.known_at is None, "a ledger of today cannot judge as of an earlier knowledge"
        )
        self._effects = effects or RelationEffects(snapshot, self._view.known_at)
        self._episode_of: dict[str, str] = {}  # episode ids by entity id
        self._read: dict[str, tuple[Entity, ...]] = {}  # statements by episode id
        self._judged: dict[str, StatementState] = {}  # results by entity id
        self._heirs: dict[str, tuple[str, ...]] = {}  # by entity id, see `_heirs_of`

    def of(self, entities: Sequence[Entity]) -> list[StatementState]:
        """The state of each entity, in the order given.

        The number of queries is constant, unless statements were derived from others.
        """
        self._effects.know(entities)
        self._effects.load(entity.id for entity in entities)
        return [self._standing(entity) for entity in entities]

    def look(self, episodes: Sequence[Episode], query_terms: Collection[str], only: Collection[str] = ()) -> list[Look]:
        """For each episode what the view shows, and what replaced the hidden statements that match.

        Arguments as of `show`.
        """
        self.read([episode.id for episode in episodes])
        self._read_ahead(self.read_in(episodes))
        terms, chosen = frozenset(query_terms), frozenset(only)
        return [self._look(episode, self._read[episode.id], terms, chosen) for episode in episodes]

    def read(self, episode_ids: Iterable[str]) -> None:
        """Load the statements of episodes and their relations, in two queries."""
        # Two queries for all episodes of a recall, not two for each.
        missing = [id_ for id_ in episode_ids if id_ not in self._read]
        entities = self._snapshot.entities_of(missing) if missing else {}
        known = [entity for group in entities.values() for entity in group]
        self._effects.know(known)
        self._effects.load(entity.id for entity in known)
        self._episode_of |= {entity.id: entity.episode_id for entity in known}
        self._read |= {id_: entities.get(id_, ()) for id_ in missing}

    def read_at(self, keys: Iterable[int]) -> dict[int, Episode]:
        """Load episodes by arrival with their statements and these statements' relations, in one round trip; returns the episodes."""
        found = self._snapshot.read_at(keys)
        for episode in found.episodes.values():
            if episode.id not in self._read:
                mine = found.entities.get(episode.id, ())
                self._effects.know(mine)
                self._effects.know_relations(found.relations, (one.id for one in mine))
                self._episode_of |= {one.id: episode.id for one in mine}
                self._read[episode.id] = mine
        return found.episodes

    def show(
        self, episodes: Sequence[Episode], query_terms: Collection[str], only: Collection[str] = ()
    ) -> list[Shown | None]:
        """For each episode what the view shows of it; None where all matching statements are hidden.

        Args:
            episodes: Candidates of a recall.
            query_terms: The analysed query.
            only: Ids of entities that count as matching, instead of those that share words with the query.
        """
        return [look.shown for look in self.look(episodes, query_terms, only)]

    def _read_ahead(self, entities: Sequence[Entity]) -> None:
        """Load the statements that replaced any of these, through chains of updates; each step is one query."""
        # Statements that are seen already are not followed again, so cycles end.
        seen = {one.id for one in entities}
        frontier = [end for end in self._updated_by(one.id for one in entities) if end not in seen]
        episodes: dict[str, None] = {}
        for _ in range(SUCCESSORS_STEPS_COUNT_MAX if frontier else 0):
            seen.update(frontier)
            episodes.update(dict.fromkeys(one.episode_id for one in self._effects.entities(frontier).values()))
            self._effects.load(frontier)
            frontier = [end for end in self._updated_by(frontier) if end not in seen]
            if not frontier:
                break
        self.read(episodes)

    def _updated_by(self, entity_ids: Iterable[str]) -> dict[str, None]:
        """Ids of the statements that update any of these."""
        rows = [row for id_ in entity_ids for row in self._effects.relations(id_) if row.source_id == id_]
        return {row.target_id: None for row in rows if row.acted and row.evolution_type is EvolutionType.UPDATE}

    def read_in(self, episodes: Iterable[Episode]) -> list[Entity]:
        """The statements of episodes that were given to `read`."""
        return [entity for episode in episodes for entity in self._read[episode.id]]

    def episodes_of(self, entity_ids: Iterable[str]) -> list[str]:
        """Ids of the episodes of some entities, in order, without repeats."""
        return list(dict.fromkeys(one.episode_id for one in self._effects.entities(entity_ids).values()))

    def told_again(self, episode_ids: Collection[str]) -> list[tuple[str, str]]:
        """Pairs of loaded episodes connected by a flagged update: one that does not act, and that nobody has settled.

        Each pair is (earlier, later); pairs are in order of the later episode.

        Args:
            episode_ids: Both episodes must be among these.
        """
        rows = self._updates_among(episode_ids, self._effects.relations)
        rows = [row for row in rows if not row.acted and row.resolved is None]
        ends = self._effects.entities(row.target_id for row in rows)
        found = [row for row in rows if row.target_id in ends]
        # The id breaks ties, so the order is the same in every run.
        found.sort(key=lambda row: (statement_order(ends[row.target_id]), row.id))
        pairs = map(self._episodes_at, found)
        return [pair for pair in pairs if pair[0] != pair[1] and pair[0] in episode_ids and pair[1] in episode_ids]

    def taken_back(self, episode_ids: Collection[str]) -> frozenset[tuple[str, str]]:
        """As `told_again`, for updates that were undone."""
        rows = self._updates_among(episode_ids, self._effects.rows)
        return frozenset(self._episodes_at(row) for row in rows if row.undone_at is not None)

    def _updates_among(
        self, episode_ids: Collection[str], rows_of: Callable[[str], Iterable[EvolutionRelation]]
    ) -> list[EvolutionRelation]:
        """The updates at statements of these episodes, without repeats; `rows_of` gives a statement's relations."""
        rows = {
            row.id: row
            for id_, episode_id in self._episode_of.items()
            if episode_id in episode_ids
            for row in rows_of(id_)
            if row.evolution_type is EvolutionType.UPDATE
        }
        return list(rows.values())

    def _episodes_at(self, row: EvolutionRelation) -> tuple[str, str]:
        """Ids of the episodes at both ends of a relation; "" for one that was not loaded."""
        return self._episode_of.get(row.source_id, ""), self._episode_of.get(row.target_id, "")

    def _look(self, episode: Episode, entities: Sequence[Entity], terms: frozenset[str], only: frozenset[str]) -> Look:
        known_at = self._view.known_at
        # Not known yet at that moment.
        if known_at is not None and episode.recorded_at > known_at:
            return Look(None)
        counting = [entity for entity in entities if self._view.where.takes(entity)]
        if not counting:
            # Not read yet: the message itself is all there is to show.
            return Look(None if entities or self._view.where.types else self._show_bare(episode))
        standings = {entity.id: self._judge(entity) for entity in entities}
        content = self._content(episode, list(standings.values()))
        chosen = [entity for entity in counting if entity.id in only]
        matching = [standings[entity.id] for entity in chosen or _matching(counting, terms)]
        successors = self._counting(id_ for one in matching for id_ in self._successors(one, terms))
        showing = [standing for standing in matching if standing.shown]
        # Hidden only when every statement that matches is hidden, or no text is left.
        if not showing or not content:
            return Look(None, successors)
        best = showing[0]  # `_matching` puts the best first
        disputed = any(standing.state is HitState.DISPUTED for standing in showing)
        state = HitState.DISPUTED if disputed else best.state
        return Look(Shown(episode, best.entity, state, best.evolutions, content), successors)

    def _counting(self, entity_ids: Iterable[str]) -> tuple[str, ...]:
        """These statements as far as their type counts, each once."""
        ids = tuple(dict.fromkeys(entity_ids))
        if not self._view.where.types:
            return ids
        found = self._effects.entities(ids)
        return tuple(id_ for id_ in ids if id_ in found and self._view.where.takes(found[id_]))

    def _content(self, episode: Episode, standings: Sequence[StatementState]) -> str:
        """The text that the view shows of an episode: without the parts that are over."""
        # The usual case, decided without computing pieces.
        if self._view.include_superseded or all(one.shown and not one.evolutions for one in standings):
            return episode.content
        over, holding = [], []
        for standing in standings:
            start, end = standing.entity.span or (0, len(episode.content))
            # A hidden statement is removed whole, a visible one only where parts of it are over.
            if not standing.shown:
                over.append((start, end))
                continue
            parts = self._effects.parts_over(standing.entity.id, self._view.as_of)
            cuts = [(start + begin, start + stop) for begin, stop in parts]
            over += cuts
            holding += without((start, end), cuts)
        return held_text(episode.content, over, holding)

    def _successors(self, standing: StatementState, terms: frozenset[str]) -> list[str]:
        """Statements that replaced or contradict a matching statement (or the matching part of it), newest first.

        With `as_of`, also statements that it replaced itself.
        """
        # Everything is shown anyway, or nothing has replaced it.
        if self._view.include_superseded or not standing.evolutions:
            return []
        # Today only what came later matters.
        if self._view.as_of is None:
            rows = [
                row for row in standing.evolutions if row.part is None or _meets_part(row.part, standing.entity, terms)
            ]
            return list(dict.fromkeys(self._ahead(standing.entity.id, rows)))
        found: dict[str, None] = {}
        frontier = [standing.entity.id]
        # As of a moment the match may not have begun yet; then the statement that it replaced is the answer.
        for _ in range(SUCCESSORS_STEPS_COUNT_MAX):
            self._effects.load(frontier)
            rows = [row for id_ in frontier for row in self._effects.relations(id_)]
            rows = [row for row in rows if row.part is None or _meets_part(row.part, standing.entity, terms)]
            frontier = list(
                dict.fromkeys(end for row in rows for end in _beyond(row, frontier, back=True) if end not in found)
            )
            found.update(dict.fromkeys(frontier))
        others = sorted(self._effects.entities(found).values(), key=statement_order, reverse=True)
        return [one.id for one in others if one.id != standing.entity.id and self._judge(one).shown]

    def _ahead(self, entity_id: str, rows: Sequence[EvolutionRelation], steps: int = 0) -> list[str]:
        """The visible statements that relations lead to from a statement, directly or through others, newest first."""
        ends = dict.fromkeys(end for row in rows for end in _beyond(row, (entity_id,), back=False))
        others = sorted(self._effects.entities(ends).values(), key=statement_order, reverse=True)
        found: list[str] = []
        for one in others:
            found += [id_ for id_ in self._heirs_of(one.id, steps) if id_ != entity_id]
            found += [one.id] if self._judge(one).shown else []
        return found

    def _heirs_of(self, entity_id: str, steps: int) -> tuple[str, ...]:
        """Statements that replaced a statement, through a bounded number of updates. Memoised per statement."""
        if steps >= SUCCESSORS_STEPS_COUNT_MAX:
            return ()
        if entity_id not in self._heirs:
            self._heirs[entity_id] = ()  # ends the recursion where relations form a cycle
            rows = [row for row in self._effects.relations(entity_id) if row.evolution_type is EvolutionType.UPDATE]
            self._heirs[entity_id] = tuple(dict.fromkeys(self._ahead(entity_id, rows, steps + 1)))
        return self._heirs[entity_id]

    def _judge(self, entity: Entity) -> StatementState:
        """The state of an entity, memoised."""
        if entity.id not in self._judged:
            self._judged[entity.id] = self._standing(entity)
        return self._judged[entity.id]

    def _show_bare(self, episode: Episode) -> Shown | None:
        """An episode without statements, shown if its own time is within the view."""
        if self._view.as_of is not None and episode.at > self._view.as_of:
            return None
        if self._view.time_range is not None and not _within(episode.at, self._view.time_range):
            return None
        return Shown(episode, None, HitState.CURRENT, (), episode.content)

    def _standing(self, entity: Entity) -> StatementState:
        """Compute the state of an entity."""
        effects, view = self._effects, self._view
        # The stored validity is today's; as of earlier knowledge it is computed from the relations.
        if view.known_at is not None:
            valid_to, invalidated_at = effects.validity(entity.id)
            entity = replace(entity, valid_to=valid_to, invalidated_at=invalidated_at)
        relations = effects.relations(entity.id)
        # A statement that corrects another is valid from when the other was thought to be.
        begins = effects.begins(entity.id) if relations and entity.valid_from is not None else entity.valid_from
        if begins != entity.valid_from:
            entity = replace(entity, valid_from=begins)
        state = self._state(entity)
        shown = self._in_time(entity, state) and (view.include_superseded or state not in self._hidden())
        return StatementState(_with_strongest(entity, relations), state, shown, relations)

    def _hidden(self) -> Collection[HitState]:
        """States that the view hides."""
        # A question about a period is answered by what held then, even if it no longer does.
        return {HitState.FORGOTTEN, HitState.STALE} if self._view.time_range is not None else HIDDEN

    def _state(self, entity: Entity) -> HitState:
        """The state of an entity. The order of the tests is a priority: superseded, stale, disputed, current."""
        as_of = self._view.as_of
        # Half-open: at the moment of its end it no longer holds.
        if entity.valid_to is not None and (as_of is None or entity.valid_to <= as_of) and not self._ends_later(entity):
            return HitState.SUPERSEDED
        if self._has_run_out(entity):
            return HitState.SUPERSEDED
        if not self._effects.relations(entity.id):  # as most have none
            return HitState.CURRENT
        if any(self._effective(cause) for cause in self._effects.causes(entity.id)):
            return HitState.STALE
        if any(self._effective(row.id) for row in self._effects.disputes(entity.id)):
            return HitState.DISPUTED
        return HitState.CURRENT

    def _is_to_come(self, entity: Entity) -> bool:
        """Whether a caller set a fact from a moment on that is still to come; what is read in talk counts once it is said."""
        view, start = self._view, entity.valid_from
        if view.as_of is not None or view.time_range is not None or view.now is None:
            return False
        return start is not None and start > view.now and is_set(entity)

    def _ends_later(self, entity: Entity) -> bool:
        """Whether only facts that are still to come replace a statement."""
        now = self._view.now
        if now is None or entity.valid_to is None or entity.valid_to <= now:
            return False
        closing = self._effects.entities(one.relation.target_id for one in self._effects.closings(entity.id))
        return bool(closing) and all(map(self._is_to_come, closing.values()))

    def _has_run_out(self, entity: Entity) -> bool:
        """Whether the statement's own end has passed; an event, which happened once, does not run out."""
        until, moment = entity.valid_until, self._view.as_of or self._view.now
        happened = entity.entity_type is EntityType.EVENT
        return until is not None and moment is not None and until <= moment and not happened

    def _effective(self, relation_id: str) -> bool:
        """Whether a relation had taken effect in the world by `as_of`: its newer statement had begun."""
        as_of = self._view.as_of
        if as_of is None:
            return True
        row = self._snapshot.relations([relation_id]).get(relation_id)
        newer = self._effects.entity(row.target_id) if row else None
        return newer is not None and newer.valid_from is not None and newer.valid_from <= as_of

    def _in_time(self, entity: Entity, state: HitState) -> bool:
        """Whether the entity was known, and valid, at the moment or within the range of the view."""
        view, start = self._view, entity.valid_from
        if view.known_at is not None and entity.recorded_at is not None and entity.recorded_at > view.known_at:
            return False
        # Without a beginning it holds at any time.
        if start is None:
            return True
        if view.as_of is not None and start > view.as_of:
            return False
        if not view.include_superseded and self._is_to_come(entity):
            return False
        if view.time_range is None:
            return True
        if not entity.slot:  # a note or event belongs to one moment
            return _within(start, view.time_range)
        # A lasting fact overlaps the range unless it ended before it or begins after it.
        ended_before = entity.valid_to is not None and entity.valid_to <= view.time_range[0]
        return start < view.time_range[1] and not (state is HitState.SUPERSEDED and ended_before)


def _beyond(row: EvolutionRelation, from_ids: Collection[str], *, back: bool) -> tuple[str, ...]:
    """Where a relation leads from some statements: to what updates them, or openly contradicts them.

    With `back`, also to what they update.
    """
    if row.evolution_type is EvolutionType.UPDATE and row.acted:
        ahead = (row.target_id,) if row.source_id in from_ids else ()
        return (*ahead, row.source_id) if back and row.target_id in from_ids else ahead
    if row.evolution_type is EvolutionType.CONTRADICT and row.resolved is None:
        return tuple(end for end in (row.source_id, row.target_id) if end not in from_ids)
    return ()


def _meets_part(part: tuple[int, int], entity: Entity, terms: frozenset[str]) -> bool:
    """Whether a query is about a part of a statement rather than about the rest of it."""
    start, end = part
    inside = terms & frozenset(analyse(entity.content[start:end]))
    rest = terms & frozenset(analyse(f"{entity.content[:start]} {entity.content[end:]}"))
    return bool(inside) or not rest


def _with_strongest(entity: Entity, relations: Sequence[EvolutionRelation]) -> Entity:
    """The entity with `metadata["evolution"]`: its strongest relation to an older one (seed 001)."""
    mine = [row for row in relations if row.target_id == entity.id != row.source_id]
    if not mine:
        return entity
    row = max(mine, key=lambda row: (row.confidence, row.id))
    evolution = {"type": str(row.evolution_type), "related_id": row.source_id, "reason": row.reason}
    return replace(entity, metadata={**entity.metadata, "evolution": evolution})


def _within(moment: datetime, time_range: tuple[datetime, datetime]) -> bool:
    """Whether a moment is in a half-open range."""
    return time_range[0] <= moment < time_range[1]


def _matching(entities: Sequence[Entity], terms: frozenset[str]) -> list[Entity]:
    """The entities that share words with the query, best first; all of them when none does (the match was by meaning).

    Words are those of content and slot without the subject's name: nearly every statement of a person has the name. An
    episode is hidden only when all of these are, so a statement that the question is not about never keeps an outdated
    one visible.
    """
    if len(entities) == 1:
        return list(entities)
    overlaps = [(len(terms & _words(entity)), place) for place, entity in enumerate(entities)]
    best_first = sorted(overlaps, key=lambda pair: (-pair[0], pair[1]))
    if best_first[0][0]:
        best_first = [pair for pair in best_first if pair[0]]
    return [entities[place] for _, place in best_first]


def _words(entity: Entity) -> frozenset[str]:
    """The terms of an entity's content and slot, without those of its subject's name."""
    return frozenset(analyse(f"{entity.content} {entity.slot.replace('_', ' ')}")) - frozenset(analyse(entity.name))

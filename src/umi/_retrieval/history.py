"""Read what is stored: the chain of a statement or subject, why a statement is known, pages of all entities, statistics.

`now` is the moment of which the states are: a statement that named its own end is over from then on, and what a fact that is set
from a later moment on replaces holds until then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial

from umi import limits
from umi._evolution import set_facts
from umi._evolution.relation_effects import RelationEffects
from umi._evolution.relation_writer import statement_order
from umi._evolution.states import StateResolver, View
from umi._reading.grammar.subjects import subject_key
from umi._remember.keys import episode_named
from umi._retrieval.filtering import kept
from umi.errors import InvalidInput, NotFound
from umi.limits import LIST_LIMIT_MAX
from umi.ports import Snapshot, StorageBackend
from umi.types import (
    Entity,
    Episode,
    EpisodePage,
    EvolutionType,
    Explanation,
    HistoryStep,
    HitState,
    OutboxItem,
    Page,
    Stats,
)
from umi.types.filters import EVERYTHING, Filter
from umi.types.periods import ALWAYS, During, HistoryCounts
from umi.types.sessions import SessionPage
from umi.types.zones import statement_in_zone

_SHOWN_COUNT = 10  # statements that an error lists
_SHOWN_CHARACTERS = 80  # of each
_CURSOR_DIGITS_MAX = 15  # of a number in a cursor; more fit no row
COUNT_PAGE = 1_000  # entities per read transaction while states are counted
CHAIN = (EvolutionType.UPDATE, EvolutionType.EXTEND, EvolutionType.CONTRADICT)


def find(snapshot: Snapshot, key: str, now: datetime) -> Entity | Episode | None:
    """The entity or episode with this id, or None. An entity comes with its state of today.

    An id that is none of Umi's is looked up among the ids that senders gave their messages.
    """
    entity = snapshot.entities([key]).get(key)
    if entity is None:
        return _episode(snapshot, key)
    return steps(snapshot, [entity], now)[0].entity


def waiting(snapshot: Snapshot, limit: int) -> tuple[OutboxItem, ...]:
    """Outbox items, oldest first."""
    return tuple(snapshot.outbox(limit))


def still_waiting(snapshot: Snapshot) -> tuple[tuple[OutboxItem, ...], int]:
    """The first waiting items, as a receipt lists them, and how many wait in all."""
    return waiting(snapshot, limits.LIST_LIMIT_DEFAULT), waiting_count(snapshot)


def waiting_count(snapshot: Snapshot) -> int:
    """The number of outbox items. Looks for one first: usually there is none, and counting is slow in a large store."""
    return snapshot.counts().waiting if snapshot.outbox(1) else 0


def history(
    snapshot: Snapshot,
    key: str,
    now: datetime,
    where: Filter = EVERYTHING,
    attribute: str | None = None,
    limit: int = LIST_LIMIT_MAX,
    before: str | None = None,
    during: During = ALWAYS,
) -> tuple[HistoryStep, ...]:
    """The chain of an entity, or all statements about a subject, oldest first; empty when nothing is known.

    Args:
        snapshot: One moment of a namespace.
        key: An entity's id, or a subject's name or alias.
        now: The moment of the states.
        where: The messages, and the types of statements, that are wanted.
        attribute: The only attribute that is wanted, if any.
        limit: At most so many, the newest.
        before: The id of a statement; only older ones are wanted. An unknown one has none.
        during: Of which time statements are wanted.
    """
    entity = snapshot.entities([key]).get(key)
    if entity is None:
        found = _about(snapshot, key, where, attribute, limit, before, during)
    else:
        chain = [one for one in _chain(snapshot, entity) if during.admits(one)]
        found = _wanted(kept(snapshot, chain, where), attribute)
        found = _older(snapshot, found, before)[-limit:]
    return steps(snapshot, sorted(found, key=statement_order), now)


def counts(snapshot: Snapshot, name: str, parts: int) -> HistoryCounts:
    """How many statements there are about the subject of a name, by when they begin; see `umi.Memory.history_counts`."""
    key = subject_key(name)
    return snapshot.periods(snapshot.subjects_of([key]).get(key, key), parts)


def steps(snapshot: Snapshot, entities: list[Entity], now: datetime) -> tuple[HistoryStep, ...]:
    """Each entity with its state and all relations that touch it, undone ones included."""
    return _steps(RelationEffects(snapshot), snapshot, entities, now)


def _steps(
    effects: RelationEffects, snapshot: Snapshot, entities: list[Entity], now: datetime
) -> tuple[HistoryStep, ...]:
    standings = StateResolver(snapshot, View(include_superseded=True, now=now), effects).of(entities)
    reasons = set_facts.reasons(snapshot, entities)
    sources = snapshot.sources(dict.fromkeys(one.episode_id for one in entities))
    zones = {one.id: sources[one.episode_id].zone for one in entities if one.episode_id in sources}
    return tuple(
        HistoryStep(
            statement_in_zone(s.entity, zones.get(s.entity.id, UTC)),
            s.state,
            effects.rows(s.entity.id),
            reasons.get(s.entity.id, ""),
        )
        for s in standings
    )


def why(snapshot: Snapshot, entity_id: str, now: datetime) -> Explanation:
    """Explain an entity: its source episode, what it was derived from and supports, and what changed it.

    Raises:
        NotFound: For an id that is neither an entity nor a message of this namespace, or a message that is not read yet.
        InvalidInput: For a message with several statements; the error lists them.
    """
    entity = snapshot.entities([entity_id]).get(entity_id) or _only_statement(snapshot, entity_id)
    entity_id = entity.id
    effects = RelationEffects(snapshot)
    sources, supports = effects.sources(entity_id), effects.conclusions(entity_id)
    # The relations that make the entity stale, also through several derivations.
    causes = snapshot.relations(effects.causes(entity_id))
    related = effects.entities((*sources, *supports))
    step = _steps(effects, snapshot, [entity], now)[0]
    return Explanation(
        entity=step.entity,
        state=step.state,
        episode=snapshot.episodes([entity.episode_id])[entity.episode_id],
        evolutions=step.evolutions,
        derived_from=tuple(related[id_] for id_ in sources),
        supports=tuple(related[id_] for id_ in supports),
        stale_because=tuple(causes[id_] for id_ in sorted(causes)),
    )


def sessions(snapshot: Snapshot, after: str | None, limit: int) -> SessionPage:
    """One page of sessions by name."""
    found = snapshot.sessions(after=after, limit=limit + 1)  # one more tells whether a page follows
    return SessionPage(tuple(found[:limit]), found[limit - 1].name if len(found) > limit else None)


def page(
    snapshot: Snapshot,
    after: str | None,
    limit: int,
    now: datetime,
    where: Filter = EVERYTHING,
    *,
    newest: bool = False,
) -> Page:
    """One page of entities in order of arrival, or in the opposite order, starting after the cursor.

    Raises:
        InvalidInput: For a cursor that no page returned.
    """
    # One more tells whether a page follows.
    rows = snapshot.list_entities(after=_cursor(after), limit=limit + 1, where=where, newest=newest)
    shown = rows[:limit]
    # The cursor is (arrival, place) of the last entity shown.
    following = "{}.{}".format(*shown[-1][0]) if len(rows) > limit else None
    return Page(steps(snapshot, [entity for _, entity in shown], now), following)


def episodes(
    snapshot: Snapshot, after: str | None, limit: int, where: Filter = EVERYTHING, *, newest: bool = False
) -> EpisodePage:
    """One page of messages in order of arrival, or in the opposite order, starting after the cursor.

    Raises:
        InvalidInput: For a cursor that no page returned.
    """
    arrival = None if after is None else _arrival(after)
    found = snapshot.list_episodes(after=arrival, limit=limit + 1, where=where, newest=newest)
    shown = tuple(found[:limit])
    return EpisodePage(shown, str(shown[-1].arrival) if len(found) > limit else None)


async def _count_states(storage: StorageBackend, now: datetime) -> dict[str, int]:
    """The number of entities in each state. Reads page by page, so that other work can run in between."""
    states: Counter[HitState] = Counter()
    after: str | None = None
    while True:
        found = await storage.read(partial(page, after=after, limit=COUNT_PAGE, now=now))
        states.update(step.state for step in found.items)
        after = found.next
        if after is None:
            return {str(state): states[state] for state in HitState if states[state]}


async def stats(storage: StorageBackend, now: datetime, embedder: str | None, degradations: Mapping[str, int]) -> Stats:
    """The contents of a namespace in numbers, with the number of entities in each state."""
    sequence, counts = await storage.read(lambda snapshot: (snapshot.sequence, snapshot.counts()))
    return Stats(
        namespace=storage.namespace,
        episodes=counts.episodes,
        entities=counts.entities,
        vectors=counts.vectors,
        evolutions=counts.evolutions,
        states=await _count_states(storage, now),
        waiting=counts.waiting,
        embedder=embedder,
        sequence=sequence,
        store_bytes=counts.store_bytes,
        cache_bytes=counts.cache_bytes,
        degradations=degradations,
    )


def _episode(snapshot: Snapshot, key: str) -> Episode | None:
    """The episode with this id, Umi's own or its sender's; Umi's wins."""
    found = snapshot.episodes([key]).get(key)
    named = episode_named(snapshot, key) if found is None else None
    return found if named is None else snapshot.episodes([named]).get(named)


def _only_statement(snapshot: Snapshot, key: str) -> Entity:
    """The statement of a message that has a single one.

    Raises:
        NotFound: When there is no such message, or it has no statement.
        InvalidInput: When it has several.
    """
    episode = _episode(snapshot, key)
    if episode is None:
        raise NotFound(f"no statement or message {key} in namespace {snapshot.namespace!r}")
    found = list(snapshot.entities_of([episode.id]).get(episode.id, ()))
    if not found:
        raise NotFound(f"message {key} waits to be read, so there is no statement to explain yet; `maintain` reads it")
    if len(found) > 1:
        told = "; ".join(f"{one.id}: {one.content[:_SHOWN_CHARACTERS]!r}" for one in found[:_SHOWN_COUNT])
        more = f"; and {len(found) - _SHOWN_COUNT} more" if len(found) > _SHOWN_COUNT else ""
        raise InvalidInput(f"message {key} has {len(found)} statements, name one of them: {told}{more}")
    return found[0]


def _arrival(cursor: str) -> int:
    if not _is_count(cursor):
        raise InvalidInput(f"after={cursor!r:.40} is not a cursor; give the `next` of the page before")
    return int(cursor)


def _is_count(text: object) -> bool:
    return isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= _CURSOR_DIGITS_MAX


def _cursor(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    arrival, _, place = text.partition(".") if isinstance(text, str) else ("", "", "")
    if not (_is_count(arrival) and _is_count(place)):
        raise InvalidInput(f"after={text!r:.40} is not a cursor; give the `next` of the page before")
    return int(arrival), int(place)


def _about(
    snapshot: Snapshot,
    name: str,
    where: Filter,
    attribute: str | None,
    limit: int,
    before: str | None,
    during: During,
) -> list[Entity]:
    key = subject_key(name)
    subject = snapshot.subjects_of([key]).get(key, key)
    found: list[Entity] = []
    read = 0
    # What is read may not be wanted. A history is bounded by what is read too: it never has more than one page of everything.
    while len(found) < limit and read < LIST_LIMIT_MAX:
        wanted = min(limit, LIST_LIMIT_MAX - read)
        rows = snapshot.statements(subject, limit=wanted, where=where, before=before, during=during)
        found += _wanted([one for one in rows if one.slot or key in (one.subject, *one.also)], attribute)
        if len(rows) < wanted:
            break
        read, before = read + len(rows), rows[-1].id
    return found[:limit]


def _wanted(found: list[Entity], attribute: str | None) -> list[Entity]:
    return found if attribute is None else [*filter(set_facts.is_of(attribute), found)]


def _older(snapshot: Snapshot, found: list[Entity], before: str | None) -> list[Entity]:
    """Those of a chain that are older than a statement, oldest first."""
    ordered = sorted(found, key=statement_order)
    if before is None:
        return ordered
    last = snapshot.entities([before]).get(before)
    return [one for one in ordered if last is not None and statement_order(one) < statement_order(last)]


def _chain(snapshot: Snapshot, start: Entity) -> list[Entity]:
    members: dict[str, None] = {start.id: None}
    frontier = [start.id]
    # Breadth first over relations in both directions, a query per step.
    while frontier and len(members) < LIST_LIMIT_MAX:
        rows = snapshot.relations_of(frontier)
        ends = (
            end
            for group in rows.values()
            for row in group
            if row.evolution_type in CHAIN
            for end in (row.source_id, row.target_id)
        )
        frontier = [end for end in dict.fromkeys(ends) if end not in members]
        members.update(dict.fromkeys(frontier))
    return list(snapshot.entities(members).values())

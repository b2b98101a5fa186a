"""Read one namespace of the SQLite store in one transaction's snapshot. Each look-up is one statement for all its ids."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, NoReturn

import numpy as np

from umi._core.invariants import InvariantError
from umi.ports import (
    Counts,
    DayCount,
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
from umi.stores.sql import days, periods, rows, select
from umi.stores.sql.cache import Head, IndexCache
from umi.stores.sql.connection import Connection, Row, Rows
from umi.stores.sql.crc import damaged
from umi.stores.sql.embedder import identity_of
from umi.stores.sql.keys import ARRIVAL_MASK, arrival_of, key_of, keys_of
from umi.stores.sql.learning import SqlLearned
from umi.stores.sql.routing import SqlRouted
from umi.types import Change, Entity, Episode, EvolutionRelation, OutboxItem
from umi.types.filters import EVERYTHING, Filter
from umi.types.periods import ALWAYS, During, HistoryCounts
from umi.types.sessions import SessionInfo

# Ids are passed as one JSON array, so that one prepared statement serves any number of them.
_THESE: Final = "(SELECT value FROM json_each(?))"
_ENTITIES: Final = f"SELECT {rows.ENTITY_COLUMNS} FROM entities e JOIN episodes p ON p.key = e.key"
_EPISODES: Final = f"SELECT {rows.EPISODE_COLUMNS} FROM episodes p WHERE p.ns = ? AND p.id IN {_THESE}"
_EPISODES_AT: Final = f"SELECT {rows.EPISODE_COLUMNS} FROM episodes p WHERE p.key IN {_THESE}"
_SAID: Final = f"SELECT {rows.ENTITY_COLUMNS} FROM episodes p JOIN entities e ON e.key = p.key"
_BY_SPAN: Final = "ORDER BY e.key, e.span_start IS NULL, e.span_start, e.span_end, e.place"
_ENTITIES_AT: Final = f"{_SAID} WHERE p.key IN {_THESE} {_BY_SPAN}"
_RELATIONS_AT: Final = " UNION ALL ".join(
    # CROSS JOIN: SQLite begins with the few statements, and never with all relations of the namespace.
    f"SELECT {rows.RELATION_COLUMNS} FROM entities e CROSS JOIN relations r"
    f" WHERE r.ns = ? AND r.{end} = e.id AND e.key IN {_THESE}"
    for end in ("source_id", "target_id")
)
_NEWEST_FIRST: Final = "ORDER BY e.at DESC, e.key DESC, e.place DESC LIMIT ?"
# Of one compound query: SQLite allows 500, and each count of arms is a text of its own to compile.
_ARMS_COUNT: Final = 32
_NEWEST_OF_ALL: Final = "ORDER BY 15 DESC, 1 DESC, 2 DESC LIMIT ?"  # columns e.at, e.key, e.place of `ENTITY_COLUMNS`
# One row whether or not there is such a namespace, and whether or not an embedder is registered.
_HEAD: Final = (
    "SELECT n.ns, n.name, n.sequence, n.next_arrival, n.changes_from, n.crc,"
    " (SELECT min(p.expires_at) FROM episodes p WHERE p.ns = n.ns AND p.expires_at > ?),"
    " (SELECT coalesce(max(b.number), -1) + 1 FROM blocks b WHERE b.ns = n.ns), m.name, m.value, m.crc"
    " FROM (SELECT ? AS name) AS wanted LEFT JOIN namespaces n ON n.name = wanted.name"
    " LEFT JOIN meta m ON m.name = 'embedder'"
)
_COUNTS: Final = (
    "SELECT (SELECT count(*) FROM episodes WHERE ns = ?), (SELECT count(*) FROM entities WHERE ns = ?),"
    " (SELECT count(*) FROM vectors WHERE key BETWEEN ? AND ?), (SELECT count(*) FROM outbox WHERE key BETWEEN ? AND ?),"
    " (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)"
)
_EVER: Final = -(1 << 62)  # before every moment; an index of those that are not NULL needs a bound
_PLACE_LAST: Final = 1 << 62  # after every place within an episode
_SESSIONS: Final = (
    "SELECT p.session, count(*), min(p.at), max(p.at), json_group_array(DISTINCT p.speaker) FILTER (WHERE p.speaker IS NOT NULL)"
    " FROM episodes p WHERE p.key BETWEEN ? AND ? AND p.session > ? GROUP BY p.session ORDER BY p.session LIMIT ?"
)
_BY_TIME: Final = attrgetter("created_at", "id")


def read_head(db: Connection, namespace: str) -> Head:
    """The state of a namespace. As the first statement of a transaction this also fixes its snapshot.

    Raises:
        StoreCorrupt: When the checksum does not match.
    """
    *head, expiry, blocks, name, value, crc = next(db.execute(_HEAD, (_EVER, namespace)))
    embedder = None if name is None else identity_of(rows.verified("meta", (name, value, crc), 0)[1])
    if head[0] is None:
        return Head(0, 0, 0, 0, None, embedder)  # no namespace has number 0, so every look-up finds nothing
    ns, _, sequence, next_arrival, changes_from = rows.verified("namespaces", tuple(head), 1)
    return Head(ns, sequence, next_arrival, changes_from, expiry, embedder, blocks)


def _ended(*_: object) -> NoReturn:
    """Replaces `execute` once the transaction has ended."""
    raise InvariantError("a snapshot was used after its transaction ended: keep the records, not the snapshot")


def _packed(ids: Iterable[str]) -> str:
    return rows.json_array(dict.fromkeys(ids))


def _by_arrival(found: Rows) -> dict[int, Episode]:
    return {episode.arrival: episode for episode in map(rows.to_episode, found)}


def _by_episode(found: Rows) -> dict[str, tuple[Entity, ...]]:
    """Entities by the id of their episode, in the order of the rows."""
    entities: dict[str, list[Entity]] = {}
    for entity in map(rows.to_entity, found):
        entities.setdefault(entity.episode_id, []).append(entity)
    return {episode_id: tuple(mine) for episode_id, mine in entities.items()}


def _by_end(found: Rows) -> dict[str, tuple[EvolutionRelation, ...]]:
    """Relations by the id of either end, by (created_at, id)."""
    once = {relation.id: relation for relation in map(rows.to_relation, found)}  # found at both ends, or twice at one
    relations: dict[str, list[EvolutionRelation]] = {}
    # Sorted here: a UNION ALL of two index look-ups has no order of its own.
    for relation in sorted(once.values(), key=_BY_TIME):
        for end in dict.fromkeys((relation.source_id, relation.target_id)):
            relations.setdefault(end, []).append(relation)
    return {entity_id: tuple(mine) for entity_id, mine in relations.items()}


@dataclass(frozen=True, slots=True)
class Place:
    """The key of an episode, when it was said, in microseconds, and its text as `rows.quotable` gives it."""

    key: int
    at: int
    text: str


class SqlSnapshot:
    """A snapshot of one namespace; see `umi.ports.Snapshot`."""

    _as_label = staticmethod(rows.label_value)

    def __init__(self, db: Connection, namespace: str, head: Head, cache: IndexCache) -> None:
        self._db = db
        self._execute: Callable[..., Rows] = db.execute
        self._namespace = namespace
        self._head = head
        self._ns = head.ns
        self._cache = cache
        self._touched: set[int] = set()  # keys whose terms or vectors this transaction itself has changed

    def end(self) -> None:
        """Refuse all look-ups from now on: after the transaction they would read another snapshot."""
        self._execute = _ended

    @property
    def namespace(self) -> str:
        return self._namespace

    @property
    def sequence(self) -> int:
        return self._head.sequence

    @property
    def embedder(self) -> EmbedderIdentity | None:
        return self._head.embedder

    @property
    def learned(self) -> SqlLearned:
        return SqlLearned(self._run, self._ns)

    @property
    def routed(self) -> SqlRouted:
        return SqlRouted(self._run, self._ns, self._head.sequence + 1)

    def episodes(self, ids: Iterable[str]) -> dict[str, Episode]:
        found = self._execute(_EPISODES, (self._ns, _packed(ids)))
        return {episode.id: episode for episode in map(rows.to_episode, found)}

    def sources(self, episode_ids: Iterable[str]) -> dict[str, Source]:
        return dict(map(rows.to_source, self._execute(_EPISODES, (self._ns, _packed(episode_ids)))))

    def episodes_at(self, keys: Iterable[int]) -> dict[int, Episode]:
        return _by_arrival(self._execute(_EPISODES_AT, (self._packed_keys(keys),)))

    def read_at(self, keys: Iterable[int]) -> EpisodesRead:
        packed = self._packed_keys(keys)
        # All three are sent before the first is read: a store on another machine answers them in one round trip.
        episodes = self._execute(_EPISODES_AT, (packed,))
        entities = self._execute(_ENTITIES_AT, (packed,))
        relations = self._execute(_RELATIONS_AT, (self._ns, packed, self._ns, packed))
        return EpisodesRead(_by_arrival(episodes), _by_episode(entities), _by_end(relations))

    def entities(self, ids: Iterable[str]) -> dict[str, Entity]:
        found = map(
            rows.to_entity, self._execute(f"{_ENTITIES} WHERE e.ns = ? AND e.id IN {_THESE}", (self._ns, _packed(ids)))
        )
        return {entity.id: entity for entity in found}

    def entities_of(self, episode_ids: Iterable[str]) -> dict[str, tuple[Entity, ...]]:
        sql = f"{_SAID} WHERE p.ns = ? AND p.id IN {_THESE} {_BY_SPAN}"
        return _by_episode(self._execute(sql, (self._ns, _packed(episode_ids))))

    def statements(
        self,
        subject: str,
        *,
        limit: int,
        where: Filter = EVERYTHING,
        before: str | None = None,
        during: During = ALWAYS,
    ) -> list[Entity]:
        kept, values = self._kept(where)
        of_time, moments = periods.during(during)
        kept, values = kept + of_time, (*values, *moments)
        if before is not None:
            last = self._execute(
                "SELECT e.at, e.key, e.place FROM entities e WHERE e.ns = ? AND e.id = ?", (self._ns, before)
            )
            place = last.fetchone()
            if place is None:
                return []
            kept, values = f"{kept} AND (e.at, e.key, e.place) < (?, ?, ?)", (*values, *place)
        mine, its = f"{_ENTITIES} WHERE e.ns = ? AND {rows.OF_SUBJECT}{kept}", "e.key = m.key AND e.place = m.place"
        also = f"{_ENTITIES} JOIN mentions m ON {its} WHERE m.ns = ? AND m.subject = ?{kept}"
        found = self._execute(
            f"SELECT * FROM ({mine} {_NEWEST_FIRST}) UNION ALL SELECT * FROM ({also} {_NEWEST_FIRST}) {_NEWEST_OF_ALL}",
            (self._ns, subject, *values, limit, self._ns, subject, *values, limit, limit),
        )
        entities = [rows.to_entity(row) for row in found]
        for entity in entities:
            if subject != entity.subject and subject not in entity.also:
                raise damaged("mentions", entity.id)
        return entities

    def statements_in(
        self, pairs: Sequence[tuple[str, str]], *, limit: int, open_from: datetime | None = None
    ) -> dict[tuple[str, str], list[Entity]]:
        found: dict[tuple[str, str], list[Entity]] = {pair: [] for pair in pairs}
        still, moments = periods.still_open(open_from)
        one = f"{_ENTITIES} WHERE e.ns = ? AND {rows.OF_SUBJECT} AND e.slot = ?{still} {_NEWEST_FIRST}"
        for start in range(0, len(found), _ARMS_COUNT):
            some = list(found)[start : start + _ARMS_COUNT]
            # Each arm keeps its own order and limit; the rows of an arm come together, and in that order.
            sql = " UNION ALL ".join(f"SELECT {arm}, * FROM ({one})" for arm in range(len(some)))
            given = [value for subject, slot in some for value in (self._ns, subject, slot, *moments, limit)]
            for arm, *row in self._execute(sql, tuple(given)):
                found[some[arm]].append(rows.to_entity(tuple(row)))
        return found

    def list_entities(
        self, *, after: tuple[int, int] | None, limit: int, where: Filter = EVERYTHING, newest: bool = False
    ) -> list[tuple[tuple[int, int], Entity]]:
        first, last = keys_of(self._ns)
        kept, values = self._kept(where)
        arrival, place = after or ((ARRIVAL_MASK, _PLACE_LAST) if newest else (0, -1))
        arrival = min(arrival, ARRIVAL_MASK)  # one beyond would reach into another namespace's keys
        if newest:
            test, order, bound = "(e.key, e.place) < (?, ?) AND e.key >= ?", "e.key DESC, e.place DESC", first
        else:
            test, order, bound = "(e.key, e.place) > (?, ?) AND e.key <= ?", "e.key, e.place", last
        sql = f"{_ENTITIES} WHERE {test}{kept} ORDER BY {order} LIMIT ?"
        found = self._execute(sql, (key_of(self._ns, arrival), place, bound, *values, limit))
        return [((arrival_of(row[0]), row[1]), rows.to_entity(row)) for row in found]

    def list_episodes(
        self, *, after: int | None, limit: int, where: Filter = EVERYTHING, newest: bool = False
    ) -> list[Episode]:
        first, last = keys_of(self._ns)
        if after is not None:
            after = min(after, ARRIVAL_MASK)  # one beyond would reach into another namespace's keys
            first, last = (first, key_of(self._ns, after) - 1) if newest else (key_of(self._ns, after) + 1, last)
        kept, values = self._with_types(where)
        order = "p.key DESC" if newest else "p.key"
        sql = (
            f"SELECT {rows.EPISODE_COLUMNS} FROM episodes p WHERE p.key BETWEEN ? AND ?{kept} ORDER BY {order} LIMIT ?"
        )
        return [rows.to_episode(row) for row in self._execute(sql, (first, last, *values, limit))]

    def relations(self, ids: Iterable[str]) -> dict[str, EvolutionRelation]:
        sql = f"SELECT {rows.RELATION_COLUMNS} FROM relations r WHERE r.ns = ? AND r.id IN {_THESE}"
        return {row.id: row for row in map(rows.to_relation, self._execute(sql, (self._ns, _packed(ids))))}

    def relations_of(self, entity_ids: Iterable[str]) -> dict[str, tuple[EvolutionRelation, ...]]:
        wanted = list(dict.fromkeys(entity_ids))
        packed = rows.json_array(wanted)
        select = f"SELECT {rows.RELATION_COLUMNS} FROM relations r WHERE r.ns = ?"
        sql = f"{select} AND r.source_id IN {_THESE} UNION ALL {select} AND r.target_id IN {_THESE}"
        found = _by_end(self._execute(sql, (self._ns, packed, self._ns, packed)))
        return {entity_id: found[entity_id] for entity_id in wanted if entity_id in found}

    def subjects_of(self, aliases: Iterable[str]) -> dict[str, str]:
        sql = f"SELECT {rows.ALIAS_COLUMNS} FROM aliases a WHERE a.ns = ? AND a.alias IN {_THESE}"
        found = (rows.verified("aliases", row, 1) for row in self._execute(sql, (self._ns, _packed(aliases))))
        return {alias: subject for _, alias, subject in found}

    def aliases(self, subject: str) -> tuple[str, ...]:
        sql = f"SELECT {rows.ALIAS_COLUMNS} FROM aliases a WHERE a.ns = ? AND a.subject = ? ORDER BY a.alias"
        return tuple(rows.verified("aliases", row, 1)[1] for row in self._execute(sql, (self._ns, subject)))

    def sessions(self, *, after: str | None, limit: int) -> list[SessionInfo]:
        found = self._execute(_SESSIONS, (*keys_of(self._ns), after or "", limit))
        return [
            SessionInfo(
                name, count, rows.from_micros(first), rows.from_micros(last), tuple(sorted(json.loads(speakers)))
            )
            for name, count, first, last, speakers in found
        ]

    def replays(self, keys: Iterable[str]) -> dict[str, ReplayRow]:
        sql = f"SELECT {rows.REPLAY_COLUMNS} FROM replays r WHERE r.ns = ? AND r.key IN {_THESE}"
        found = map(rows.to_replay, self._execute(sql, (self._ns, _packed(keys))))
        return {replay.key: replay for replay in found}

    def outbox(self, limit: int) -> list[OutboxItem]:
        sql = (
            f"SELECT {rows.OUTBOX_COLUMNS} FROM outbox o JOIN episodes p ON p.key = o.key"
            " WHERE o.key BETWEEN ? AND ? ORDER BY o.key LIMIT ?"
        )
        return [rows.to_outbox(row) for row in self._execute(sql, (*keys_of(self._ns), limit))]

    def counts(self) -> Counts:
        low, high = keys_of(self._ns)
        evolutions = self._execute(
            "SELECT type, count(*) FROM relations WHERE ns = ? AND undone_at IS NULL GROUP BY type ORDER BY type",
            (self._ns,),
        )
        # One statement for all five counts.
        sizes = self._execute(_COUNTS, (self._ns, self._ns, low, high, low, high)).fetchone() or (0, 0, 0, 0, 0)
        episodes, entities, vectors, waiting, store_bytes = sizes
        return Counts(
            episodes=episodes,
            entities=entities,
            vectors=vectors,
            waiting=waiting,
            evolutions=dict(evolutions),
            store_bytes=store_bytes,
            cache_bytes=self._cache.bytes_of(self._ns),
        )

    def text_candidates(
        self, terms: Sequence[str], *, also: Keys = NO_KEYS, where: Filter = EVERYTHING
    ) -> TextCandidates:
        index = self._index()
        return index.text_candidates(terms, also=also, kept=self._kept_in(index, where))

    def vector_candidates(
        self, embedding: Vector, *, also: Keys = NO_KEYS, pool: int, where: Filter = EVERYTHING
    ) -> VectorCandidates:
        index = self._index()
        return index.vector_candidates(embedding, also=also, pool=pool, kept=self._kept_in(index, where))

    def among(self, keys: Keys, where: Filter) -> Eligible:
        index = self._index()
        return index.among(keys, self._kept_in(index, where))

    def surroundings(self, keys: Keys) -> Surroundings:
        return self._index().surroundings(keys)

    def speakers(self, terms: Iterable[str]) -> frozenset[str]:
        return self._index().speakers(terms)

    def catch_up(self) -> bool:
        return self._cache.catch_up(self._execute, self._head)

    def vectors(self, episode_ids: Iterable[str]) -> dict[str, Matrix]:
        """The stored windows of each episode; an episode without vectors has no key."""
        wanted = list(episode_ids)
        if not wanted:
            return {}
        sql = (
            f"SELECT p.id, v.key, {rows.VECTOR_COLUMNS} FROM episodes p JOIN vectors v ON v.key = p.key"
            f" WHERE p.ns = ? AND p.id IN {_THESE}"
        )
        found = self._execute(sql, (self._ns, _packed(wanted)))
        return {id_: rows.to_windows(*vector) for id_, *vector in found}

    def scan_episodes(self, where: Filter = EVERYTHING) -> Iterator[tuple[EpisodeRow, PackedVectors | None]]:
        kept, values = self._with_types(where)
        sql = (
            f"SELECT {rows.EPISODE_COLUMNS}, {rows.TERM_COLUMNS}, {rows.VECTOR_COLUMNS} FROM episodes p"
            " JOIN terms t ON t.key = p.key LEFT JOIN vectors v ON v.key = p.key"
            f" WHERE p.key BETWEEN ? AND ?{kept} ORDER BY p.key"
        )
        return map(rows.to_episode_row, self._execute(sql, (*keys_of(self._ns), *values)))

    def scan_entities(self, where: Filter = EVERYTHING) -> Iterator[Entity]:
        kept, values = self._with_types(where)
        sql = f"{_ENTITIES} WHERE e.key BETWEEN ? AND ?{kept} ORDER BY e.key, e.place"
        return map(rows.to_entity, self._execute(sql, (*keys_of(self._ns), *values)))

    def changes(self, after: int, limit: int) -> list[Change]:
        select = f"SELECT {rows.EVENT_COLUMNS} FROM events v WHERE v.ns = ? AND v.sequence > ?"
        order = "ORDER BY v.sequence, v.place"
        found: list[Row] = self._execute(f"{select} {order} LIMIT ?", (self._ns, after, limit)).fetchall()
        if len(found) == limit:
            # Only whole writes: those before the last one here, or that one where it stands alone.
            whole = [row for row in found if row[1] < found[-1][1]]
            within = f"{select} AND v.sequence <= ? {order}"
            found = whole or self._execute(within, (self._ns, after, found[-1][1])).fetchall()
        return [rows.to_change(row) for row in found]

    def first_expiry(self) -> datetime | None:
        return rows.from_micros_or_none(self._head.first_expiry)

    def expired(self, now: datetime, limit: int) -> list[str]:
        sql = "SELECT id FROM episodes WHERE ns = ? AND expires_at <= ? ORDER BY expires_at, key LIMIT ?"
        return [id_ for (id_,) in self._execute(sql, (self._ns, rows.to_micros(now), limit))]

    def scan_relations(self) -> Iterator[EvolutionRelation]:
        sql = f"SELECT {rows.RELATION_COLUMNS} FROM relations r WHERE r.ns = ? ORDER BY r.id"
        return map(rows.to_relation, self._execute(sql, (self._ns,)))

    def undecided(self, *, after: str | None, limit: int) -> list[EvolutionRelation]:
        sql = (
            f"SELECT {rows.RELATION_COLUMNS} FROM relations r WHERE r.ns = ? {'' if after is None else 'AND r.id < ?'}"
            " AND r.undone_at IS NULL AND r.resolved IS NULL"
            " AND (r.type = 'contradict' OR (r.type = 'update' AND r.acted = 0)) ORDER BY r.id DESC LIMIT ?"
        )
        values = (self._ns, limit) if after is None else (self._ns, after, limit)
        return [*map(rows.to_relation, self._execute(sql, values))]

    def periods(self, subject: str, parts: int) -> HistoryCounts:
        return periods.periods(self._execute, self._ns, subject, parts)

    def days(self, since: datetime, until: datetime) -> list[DayCount]:
        return days.days(self._execute, self._ns, keys_of(self._ns), since, until)

    def scan_aliases(self) -> Iterator[tuple[str, str]]:
        sql = f"SELECT {rows.ALIAS_COLUMNS} FROM aliases a WHERE a.ns = ? ORDER BY a.alias"
        found = (rows.verified("aliases", row, 1) for row in self._execute(sql, (self._ns,)))
        return ((alias, subject) for _, alias, subject in found)

    def scan_replays(self) -> Iterator[ReplayRow]:
        sql = f"SELECT {rows.REPLAY_COLUMNS} FROM replays r WHERE r.ns = ? ORDER BY r.key"
        return map(rows.to_replay, self._execute(sql, (self._ns,)))

    def scan_outbox(self) -> Iterator[OutboxItem]:
        sql = (
            f"SELECT {rows.OUTBOX_COLUMNS} FROM outbox o JOIN episodes p ON p.key = o.key"
            " WHERE o.key BETWEEN ? AND ? ORDER BY o.key"
        )
        return map(rows.to_outbox, self._execute(sql, keys_of(self._ns)))

    def restoring(self) -> str | None:
        row = self._execute("SELECT name, value, crc FROM meta WHERE name = ?", (self._restoring_name,)).fetchone()
        return None if row is None else str(rows.verified("meta", row, 0)[1])

    @property
    def _restoring_name(self) -> str:
        return f"restoring:{self._ns}"

    def _run(self, *statement: Any) -> Rows:
        """Run a statement. Unlike a kept reference to `execute`, this refuses once the transaction has ended."""
        return self._execute(*statement)

    def _packed_keys(self, arrivals: Iterable[int]) -> str:
        """The keys of episodes as one value. Arrivals outside the range would reach into another namespace's keys, and are left out."""
        return f"[{','.join(str(key_of(self._ns, int(one))) for one in arrivals if 0 <= one <= ARRIVAL_MASK)}]"

    def _index(self) -> NamespaceIndex:
        return self._cache.current(self._execute, self._head, self._touched)

    def _kept_in(self, index: NamespaceIndex, where: Filter) -> Flags | None:
        return index.kept_by(where, self._head.sequence, self._matching)

    def _matching(self, where: Filter, since: int) -> Keys:
        """The arrivals of a filter's messages from one on, ascending."""
        source, first, rest = select.source(where, self._ns, self._as_label)
        kept, values = self._with_types(rest)
        # As one text: a row each would take ten times as long.
        sql = f"SELECT group_concat(p.key & {ARRIVAL_MASK}) FROM {source} p WHERE p.key BETWEEN ? AND ?{kept}"
        (packed,) = next(self._execute(sql, (*first, key_of(self._ns, since), keys_of(self._ns)[1], *values)))
        return np.sort(np.fromstring(packed, dtype=np.int64, sep=",")) if packed else NO_KEYS

    def _kept(self, where: Filter) -> tuple[str, tuple[rows.Value, ...]]:
        """The condition that an entity `e` is of a filter's messages and types, with a leading AND, and its values."""
        kept, values = select.keeping(where, self._ns, "e.key", self._as_label)
        of_types, types = select.of_types(where)
        return kept + of_types, (*values, *types)

    def _with_types(self, where: Filter) -> tuple[str, tuple[rows.Value, ...]]:
        """The condition that an episode `p` is one of a filter's, with a statement of its types, and its values."""
        kept, values = select.keeping(where, self._ns, "p.key", self._as_label)
        of_types, types = select.of_types(where)
        if not of_types:
            return kept, values
        kept = f"{kept} AND p.key IN (SELECT e.key FROM entities e WHERE e.ns = ?{of_types})"
        return kept, (*values, self._ns, *types)

    def _one(self, sql: str, *values: rows.Value) -> int:
        row = self._execute(sql, values).fetchone()
        return 0 if row is None else row[0]

    def _places(self, episode_ids: Iterable[str]) -> dict[str, Place]:
        sql = f"SELECT id, key, at, content FROM episodes WHERE ns = ? AND id IN {_THESE}"
        found = self._execute(sql, (self._ns, _packed(episode_ids)))
        return {id_: Place(key, at, rows.quotable(text)) for id_, key, at, text in found}

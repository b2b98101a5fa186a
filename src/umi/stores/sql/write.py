"""A write transaction on one namespace of the SQLite store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import ClassVar, Final

from umi import limits
from umi._core.invariants import check
from umi._core.vectors import pack
from umi.errors import EmbedderMismatch, InvalidInput, NotFound, StoreCorrupt, UmiError
from umi.limits import CHANGE_LOG_SEQUENCES_COUNT_MAX
from umi.ports import EmbedderIdentity, EpisodeRow, Matrix, PackedVectors, ReplayRow
from umi.stores.namespace_view import another_embedder, packed_fault, vector_fault
from umi.stores.sql import rows as codec
from umi.stores.sql.blocks import block_of, blocks_count, seal, unseal
from umi.stores.sql.cache import Head, IndexCache
from umi.stores.sql.connection import Connection
from umi.stores.sql.crc import checksum
from umi.stores.sql.deletions import count_deletion
from umi.stores.sql.embedder import embedder_values
from umi.stores.sql.erase import ErasingTransaction
from umi.stores.sql.keys import ARRIVAL_MASK, arrival_of, key_of
from umi.stores.sql.many_rows import insert
from umi.stores.sql.read import Place
from umi.types import ChangeKind, Entity, Episode, EvolutionRelation, OutboxItem

_THESE: Final = "(SELECT value FROM json_each(?))"
_LAST: Final = 1 << 62  # sorts entities without a span after those with one


def _marks(count: int) -> str:
    return ", ".join("?" * count)


_PUT_RELATION: Final = (
    f"INSERT OR REPLACE INTO relations SELECT {_marks(17)}"
    " WHERE EXISTS (SELECT 1 FROM entities WHERE ns = ? AND id = ?)"
    " AND EXISTS (SELECT 1 FROM entities WHERE ns = ? AND id = ?)"
)
_PUT_OUTBOX: Final = f"INSERT OR REPLACE INTO outbox VALUES ({_marks(8)})"


class SqlTransaction(ErasingTransaction):
    """A write transaction; see `umi.ports.Transaction`.

    An error raised by one of its methods fails the whole transaction, even if the caller's closure swallows it: nothing
    half-done may commit.
    """

    _taken: ClassVar[type[Exception]]  # the driver's error where a row of this id is there already

    def __init__(self, db: Connection, namespace: str, head: Head, cache: IndexCache) -> None:
        super().__init__(db, namespace, head, cache)
        self._next_arrival = head.next_arrival
        self._embedder = head.embedder
        self._known: dict[str, Place] = {}  # places of episodes that were added here or looked up
        self._placed: dict[int, int] = {}  # of episodes that were added here, by key: the next place of an entity
        self._noted: dict[tuple[ChangeKind, str], None] = {}  # what was done, each once
        self._refused: UmiError | None = None
        self._changes_before = db.total_changes()

    def conclude(self) -> bool:
        """Advance the namespace's sequence if anything changed; returns whether it did.

        Raises:
            UmiError: What a method raised before.
        """
        if self._refused is not None:
            raise self._refused
        # A closure that changed nothing leaves the sequence as it is, and nothing is committed.
        if self._db.total_changes() == self._changes_before:
            return False
        if self._dropped:
            count_deletion(self._db)
            return True
        self._seal()
        sequence = self._head.sequence + 1
        insert(self._db, "INSERT INTO events", self._events_at(sequence))
        changes_from = self._log(sequence) if self._touched else self._head.changes_from
        if self._erased:
            count_deletion(self._db)
        if self._reworded:
            # No index can follow new words for an old episode. With an empty change log every process rebuilds its own.
            changes_from = sequence + 1
        head = sequence, self._next_arrival, changes_from
        self._execute(
            "UPDATE namespaces SET sequence = ?, next_arrival = ?, changes_from = ?, crc = ? WHERE ns = ?",
            (*head, checksum((self._ns, self._namespace, *head)), self._ns),
        )
        return True

    def episodes(self, ids: Iterable[str]) -> dict[str, Episode]:
        found = super().episodes(ids)
        # What is written of them next needs no look-up of its own.
        self._known |= {one.id: _place(key_of(self._ns, one.arrival), one) for one in found.values()}
        return found

    def vectors(self, episode_ids: Iterable[str]) -> dict[str, Matrix]:
        # An episode that was added here has vectors only if they were added here, too.
        return super().vectors(id_ for id_ in episode_ids if not self._is_bare(id_))

    def _is_bare(self, episode_id: str) -> bool:
        place = self._known.get(episode_id)
        return place is not None and place.key in self._placed and place.key not in self._touched

    def next_arrival(self) -> int:
        return self._next_arrival

    def add_episodes(self, rows: Sequence[EpisodeRow]) -> None:
        episodes, terms, labels = [], [], []
        for row in rows:
            episode = row.episode
            # Arrivals only grow: indexes and cursors rely on it.
            check(
                self._next_arrival <= episode.arrival <= ARRIVAL_MASK,
                f"arrival {episode.arrival} of {episode.id} is not new: the next is {self._next_arrival}",
            )
            self._next_arrival = episode.arrival + 1
            key = key_of(self._ns, episode.arrival)
            values = codec.episode_values(episode, key, self._ns)
            episodes.append(values)
            terms.append(codec.term_values(row, key))
            labels += codec.label_values(episode, key, self._ns, self._as_label)
            self._note(ChangeKind.REMEMBERED, episode.id)
            self._known[episode.id] = _place(key, episode)
            self._placed[key] = 0
        self._insert("INSERT INTO episodes", episodes, "an episode")
        self._insert("INSERT INTO terms", terms, "an episode")
        insert(self._db, "INSERT INTO labels", labels)

    def rewrite_episode(self, row: EpisodeRow) -> None:
        super().rewrite_episode(row)
        self._known.pop(row.episode.id, None)  # with its old words

    def add_entities(self, entities: Sequence[Entity]) -> None:
        if not entities:
            return
        # All look-ups for a batch of entities in two statements.
        where = self._where(entity.episode_id for entity in entities)
        places = self._next_places(where)
        values, mentions = [], []
        # Places within an episode follow the order of spans.
        for entity in sorted(entities, key=_span):
            place = where[entity.episode_id]
            number = places.get(place.key, 0)
            values.append(codec.entity_values(entity, place.key, number, self._ns, place.at, place.text))
            mentions += codec.mention_values(entity, place.key, number, self._ns)
            places[place.key] = number + 1
            if place.key in self._placed:
                self._placed[place.key] = number + 1
            self._note(ChangeKind.READ, entity.episode_id)
        self._insert("INSERT INTO entities", values, "an entity")
        insert(self._db, "INSERT INTO mentions", mentions)

    def claim_embedder(self, identity: EmbedderIdentity) -> None:
        if self._embedder is None:
            self._execute("INSERT INTO meta VALUES (?, ?, ?)", embedder_values(identity))
            self._embedder = identity
        elif self._embedder != identity:
            raise self._refuse(EmbedderMismatch(another_embedder(self._embedder, identity)))

    def add_vectors(self, vectors: Mapping[str, Matrix]) -> None:
        if not vectors:
            return
        dimensions = self._dimensions()
        packed = {}
        for episode_id, windows in vectors.items():
            # Refused before anything is written: vectors of two embedders must not mix.
            fault = vector_fault(episode_id, windows, dimensions)
            if fault is not None:
                raise self._refuse(fault)
            dimensions = int(windows.shape[1])
            packed[episode_id] = PackedVectors(dimensions, pack(windows))
        self._put_packed(packed)

    def add_packed(self, vectors: Mapping[str, PackedVectors]) -> None:
        dimensions = self._dimensions()
        for episode_id, one in vectors.items():
            fault = packed_fault(episode_id, one, dimensions)
            if fault is not None:
                raise self._refuse(fault)
        self._put_packed(vectors)

    def _put_packed(self, vectors: Mapping[str, PackedVectors]) -> None:
        where = self._where(vectors)
        values = [codec.vector_values(where[id_].key, one.dimensions, one.blob) for id_, one in vectors.items()]
        insert(self._db, "INSERT OR REPLACE INTO vectors", values)
        self._touched.update(where[id_].key for id_ in vectors)

    def remove_vectors(self, episode_id: str) -> bool:
        """Delete an episode's vectors; True if it had any."""
        place = self._places([episode_id]).get(episode_id)
        if place is None or not self._changed("DELETE FROM vectors WHERE key = ?", place.key):
            return False
        self._touch(place.key)
        return True

    def put_relation(self, relation: EvolutionRelation) -> None:
        source, target = relation.source_id, relation.target_id
        self._note(ChangeKind.RELATED, relation.id)
        values = codec.relation_values(relation, self._ns)
        if not self._changed(_PUT_RELATION, *values, self._ns, source, self._ns, target):
            raise self._refuse(
                NotFound(f"relation {relation.id} joins {sorted({source, target})}, and not all of them are here")
            )

    def set_validity(self, entity_id: str, valid_to: datetime | None, invalidated_at: datetime | None) -> None:
        values = codec.validity_values(entity_id, valid_to, invalidated_at)
        sql = "UPDATE entities SET valid_to = ?, invalidated_at = ?, validity_crc = ? WHERE ns = ? AND id = ?"
        if not self._changed(sql, *values, self._ns, entity_id):
            raise self._refuse(NotFound(f"entity {entity_id} is not here"))

    def add_alias(self, alias: str, subject: str) -> None:
        self._execute("INSERT OR IGNORE INTO aliases VALUES (?, ?, ?, ?)", codec.summed((self._ns, alias, subject)))

    def add_replay(self, row: ReplayRow) -> None:
        self._insert("INSERT INTO replays", [codec.replay_values(row, self._ns)], "an idempotency key")

    def put_outbox(self, item: OutboxItem) -> None:
        place = self._where([item.episode_id])[item.episode_id]
        self._execute(_PUT_OUTBOX, codec.outbox_values(item, place.key))

    def remove_outbox(self, episode_id: str) -> None:
        self._execute(
            "DELETE FROM outbox WHERE key = (SELECT key FROM episodes WHERE ns = ? AND id = ?)", (self._ns, episode_id)
        )

    def set_restoring(self, note: str | None) -> None:
        if note is None:
            self._execute("DELETE FROM meta WHERE name = ?", (self._restoring_name,))
        else:
            self._execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", codec.summed((self._restoring_name, note)))

    def delete_episode(self, episode_id: str) -> bool:
        place = self._places([episode_id]).get(episode_id)
        if place is None:
            return False
        key, ns = place.key, self._ns
        entities = codec.json_array(id_ for (id_,) in self._execute("SELECT id FROM entities WHERE key = ?", (key,)))
        # Relations first, while the ids of the entities are known.
        for end in ("source_id", "target_id"):
            self._execute(f"DELETE FROM relations WHERE ns = ? AND {end} IN {_THESE}", (ns, entities))
        self.learned.forget([arrival_of(key)])
        self._drop_labels(key)
        for table in ("mentions", "entities", "outbox", "vectors", "terms", "episodes"):
            self._execute(f"DELETE FROM {table} WHERE key = ?", (key,))
        self._known.pop(episode_id, None)
        self._placed.pop(key, None)
        self._touch(key)
        self._note(ChangeKind.DELETED, episode_id)
        self._erased = True
        return True

    def _events_at(self, sequence: int) -> list[tuple[codec.Value, ...]]:
        noted = enumerate(self._noted)
        return [codec.summed((self._ns, sequence, place, str(kind), id_)) for place, (kind, id_) in noted]

    def _insert(self, into: str, values: Sequence[tuple[codec.Value, ...]], what: str) -> None:
        try:
            insert(self._db, into, values)
        except self._taken as error:
            taken = f"{what} of this id is here already ({error}): each is written once"
            raise self._refuse(InvalidInput(taken)) from error

    def _changed(self, sql: str, *values: codec.Value) -> bool:
        self._execute(sql, values)
        return self._db.changes() > 0

    def _refuse(self, error: UmiError) -> UmiError:
        """Note an error, so that the transaction cannot commit, and return it to be raised."""
        self._refused = error
        return error

    def _note(self, kind: ChangeKind, id_: str) -> None:
        self._noted[kind, id_] = None

    def _touch(self, key: int) -> None:
        self._touched.add(key)

    def _seal(self) -> None:
        """Seal the blocks that are due, some at a time, and those of which a message has changed."""
        sealed = self._head.blocks
        due = range(sealed, min(self._due(), sealed + limits.STORE_BLOCKS_SEALED_COUNT))
        changed = {block_of(arrival_of(key)) for key in self._touched}
        for number in sorted({*due, *(number for number in changed if number < sealed)}):
            try:
                seal(self._db, self._ns, number)
            except StoreCorrupt:
                # A damaged row refuses what reads it, not the writes beside it: it is read from its own row as before.
                if number < sealed:
                    unseal(self._db, self._ns, number)
                return

    def _due(self) -> int:
        """How many blocks there should be. A block with a message that waits to be embedded would be sealed for each once more."""
        count = blocks_count(self._next_arrival)
        if count <= self._head.blocks:
            return count
        start, end = (key_of(self._ns, number * limits.STORE_BLOCK_COUNT) for number in (self._head.blocks, count))
        waiting = self._one("SELECT coalesce(min(key), ?) FROM outbox WHERE key >= ? AND key < ?", end, start, end)
        return block_of(arrival_of(waiting))

    def _log(self, sequence: int) -> int:
        """Log the changed keys for existing indexes, and trim the log.

        Returns:
            The first sequence whose entries are still kept.
        """
        known = key_of(self._ns, self._head.next_arrival)  # no index holds a later episode yet
        changes = [codec.summed((self._ns, sequence, key)) for key in sorted(self._touched) if key < known]
        insert(self._db, "INSERT OR IGNORE INTO changes", changes)
        oldest = sequence - CHANGE_LOG_SEQUENCES_COUNT_MAX + 1
        # The log is bounded by sequences. An index that is older than its beginning is rebuilt.
        if not changes or oldest <= self._head.changes_from:
            return self._head.changes_from
        self._execute("DELETE FROM changes WHERE ns = ? AND sequence < ?", (self._ns, oldest))
        return oldest

    def _where(self, episode_ids: Iterable[str]) -> dict[str, Place]:
        """The places of these episodes.

        Raises:
            NotFound: When one of them is not in this namespace.
        """
        wanted = list(dict.fromkeys(episode_ids))
        others = [id_ for id_ in wanted if id_ not in self._known]
        if others:
            self._known |= self._places(others)
        missing = [id_ for id_ in others if id_ not in self._known]
        if missing:
            raise self._refuse(NotFound(f"no such episode in namespace {self._namespace!r}: {', '.join(missing[:5])}"))
        return {id_: self._known[id_] for id_ in wanted}

    def _next_places(self, where: Mapping[str, Place]) -> dict[int, int]:
        """The next free place of each episode that has entities, by key; those stored here have none yet but ours."""
        wanted = [place.key for place in where.values() if place.key not in self._placed]
        if not wanted:
            return self._placed
        keys = f"[{','.join(map(str, wanted))}]"
        sql = f"SELECT key, max(place) + 1 FROM entities WHERE key IN {_THESE} GROUP BY key"
        return self._placed | dict(self._execute(sql, (keys,)))

    def _dimensions(self) -> int:
        """The dimensions of stored vectors, 0 while there are none and no embedder is registered."""
        # The registered embedder's, else those of any vector.
        return self._embedder.dimensions if self._embedder else self._one("SELECT dimensions FROM vectors LIMIT 1")


def _place(key: int, episode: Episode) -> Place:
    return Place(key, codec.to_micros(episode.at), codec.quotable(episode.content))


def _span(entity: Entity) -> tuple[int, int]:
    return entity.span if entity.span is not None else (_LAST, _LAST)

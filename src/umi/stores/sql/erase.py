"""The methods of a SQLite transaction that delete or replace: contents of episodes, entities, aliases, idempotency keys."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from umi.errors import NotFound, StoreCorrupt
from umi.ports import EpisodeRow, ReplayRow
from umi.stores.namespace_view import repointed
from umi.stores.sql import rows as codec
from umi.stores.sql.connection import Row
from umi.stores.sql.crc import QUOTE
from umi.stores.sql.keys import arrival_of
from umi.stores.sql.leaving import drop_namespace
from umi.stores.sql.many_rows import delete, insert
from umi.stores.sql.read import SqlSnapshot
from umi.types import ChangeKind, Entity, EvolutionRelation

_THESE: Final = "(SELECT value FROM json_each(?))"
# What entities quote of a message that is about to have other words.
_UNQUOTED: Final = (
    f"UPDATE entities SET content = {QUOTE.format(message='(SELECT p.content FROM episodes p WHERE p.key = entities.key)', e='')}"
    " WHERE key = ? AND content = ''"
)


def _marks(count: int) -> str:
    return ", ".join("?" * count)


class ErasingTransaction(SqlSnapshot):
    """The part of `umi.ports.Transaction` that deletes and replaces."""

    _erased = False  # something was deleted, so its bytes must be removed from the file
    _reworded = False  # indexed terms have changed, so every index must be rebuilt
    _dropped = False  # the namespace itself was deleted

    @abstractmethod
    def _note(self, kind: ChangeKind, id_: str) -> None:
        """Note something that this transaction did, for `events`."""

    def rewrite_episode(self, row: EpisodeRow) -> None:
        episode = row.episode
        place = self._places([episode.id]).get(episode.id)
        if place is None:
            raise NotFound(f"no such episode in namespace {self._namespace!r}: {episode.id}")
        values = codec.episode_values(episode, place.key, self._ns)
        self._drop_labels(place.key)
        self._execute(_UNQUOTED, (place.key,))
        self._execute(f"INSERT OR REPLACE INTO episodes VALUES ({_marks(codec.EPISODE_VALUES_COUNT)})", values)
        insert(self._db, "INSERT INTO labels", codec.label_values(episode, place.key, self._ns, self._as_label))
        self._note(ChangeKind.REWORDED, episode.id)
        self._execute(f"INSERT OR REPLACE INTO terms VALUES ({_marks(5)})", codec.term_values(row, place.key))
        # They are vectors of the old words.
        self._execute("DELETE FROM vectors WHERE key = ?", (place.key,))
        self._touched.add(place.key)
        # The terms of an episode that indexes already hold have changed.
        self._erased = self._reworded = True

    def replace_entities(self, episode_id: str, entities: Mapping[str, Entity]) -> None:
        place = self._places([episode_id])[episode_id]
        found: list[Row] = self._execute("SELECT id, place FROM entities WHERE key = ?", (place.key,)).fetchall()
        places: dict[str, int] = dict(found)
        self._note(ChangeKind.READ, episode_id)
        for old in places:
            self._move_relations(old, entities[old].id if old in entities else None)
        for table in ("mentions", "entities"):
            self._execute(f"DELETE FROM {table} WHERE key = ?", (place.key,))
        # Remaining entities keep their places, so that cursors stay valid.
        for old, number in places.items():
            if old in entities:
                values = codec.entity_values(entities[old], place.key, number, self._ns, place.at, place.text)
                self._execute(f"INSERT INTO entities VALUES ({_marks(27)})", values)
                insert(
                    self._db, "INSERT INTO mentions", codec.mention_values(entities[old], place.key, number, self._ns)
                )
        self._erased = True

    def reword_relation(self, relation: EvolutionRelation) -> None:
        self._note(ChangeKind.RELATED, relation.id)
        self._execute("DELETE FROM relations WHERE ns = ? AND id = ?", (self._ns, relation.id))
        self._execute(f"INSERT INTO relations VALUES ({_marks(17)})", codec.relation_values(relation, self._ns))
        self._erased = True

    def remove_aliases(self, aliases: Iterable[str]) -> None:
        for alias in aliases:
            self._execute("DELETE FROM aliases WHERE ns = ? AND alias = ?", (self._ns, alias))
            self._erased = True

    def replays_of(self, episode_ids: Iterable[str]) -> list[ReplayRow]:
        sql = (
            f"SELECT DISTINCT {codec.REPLAY_COLUMNS} FROM replays r, json_each(r.episode_ids) e"
            f" WHERE r.ns = ? AND e.value IN {_THESE} ORDER BY r.key"
        )
        packed = codec.json_array(dict.fromkeys(episode_ids))
        return [codec.to_replay(row) for row in self._execute(sql, (self._ns, packed))]

    def replace_replay(self, key: str, row: ReplayRow) -> None:
        self._execute("DELETE FROM replays WHERE ns = ? AND key = ?", (self._ns, key))
        self._execute("INSERT OR REPLACE INTO replays VALUES (?, ?, ?, ?, ?)", codec.replay_values(row, self._ns))
        self._erased = True

    def drop_namespace(self) -> None:
        drop_namespace(self._db, self._ns, self._head.sequence, self._tables())
        self._cache.drop(self._ns)
        self._erased = self._dropped = True

    def _drop_labels(self, key: int) -> None:
        """Delete the labels of a message that is here still. They are found by what it says, so that they need no index by message."""
        try:
            (episode,) = self.episodes_at([arrival_of(key)]).values()
        except StoreCorrupt:
            self._execute("DELETE FROM labels WHERE ns = ? AND key = ?", (self._ns, key))  # looks at all labels
            return
        values = codec.label_values(episode, key, self._ns, self._as_label)
        delete(self._db, "labels", "ns, field, value, key", values)

    @abstractmethod
    def _tables(self) -> Mapping[str, Collection[str]]:
        """The columns of every table."""

    def _move_relations(self, old: str, new: str | None) -> None:
        """Give an entity's relations to its replacement, or delete them when there is none."""
        if old == new:
            return
        # Read before they are deleted; written again under the new id.
        mine = self.relations_of([old]).get(old, ())
        for end in ("source_id", "target_id"):
            self._execute(f"DELETE FROM relations WHERE ns = ? AND {end} = ?", (self._ns, old))
        for relation in mine if new else ():
            moved = repointed(relation, old, new or old)
            self._execute(f"INSERT INTO relations VALUES ({_marks(17)})", codec.relation_values(moved, self._ns))

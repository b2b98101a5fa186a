"""The methods of an in-memory transaction that delete or replace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import UTC
from functools import partial

from umi.ports import EpisodeRow, ReplayRow
from umi.stores.memory.rows import MemoryTransaction
from umi.stores.memory.space import Kept, Space, copied, whole_zone
from umi.stores.namespace_view import repointed, subjects_of
from umi.types import ChangeKind, Entity, EvolutionRelation


class ErasingTransaction(MemoryTransaction):
    """The complete `umi.ports.Transaction`: adds deleting and replacing to `MemoryTransaction`."""

    dropped = False  # the namespace itself was deleted

    def rewrite_episode(self, row: EpisodeRow) -> None:
        arrival = self._arrival(row.episode.id)
        episode = replace(
            row.episode,
            at=whole_zone(row.episode.at),
            recorded_at=row.episode.recorded_at.astimezone(UTC),
            metadata=copied(row.episode.metadata),
        )
        self._put(self._space.rows, arrival, replace(row, episode=episode))
        self._drop(self._space.vectors, arrival)
        self._note(ChangeKind.REWORDED, episode.id)
        self._touched.add(arrival)  # its vectors are gone, so `_followed` drops the index

    def replace_entities(self, episode_id: str, entities: Mapping[str, Entity]) -> None:
        arrival = self._arrival(episode_id)
        before = self._space.of_episode.get(arrival, ())
        kept = {old: self._space.entities[old] for old in before}
        # Relations of entities that disappear or change their id.
        moving = {
            old: [self._space.relations[id_] for id_ in self._space.at_end.get(old, ())]
            for old in before
            if old not in entities or entities[old].id != old
        }
        for relations in moving.values():
            for relation in relations:
                self._drop_relation(relation.id)
        self._note(ChangeKind.READ, episode_id)
        # Entities are removed under their old ids and subjects, then added under the new ones.
        for old, one in kept.items():
            for subject in subjects_of(one.entity):
                self._drop(self._space.of_subject[subject], old)
            self._drop(self._space.entities, old)
        left = [(kept[old], entities[old]) for old in before if old in entities]
        for was, entity in left:
            made = replace(entity, at=was.entity.at, arrival=arrival, metadata=copied(entity.metadata))
            self._put(self._space.entities, entity.id, Kept(made, was.place))
            for subject in subjects_of(entity):
                self._put(self._space.of_subject.setdefault(subject, {}), entity.id, None)
        if left:
            self._put(self._space.of_episode, arrival, tuple(entity.id for _, entity in left))
        else:
            self._drop(self._space.of_episode, arrival)
        for old, relations in moving.items():
            for relation in relations if old in entities else ():
                self._join(repointed(relation, old, entities[old].id))

    def reword_relation(self, relation: EvolutionRelation) -> None:
        self.put_relation(relation)

    def remove_aliases(self, aliases: Iterable[str]) -> None:
        for alias in aliases:
            self._drop(self._space.subjects, alias)

    def replays_of(self, episode_ids: Iterable[str]) -> list[ReplayRow]:
        wanted = frozenset(episode_ids)
        return [row for _, row in sorted(self._space.replays.items()) if wanted.intersection(row.episode_ids)]

    def replace_replay(self, key: str, row: ReplayRow) -> None:
        self._drop(self._space.replays, key)
        self._put(self._space.replays, row.key, row)

    def drop_namespace(self) -> None:
        empty = Space(sequence=self._space.sequence)
        for one in fields(Space):
            self._undo.append(partial(setattr, self._space, one.name, getattr(self._space, one.name)))
            setattr(self._space, one.name, getattr(empty, one.name))
        self.dropped = True

"""One namespace of a store: the two transactions that Umi uses, and the narrow methods of the seeds on top of them.

Both stores return this class, so the narrow methods behave the same in both.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, Protocol, TypeVar, overload

import numpy as np

from umi._core.ranking import bm25, idf
from umi._core.style_flags import read_traits
from umi._core.text import analyse, count_words, query_terms
from umi._core.vectors import unpack
from umi.errors import EmbedderMismatch, InvalidInput, NotFound, UmiError
from umi.limits import RECALL_LIMIT_DEFAULT
from umi.ports import Clock, EmbedderIdentity, Entropy, EpisodeRow, Matrix, PackedVectors, Snapshot, Transaction, Vector
from umi.types import Entity, Episode, EvolutionRelation, VectorHit

T = TypeVar("T")

_ROLE: Final = "user"  # of the episode made for an entity that is stored without one


class StoreSnapshot(Snapshot, Protocol):
    """What the stores' snapshots offer to the narrow methods."""

    def vectors(self, episode_ids: Iterable[str]) -> dict[str, Matrix]: ...


class StoreTransaction(StoreSnapshot, Transaction, Protocol):
    """What the stores' transactions offer to the narrow methods, beyond the port."""

    def remove_vectors(self, episode_id: str) -> bool: ...


class Transactions(Protocol):
    """A store as its namespace views use it."""

    async def read(self, namespace: str, work: Callable[[StoreSnapshot], T]) -> T: ...
    async def write(self, namespace: str, work: Callable[[StoreTransaction], T]) -> T: ...


class NamespaceView:
    """One namespace. See `umi.ports.StorageBackend` and, for vectors, `umi.ports.VectorBackend`.

    Umi keeps text, terms and vectors of a message together, as an episode. So the id of an entity, or of its episode,
    names the episode's vectors. A vector hit carries the id of the episode's first entity, or the episode's own id
    while it has none. `delete` removes the whole episode, since keeping its text would keep what was to be deleted.
    `delete` and `count` here are about entities; `vectors` is the same namespace with `delete` and `count` about
    vectors.
    """

    def __init__(self, store: Transactions, namespace: str, clock: Clock, entropy: Entropy) -> None:
        self._store = store
        self._namespace = namespace
        self._clock = clock
        self._entropy = entropy

    @property
    def namespace(self) -> str:
        return self._namespace

    @property
    def vectors(self) -> NamespaceVectors:
        """This namespace with `delete` and `count` about its vectors."""
        return NamespaceVectors(self._store, self._namespace, self._clock, self._entropy)

    async def read(self, work: Callable[[Snapshot], T]) -> T:
        return await self._store.read(self._namespace, work)

    async def write(self, work: Callable[[Transaction], T]) -> T:
        return await self._store.write(self._namespace, work)

    async def store_entity(self, entity: Entity) -> str:
        """Store an entity made by hand; without an episode it gets one with its own content.

        Returns:
            Its id. Storing the same entity again changes nothing.

        Raises:
            InvalidInput: When another entity has this id; entities never change.
            NotFound: When the episode it names is not here.
        """
        now = self._clock.now()
        episode_id = entity.episode_id or self._entropy.new_id("ep", now)

        def work(transaction: StoreTransaction) -> str:
            kept = transaction.entities([entity.id]).get(entity.id)
            # The id is a promise: under one id there is one statement.
            if kept is not None:
                if _claim(kept) != _claim(entity):
                    raise InvalidInput(f"entity {entity.id} is here already and says something else: leave the id out")
                return entity.id
            made = replace(entity, episode_id=episode_id, recorded_at=entity.recorded_at or now)
            if not entity.episode_id:
                said = entity.at or now
                episode = Episode(episode_id, entity.content, _ROLE, None, None, said, now, transaction.next_arrival())
                terms = tuple(analyse(f"{entity.name}: {entity.content}"))
                traits = read_traits(entity.content, _ROLE)
                transaction.add_episodes([EpisodeRow(episode, terms, count_words(entity.content), traits)])
                whole = (0, len(entity.content))
                made = replace(made, span=entity.span or whole, valid_from=entity.valid_from or said)
            transaction.add_entities([made])
            return entity.id

        return await self._store.write(self._namespace, work)

    async def get_entity(self, entity_id: str) -> Entity | None:
        return await self.read(lambda snapshot: snapshot.entities([entity_id]).get(entity_id))

    @overload
    async def search(self, query: str, /, limit: int = ...) -> builtins.list[Entity]: ...
    @overload
    async def search(self, query: Vector, /, limit: int = ...) -> builtins.list[VectorHit]: ...
    async def search(
        self, query: str | Vector, /, limit: int = RECALL_LIMIT_DEFAULT
    ) -> builtins.list[Entity] | builtins.list[VectorHit]:
        """By words: entities of texts that share a term with the query, by BM25. By vector: the nearest, by cosine."""
        if isinstance(query, str):
            terms = query_terms(query)
            return await self.read(lambda snapshot: _by_words(snapshot, terms, limit))
        return await self.read(lambda snapshot: _by_vector(snapshot, query, limit))

    async def list(self, *, limit: int) -> builtins.list[Entity]:
        """The first entities, in order of arrival."""
        page = await self.read(lambda snapshot: snapshot.list_entities(after=None, limit=limit))
        return [entity for _, entity in page]

    async def delete(self, id: str) -> bool:  # noqa: A002 - the seed's name
        """Delete the episode with this id, or of the entity with this id, and everything that belongs to it. True if it existed."""

        def work(transaction: StoreTransaction) -> bool:
            episode_id = _episode_of(transaction, id)
            return episode_id is not None and transaction.delete_episode(episode_id)

        return await self._store.write(self._namespace, work)

    async def count(self) -> int:
        """The number of entities."""
        return await self.read(lambda snapshot: snapshot.counts().entities)

    async def store(self, id: str, embedding: Vector) -> None:  # noqa: A002 - the seed's name
        """Store one vector for the episode with this id, or of the entity with this id; replaces those it had.

        Raises:
            NotFound: When nothing has this id: a vector cannot exist without its text.
            EmbedderMismatch: When its dimensions differ from those of the stored vectors.
        """

        def work(transaction: StoreTransaction) -> None:
            episode_id = _episode_of(transaction, id)
            if episode_id is None:
                raise NotFound(f"{id} is no entity or episode of namespace {self._namespace!r}: store that first")
            # A single vector is one window.
            transaction.add_vectors({episode_id: np.atleast_2d(np.asarray(embedding, np.float32))})

        await self._store.write(self._namespace, work)

    async def exists(self, id: str) -> bool:  # noqa: A002 - the seed's name
        """Whether a vector is stored for this id."""
        return await self.get(id) is not None

    async def get(self, id: str) -> Vector | None:  # noqa: A002 - the seed's name
        """The vector stored for this id, in half precision; for a long text that of its first window."""

        def work(snapshot: StoreSnapshot) -> Vector | None:
            episode_id = _episode_of(snapshot, id)
            windows = None if episode_id is None else snapshot.vectors([episode_id]).get(episode_id)
            return None if windows is None else windows[0]

        return await self._store.read(self._namespace, work)


class NamespaceVectors(NamespaceView):
    """One namespace's vectors: `delete` and `count` are about them, texts stay. See `umi.ports.VectorBackend`."""

    async def delete(self, id: str) -> bool:  # noqa: A002 - the seed's name
        """Delete the vectors stored for this id; the text stays and is found by words. True if there were any."""

        def work(transaction: StoreTransaction) -> bool:
            episode_id = _episode_of(transaction, id)
            return episode_id is not None and transaction.remove_vectors(episode_id)

        return await self._store.write(self._namespace, work)

    async def count(self) -> int:
        """The number of episodes that have a vector."""
        return await self.read(lambda snapshot: snapshot.counts().vectors)


REEMBED_WHY: Final = "its vectors came from another embedder"  # the reason in outbox items


def another_embedder(kept: EmbedderIdentity, given: EmbedderIdentity) -> str:
    """The message for a store whose vectors come from another embedder."""
    return (
        f"the vectors here come from {kept.name} ({kept.dimensions} dimensions, {kept.digest[:12]}), not from {given.name} "
        f"({given.dimensions} dimensions, {given.digest[:12]}): use the embedder that made them, or give all "
        "of it vectors of this one with `umi reembed`"
    )


def vector_fault(episode_id: str, windows: Matrix, dimensions: int) -> UmiError | None:
    """Why these windows cannot be stored for an episode, or None.

    Args:
        episode_id: The episode's id, for the message.
        windows: The vectors, shape (windows, dimensions).
        dimensions: Those of the stored vectors, 0 while there are none.
    """
    if windows.ndim != 2 or 0 in windows.shape:
        return InvalidInput(
            f"vectors of {episode_id} have shape {windows.shape}: give (windows, dimensions), neither 0"
        )
    if not np.isfinite(windows).all():
        return InvalidInput(f"vectors of {episode_id} hold a number that is not finite: the embedder is at fault")
    # 0: no vectors are stored yet, so any dimensions are fine.
    if dimensions not in (0, windows.shape[1]):
        return EmbedderMismatch(
            f"vectors of {episode_id} have {windows.shape[1]} dimensions, those kept have {dimensions}: "
            "use the embedder that made them, or import everything into a new file"
        )
    return None


def packed_fault(episode_id: str, packed: PackedVectors, dimensions: int) -> UmiError | None:
    """As `vector_fault`, for windows that are packed."""
    if packed.dimensions < 1 or not packed.blob or len(packed.blob) % (2 * packed.dimensions):
        return InvalidInput(
            f"vectors of {episode_id} have {len(packed.blob)} bytes, which are no rows of {packed.dimensions} dimensions"
        )
    return vector_fault(episode_id, unpack(packed.blob, packed.dimensions), dimensions)


def subjects_of(entity: Entity) -> dict[str, None]:
    """The keys under which an entity is found: its subject's and those of its further subjects."""
    return dict.fromkeys((entity.subject, *entity.also))


def repointed(relation: EvolutionRelation, old: str, new: str) -> EvolutionRelation:
    """A relation in which the id `old` is replaced by `new`, at either end."""
    ends = {old: new}
    source, target = ends.get(relation.source_id, relation.source_id), ends.get(relation.target_id, relation.target_id)
    return replace(relation, source_id=source, target_id=target)


def _claim(entity: Entity) -> tuple[object, ...]:
    """What an entity says; two entities with the same id must agree in it."""
    return (entity.entity_type, entity.name, entity.content, entity.subject, entity.slot, entity.value, entity.negated)


def _episode_of(snapshot: Snapshot, id_: str) -> str | None:
    """The episode of an entity or episode id, or None."""
    entity = snapshot.entities([id_]).get(id_)
    if entity is not None:
        return entity.episode_id
    return id_ if snapshot.episodes([id_]) else None


def _by_words(snapshot: Snapshot, terms: list[str], limit: int) -> list[Entity]:
    candidates = snapshot.text_candidates(terms)
    scores = bm25(candidates.turn, float(idf(candidates.turn).sum()))
    # By falling score; of equal ones the first to arrive.
    best = sorted(zip((-scores).tolist(), candidates.keys.tolist(), strict=True))
    episodes = snapshot.episodes_at([key for score, key in best[:limit] if score < 0])
    entities = snapshot.entities_of([episode.id for episode in episodes.values()])
    wanted = frozenset(terms)
    found: list[Entity] = []
    for _, key in best[:limit]:
        if key in episodes:
            mine = entities.get(episodes[key].id, ())
            found.extend(sorted(mine, key=lambda entity: -len(wanted.intersection(analyse(entity.content)))))
    return found[:limit]


def _by_vector(snapshot: Snapshot, embedding: Vector, limit: int) -> list[VectorHit]:
    candidates = snapshot.vector_candidates(embedding, pool=limit)
    # By falling cosine; of equal ones the first to arrive.
    best = sorted(zip((-candidates.cosine).tolist(), candidates.keys.tolist(), strict=True))[:limit]
    episodes = snapshot.episodes_at([key for _, key in best])
    entities = snapshot.entities_of([episode.id for episode in episodes.values()])
    found = []
    for minus, key in best:
        episode_id = episodes[key].id
        first = entities.get(episode_id)
        found.append(VectorHit(first[0].id if first else episode_id, -minus))
    return found

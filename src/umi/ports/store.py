"""What Umi needs from the world, as Protocols. Adapters satisfy them; pipelines know nothing else.

A store is used through two closures, `read` and `write`. Each runs whole inside one transaction, on the store's own worker,
and never awaits: so every row, vector, posting and state that one recall sees comes from one snapshot, a detection by
rules cannot race with another process, and a cancelled task cannot leave a transaction open.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import NamedTuple, Protocol, TypeVar, overload

from umi.ports.candidates import NO_KEYS, Eligible, Keys, Surroundings, TextCandidates, VectorCandidates
from umi.ports.models import EmbedderIdentity, Matrix, Vector
from umi.types import (
    Change,
    Entity,
    Episode,
    EvolutionRelation,
    NamespaceInfo,
    Origin,
    OutboxItem,
    VectorHit,
)
from umi.types.erasure_proof import ErasureProof, Findable, NGramDigest
from umi.types.filters import EVERYTHING, Filter
from umi.types.learning_rows import LearnedRows, LearnedWrites
from umi.types.periods import ALWAYS, During, HistoryCounts
from umi.types.routing_rows import RoutedRows, RoutedWrites
from umi.types.sessions import SessionInfo

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """An episode with its already analysed terms, repeats kept; `words` counts words before stop words went, `traits` is of `umi._core.style_flags`."""

    episode: Episode
    terms: tuple[str, ...]
    words: int
    traits: int = 0


@dataclass(frozen=True, slots=True)
class PackedVectors:
    """An episode's windows as `umi._core.vectors.pack` made them: a copy of them is the same to the last bit."""

    dimensions: int
    blob: bytes


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """What an idempotency key stands for: the content's digest and the episodes it made."""

    key: str
    digest: str
    episode_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Examined:
    """What of a proof was found: `raw` in any byte of the files, `live` in rows of any namespace.

    `files_searched` is False for a store that cannot read the database's files; `raw` is empty then.
    """

    raw: frozenset[NGramDigest]
    live: frozenset[NGramDigest]
    files_searched: bool = True


@dataclass(frozen=True, slots=True)
class Counts:
    """Sizes of a namespace."""

    episodes: int
    entities: int
    vectors: int
    waiting: int
    evolutions: Mapping[str, int]
    store_bytes: int
    cache_bytes: int


class Source(NamedTuple):
    """Who made the words of an episode, and the zone that its time was given in."""

    origin: Origin
    zone: tzinfo


@dataclass(frozen=True, slots=True)
class EpisodesRead:
    """Episodes by arrival; by id of each its entities, in order of span; by id of each entity its relations, oldest first.

    An episode without entities and an entity without relations have no key.
    """

    episodes: dict[int, Episode]
    entities: dict[str, tuple[Entity, ...]]
    relations: dict[str, tuple[EvolutionRelation, ...]]


@dataclass(frozen=True, slots=True)
class DayCount:
    """How often something happened on a day, which is counted from 1970-01-01 on, UTC.

    `what` is "remembered" or "waiting" of messages, a type of evolution, "settled" or "undone" of relations.
    """

    day: int
    what: str
    count: int


class Snapshot(Protocol):
    """One namespace as of one committed moment. Lives only inside `read` or `write`."""

    @property
    def namespace(self) -> str: ...
    @property
    def sequence(self) -> int:
        """Grows by one with every write transaction of this namespace; 0 when it has none."""
        ...

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """The embedder whose vectors the store keeps; None where none is registered."""
        ...

    @property
    def learned(self) -> LearnedRows:
        """What outcomes have taught here."""
        ...

    @property
    def routed(self) -> RoutedRows:
        """Where tasks were sent here."""
        ...

    def episodes(self, ids: Iterable[str]) -> dict[str, Episode]: ...
    def sources(self, episode_ids: Iterable[str]) -> dict[str, Source]:
        """Who made the words of each of these episodes, and its zone: less work than `episodes`, for many of them."""
        ...

    def episodes_at(self, keys: Iterable[int]) -> dict[int, Episode]: ...
    def read_at(self, keys: Iterable[int]) -> EpisodesRead:
        """What `episodes_at`, `entities_of` and `relations_of` say of these arrivals, in one round trip to the database."""
        ...

    def entities(self, ids: Iterable[str]) -> dict[str, Entity]: ...
    def entities_of(self, episode_ids: Iterable[str]) -> dict[str, tuple[Entity, ...]]:
        """Per episode its entities in order of span; an episode without entities has no key."""
        ...

    def statements(
        self,
        subject: str,
        *,
        limit: int,
        where: Filter = EVERYTHING,
        before: str | None = None,
        during: During = ALWAYS,
    ) -> list[Entity]:
        """What was said about a subject, newest first by (at, arrival), then span; of the filter's messages and types, and of these times.

        `before` is the id of a statement that the first one follows in this order; an unknown id is followed by none.
        """
        ...

    def statements_in(
        self, pairs: Sequence[tuple[str, str]], *, limit: int, open_from: datetime | None = None
    ) -> dict[tuple[str, str], list[Entity]]:
        """For each (subject, slot) its statements, newest first, at most `limit` each, in one look-up for all of them.

        With `open_from` those are left out that were said before this moment and had ended by then.
        """
        ...

    def list_entities(
        self, *, after: tuple[int, int] | None, limit: int, where: Filter = EVERYTHING, newest: bool = False
    ) -> list[tuple[tuple[int, int], Entity]]:
        """A page in order of (arrival, place within the episode), each with its cursor; of the filter's messages and types.

        `newest` turns the order round; `after` is then the cursor that the page follows in that order.
        """
        ...

    def list_episodes(
        self, *, after: int | None, limit: int, where: Filter = EVERYTHING, newest: bool = False
    ) -> list[Episode]:
        """A page in order of arrival, of those after one; `newest` turns the order round. With types those with a statement of one."""
        ...

    def relations(self, ids: Iterable[str]) -> dict[str, EvolutionRelation]: ...
    def relations_of(self, entity_ids: Iterable[str]) -> dict[str, tuple[EvolutionRelation, ...]]:
        """Per entity every relation at either end, undone ones too, by (created_at, id)."""
        ...

    def undecided(self, *, after: str | None, limit: int) -> list[EvolutionRelation]:
        """Open contradictions and updates that do not act, none of them undone or settled, by descending id; those below `after`."""
        ...

    def periods(self, subject: str, parts: int) -> HistoryCounts:
        """How many of the statements about a subject begin in each of so many parts of the time that they take, on both axes."""
        ...

    def days(self, since: datetime, until: datetime) -> list[DayCount]:
        """What happened within [since, until), by day and then by what; see `DayCount`. Days without anything are left out."""
        ...

    def subjects_of(self, aliases: Iterable[str]) -> dict[str, str]:
        """Per normalised alias the subject key that it stands for; what is no alias has no key."""
        ...

    def aliases(self, subject: str) -> tuple[str, ...]: ...
    def sessions(self, *, after: str | None, limit: int) -> list[SessionInfo]:
        """Sessions in order of name, those after `after`. Episodes without a session are in none."""
        ...

    def replays(self, keys: Iterable[str]) -> dict[str, ReplayRow]: ...
    def outbox(self, limit: int) -> list[OutboxItem]:
        """Waiting work in order of arrival."""
        ...

    def counts(self) -> Counts: ...
    def text_candidates(
        self, terms: Sequence[str], *, also: Keys = NO_KEYS, where: Filter = EVERYTHING
    ) -> TextCandidates:
        """Those that share a term, those asked for, with a filter also the best of its messages; and the neighbours of all these."""
        ...

    def vector_candidates(
        self, embedding: Vector, *, also: Keys = NO_KEYS, pool: int, where: Filter = EVERYTHING
    ) -> VectorCandidates:
        """The `pool` nearest, those asked for, and at least the `pool` nearest of the filter's messages.

        A second call with the same embedding need not compare again.
        """
        ...

    def among(self, keys: Keys, where: Filter) -> Eligible:
        """For each of these candidates whether it is one of the filter's messages, with a statement of its types; and how many are."""
        ...

    def vectors(self, episode_ids: Iterable[str]) -> dict[str, Matrix]:
        """Per episode its windows as kept; an episode without vectors has no key."""
        ...

    def surroundings(self, keys: Keys) -> Surroundings:
        """Where candidates stand, in the order of their keys."""
        ...

    def speakers(self, terms: Iterable[str]) -> frozenset[str]:
        """Those of the terms by which somebody is called who said something here."""
        ...

    def catch_up(self) -> bool:
        """Bring what is searched some way on to this snapshot; False while it is not there, and another turn is wanted.

        Needed by nobody: a leg that is asked does what is left at once, and whoever else wants the store waits for it.
        """
        ...

    # Everything, one row at a time and never more than a row in memory; to be read to its end inside the transaction.

    def scan_episodes(self, where: Filter = EVERYTHING) -> Iterator[tuple[EpisodeRow, PackedVectors | None]]:
        """Every episode with its windows, in order of arrival; with types those that have a statement of one."""
        ...

    def scan_entities(self, where: Filter = EVERYTHING) -> Iterator[Entity]:
        """In order of (arrival, place within the episode); of the filter's messages, all of their statements."""
        ...

    def changes(self, after: int, limit: int) -> list[Change]:
        """What writes did whose sequence is above `after`, oldest first; the last write is never cut in two.

        At most `limit`, or the whole of one write that did more.
        """
        ...

    def first_expiry(self) -> datetime | None:
        """The earliest moment at which a message expires; None when none ever does."""
        ...

    def expired(self, now: datetime, limit: int) -> list[str]:
        """The episodes that have expired by now, the earliest first."""
        ...

    def scan_relations(self) -> Iterator[EvolutionRelation]:
        """By id, undone ones too."""
        ...

    def scan_aliases(self) -> Iterator[tuple[str, str]]:
        """Alias and subject, by alias."""
        ...

    def scan_replays(self) -> Iterator[ReplayRow]:
        """By key."""
        ...

    def scan_outbox(self) -> Iterator[OutboxItem]:
        """In order of arrival."""
        ...

    def restoring(self) -> str | None:
        """What an unfinished restore noted of itself, None when there is none."""
        ...


class Transaction(Snapshot, Protocol):
    """A snapshot that can change. All of it commits, or none.

    Reads see the transaction's own writes, but for the two candidate legs, which may answer as of the last commit.
    """

    @property
    def learned(self) -> LearnedWrites: ...
    @property
    def routed(self) -> RoutedWrites: ...
    def next_arrival(self) -> int: ...
    def add_episodes(self, rows: Sequence[EpisodeRow]) -> None: ...
    def add_entities(self, entities: Sequence[Entity]) -> None: ...
    def claim_embedder(self, identity: EmbedderIdentity) -> None:
        """Register the embedder whose vectors will follow; raises `EmbedderMismatch` where another is registered."""
        ...

    def add_vectors(self, vectors: Mapping[str, Matrix]) -> None:
        """Windows by episode id; replaces what was there."""
        ...

    def add_packed(self, vectors: Mapping[str, PackedVectors]) -> None:
        """As `add_vectors`, for windows that a store kept before."""
        ...

    def put_relation(self, relation: EvolutionRelation) -> None:
        """Insert, or replace the row of the same id."""
        ...

    def set_validity(self, entity_id: str, valid_to: datetime | None, invalidated_at: datetime | None) -> None: ...
    def add_alias(self, alias: str, subject: str) -> None:
        """The first owner of an alias keeps it."""
        ...

    def add_replay(self, row: ReplayRow) -> None: ...
    def put_outbox(self, item: OutboxItem) -> None:
        """Insert, or replace the item of the same episode."""
        ...

    def remove_outbox(self, episode_id: str) -> None: ...
    def set_restoring(self, note: str | None) -> None: ...
    def rewrite_episode(self, row: EpisodeRow) -> None:
        """Put other words in the place of those of the episode of the same id; its vectors go, what is read in it stays."""
        ...

    def replace_entities(self, episode_id: str, entities: Mapping[str, Entity]) -> None:
        """Put others in the place of an episode's entities, by the id that each has now; those left out go with their relations.

        One that gets another id keeps its relations. What was learned stays under the ids from before, until
        `learned.inherit` or `learned.forget` is called.
        """
        ...

    def reword_relation(self, relation: EvolutionRelation) -> None:
        """Put a relation in the place of the one of its id, whose words are to be gone."""
        ...

    def remove_aliases(self, aliases: Iterable[str]) -> None: ...
    def replays_of(self, episode_ids: Iterable[str]) -> list[ReplayRow]:
        """The keys that stand for any of these episodes, by key."""
        ...

    def replace_replay(self, key: str, row: ReplayRow) -> None:
        """Put another row in the place of a key's."""
        ...

    def delete_episode(self, episode_id: str) -> bool:
        """The episode and all that hangs on it: entities, terms, vectors, outbox, relations. True if it was there."""
        ...

    def drop_namespace(self) -> None:
        """Every row of this namespace, and its name. Nothing else may be done in the transaction afterwards.

        A namespace of this name that is written to later begins with arrival 0 and a sequence that no namespace had before.
        """
        ...


class StorageBackend(Protocol):
    """One namespace's rows (seed 004), and the transactions that pipelines use."""

    @property
    def namespace(self) -> str: ...
    async def read(self, work: Callable[[Snapshot], T]) -> T: ...
    async def write(self, work: Callable[[Transaction], T]) -> T: ...
    async def store_entity(self, entity: Entity) -> str:
        """Keep an entity made by hand; without an episode it gets one of its own content. Returns its id."""
        ...

    async def get_entity(self, entity_id: str) -> Entity | None: ...
    async def search(self, query: str, /, limit: int) -> list[Entity]: ...
    async def list(self, *, limit: int) -> list[Entity]: ...
    async def delete(self, id: str) -> bool: ...  # noqa: A002 - the seed's name
    async def count(self) -> int: ...


class VectorBackend(Protocol):
    """One namespace's vectors (seed 004), by entity or episode id."""

    async def read(self, work: Callable[[Snapshot], T]) -> T: ...
    async def store(self, id: str, embedding: Vector) -> None: ...  # noqa: A002
    async def search(self, query: Vector, /, limit: int) -> list[VectorHit]: ...
    async def exists(self, id: str) -> bool: ...  # noqa: A002
    async def get(self, id: str) -> Vector | None: ...  # noqa: A002
    async def delete(self, id: str) -> bool: ...  # noqa: A002
    async def count(self) -> int: ...


class NamespaceStore(StorageBackend, VectorBackend, Protocol):
    """One object that is both, so that one snapshot serves rows, words and vectors."""

    @overload
    async def search(self, query: str, /, limit: int) -> builtins.list[Entity]: ...
    @overload
    async def search(self, query: Vector, /, limit: int) -> builtins.list[VectorHit]: ...


class Replica(Protocol):
    """A copy of a store that follows it and is only read."""

    def namespace(self, name: str) -> NamespaceStore: ...
    async def stale_s(self) -> float | None:
        """How old what it shows from now on may be at most, in seconds; None where it cannot tell."""
        ...

    async def close(self) -> None: ...


class Store(Protocol):
    """All namespaces of one database."""

    def namespace(self, name: str) -> NamespaceStore: ...
    async def namespaces(self) -> list[NamespaceInfo]: ...
    async def namespaces_with_expired(self, now: datetime) -> list[str]:
        """Names of the namespaces that hold a message which has expired by now, in order."""
        ...

    async def embedder_identity(self) -> EmbedderIdentity | None: ...
    async def set_embedder_identity(self, identity: EmbedderIdentity) -> None:
        """Kept with the first vectors; raises `EmbedderMismatch` if another is kept already."""
        ...

    async def replace_embedder(self, identity: EmbedderIdentity) -> int:
        """Keep this one instead, in one transaction: every vector goes, and every episode waits in the outbox for its own.

        Returns how many wait.
        """
        ...

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> int:
        """Copy the whole database, as of one moment, into a new file while others go on writing; its size in bytes.

        `progress` gets the pages done and the pages in all, from another thread. Raises `StoreUnavailable` where there
        is nothing to copy, or the file is there already.
        """
        ...

    async def clean(self, proof: Findable | None) -> bool:
        """See that no byte of what was deleted stays in the file; False while others still read it: `maintain` tries again.

        A store on a server lets it reuse the space, and can say nothing of its logs, replicas and backups. `proof` tells what was deleted just before; None when that is not known any more.
        """
        ...

    async def unclean(self) -> bool:
        """Whether bytes of something deleted may still be there."""
        ...

    async def examine(self, proof: ErasureProof) -> Examined:
        """What of a proof is found in the bytes of the files, and what in rows that are there by right."""
        ...

    async def check_integrity(self) -> list[str]:
        """What is wrong with the file, in words; empty when all is well."""
        ...

    async def close(self) -> None: ...

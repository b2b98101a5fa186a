"""Remember: validate, make durable, read, embed, relate; two transactions and no more.

`admit` is the first: episodes with their terms, idempotency keys and an outbox item each. From then on nothing is lost.
`settle` is the second: entities, vectors, evolution, and the outbox item goes. A crash between the two leaves the item, and
`maintain` settles it later. With no embedder to wait for, both happen in one transaction.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from umi.errors import IdempotencyConflict, NotFound
from umi.pipelines.evolve import evolve
from umi.pipelines.extract import extract_rules
from umi.pipelines.lineage import Lineage, Proposal
from umi.ports import Entropy, EpisodeRow, Matrix, ReplayRow, Snapshot, Transaction
from umi.text import analyse, count_words
from umi.types import Detector, Entity, EntityType, Episode, EvolutionRelation, EvolutionType, Message, OutboxItem


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the caller asked of one remember, beside the messages."""

    extract_entities: bool = True
    track_evolution: bool = True
    derived_from: tuple[str, ...] = ()
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """What the first transaction found: episodes to settle, and those known by their key already."""

    fresh: tuple[Episode, ...]
    replayed: tuple[str, ...]
    episode_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """What the second transaction wrote; `waiting` are episodes whose vectors are still to come."""

    entities: tuple[Entity, ...] = ()
    evolutions: tuple[EvolutionRelation, ...] = ()
    waiting: tuple[str, ...] = ()


def embedding_text(episode: Episode) -> str:
    """What stands for an episode in the vector leg: who says what."""
    return f"{episode.speaker}: {episode.content}" if episode.speaker else episode.content


def admit(tx: Transaction, entropy: Entropy, now: datetime, messages: Sequence[Message], wishes: Wishes) -> Admitted:
    """Write what is new; find again what is known by its key.

    Raises:
        IdempotencyConflict: When a known key comes with other content.
        NotFound: When `derived_from` names what is not in this namespace.
    """
    _require_sources(tx, wishes.derived_from)
    if wishes.idempotency_key is not None:
        return _admit_under_key(tx, entropy, now, messages, wishes)
    known = tx.replays(_key(message.id) for message in messages if message.id is not None)
    episode_ids: list[str] = []
    fresh: list[Episode] = []
    replayed: list[str] = []
    for message in messages:
        row = known.get(_key(message.id)) if message.id is not None else None
        if row is not None:
            _require_same(row, _digest([message]))
            episode_ids += row.episode_ids
            replayed += row.episode_ids
            continue
        episode = _episode(message, entropy, now, tx.next_arrival() + len(fresh))
        fresh.append(episode)
        episode_ids.append(episode.id)
        if message.id is not None:
            row = ReplayRow(_key(message.id), _digest([message]), (episode.id,))
            known[row.key] = row
            tx.add_replay(row)
    _write(tx, fresh, wishes)
    return Admitted(tuple(fresh), tuple(replayed), tuple(dict.fromkeys(episode_ids)))


def settle(
    tx: Transaction,
    entropy: Entropy,
    now: datetime,
    items: Sequence[tuple[Episode, OutboxItem]],
    vectors: Mapping[str, Matrix] | None,
    why: str = "",
) -> Settled:
    """Write what was read in each episode, in order of arrival, and clear its outbox item.

    Args:
        tx: The second transaction.
        entropy: For the ids of relations.
        now: The recorded time of relations.
        items: Episodes with the outbox item that asks for them.
        vectors: Windows by episode id; None when there is no embedder. An episode that is missing here keeps an outbox
            item for its vectors.
        why: What kept the vectors away, for the outbox.
    """
    lineage = Lineage(tx, entropy, now)
    entities: list[Entity] = []
    evolutions: list[EvolutionRelation] = []
    waiting: list[str] = []
    settled = tx.entities_of([episode.id for episode, _ in items])
    for episode, item in items:
        if episode.id in settled:  # another process, or a task of this one, was faster; or only vectors were missing
            entities += settled[episode.id]
        else:
            read = _read_episode(tx, episode, item)
            entities += read
            evolutions += _relate(tx, lineage, read, item)
        if vectors is not None and episode.id not in vectors:
            waiting.append(episode.id)
            tx.put_outbox(replace(item, attempts=item.attempts + 1, reason=why))
        else:
            tx.remove_outbox(episode.id)
    if vectors:
        tx.add_vectors(vectors)
    changed = tx.entities(entity.id for entity in entities)
    return Settled(tuple(changed[entity.id] for entity in entities), tuple(evolutions), tuple(waiting))


def recollect(snapshot: Snapshot, episode_ids: Sequence[str]) -> Settled:
    """What earlier remembers made of these episodes, for a replayed receipt."""
    groups = snapshot.entities_of(episode_ids)
    entities = [entity for id_ in episode_ids for entity in groups.get(id_, ())]
    mine = {entity.id for entity in entities}
    rows = snapshot.relations_of(sorted(mine))
    found = {row.id: row for group in rows.values() for row in group if row.target_id in mine}
    waiting = [id_ for id_ in episode_ids if id_ not in groups]
    return Settled(tuple(entities), tuple(found[id_] for id_ in sorted(found)), tuple(waiting))


def _admit_under_key(
    tx: Transaction, entropy: Entropy, now: datetime, messages: Sequence[Message], wishes: Wishes
) -> Admitted:
    key, digest = f"call:{wishes.idempotency_key}", _digest(messages)
    row = tx.replays([key]).get(key)
    if row is not None:
        _require_same(row, digest)
        return Admitted((), row.episode_ids, row.episode_ids)
    admitted = admit(tx, entropy, now, messages, replace(wishes, idempotency_key=None))
    tx.add_replay(ReplayRow(key, digest, admitted.episode_ids))
    return admitted


def _key(message_id: str | None) -> str:
    return f"message:{message_id}"


def _require_same(row: ReplayRow, digest: str) -> None:
    if row.digest != digest:
        kind, _, key = row.key.partition(":")
        raise IdempotencyConflict(
            f"{'message id' if kind == 'message' else 'idempotency key'} {key!r} was used before with other content; "
            "nothing was stored. Give the new content a new id"
        )


def _digest(messages: Sequence[Message]) -> str:
    said = [[m.content, m.role, m.speaker, m.session, m.id, dict(m.metadata)] for m in messages]
    packed = json.dumps(said, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(packed.encode()).hexdigest()


def _require_sources(tx: Transaction, ids: Sequence[str]) -> None:
    found = {**tx.entities(ids), **tx.episodes(ids)} if ids else {}
    for id_ in ids:
        if id_ not in found:
            raise NotFound(f"derived_from names {id_}, which is not in namespace {tx.namespace!r}")


def _episode(message: Message, entropy: Entropy, now: datetime, arrival: int) -> Episode:
    return Episode(
        id=entropy.new_id("epi", now),
        content=message.content,
        role=message.role,
        speaker=message.speaker,
        session=message.session,
        at=message.at or now,
        recorded_at=now,
        arrival=arrival,
        message_id=message.id,
        metadata=message.metadata,
    )


def _write(tx: Transaction, fresh: Sequence[Episode], wishes: Wishes) -> None:
    if not fresh:
        return
    tx.add_episodes(
        [
            EpisodeRow(episode, tuple(analyse(embedding_text(episode))), count_words(episode.content))
            for episode in fresh
        ]
    )
    for episode in fresh:
        tx.put_outbox(outbox_item(episode, wishes))


def outbox_item(episode: Episode, wishes: Wishes) -> OutboxItem:
    """The work that a fresh episode still needs."""
    return OutboxItem(
        episode.id,
        episode.arrival,
        derived_from=wishes.derived_from,
        extract_entities=wishes.extract_entities,
        track_evolution=wishes.track_evolution,
    )


def _read_episode(tx: Transaction, episode: Episode, item: OutboxItem) -> Sequence[Entity]:
    if item.extract_entities:
        extracted = extract_rules(episode, tx.subject_of)
        for alias, subject in extracted.aliases:
            tx.add_alias(alias, subject)
        entities: Sequence[Entity] = extracted.result.entities
    else:
        entities = [_note(episode)]
    tx.add_entities(entities)
    return entities


def _note(episode: Episode) -> Entity:
    return Entity(
        EntityType.NOTE,
        episode.speaker or episode.role,
        episode.content,
        episode_id=episode.id,
        span=(0, len(episode.content)),
        at=episode.at,
        arrival=episode.arrival,
        valid_from=episode.at,
        recorded_at=episode.recorded_at,
    )


def _relate(tx: Transaction, lineage: Lineage, entities: Sequence[Entity], item: OutboxItem) -> list[EvolutionRelation]:
    evolutions: list[EvolutionRelation] = []
    if item.track_evolution:
        for entity in entities:
            evolutions += evolve(tx, lineage, entity)
    for source_id in item.derived_from:
        group = tx.entities_of([source_id]).get(source_id, ())
        for source in [entity.id for entity in group] or sorted(tx.entities([source_id])):
            evolutions += [
                lineage.record(Proposal(source, e.id, EvolutionType.DERIVE, "said by the caller", 1.0, Detector.CALLER))
                for e in entities
            ]
    return evolutions

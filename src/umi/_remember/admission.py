"""Take messages in: what the first transaction of `remember` stores of each new message, and which are stored already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from umi._core.stages import stage
from umi._core.style_flags import read_traits
from umi._core.text import analyse, count_words, indexed_line
from umi._core.validate import in_zone, optional_when
from umi._remember.keys import call_key, known_rows, message_key
from umi.errors import IdempotencyConflict, InvalidInput, NotFound
from umi.ports import Entropy, EpisodeRow, ReplayRow, Transaction
from umi.types import Episode, Message, OutboxItem, origin_of


@dataclass(frozen=True, slots=True)
class RememberOptions:
    """The options of one `remember` call, apart from the messages."""

    extract_entities: bool = True
    track_evolution: bool = True
    derived_from: tuple[str, ...] = ()
    idempotency_key: str | None = None
    later: bool = False  # store and index now; a worker reads the text later
    digest: str = (
        ""  # of all messages of the call, for its key, where some were set aside; "" takes those that are admitted
    )


@dataclass(frozen=True, slots=True)
class Admitted:
    """The result of the first transaction.

    `fresh` are new episodes, `replayed` the ids of episodes already stored under the same key, `episode_ids` the ids of
    both in the order of the messages, `forgotten` the keys of messages that were forgotten earlier and are not stored
    again.
    """

    fresh: tuple[Episode, ...]
    replayed: tuple[str, ...]
    episode_ids: tuple[str, ...]
    forgotten: tuple[str, ...] = ()


def embedding_text(episode: Episode) -> str:
    """The text that is embedded for an episode: the speaker's name, if there is one, and the content."""
    return indexed_line(episode.content, episode.speaker)


def episode_row(episode: Episode) -> EpisodeRow:
    """An episode with what a store keeps beside it: its terms, its length in words and its style flags."""
    content = episode.content
    terms = tuple(analyse(embedding_text(episode)))
    return EpisodeRow(episode, terms, count_words(content), read_traits(content, episode.role))


@dataclass(frozen=True, slots=True)
class Draft:
    """A message and the episode that it becomes if it is new; arrival and recorded time are set when it is stored."""

    message: Message
    episode: Episode


def drafted(message: Message, entropy: Entropy, now: datetime) -> Draft:
    """What a message that came in now would be stored as."""
    episode = Episode(
        id=entropy.new_id("epi", now),
        content=message.content,
        role=message.role,
        speaker=message.speaker,
        session=message.session,
        at=now if message.at is None else in_zone(message.at),
        recorded_at=now,
        arrival=0,
        message_id=message.id,
        metadata=message.metadata,
        origin=origin_of(message),
        expires_at=optional_when(message.expires_at, "expires_at"),
    )
    return Draft(message, episode)


@stage("admit")
def admit(tx: Transaction, now: datetime, drafts: Sequence[Draft], options: RememberOptions) -> Admitted:
    """Store new messages and look up those whose idempotency key is known. Runs inside the first transaction.

    Whoever does not do their work in the same transaction puts it into the outbox; see `put_off`.

    Raises:
        IdempotencyConflict: When a known key comes with different content.
        InvalidInput: When something is new and has expired: it would be gone before anybody reads it.
        NotFound: When something is new, and `derived_from` names an id that is not in this namespace.
    """
    if options.idempotency_key is not None:
        return _admit_under_key(tx, now, drafts, options)
    known = known_rows(tx, [message_key(one.message.id) for one in drafts if one.message.id is not None])
    episode_ids: list[str] = []
    fresh: list[Episode] = []
    replayed: list[str] = []
    forgotten: list[str] = []
    for draft in drafts:
        message = draft.message
        row = known.get(message_key(message.id)) if message.id is not None else None
        if row is not None:
            _require_same(row, digest([message]))
            episode_ids += row.episode_ids
            replayed += row.episode_ids
            # A key row without episodes belongs to a message that was forgotten.
            if not row.episode_ids and message.id is not None:
                forgotten.append(message.id)
            continue
        _require_ahead(draft.episode.expires_at, now)
        # `next_arrival` advances only with `add_episodes`, so the episodes of this batch are counted by hand.
        episode = replace(draft.episode, recorded_at=now, arrival=tx.next_arrival() + len(fresh))
        fresh.append(episode)
        episode_ids.append(episode.id)
        if message.id is not None:
            row = ReplayRow(message_key(message.id), digest([message]), (episode.id,))
            # Also in `known`: the same id may occur twice in one batch.
            known[row.key] = row
            tx.add_replay(row)
    if fresh:
        # Not asked of what is known already: a call made again is replayed, whatever became of its sources.
        _require_sources(tx, options.derived_from)
        tx.add_episodes([episode_row(episode) for episode in fresh])
    return Admitted(tuple(fresh), tuple(replayed), tuple(dict.fromkeys(episode_ids)), tuple(forgotten))


def _admit_under_key(tx: Transaction, now: datetime, drafts: Sequence[Draft], options: RememberOptions) -> Admitted:
    """`admit` for a call with an idempotency key: the key stands for all messages of the call together.

    Raises:
        IdempotencyConflict: When the key was used before with different content.
    """
    key = call_key(options.idempotency_key or "")
    told = options.digest or digest([one.message for one in drafts])
    row = known_rows(tx, [key]).get(key)
    if row is not None:
        _require_same(row, told)
        forgotten = () if row.episode_ids or not options.idempotency_key else (options.idempotency_key,)
        return Admitted((), row.episode_ids, row.episode_ids, forgotten)
    admitted = admit(tx, now, drafts, replace(options, idempotency_key=None))
    tx.add_replay(ReplayRow(key, told, admitted.episode_ids))
    return admitted


def _require_ahead(expires_at: datetime | None, now: datetime) -> None:
    if expires_at is not None and expires_at <= now:
        raise InvalidInput(
            f"expires_at {expires_at.isoformat()} has passed, now is {now.isoformat()}; leave out what is gone already"
        )


def _require_same(row: ReplayRow, told: str) -> None:
    # A row without a digest is a tombstone: it matches any content.
    if row.digest and row.digest != told:
        kind, _, key = row.key.partition(":")
        raise IdempotencyConflict(
            f"{'message id' if kind == 'message' else 'idempotency key'} {key!r} was used before with other content; "
            "nothing was stored. Give the new content a new id"
        )


def digest(messages: Sequence[Message]) -> str:
    """SHA-256 of the messages as sent, without their times."""
    said = [
        [m.content, m.role, m.speaker, m.session, m.id, dict(m.metadata), *([m.origin] if m.origin else [])]
        for m in messages
    ]
    packed = json.dumps(said, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(packed.encode()).hexdigest()


def _require_sources(tx: Transaction, ids: Sequence[str]) -> None:
    found = {**tx.entities(ids), **tx.episodes(ids)} if ids else {}
    for id_ in ids:
        if id_ not in found:
            raise NotFound(f"derived_from names {id_}, which is not in namespace {tx.namespace!r}")


def put_off(tx: Transaction, fresh: Sequence[Episode], options: RememberOptions) -> None:
    """Note the work that fresh episodes still need, in the transaction that stores them: none of it can be lost."""
    for episode in fresh:
        tx.put_outbox(outbox_item(episode, options))


def outbox_item(episode: Episode, options: RememberOptions) -> OutboxItem:
    """The work that a fresh episode still needs."""
    return OutboxItem(
        episode.id,
        episode.arrival,
        derived_from=options.derived_from,
        extract_entities=options.extract_entities,
        track_evolution=options.track_evolution,
    )

"""Remember: validate, make durable, read, embed, relate; two transactions and no more.

`admit` is the first: episodes with their terms, idempotency keys and an outbox item each. From then on nothing is lost.
`ReadingWriter` is the second: entities, vectors, evolution, and the outbox item goes. A crash between the two leaves the item, and
`maintain` settles it later. With no embedder to wait for, both happen in one transaction.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from umi._core.style_flags import read_traits
from umi._core.text import analyse, count_words
from umi._evolution import model_judge, rereading
from umi._evolution.model_judge import Judgement
from umi._evolution.relation_reader import RelationReader
from umi._evolution.relation_writer import Proposal, RelationWriter, statement_order
from umi._evolution.states import StateResolver, View
from umi._evolution.tracker import evolve
from umi._evolution.value_updates import ValueUpdates
from umi._reading.extract import Extracted, extract_rules, said_in
from umi._reading.short_messages.known import open_before
from umi.errors import IdempotencyConflict, NotFound, RelationCycle, UmiError
from umi.limits import EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT, EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
from umi.ports import Entropy, EpisodeRow, Matrix, ReplayRow, Snapshot, Transaction, Vector
from umi.ports.text_reader import TextReader
from umi.types import (
    Detector,
    Entity,
    EntityType,
    Episode,
    EvolutionRelation,
    EvolutionType,
    ExtractionResult,
    Message,
    OutboxItem,
)

log = logging.getLogger("umi")

Work = tuple[Episode, OutboxItem]

_GONE = "gone:"  # begins the key of a message that was forgotten; its content's digest is gone with it


@dataclass(frozen=True, slots=True)
class RememberOptions:
    """What the caller asked of one remember, beside the messages."""

    extract_entities: bool = True
    track_evolution: bool = True
    derived_from: tuple[str, ...] = ()
    idempotency_key: str | None = None
    later: bool = False  # made durable and searchable now, read by a worker


@dataclass(frozen=True, slots=True)
class Admitted:
    """What the first transaction found: episodes to settle, those known by their key already, and keys of what was forgotten."""

    fresh: tuple[Episode, ...]
    replayed: tuple[str, ...]
    episode_ids: tuple[str, ...]
    forgotten: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenReading:
    """What the second transaction wrote; `waiting` are episodes whose vectors are still to come."""

    entities: tuple[Entity, ...] = ()
    evolutions: tuple[EvolutionRelation, ...] = ()
    waiting: tuple[str, ...] = ()


def embedding_text(episode: Episode) -> str:
    """What stands for an episode in the vector leg: who says what."""
    return f"{episode.speaker}: {episode.content}" if episode.speaker else episode.content


def episode_row(episode: Episode) -> EpisodeRow:
    """An episode as a store keeps it: with its terms, its length and how it is worded."""
    content = episode.content
    terms = tuple(analyse(embedding_text(episode)))
    return EpisodeRow(episode, terms, count_words(content), read_traits(content, episode.role))


def admit(
    tx: Transaction, entropy: Entropy, now: datetime, messages: Sequence[Message], wishes: RememberOptions
) -> Admitted:
    """Write what is new; find again what is known by its key.

    Raises:
        IdempotencyConflict: When a known key comes with other content.
        NotFound: When `derived_from` names what is not in this namespace.
    """
    _require_sources(tx, wishes.derived_from)
    if wishes.idempotency_key is not None:
        return _admit_under_key(tx, entropy, now, messages, wishes)
    known = _known(tx, [_key(message.id) for message in messages if message.id is not None])
    episode_ids: list[str] = []
    fresh: list[Episode] = []
    replayed: list[str] = []
    forgotten: list[str] = []
    for message in messages:
        row = known.get(_key(message.id)) if message.id is not None else None
        if row is not None:
            _require_same(row, _digest([message]))
            episode_ids += row.episode_ids
            replayed += row.episode_ids
            if not row.episode_ids and message.id is not None:
                forgotten.append(message.id)
            continue
        episode = _episode(message, entropy, now, tx.next_arrival() + len(fresh))
        fresh.append(episode)
        episode_ids.append(episode.id)
        if message.id is not None:
            row = ReplayRow(_key(message.id), _digest([message]), (episode.id,))
            known[row.key] = row
            tx.add_replay(row)
    _write(tx, fresh, wishes)
    return Admitted(tuple(fresh), tuple(replayed), tuple(dict.fromkeys(episode_ids)), tuple(forgotten))


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model made of one episode: its statements, and its verdicts on the pairs that were put to it.

    `vectors` are those of statements, by id, each of shape (dimensions,).
    """

    extracted: Extracted
    judgement: Judgement
    vectors: Mapping[str, Vector]


class ConcurrentChange(UmiError):  # noqa: N818 - reads as what it is
    """Another write changed what a model was asked about; it must be asked again."""


class ReadingWriter:
    """The second transaction: writes what was read in each episode, in order of arrival, and clears its outbox item.

    Args:
        tx: The transaction.
        entropy: For the ids of relations.
        now: The recorded time of relations.
        reader: Of short messages, where there is one.
        act_from: The confidence from which an update acts, as of `Config.act_from`.
    """

    def __init__(
        self,
        tx: Transaction,
        entropy: Entropy,
        now: datetime,
        reader: TextReader | None = None,
        act_from: float = EVOLUTION_SUPERSEDE_CONFIDENCE_MIN,
    ) -> None:
        self._tx = tx
        self._reader = reader
        self._lineage = RelationWriter(tx, entropy, now, act_from)
        self._retellings = ValueUpdates(tx)
        self._entities: list[Entity] = []
        self._evolutions: list[EvolutionRelation] = []
        self._waiting: list[str] = []

    def run(
        self,
        items: Sequence[Work],
        vectors: Mapping[str, Matrix] | None,
        why: str = "",
        readings: Mapping[str, Reading] | None = None,
        kept: Collection[str] = (),
    ) -> WrittenReading:
        """Settle every item.

        Args:
            items: Episodes with the outbox item that asks for them.
            vectors: Windows by episode id; None when there is no embedder. An episode that is missing here keeps an
                outbox item for its vectors.
            why: What kept the vectors away, for the outbox.
            readings: What a model made of an episode, by its id; the others are read by rules.
            kept: Ids of episodes whose vectors the store holds already.

        Raises:
            Moved: When what a model was asked about has changed since.
        """
        items, vectors = self._still_there(items, vectors)
        settled = self._tx.entities_of([episode.id for episode, _ in items])
        for episode, item in items:
            if item.again and episode.id in settled:
                if episode.id not in (readings or {}):
                    self._waiting.append(episode.id)  # until a model is there
                    continue
                self._read_again(episode, (readings or {})[episode.id], settled[episode.id])
            elif (
                episode.id in settled
            ):  # another process, or a task of this one, was faster; or only vectors were missing
                self._entities += settled[episode.id]
                self._evolutions += _made_of(self._tx, settled[episode.id])
            else:
                self._settle(episode, item, (readings or {}).get(episode.id))
            if vectors is None and episode.id in settled and not item.again:
                self._waiting.append(episode.id)  # its vectors wait for an opening with an embedder
            elif vectors is not None and episode.id not in vectors:
                self._waiting.append(episode.id)
                self._tx.put_outbox(replace(item, attempts=item.attempts + 1, reason=why))
            else:
                self._tx.remove_outbox(episode.id)
        if vectors:
            self._tx.add_vectors({id_: rows for id_, rows in vectors.items() if id_ not in kept})
        stand = _as_they_stand(self._tx, self._entities, self._lineage.ledger)
        return WrittenReading(stand, tuple(self._evolutions), tuple(self._waiting))

    def _still_there(
        self, items: Sequence[Work], vectors: Mapping[str, Matrix] | None
    ) -> tuple[list[Work], Mapping[str, Matrix] | None]:
        """What is as it was when it was read: an episode that was forgotten meanwhile is let be, one that was cut waits to be read again."""
        now = self._tx.episodes([episode.id for episode, _ in items])
        same = [work for work in items if work[0].id in now and said_as(now[work[0].id], work[0])]
        kept = {episode.id for episode, _ in same}
        self._waiting += [episode.id for episode, _ in items if episode.id in now and episode.id not in kept]
        return same, None if vectors is None else {id_: rows for id_, rows in vectors.items() if id_ in kept}

    def _settle(self, episode: Episode, item: OutboxItem, reading: Reading | None) -> None:
        extracted = reading.extracted if reading else read_episode(self._tx, episode, item, self._reader)
        entities = extracted.result.entities
        if reading is not None and item.track_evolution:
            self._require_judged(episode, entities, reading)
        for alias, subject in extracted.aliases:
            self._tx.add_alias(alias, subject)
        self._tx.add_entities(entities)
        self._lineage.ledger.know(entities)
        self._entities += entities
        self._derive(entities, item.derived_from)  # first: what a caller says, no judge can make impossible
        if item.track_evolution and reading is not None:
            self._act_on(reading.judgement)
        elif item.track_evolution:
            for entity in entities:
                self._evolutions += evolve(self._tx, self._lineage, entity, self._reader)
            self._notice(episode, entities)

    def _read_again(self, episode: Episode, reading: Reading, before: Sequence[Entity]) -> None:
        """Put what a model reads today in the place of what was read before, with what the model says of older statements.

        What closed the old statements, and whatever a caller said of them, is moved to the new ones.
        """
        entities = reading.extracted.result.entities
        self._require_judged(episode, entities, reading)
        touching = [row for group in self._tx.relations_of([old.id for old in before]).values() for row in group]
        moved, reopened = rereading.carried_over(touching, before, entities)
        self._tx.replace_entities(episode.id, {})
        self._tx.add_entities(entities)
        for row in moved:
            self._tx.put_relation(row)
        self._lineage.start_over()
        for id_ in (*reopened, *(one.id for one in entities)):
            self._lineage.review(id_)
        self._entities += entities
        self._act_on(reading.judgement)

    def _require_judged(self, episode: Episode, entities: Sequence[Entity], reading: Reading) -> None:
        """See that the model has judged every pair that there is by now.

        Raises:
            Moved: When another write has added one.
        """
        if reading.judgement.sequence == self._tx.sequence:
            return
        if not reading.judgement.covers(model_judge.offer(self._tx, episode, entities, reading.vectors)):
            raise ConcurrentChange(f"memories that {episode.id} may concern changed while a model was asked")

    def _act_on(self, judgement: Judgement) -> None:
        """Record a model's verdicts; what says the same as a closed statement is closed with it."""
        ids = [id_ for row in judgement.relations for id_ in (row.related_id, row.new_id)]
        ends = self._lineage.ledger.entities(ids)
        for proposal in model_judge.proposals(judgement, ends):
            old, new = ends[proposal.source_id], ends[proposal.target_id]
            closed = old.valid_to is not None and new.valid_from is not None and old.valid_to <= new.valid_from
            if closed or proposal.confidence < EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT:
                continue  # over before, perhaps by another's word meanwhile; or too unsure to keep
            try:
                row = self._lineage.record(proposal)
            except RelationCycle as error:
                log.warning("a model's verdict is left out: %s", error)
                continue
            self._evolutions.append(row)
            if row.acted and row.part is None:
                self._close_twins(proposal)

    def _close_twins(self, proposal: Proposal) -> None:
        """Close what says the same as a statement that was just closed.

        Only where all of it says one thing: "the rest as before" says again two things at once, of which one may still hold.
        """
        ledger = self._lineage.ledger
        group = {proposal.source_id, *ledger.same(proposal.source_id)}
        if any({id_, *ledger.same(id_)} != group for id_ in sorted(group)):
            return
        spared = {proposal.target_id, *ledger.same(proposal.target_id)}
        newer = ledger.entities([proposal.target_id])[proposal.target_id]
        for twin in ledger.entities(sorted(group - spared)).values():
            over, begun = ledger.validity(twin.id)[0], newer.valid_from
            closed = over is not None and begun is not None and over <= begun
            if not closed and statement_order(twin) < statement_order(newer):
                self._evolutions.append(self._lineage.record(replace(proposal, source_id=twin.id)))

    def _notice(self, episode: Episode, entities: Sequence[Entity]) -> None:
        """Flag what is told again with another value, unless the two are related already."""
        for proposal in self._retellings.proposals(episode, entities):
            rows = self._lineage.ledger.relations(proposal.source_id)
            if not any(row.target_id == proposal.target_id for row in rows):
                self._evolutions.append(self._lineage.record(proposal))

    def _derive(self, entities: Sequence[Entity], sources: Sequence[str]) -> None:
        for source_id in sources:
            group = self._tx.entities_of([source_id]).get(source_id, ())
            found = [entity.id for entity in group] or sorted(self._tx.entities([source_id]))
            if not found:  # it was here when this was said, and was taken away since
                rows = [self._lineage.mark_source_deleted(entity.id) for entity in entities]
                self._evolutions += [row for row in rows if row is not None]
            for source in found:
                self._evolutions += [
                    self._lineage.record(
                        Proposal(source, entity.id, EvolutionType.DERIVE, "said by the caller", 1.0, Detector.CALLER)
                    )
                    for entity in entities
                ]


def said_as(one: Episode, other: Episode) -> bool:
    """Whether two states of an episode say the same."""
    return (one.content, one.speaker) == (other.content, other.speaker)


def read_episode(
    snapshot: Snapshot,
    episode: Episode,
    item: OutboxItem,
    reader: TextReader | None,
) -> Extracted:
    """The entities of an episode, by rules; one note when extraction was not wished for."""
    if not item.extract_entities:
        whole = said_in(episode, (0, len(episode.content)), EntityType.NOTE, episode.speaker or episode.role)
        return Extracted(ExtractionResult((whole,)), ())
    return extract_rules(episode, snapshot.subject_of, partial(open_before, snapshot, episode), reader)


def recollect(snapshot: Snapshot, episode_ids: Sequence[str]) -> WrittenReading:
    """What earlier remembers made of these episodes, for a replayed receipt."""
    groups = snapshot.entities_of(episode_ids)
    entities = [entity for id_ in episode_ids for entity in groups.get(id_, ())]
    waiting = [id_ for id_ in episode_ids if id_ not in groups]
    stand = _as_they_stand(snapshot, entities, RelationReader(snapshot))
    return WrittenReading(stand, _made_of(snapshot, entities), tuple(waiting))


def _made_of(snapshot: Snapshot, entities: Sequence[Entity]) -> tuple[EvolutionRelation, ...]:
    """What these entities did to older ones, whoever settled them."""
    mine = {entity.id for entity in entities}
    rows = snapshot.relations_of(sorted(mine))
    found = {row.id: row for group in rows.values() for row in group if row.target_id in mine}
    return tuple(found[id_] for id_ in sorted(found))


def _as_they_stand(snapshot: Snapshot, entities: Sequence[Entity], ledger: RelationReader) -> tuple[Entity, ...]:
    """The entities with what the relations made of them."""
    written = snapshot.entities(entity.id for entity in entities)
    standings = StateResolver(snapshot, View(include_superseded=True), ledger)
    return tuple(standing.entity for standing in standings.of([written[entity.id] for entity in entities]))


def _admit_under_key(
    tx: Transaction, entropy: Entropy, now: datetime, messages: Sequence[Message], wishes: RememberOptions
) -> Admitted:
    key, digest = f"call:{wishes.idempotency_key}", _digest(messages)
    row = _known(tx, [key]).get(key)
    if row is not None:
        _require_same(row, digest)
        forgotten = () if row.episode_ids or not wishes.idempotency_key else (wishes.idempotency_key,)
        return Admitted((), row.episode_ids, row.episode_ids, forgotten)
    admitted = admit(tx, entropy, now, messages, replace(wishes, idempotency_key=None))
    tx.add_replay(ReplayRow(key, digest, admitted.episode_ids))
    return admitted


def _key(message_id: str | None) -> str:
    return f"message:{message_id}"


def tombstone(key: str) -> str:
    """What stands for an idempotency key whose message is gone, in part or whole: a digest of the id, never of what was said."""
    return key if key.startswith(_GONE) else _GONE + hashlib.blake2b(key.encode(), digest_size=16).hexdigest()


def _known(tx: Transaction, keys: Sequence[str]) -> dict[str, ReplayRow]:
    """By key what it stands for, be it gone meanwhile."""
    stones = {tombstone(key): key for key in keys}
    rows = tx.replays([*keys, *stones])
    return {stones.get(key, key): row for key, row in rows.items()}


def _require_same(row: ReplayRow, digest: str) -> None:
    if row.digest and row.digest != digest:
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


def _write(tx: Transaction, fresh: Sequence[Episode], wishes: RememberOptions) -> None:
    if not fresh:
        return
    tx.add_episodes([episode_row(episode) for episode in fresh])
    for episode in fresh:
        tx.put_outbox(outbox_item(episode, wishes))


def outbox_item(episode: Episode, wishes: RememberOptions) -> OutboxItem:
    """The work that a fresh episode still needs."""
    return OutboxItem(
        episode.id,
        episode.arrival,
        derived_from=wishes.derived_from,
        extract_entities=wishes.extract_entities,
        track_evolution=wishes.track_evolution,
    )

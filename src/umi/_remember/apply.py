"""Write what `remember` takes in: the first transaction admits messages, the second writes what was read in them.

`admit` and `put_off` run in the first transaction. They store each new episode with its terms, the idempotency keys and
one outbox item per episode. After its commit no message can be lost. `ReadingWriter` runs in the second transaction. It
writes entities, vectors and relations, and removes the outbox item. If the process stops between the two, the outbox item
is still there and `maintain` does the remaining work later. Where nothing has to be waited for, `umi._remember.ingest` runs
both in one transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from umi._core.stages import stage
from umi._evolution import model_judge, rereading
from umi._evolution.model_judge import Judgement
from umi._evolution.relation_effects import RelationEffects
from umi._evolution.relation_writer import Proposal, RelationWriter, statement_order
from umi._evolution.states import StateResolver, View
from umi._evolution.tracker import evolve
from umi._evolution.trust import ClosingPolicy
from umi._evolution.value_updates import ValueUpdates
from umi._learning.crediting import believed, inherit
from umi._reading.extract import Extracted, ReadAhead, extract_rules, said_in
from umi._reading.short_messages.known import OpenStatements
from umi.errors import RelationCycle, UmiError
from umi.limits import EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT
from umi.ports import Entropy, Matrix, Snapshot, Transaction, Vector
from umi.ports.text_reader import TextReader
from umi.types import (
    Degradation,
    Detector,
    Entity,
    EntityType,
    Episode,
    EvolutionRelation,
    EvolutionType,
    ExtractionResult,
    OutboxItem,
)

log = logging.getLogger("umi")

Work = tuple[Episode, OutboxItem]


@dataclass(frozen=True, slots=True)
class WrittenReading:
    """The result of the second transaction: statements, their relations to older ones, and unfinished episodes.

    `waiting` are ids of episodes that keep an outbox item because their vectors, or a new reading, are still missing.
    """

    entities: tuple[Entity, ...] = ()
    evolutions: tuple[EvolutionRelation, ...] = ()
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model made of one episode: its statements, and its verdicts on pairs with older statements.

    `vectors` are the vectors of the statements by entity id, each of shape (dimensions,).
    """

    extracted: Extracted
    judgement: Judgement
    vectors: Mapping[str, Vector]


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of some episodes.

    Attributes:
        vectors: Windows by episode id; None without an embedder, empty when the embedder failed.
        why: Why vectors are missing, in words.
        degraded: What was degraded.
        kept: Ids of episodes whose vectors the store already holds.
        begun: What was read ahead of the episodes, by id; without a model, which reads by itself.
    """

    vectors: dict[str, Matrix] | None
    why: str = ""
    degraded: tuple[Degradation, ...] = ()
    kept: frozenset[str] = frozenset()
    begun: Mapping[str, ReadAhead] = field(default_factory=dict)


class ConcurrentChange(UmiError):  # noqa: N818 - an internal signal, not an error for callers
    """Another write changed the statements a model was asked about, so the model must be asked again."""


class ReadingWriter:
    """The second transaction: writes what was read in each episode, in the order of the items, and clears the outbox.

    Args:
        tx: The transaction.
        entropy: Source of relation ids.
        now: The recorded time of relations.
        reader: Reads short messages for the rules, where there is such a model.
        policy: When an update closes the older statement; see `Config.act_from` and `Config.trust`.
    """

    def __init__(
        self,
        tx: Transaction,
        entropy: Entropy,
        now: datetime,
        reader: TextReader | None,
        policy: ClosingPolicy,
    ) -> None:
        self._tx = tx
        self._reader = reader
        self._writer = RelationWriter(tx, entropy, now, policy)
        self._value_updates = ValueUpdates(tx)
        self._entities: list[Entity] = []
        self._evolutions: list[EvolutionRelation] = []
        self._waiting: list[str] = []

    @stage("write")
    def run(
        self,
        items: Sequence[Work],
        embedded: Embedded,
        readings: Mapping[str, Reading] | None = None,
        *,
        fresh: bool = False,
    ) -> WrittenReading:
        """Process every item: write its statements, vectors and relations, and remove or update its outbox item.

        Args:
            items: Episodes, each with the outbox item that asks for its work.
            embedded: Their vectors, and what was read ahead in them. An episode without vectors, where there is an
                embedder, keeps an outbox item for them, with the reason.
            readings: What a model read in an episode, by episode id. Episodes without an entry are read by rules.
            fresh: Whether this same transaction stored the episodes: they have neither statements nor outbox items yet.

        Raises:
            ConcurrentChange: When the statements a model was asked about have changed since.
        """
        vectors: Mapping[str, Matrix] | None = embedded.vectors
        settled: Mapping[str, Sequence[Entity]] = {}
        if not fresh:
            items, vectors = self._still_there(items, vectors)
            settled = self._tx.entities_of([episode.id for episode, _ in items])
        for episode, item in items:
            reading = (readings or {}).get(episode.id)
            if item.again and episode.id in settled:
                if reading is None:
                    self._waiting.append(episode.id)  # only a model can read it again; the item stays
                    continue
                self._read_again(episode, reading, settled[episode.id])
            # Read already: by another process or task in the meantime, or only its vectors were missing.
            elif episode.id in settled:
                self._entities += settled[episode.id]
                self._evolutions += _made_of(self._tx, settled[episode.id])
            else:
                self._write_reading(episode, item, reading, embedded.begun.get(episode.id))
            if vectors is None and episode.id in settled and not item.again:
                self._waiting.append(episode.id)  # its vectors have to wait until the store is opened with an embedder
            elif vectors is not None and episode.id not in vectors:
                self._waiting.append(episode.id)
                self._tx.put_outbox(replace(item, attempts=item.attempts + 1, reason=embedded.why))
            elif not fresh:
                self._tx.remove_outbox(episode.id)
        if vectors:
            self._tx.add_vectors({id_: rows for id_, rows in vectors.items() if id_ not in embedded.kept})
        stand = _as_they_stand(self._tx, self._entities, self._writer.effects)
        return WrittenReading(stand, tuple(self._evolutions), tuple(self._waiting))

    def _still_there(
        self, items: Sequence[Work], vectors: Mapping[str, Matrix] | None
    ) -> tuple[list[Work], Mapping[str, Matrix] | None]:
        """Keep only the items whose episode still says what it said when it was read or embedded.

        A forgotten episode is dropped. One that was cut in the meantime keeps its outbox item and is read again later.
        """
        now = self._tx.episodes([episode.id for episode, _ in items])
        same = [work for work in items if work[0].id in now and said_as(now[work[0].id], work[0])]
        kept = {episode.id for episode, _ in same}
        self._waiting += [episode.id for episode, _ in items if episode.id in now and episode.id not in kept]
        return same, None if vectors is None else {id_: rows for id_, rows in vectors.items() if id_ in kept}

    def _write_reading(
        self, episode: Episode, item: OutboxItem, reading: Reading | None, begun: ReadAhead | None
    ) -> None:
        """Write the statements, aliases and relations of one episode that has not been read before."""
        extracted = reading.extracted if reading else read_episode(self._tx, episode, item, self._reader, begun)
        entities = extracted.result.entities
        if reading is not None and item.track_evolution:
            self._require_judged(episode, entities, reading)
        for alias, subject in extracted.aliases:
            self._tx.add_alias(alias, subject)
        self._tx.add_entities(entities)
        self._writer.effects.know_new(entities)
        self._entities += entities
        # First: in a cycle the relation recorded later is refused, which must be the model's and not the caller's.
        self._derive(entities, item.derived_from)
        if item.track_evolution and reading is not None:
            self._act_on(reading.judgement)
        elif item.track_evolution:
            for entity in entities:
                self._evolutions += evolve(self._tx, self._writer, entity, self._reader)
            self._notice(episode, entities)

    def _read_again(self, episode: Episode, reading: Reading, before: Sequence[Entity]) -> None:
        """Replace an episode's statements by what a model reads today, with the model's verdicts on older statements.

        Relations by which later statements closed the old ones, everything a caller recorded, and what was learned of the
        old ones move to the new statements of the same words. See `rereading.carried_over`.
        """
        entities = reading.extracted.result.entities
        self._require_judged(episode, entities, reading)
        touching = [row for group in self._tx.relations_of([old.id for old in before]).values() for row in group]
        carried = rereading.carried_over(touching, before, entities, believed(self._tx, episode.arrival))
        self._tx.replace_entities(episode.id, {})
        self._tx.add_entities(sorted((*carried.kept, *entities), key=statement_order))
        inherit(self._tx, episode.arrival, {old: group[0].id for old, group in carried.heirs.items() if group})
        # The rows were changed behind the writer's back, so its cached relations are stale. `review` then recomputes
        # the validity of every statement concerned.
        self._writer.start_over(carried.dropped)
        for row in carried.relations:
            self._writer.carry_over(row)
        # A new statement may begin at another time than the old one, and so may the end of what it replaced.
        for id_ in dict.fromkeys(
            (*carried.reopened, *(row.source_id for row in carried.relations), *(one.id for one in entities))
        ):
            self._writer.review(id_)
        self._entities += entities
        self._act_on(reading.judgement)
        for id_ in carried.unlinked:
            self._writer.relink(id_)

    def _require_judged(self, episode: Episode, entities: Sequence[Entity], reading: Reading) -> None:
        """Check that the model has judged every pair of statements that exists now.

        Raises:
            ConcurrentChange: When another write has added a pair that the model has not seen.
        """
        # No write since the model was asked: the offer cannot have changed, and is not computed again.
        if reading.judgement.sequence == self._tx.sequence:
            return
        if not reading.judgement.covers(model_judge.offer(self._tx, episode, entities, reading.vectors)):
            raise ConcurrentChange(f"memories that {episode.id} may concern changed while a model was asked")

    def _act_on(self, judgement: Judgement) -> None:
        """Record a model's verdicts. A statement that says the same as one that is closed here is closed with it."""
        ids = [id_ for row in judgement.relations for id_ in (row.related_id, row.new_id)]
        ends = self._writer.effects.entities(ids)
        self._writer.effects.load(ends)
        for proposal in model_judge.proposals(judgement, ends):
            old, new = ends[proposal.source_id], ends[proposal.target_id]
            closed = old.valid_to is not None and new.valid_from is not None and old.valid_to <= new.valid_from
            if closed or proposal.confidence < EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT:
                continue  # the older one had ended before, perhaps through another write; or too unsure to keep
            try:
                row = self._record(proposal)
            except RelationCycle as error:
                log.warning("a model's verdict is left out: %s", error)
                continue
            if row.acted and row.part is None and row.undone_at is None:
                self._close_twins(proposal)

    def _close_twins(self, proposal: Proposal) -> None:
        """Close the statements that say the same as one that was just closed.

        Only where all members of the group are linked to each other by "same" relations. A statement such as "the rest
        as before" repeats two things at once, and one of them may still hold.
        """
        effects = self._writer.effects
        group = {proposal.source_id, *effects.same(proposal.source_id)}
        if any({id_, *effects.same(id_)} != group for id_ in sorted(group)):
            return
        spared = {proposal.target_id, *effects.same(proposal.target_id)}
        newer = effects.entities([proposal.target_id])[proposal.target_id]
        for twin in effects.entities(sorted(group - spared - {proposal.source_id})).values():
            over, begun = effects.validity(twin.id)[0], newer.valid_from
            closed = over is not None and begun is not None and over <= begun
            if not closed and statement_order(twin) < statement_order(newer):
                self._record(replace(proposal, source_id=twin.id))

    def _record(self, proposal: Proposal) -> EvolutionRelation:
        """Record a verdict. What people have said before is no change of this reading."""
        standing = {row.id for row in self._writer.effects.rows(proposal.source_id)}
        row = self._writer.record(proposal)
        if row.id not in standing:
            self._evolutions.append(row)
        return row

    def _notice(self, episode: Episode, entities: Sequence[Entity]) -> None:
        """Flag statements that repeat an older one with another value, unless the two are related already."""
        for proposal in self._value_updates.proposals(episode, entities):
            rows = self._writer.effects.relations(proposal.source_id)
            if not any(row.target_id == proposal.target_id for row in rows):
                self._evolutions.append(self._writer.record(proposal))

    def _derive(self, entities: Sequence[Entity], sources: Sequence[str]) -> None:
        """Record that the caller derived these statements from `sources`, which are ids of entities or episodes."""
        for source_id in sources:
            group = self._tx.entities_of([source_id]).get(source_id, ())
            found = [entity.id for entity in group] or sorted(self._tx.entities([source_id]))
            if not found:  # `admit` saw the source, but it was forgotten since
                rows = [self._writer.mark_source_deleted(entity.id) for entity in entities]
                self._evolutions += [row for row in rows if row is not None]
            for source in found:
                self._evolutions += [
                    self._writer.record(
                        Proposal(source, entity.id, EvolutionType.DERIVE, "said by the caller", 1.0, Detector.CALLER)
                    )
                    for entity in entities
                ]


def said_as(one: Episode, other: Episode) -> bool:
    """Whether two versions of an episode have the same content and speaker."""
    return (one.content, one.speaker) == (other.content, other.speaker)


@stage("read statements")
def read_episode(
    snapshot: Snapshot,
    episode: Episode,
    item: OutboxItem,
    reader: TextReader | None,
    begun: ReadAhead | None = None,
) -> Extracted:
    """Read an episode by rules. Gives a single note for the whole text when `extract_entities` is off."""
    if not item.extract_entities:
        whole = said_in(episode, (0, len(episode.content)), EntityType.NOTE, episode.speaker or episode.role)
        return Extracted(ExtractionResult((whole,)), ())
    known = OpenStatements(snapshot, episode)
    if begun is not None:
        known.expect(begun.asked)
    return extract_rules(episode, known.subject_of, known, reader, begun)


def recollect(snapshot: Snapshot, episode_ids: Sequence[str]) -> WrittenReading:
    """Statements and relations that earlier calls wrote for these episodes, for the receipt of a replayed call."""
    groups = snapshot.entities_of(episode_ids)
    entities = [entity for id_ in episode_ids for entity in groups.get(id_, ())]
    waiting = [id_ for id_ in episode_ids if id_ not in groups]
    stand = _as_they_stand(snapshot, entities, RelationEffects(snapshot))
    return WrittenReading(stand, _made_of(snapshot, entities), tuple(waiting))


def _made_of(snapshot: Snapshot, entities: Sequence[Entity]) -> tuple[EvolutionRelation, ...]:
    """Relations in which these entities are the newer side, whoever wrote them."""
    mine = {entity.id for entity in entities}
    rows = snapshot.relations_of(sorted(mine))
    found = {row.id: row for group in rows.values() for row in group if row.target_id in mine}
    return tuple(found[id_] for id_ in sorted(found))


def stand_now(snapshot: Snapshot, entities: Sequence[Entity]) -> tuple[Entity, ...]:
    """Statements that several transactions wrote, as they are after the last; without those deleted since."""
    here = snapshot.entities(entity.id for entity in entities)
    return _as_they_stand(snapshot, [here[one.id] for one in entities if one.id in here], RelationEffects(snapshot))


def _as_they_stand(snapshot: Snapshot, entities: Sequence[Entity], effects: RelationEffects) -> tuple[Entity, ...]:
    """The entities as they are after the transaction's relations: with their validity and strongest relation."""
    written = effects.entities(entity.id for entity in entities)
    standings = StateResolver(snapshot, View(include_superseded=True), effects)
    return tuple(standing.entity for standing in standings.of([written[entity.id] for entity in entities]))

"""Detection of how a new entity relates to older ones: the tracker of seeds 000 and 001, and the step in `remember`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from umi._core.stages import stage
from umi._core.text import analyse
from umi._core.validate import detection_options, text
from umi._evolution import retroactive_supersession, rules
from umi._evolution.candidates import alike, candidates
from umi._evolution.relation_writer import Proposal, RelationWriter, statement_order
from umi._reading.grammar.values import value_key
from umi._reading.model import read_verdict
from umi._reading.model.calls import complete_once
from umi._reading.model.contracts import EVOLVE, VERDICT_SCHEMA
from umi._reading.model.prompts import build_detection_prompt
from umi._reading.short_messages.fact import FORGET
from umi._reading.short_messages.lexical_cues import asked_of
from umi.errors import LLMError, UmiError
from umi.limits import (
    CANDIDATES_PER_SLOT_COUNT_MAX,
    EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT,
    EVOLUTION_UNSURE_COUNT_MAX,
)
from umi.ports import LLMProvider, StorageBackend, Transaction
from umi.ports.text_reader import TextReader
from umi.types import (
    CompletionRequest,
    DetectionOptions,
    DetectionResult,
    Detector,
    Entity,
    EvolutionRelation,
    EvolutionType,
    Origin,
)

log = logging.getLogger("umi")


class EvolutionTracker:
    """Finds the strongest relation between a new entity and existing ones (seeds 000 and 001).

    Args:
        llm: A model, or None for the rules. When the model fails or answers badly, the result is None and `failures`
            grows.
        storage: Where `find_and_detect` searches for related entities.
    """

    def __init__(self, llm: LLMProvider | None, storage: StorageBackend) -> None:
        self._llm = llm
        self._storage = storage
        self.failures = 0

    async def detect(
        self, new_entity: Entity, existing_entities: Sequence[Entity], options: DetectionOptions | None = None
    ) -> DetectionResult | None:
        """The strongest relation from an existing entity to the new one, at or above `options.min_confidence`.

        Only the first `options.max_comparisons` existing entities are compared.

        Raises:
            InvalidOptions: When an option is outside its bounds.
            InvalidInput: When an entity has no id.
        """
        options = detection_options(options or DetectionOptions())
        for entity in (new_entity, *existing_entities):
            text(entity.id, "entity id")
        compared = [entity for entity in existing_entities if entity.id != new_entity.id][: options.max_comparisons]
        if not compared:
            return None
        if self._llm is None:
            relation = self._by_rules(new_entity, compared)
        else:
            relation = await self._by_model(self._llm, new_entity, compared)
        if relation is None or relation.confidence < options.min_confidence:
            return None
        return DetectionResult(relation, llm_used=self._llm is not None)

    async def find_and_detect(
        self, new_entity: Entity, options: DetectionOptions | None = None
    ) -> DetectionResult | None:
        """As `detect`, with the entities that the storage finds for the new one's name.

        Raises:
            InvalidOptions: When the options are outside their limits.
            StoreError: When the storage cannot be searched.
        """
        options = detection_options(options or DetectionOptions())
        # One more than compared: the new entity itself may be found.
        found = await self._storage.search(new_entity.name, limit=options.max_comparisons + 1)
        return await self.detect(new_entity, found, options)

    def parse_response(self, response: str, new_entity_id: str) -> EvolutionRelation | None:
        """The relation in a model's JSON answer.

        None for "none", and for an invalid answer, which is counted as a failure.
        """
        try:
            verdict = read_verdict(response, new_entity_id)
        except LLMError as error:
            self._fail(str(error))
            return None
        if verdict is None:
            return None
        return EvolutionRelation(
            id="",
            source_id=verdict.related_id,
            target_id=new_entity_id,
            evolution_type=verdict.evolution_type,
            reason=verdict.reason,
            confidence=verdict.confidence,
            created_at=datetime.min.replace(tzinfo=UTC),  # an answer has no time of its own
            detector=Detector.MODEL,
        )

    def _by_rules(self, new: Entity, existing: Sequence[Entity]) -> EvolutionRelation | None:
        verdicts = rules.judge(new, existing)
        if not verdicts:
            return None
        best = max(verdicts, key=lambda verdict: (verdict.confidence, verdict.related_id))
        return EvolutionRelation(
            id="",
            source_id=best.related_id,
            target_id=new.id,
            evolution_type=best.evolution_type,
            reason=best.reason,
            confidence=best.confidence,
            created_at=new.recorded_at or datetime.min.replace(tzinfo=UTC),
        )

    async def _by_model(self, llm: LLMProvider, new: Entity, existing: Sequence[Entity]) -> EvolutionRelation | None:
        try:
            prompt = build_detection_prompt(new, existing)
            completion = await complete_once(llm, CompletionRequest(prompt, EVOLVE, schema=VERDICT_SCHEMA))
        except UmiError as error:
            self._fail(f"model failed: {error}")
            return None
        relation = self.parse_response(completion.content, new.id)
        if relation is not None and relation.source_id not in {entity.id for entity in existing}:
            self._fail(f"model named an id that was not offered: {relation.source_id}")
            return None
        return relation

    def _fail(self, why: str) -> None:
        self.failures += 1
        log.warning("evolution detection gave nothing: %s", why)


@stage("judge")
def evolve(tx: Transaction, writer: RelationWriter, new: Entity, reader: TextReader | None) -> list[EvolutionRelation]:
    """Relate a stored entity to the statements before and after it by rules, record the relations, and act on them.

    A statement that arrives late is put in its place in time: older statements are judged against it, and it is judged
    against the next newer ones, so it closes nothing that came later. Rules read no clock and never wait, so this runs
    inside the transaction that stores the entity, and two processes cannot both leave a current value.

    Args:
        tx: The transaction.
        writer: Writes the relations.
        new: The entity.
        reader: Reads older messages again that may have stated what the new one ends.
    """
    found = _candidates(tx, new)
    older = _before(new, found)
    proposals = _judged(new, [entity for entity in older if _open_at(entity, new)])
    updated = next((p for p in proposals if p.evolution_type is EvolutionType.UPDATE), None)
    if updated is not None and writer.origin(new) is not Origin.USER and _repeats_outdated(new, _all_before(tx, new)):
        return [_refused(writer, updated)]
    if not new.slot and new.notes is not None and FORGET in new.notes.cues:
        proposals += _forgotten(tx, new)
    # Only what no open statement has is looked for among those that have ended: a fact may have changed a thousand times.
    if retroactive_supersession.unread(new, older) and (
        ended := retroactive_supersession.unread(new, _all_before(tx, new))
    ):
        proposals += retroactive_supersession.closed(tx, new, ended, alike(tx, new), reader)
    for successor in _after(new, found):
        found_in = _judged(successor, [new])
        proposals += found_in
        updates = any(p.evolution_type is EvolutionType.UPDATE for p in found_in)
        if updates and writer.may_change(new, successor):
            break  # the next newer statement closes it; later ones update that one
    likely = _bounded([p for p in proposals if p.confidence >= EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT], writer.is_sure)
    writer.effects.load({end: None for p in likely for end in (p.source_id, p.target_id)})  # in one query
    return [writer.record(p) for p in likely]


def _bounded(proposals: Sequence[Proposal], is_sure: Callable[[Proposal], bool]) -> list[Proposal]:
    """Without the least of what is unsure: lines of one form ("build 17 passed") would each be related to all before.

    Of equals the first are kept, which are about the newest statements.
    """
    unsure = [place for place, one in enumerate(proposals) if not is_sure(one)]
    least = sorted(unsure, key=lambda place: (proposals[place].confidence, -place))
    left_out = frozenset(least[: max(0, len(least) - EVOLUTION_UNSURE_COUNT_MAX)])
    return [one for place, one in enumerate(proposals) if place not in left_out]


def _repeats_outdated(new: Entity, older: Sequence[Entity]) -> bool:
    """Whether a statement says what was replaced before, without a word of change."""
    same = (one for one in older if (one.subject, one.slot, one.negated) == (new.subject, new.slot, new.negated))
    replaced = [one for one in same if not _open_at(one, new) and value_key(one.value) == value_key(new.value)]
    return bool(replaced) and not rules.turns(new)


def _refused(writer: RelationWriter, update: Proposal) -> EvolutionRelation:
    """Record that a statement never held, because an assistant, a tool or a document only repeats what was replaced.

    They often have it from this memory, from before the change; a person who says it again means it.
    """
    reason = f"repeats what was replaced; {update.reason}"
    proposal = replace(update, evolution_type=EvolutionType.CONTRADICT, reason=reason)
    return writer.resolve(writer.record(proposal).id, "old")


def rejoin(tx: Transaction, writer: RelationWriter, entity: Entity) -> None:
    """Close a statement by the next newer one that updates it, when the statement that closed it was deleted.

    A relation that was undone is not made again.
    """
    newer = _after(entity, _candidates(tx, entity))
    related = {row.target_id for row in writer.effects.rows(entity.id) if row.evolution_type is EvolutionType.UPDATE}
    for successor in newer:
        updates = [p for p in _judged(successor, [entity]) if p.evolution_type is EvolutionType.UPDATE]
        if not updates or updates[0].confidence < EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT or successor.id in related:
            continue
        if not writer.may_change(entity, successor):
            continue
        writer.record(updates[0])
        return


def _forgotten(tx: Transaction, new: Entity) -> list[Proposal]:
    """The older statement that a request to forget means, where the reader found none.

    It is the speaker's earliest statement that contains the most words of the request, among them one of those that follow
    the asking ("... and then remove gnome"), where words follow.
    """
    wanted = frozenset(analyse(new.content)) - _REQUEST_WORDS
    objects = frozenset(analyse(asked_of(new.content))) - _REQUEST_WORDS
    shared: list[tuple[int, Entity]] = []
    offered = candidates(tx, new)
    said = tx.episodes([new.episode_id, *(old.episode_id for old in offered)])
    mine = said[new.episode_id]
    for old in offered:
        if (said[old.episode_id].speaker, said[old.episode_id].role) != (mine.speaker, mine.role):
            continue
        words = frozenset(analyse(f"{old.name} {old.content}"))
        if objects and words.isdisjoint(objects):
            continue
        count = len(wanted & words)
        # A single shared word, or less than half of the request's words, is not enough to close something.
        if count >= max(_SHARED_LEAST, len(wanted) * _SHARED_SHARE):
            shared.append((count, old))
    if not shared:
        return []
    most = max(count for count, _ in shared)
    found = min((old for count, old in shared if count == most), key=statement_order)
    reason = "asked to forget it"
    return [Proposal(found.id, new.id, EvolutionType.UPDATE, reason, _ASKED, Detector.RULES)]


# Words of the request itself, which say nothing about what is to be forgotten.
_REQUEST_WORDS = frozenset(
    analyse(
        "forget delete erase remove wipe drop please keep remember store know tell told say said note information fact memory about that want private secret"
        " should never would rather can could bit what don't not notes"
    )
)
_SHARED_LEAST = 2  # words of the request
_SHARED_SHARE = 0.5  # of the words of the request
_ASKED = 0.7  # confidence, which acts


def _judged(new: Entity, older: Sequence[Entity]) -> list[Proposal]:
    """What the rules say a statement does to older ones, the surest first."""
    verdicts = rules.judge(new, older)
    return [Proposal(v.related_id, new.id, v.evolution_type, v.reason, v.confidence, Detector.RULES) for v in verdicts]


def _before(new: Entity, found: Mapping[str, Entity]) -> list[Entity]:
    """Those of some statements, by id, that are older than a new one, the newest first."""
    place = statement_order(new)
    return sorted((one for one in found.values() if statement_order(one) < place), key=statement_order, reverse=True)


def _after(old: Entity, found: Mapping[str, Entity]) -> list[Entity]:
    """Those of some statements, by id, that are newer than an old one, the oldest first."""
    place = statement_order(old)
    return sorted((one for one in found.values() if statement_order(one) > place), key=statement_order)


def _all_before(tx: Transaction, new: Entity) -> list[Entity]:
    """The statements older than a new one that the rules know, those that have ended among them, the newest first."""
    return _before(new, _candidates(tx, new, ended=True))


def _candidates(tx: Transaction, new: Entity, *, ended: bool = False) -> dict[str, Entity]:
    """The statements that the rules compare a new one with, by id; with `ended` those as well that had ended before it began."""
    wanted = rules.candidate_slots(new)
    begins = None if ended else _earlier(new.valid_from, new.at)
    by_pair = tx.statements_in(wanted.pairs, limit=CANDIDATES_PER_SLOT_COUNT_MAX, open_from=begins)
    found = {entity.id: entity for some in by_pair.values() for entity in some}
    if wanted.recent:  # "one of them": owned or kept things named just before
        before = tx.episodes_at(range(max(0, new.arrival - wanted.recent), new.arrival + 1))
        for group in tx.entities_of([episode.id for episode in before.values()]).values():
            found.update((entity.id, entity) for entity in group)
    found.pop(new.id, None)
    return found


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    """The earlier of two moments, of which either may be unknown."""
    return min((moment for moment in (one, other) if moment is not None), default=None)


def _open_at(entity: Entity, new: Entity) -> bool:
    """Whether an entity is open when the new one begins to hold."""
    return entity.valid_to is None or (new.valid_from is not None and entity.valid_to > new.valid_from)

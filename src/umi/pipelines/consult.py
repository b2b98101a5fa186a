"""What a model adds to the rules: entities of a message, and relations between new entities and old ones.

At most two calls per window of text: one extraction, one evolution over all its entities together. The rules always read the text
too; the model's entities are laid over theirs, and its relations beside theirs. When the model fails, the work waits in the outbox.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from umi.limits import (
    LLM_EVOLVE_ENTITIES_COUNT_MAX,
    LLM_PROMPT_BYTES_MAX,
    LLM_WINDOW_BYTES_MAX,
)
from umi.pipelines.candidates import candidates
from umi.pipelines.extract import Extracted, said_in
from umi.pipelines.language.subjects import subject_key
from umi.pipelines.language.tokens import sentences
from umi.pipelines.model import Conversation, ExtractedEntity, NamedRelation, read_extraction, read_relations
from umi.pipelines.model.contracts import EVOLVE, EXTRACT
from umi.pipelines.prompts import build_evolution_prompt, build_extraction_prompt, memory_line
from umi.ports import Snapshot, Vector
from umi.types import Entity, EntityType, Episode


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What was offered, and when: as of the namespace's change number `sequence`."""

    sequence: int
    offered: tuple[tuple[str, tuple[str, ...]], ...]
    vector: Vector | None = None

    def moved(self, snapshot: Snapshot, new: Sequence[Entity]) -> bool:
        """Whether another write has changed what would be offered for these entities."""
        return (
            snapshot.sequence != self.sequence
            and offer(snapshot, new, self.vector).fingerprint().offered != self.offered
        )


@dataclass(frozen=True, slots=True)
class Offer:
    """New entities with the existing ones that each may concern: what a model is asked about, and what must not have moved."""

    new: tuple[Entity, ...]
    existing: Mapping[str, tuple[Entity, ...]]
    sequence: int
    vector: Vector | None = None

    def fingerprint(self) -> Fingerprint:
        """What a later snapshot is held against."""
        offered = tuple((entity.id, tuple(old.id for old in self.existing[entity.id])) for entity in self.new)
        return Fingerprint(self.sequence, offered, self.vector)


async def extract(model: Conversation, episode: Episode, asked_before: int = 0) -> tuple[ExtractedEntity, ...]:
    """What a model reads in an episode, one call per window.

    Raises:
        LLMError: When a window got no usable answer.
    """
    speaker, day = episode.speaker or episode.role, episode.at.date().isoformat()
    found: list[ExtractedEntity] = []
    for window in windows(episode.content):
        entities, _ = await model.ask(
            EXTRACT, build_extraction_prompt(window, speaker, day), read_extraction, asked_before
        )
        found += entities
    return tuple(found)


def windows(text: str) -> list[str]:
    """The text in pieces of at most `LLM_WINDOW_BYTES_MAX`, cut between sentences, within one only where it is longer."""
    if len(text.encode()) <= LLM_WINDOW_BYTES_MAX:
        return [text]
    pieces: list[str] = []
    begin = end = 0
    for start, finish in sentences(text):
        if end > begin and len(text[begin:finish].encode()) > LLM_WINDOW_BYTES_MAX:
            pieces += _chopped(text[begin:end])
            begin = start
        end = finish
    return [piece for piece in [*pieces, *_chopped(text[begin:])] if piece.strip()]


def _chopped(text: str) -> list[str]:
    if len(text.encode()) <= LLM_WINDOW_BYTES_MAX:
        return [text]
    size = LLM_WINDOW_BYTES_MAX // 4  # characters have at most four bytes
    return [text[start : start + size] for start in range(0, len(text), size)]


def overlay(extracted: Extracted, named: Sequence[ExtractedEntity], episode: Episode) -> Extracted:
    """The rules' entities with the model's laid over: a note that a model's entity covers gives way to it.

    A statement that the rules read (it has a slot) stays; the model's entity of the same words about the same subject is then
    left out, so that nothing is said twice.
    """
    entities = list(extracted.result.entities)
    for one in named:
        start = episode.content.find(one.content)
        span = (start, start + len(one.content)) if start >= 0 else (0, len(episode.content))
        subject = subject_key(one.name)
        if any(old.slot and old.subject == subject and _overlap(old.span, span) for old in entities):
            continue
        entity = said_in(episode, span, one.entity_type, one.name, subject=subject, confidence=one.confidence)
        entities = [old for old in entities if not (_is_note(old) and old.span == span)]
        if all(old.id != entity.id for old in entities):
            entities.append(entity)
    entities.sort(key=lambda entity: (entity.span or (0, 0), entity.slot, entity.value, entity.name))
    return replace(extracted, result=replace(extracted.result, entities=tuple(entities)))


def offer(snapshot: Snapshot, new: Sequence[Entity], vector: Vector | None = None) -> Offer:
    """The existing entities that each new one may concern, at most ten; `vector` is that of their message."""
    existing = {entity.id: tuple(candidates(snapshot, entity, vector)) for entity in new}
    return Offer(tuple(entity for entity in new if existing[entity.id]), existing, snapshot.sequence, vector)


async def relate(model: Conversation, offered: Offer, asked_before: int = 0) -> tuple[NamedRelation, ...]:
    """What a model says of an offer, in as few calls as its prompt allows: one for every message of ordinary length.

    Raises:
        LLMError: When a call got no usable answer.
    """
    found: list[NamedRelation] = []
    for group in _groups(offered.new):
        candidates = {old.id: old for entity in group for old in offered.existing[entity.id]}
        # Short ids of the prompt's own: a model copies them without slips, and they cost a tenth of the tokens.
        new = {f"n{place}": entity for place, entity in enumerate(group, 1)}
        existing = {f"m{place}": old for place, old in enumerate(_fitting(list(candidates.values())), 1)}
        read = partial(read_relations, new_ids=new, offered_ids=existing)
        rows = await model.ask(EVOLVE, build_evolution_prompt(new, existing), read, asked_before)
        named = (replace(row, new_id=new[row.new_id].id, related_id=existing[row.related_id].id) for row in rows)
        found += [row for row in named if any(old.id == row.related_id for old in offered.existing[row.new_id])]
    return tuple(found)


def _groups(new: Sequence[Entity]) -> list[Sequence[Entity]]:
    return [
        new[start : start + LLM_EVOLVE_ENTITIES_COUNT_MAX]
        for start in range(0, len(new), LLM_EVOLVE_ENTITIES_COUNT_MAX)
    ]


def _fitting(existing: Sequence[Entity]) -> list[Entity]:
    """As many existing entities as their half of the prompt has room for, the first ones first."""
    room = LLM_PROMPT_BYTES_MAX // 2
    kept: list[Entity] = []
    for entity in existing:
        room -= len(memory_line("m000", entity).encode())
        if room < 0:
            break
        kept.append(entity)
    return kept


def _overlap(one: tuple[int, int] | None, other: tuple[int, int]) -> bool:
    return one is not None and one[0] < other[1] and other[0] < one[1]


def _is_note(entity: Entity) -> bool:
    return entity.entity_type is EntityType.NOTE and not entity.slot

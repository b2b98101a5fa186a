"""Evolution judged by a model: selects the pairs of statements to offer, asks, and turns the verdicts into proposals.

A snapshot is read, then the model answers, and the verdicts are written later in another transaction. What was judged
is kept, so that when another writer has changed the candidates meanwhile, only new pairs are put to the model, and
verdicts on statements that are gone are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from umi._core.stages import stage
from umi._core.text import analyse
from umi._evolution.relation_effects import RelationEffects
from umi._evolution.relation_writer import Proposal, statement_order
from umi._reading.model import Conversation, NamedRelation, read_relations
from umi._reading.model.contracts import EVOLVE
from umi._reading.model.extraction import loosely, messages_before, nearest, says_it_all
from umi._reading.model.prompts import build_evolution_prompt, moment, statement_line
from umi.limits import (
    EVOLUTION_EXISTING_ENTITIES_COUNT_MAX,
    LLM_CANDIDATES_BYTES,
    LLM_CANDIDATES_MORE_BYTES,
    LLM_EVOLVE_ENTITIES_COUNT_MAX,
    LLM_PROMPT_BYTES_MAX,
)
from umi.ports import Snapshot, Vector
from umi.types import UNREAL, Detector, Entity, Episode, EvolutionType, Mode

_COUNT: Final = EVOLUTION_EXISTING_ENTITIES_COUNT_MAX
# Candidates reserved for statements about the same subjects, and as many for those of the messages just before.
_OF_SUBJECT_COUNT: Final = 4

Pair = tuple[str, str]  # ids of a new statement and of a candidate


@dataclass(frozen=True, slots=True)
class Offer:
    """The new statements of one message, with the open candidates of each, most likely first.

    `sequence` is the namespace's change sequence at which this was read; `before` the messages before, `speakers` who
    said what, by episode id.
    """

    new: tuple[Entity, ...]
    existing: Mapping[str, tuple[Entity, ...]]
    sequence: int
    before: tuple[Episode, ...] = ()
    speakers: Mapping[str, str] | None = None

    def pairs(self) -> frozenset[Pair]:
        """All pairs of a new statement and a candidate."""
        return frozenset((one.id, old.id) for one in self.new for old in self.existing[one.id])


@dataclass(frozen=True, slots=True)
class Judgement:
    """A model's verdicts on the pairs that were put to it, of one message.

    `sequence` is the change sequence of the offer that was judged last; -1 when nothing was.
    """

    relations: tuple[NamedRelation, ...] = ()
    judged: frozenset[Pair] = frozenset()
    sequence: int = -1

    def covers(self, offered: Offer) -> bool:
        """Whether every pair of the offer was put to the model."""
        return offered.pairs() <= self.judged


def offer(
    snapshot: Snapshot,
    episode: Episode,
    new: Sequence[Entity],
    vectors: Mapping[str, Vector] | None = None,
    near_message: Sequence[str] | None = None,
) -> Offer:
    """Select the open statements that each new one may concern, at most ten each.

    Args:
        snapshot: The store's state; the new statements need not be in it.
        episode: Their message.
        new: Statements of one message.
        vectors: Embeddings of the new statements by id, each of shape (dimensions,); without one, words alone decide.
        near_message: Ids of the messages most similar to theirs, if known: used for a statement that says what its
            whole message says, instead of another search.
    """
    # A note of a message that states nothing changes nothing.
    new = [one for one in new if one.mode is not Mode.UNSTATED]
    anew = [one.id for one in snapshot.entities_of([episode.id]).get(episode.id, ())]  # if read again
    before = messages_before(snapshot, episode)
    recent = snapshot.entities_of([one.id for one in before])
    existing: dict[str, tuple[Entity, ...]] = {}
    for one in new:
        # The search is saved for a statement that says what its whole message says.
        near = near_message
        if near is None or not says_it_all(one, episode):
            near = nearest(snapshot, f"{one.name} {one.content}", (vectors or {}).get(one.id), _COUNT)
        groups = snapshot.entities_of(near)
        # By subject, by recency (the messages just before), by similarity.
        legs = (
            [old for key in (one.subject, *one.also) for old in snapshot.statements(key, limit=_COUNT)],
            [old for place in reversed(before) for old in recent.get(place.id, ())],
            [old for id_ in near for old in _by_words(one, groups.get(id_, ()))],
        )
        existing[one.id] = tuple(_merged(one, [_open(snapshot, leg, one, anew) for leg in legs]))
    others = {old.episode_id for group in existing.values() for old in group}
    spoke = {id_: said.speaker or said.role for id_, said in snapshot.episodes([episode.id, *sorted(others)]).items()}
    return Offer(tuple(new), existing, snapshot.sequence, before, spoke)


@stage("judge")
async def relate(
    model: Conversation, offered: Offer, known: Judgement | None = None, asked_before: int = 0
) -> Judgement:
    """Ask a model about the pairs of an offer that it has not judged yet.

    Args:
        model: The model, with the operation's time and budget.
        offered: The pairs.
        known: What it has judged before.
        asked_before: Earlier attempts at the same work.

    Raises:
        LLMError: When a call got no usable answer.
    """
    known = known or Judgement()
    fresh = offered.pairs() - known.judged
    found = list(known.relations)
    for group in _groups(offered, fresh, first=not known.judged):
        # Short ids made for this prompt: a model copies them without mistakes, and they cost a tenth of the tokens.
        new = {f"n{place}": one for place, one in enumerate(group, 1)}
        existing = {f"m{place}": old for place, old in enumerate(_fitting(offered, group, fresh), 1)}
        prompt = build_evolution_prompt(new, existing, offered.before, offered.speakers)
        read = partial(read_relations, new_ids=new, offered_ids=existing)
        meant = {**new, **existing}
        found += [
            replace(row, new_id=meant[row.new_id].id, related_id=meant[row.related_id].id)
            for row in await model.ask(EVOLVE, prompt, read, asked_before)
        ]
    return Judgement(tuple(found), known.judged | offered.pairs(), offered.sequence)


def proposals(judgement: Judgement, ends: Mapping[str, Entity]) -> Iterator[Proposal]:
    """Turn verdicts into proposals from the earlier statement to the later one.

    `ends` are the statements that still exist, by id; verdicts on others are dropped. So are verdicts in which
    something wished, supposed or asked would change a fact. Some proposals are recorded without acting: when a fact
    would end a wish, when the words that the verdict is about are not in the older statement, or when the model had the
    order reversed.
    """
    for row in judgement.relations:
        # The statement was deleted while the model was working.
        if row.new_id not in ends or row.related_id not in ends:
            continue
        # The order of the statements decides which one is older, not the model.
        older, newer = sorted((ends[row.new_id], ends[row.related_id]), key=statement_order)
        changes = row.evolution_type is EvolutionType.UPDATE
        # "I wish I lived in Rome" does not end "I live in Berlin".
        if changes and newer.mode in UNREAL and older.mode not in UNREAL:
            continue
        part, said = part_of(older, row.part)
        alike = (newer.mode in UNREAL) == (older.mode in UNREAL)
        # The prompt shows times to the minute: with equal ones the model could not know the order, and its verdict
        # still acts.
        turned = row.new_id == older.id and changes and moment(older) != moment(newer)
        yield Proposal(
            older.id,
            newer.id,
            row.evolution_type,
            row.reason,
            row.confidence,
            Detector.MODEL,
            nature=row.nature,
            part=part,
            acts=alike and said and not turned,
        )


def part_of(older: Entity, words: str) -> tuple[tuple[int, int] | None, bool]:
    """Locate the words that a verdict is about within a statement.

    Returns:
        Their half-open range, None for the whole statement; and whether the statement contains them. When nothing but
        the subject would be left, that is the whole statement.
    """
    if not words.strip():
        return None, True
    # Verbatim first; models sometimes change white space or case.
    start = older.content.find(words)
    end = start + len(words)
    if start < 0:
        match = re.search(loosely(words), older.content, re.IGNORECASE)
        if match is None:
            return None, False
        start, end = match.span()
    rest = set(analyse(f"{older.content[:start]} {older.content[end:]}")) - set(analyse(older.name))
    return ((start, end) if rest else None), True


def _merged(one: Entity, legs: Sequence[Sequence[Entity]]) -> list[Entity]:
    """Merge candidates: the first few by subject and by recency, then the similar ones, then the rest; at most ten."""
    about, recent, near = legs
    first = [*about[:_OF_SUBJECT_COUNT], *recent[:_OF_SUBJECT_COUNT], *near, *about, *recent]
    return list({old.id: old for old in first if old.id != one.id}.values())[:_COUNT]


def _open(snapshot: Snapshot, leg: Sequence[Entity], one: Entity, anew: Sequence[str]) -> list[Entity]:
    """Candidates of other messages that hold when the statement begins to.

    What is closed only by statements of a message that is being read again (`anew`) counts as open.
    """
    found: list[Entity] = []
    effects = RelationEffects(snapshot)
    for old in leg:
        if old.episode_id == one.episode_id or old.mode is Mode.UNSTATED:
            continue
        # A statement about the past is compared with what held then, even if that is closed by now.
        over = old.valid_to is not None and (one.valid_from is None or one.valid_from > old.valid_to)
        if over and anew:
            others = [closing for closing in effects.closings(old.id) if closing.relation.target_id not in anew]
            over = any(one.valid_from is None or one.valid_from > closing.valid_to for closing in others)
        if not over:
            found.append(old)
    return found


def _by_words(one: Entity, group: Sequence[Entity]) -> list[Entity]:
    """The statements of one message; those that share the most words with a new one first."""
    # Nothing to order, and analysing text costs time.
    if len(group) < 2:
        return list(group)
    words = frozenset(analyse(f"{one.name} {one.content}"))
    return sorted(
        group, key=lambda old: (-len(words & frozenset(analyse(f"{old.name} {old.content}"))), old.span or (0, 0))
    )


def _groups(offered: Offer, fresh: frozenset[Pair], *, first: bool) -> Iterator[Sequence[Entity]]:
    """The new statements in groups of one call each: those with unjudged pairs.

    At first all, as they may concern each other.
    """
    wanted = [one for one in offered.new if any(pair[0] == one.id for pair in fresh)]
    if wanted or (first and len(offered.new) > 1):
        whole = offered.new if first else wanted
        for start in range(0, len(whole), LLM_EVOLVE_ENTITIES_COUNT_MAX):
            yield whole[start : start + LLM_EVOLVE_ENTITIES_COUNT_MAX]


def _fitting(offered: Offer, group: Sequence[Entity], fresh: frozenset[Pair]) -> list[Entity]:
    """As many candidates as the prompt has room for: the best of each new statement, then the second best and so on.

    Returned in order of time.
    """
    # At most half of the prompt: the new statements and the instructions need the rest.
    room = min(LLM_CANDIDATES_BYTES + LLM_CANDIDATES_MORE_BYTES * (len(group) - 1), LLM_PROMPT_BYTES_MAX // 2)
    columns = [[old for old in offered.existing[one.id] if (one.id, old.id) in fresh] for one in group]
    kept: dict[str, Entity] = {}
    # Rank by rank, so that each new statement keeps its best candidates when the room is small.
    for rank in range(_COUNT):
        for column in columns:
            if rank < len(column) and column[rank].id not in kept:
                room -= len(statement_line("m000", column[rank], offered.speakers or {}).encode()) + 1
                if room < 0:
                    return sorted(kept.values(), key=statement_order)
                kept[column[rank].id] = column[rank]
    return sorted(kept.values(), key=statement_order)

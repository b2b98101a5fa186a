"""Noticing, inside the transaction that stores a message, that it tells something again with another value.

Only flagged: no statement is closed by it. Recall shows both and puts the newer one first (`umi._retrieval`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from umi._core.ranking import bm25
from umi._evolution.relation_writer import Proposal, statement_order
from umi._evolution.value_features import lightened
from umi._evolution.value_judge import LIKELY, likelihood
from umi._reading.grammar.statements import DRAFTERS
from umi._reading.value_mentions import ValueMention, tellings
from umi.limits import (
    EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT,
    EVOLUTION_SUPERSEDE_CONFIDENCE_MIN,
    RETOLD_MESSAGES_COUNT_MAX,
    RETOLD_TERMS_COUNT_MAX,
)
from umi.ports import Snapshot, Transaction
from umi.ports.candidates import TextCandidates
from umi.types import Detector, Entity, Episode, EvolutionType

_COMMON_LEAST: Final = 8  # messages that hold a word before it can be a common one
_COMMON_SHARE: Final = 0.08  # of all messages
_RECENT: Final = 0.3  # what the latest of equally alike messages gain over the first
_SURE: Final = EVOLUTION_SUPERSEDE_CONFIDENCE_MIN - 0.05  # at most: below what acts
_VALUE_CHARACTERS_MAX: Final = 60
_THINKABLE: Final = 0.2  # likely enough to be looked at by whoever judges next

Found = tuple[float, ValueMention, ValueMention]  # how likely, the older and the newer


class ValueUpdates:
    """What the messages of one transaction tell again.

    Args:
        tx: The transaction that stores them. Its search index need not know its own messages, so these are kept here as well.
    """

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._mine: dict[str, list[Episode]] = {}  # settled in this transaction, by the terms of what they tell
        self._is_there: bool | None = None

    def proposals(self, episode: Episode, entities: Sequence[Entity]) -> list[Proposal]:
        """Updates that a message makes, and those that later ones made already of a message that comes late.

        Args:
            episode: The message; its entities are stored.
            entities: They.
        """
        if episode.speaker is None and episode.role in DRAFTERS:
            return []
        told = tellings(episode.content)
        terms = _terms(told)
        if not terms:
            return []
        made = list(self._compared(episode, entities, told, terms))
        for term in terms:
            self._mine.setdefault(term, []).append(episode)
        return made

    def _compared(
        self, episode: Episode, entities: Sequence[Entity], told: Sequence[ValueMention], terms: Sequence[str]
    ) -> Iterator[Proposal]:
        others, common = self._near(episode, terms)
        told = [lightened(one, common) for one in told]
        groups = self._tx.entities_of([other.id for other in others])
        here = (episode.at, episode.arrival)
        for before in (True, False):
            side = [other for other in others if other.id in groups and ((other.at, other.arrival) < here) is before]
            # Only the one next to it: what that one did to those before it was noticed when it was told.
            for other in sorted(side, key=lambda one: (one.at, one.arrival), reverse=before):
                theirs = [lightened(one, common) for one in tellings(other.content)]
                found = _likeliest(theirs, told) if before else _likeliest(told, theirs)
                if found is None:
                    continue
                ends = (groups[other.id], entities) if before else (entities, groups[other.id])
                proposal = _proposal(found, *ends)
                if proposal is not None:
                    yield proposal
                    break

    def _near(self, episode: Episode, terms: Sequence[str]) -> tuple[list[Episode], frozenset[str]]:
        """Messages of the same speaker that share words with what is told, and which of the words half the memory is about."""
        others = {one.id: one for term in terms for one in self._mine.get(term, ()) if _same_speaker(one, episode)}
        common: frozenset[str] = frozenset()
        if self._index_is_there():
            known, common = _indexed(self._tx, episode, terms)
            others |= {one.id: one for one in known}
        return list(others.values()), common

    def _index_is_there(self) -> bool:
        """Whether the search index has followed; while it lacks much it is brought on by a step, and nobody waits for the rest."""
        if self._is_there is None:
            self._is_there = self._tx.catch_up()
        return self._is_there


def akin(snapshot: Snapshot, episode_id: str, content: str) -> list[str]:
    """Ids of messages that may tell what a statement tells, with another value; the likeliest first.

    Args:
        snapshot: Where they are.
        episode_id: The statement's message.
        content: Its words.
    """
    told = tellings(content)
    episode = snapshot.episodes([episode_id]).get(episode_id)
    terms = _terms(told)
    if episode is None or not terms:
        return []
    others, common = _indexed(snapshot, episode, terms)
    told = tuple(lightened(one, common) for one in told)
    weighed = []
    for other in others:
        theirs = [lightened(one, common) for one in tellings(other.content)]
        likely = max((likelihood(old, new) for old in theirs for new in told), default=0.0)
        weighed.append((-likely, -other.arrival, other.id))
    return [id_ for likely, _, id_ in sorted(weighed) if -likely >= _THINKABLE]


def _terms(told: Sequence[ValueMention]) -> list[str]:
    return list(dict.fromkeys(term for one in told for term in one.terms))[:RETOLD_TERMS_COUNT_MAX]


def _indexed(snapshot: Snapshot, episode: Episode, terms: Sequence[str]) -> tuple[list[Episode], frozenset[str]]:
    text = snapshot.text_candidates(terms)
    common = _common(text, terms)
    keys = [key for key in (int(text.keys[row]) for row in _best(text, common, terms)) if key != episode.arrival]
    read = snapshot.episodes_at(keys)
    same = [read[key] for key in keys if key in read and _same_speaker(read[key], episode)]
    return same[:RETOLD_MESSAGES_COUNT_MAX], common


def _same_speaker(one: Episode, other: Episode) -> bool:
    return (one.speaker, one.role) == (other.speaker, other.role)


def _common(text: TextCandidates, terms: Sequence[str]) -> frozenset[str]:
    most = max(_COMMON_LEAST, _COMMON_SHARE * text.turn.count)
    return frozenset(term for term, df in zip(terms, text.turn.df, strict=True) if df > most)


def _best(text: TextCandidates, common: frozenset[str], terms: Sequence[str]) -> list[int]:
    """Rows that share more than common words, the likeliest first, of equal ones the latest."""
    turn = text.turn
    telling = np.array([term not in common for term in terms])
    shares = np.bincount(turn.unit[telling[turn.term]], minlength=len(text.keys)) > 0
    scores = bm25(turn, 1.0)
    span = max(1.0, float(text.keys.max(initial=0)))
    weighed = np.where(shares, scores / max(float(scores.max(initial=0.0)), 1e-6) + _RECENT * text.keys / span, -1.0)
    order = np.argsort(-weighed, kind="stable")[: 2 * RETOLD_MESSAGES_COUNT_MAX]
    return [int(row) for row in order if shares[row]]


def _likeliest(older: Sequence[ValueMention], newer: Sequence[ValueMention]) -> Found | None:
    best: Found | None = None
    for old in older:
        for new in newer:
            likely = likelihood(old, new)
            if likely >= LIKELY and (best is None or likely > best[0]):
                best = likely, old, new
    return best


def _proposal(found: Found, older: Sequence[Entity], newer: Sequence[Entity]) -> Proposal | None:
    """The update between the statements that hold the two values; None where the older one is closed already."""
    likely, old, new = found
    source, target = _holding(older, old.span), _holding(newer, new.span)
    if source.valid_to is not None or statement_order(source) > statement_order(target):
        return None
    least = EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT
    confidence = least + (_SURE - least) * (likely - LIKELY) / (1 - LIKELY)
    reason = f"told again: {old.text[:_VALUE_CHARACTERS_MAX]} -> {new.text[:_VALUE_CHARACTERS_MAX]}"
    return Proposal(source.id, target.id, EvolutionType.UPDATE, reason, round(confidence, 3), Detector.RULES)


def _holding(entities: Sequence[Entity], span: tuple[int, int]) -> Entity:
    """The statement in which a sentence stands; what fills no slot comes first, as it says what no slot knows."""

    def apart(entity: Entity) -> tuple[bool, bool, str]:
        start, end = entity.span or (0, 0)
        return not (start < span[1] and span[0] < end), bool(entity.slot), entity.id

    return min(entities, key=apart)

"""Detects, when a message is stored, that it states the same thing as an earlier one with another value (ADR 0015).

Such an update is only flagged: it closes no statement. Recall shows both messages, the newer one first
(`umi._retrieval`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from umi._core.ranking import bm25
from umi._evolution.relation_writer import Proposal
from umi._evolution.value_features import lightened
from umi._evolution.value_judge import LIKELY, likelihood
from umi._reading.grammar.statements import DRAFTERS
from umi._reading.value_mentions import ValueMention, mentions
from umi.limits import (
    EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT,
    EVOLUTION_SUPERSEDE_CONFIDENCE_MIN,
    RETOLD_MESSAGES_COUNT_MAX,
    RETOLD_TERMS_COUNT_MAX,
)
from umi.ports import Snapshot, Transaction
from umi.ports.candidates import TextCandidates
from umi.types import Detector, Entity, Episode, EvolutionType

_COMMON_LEAST: Final = 8  # messages that must contain a word before it can count as common
_COMMON_SHARE: Final = 0.08  # share of all messages from which a word is common
_RECENT: Final = 0.3  # bonus of the latest over the first of equally similar messages, on scores of 0..1
_SURE: Final = EVOLUTION_SUPERSEDE_CONFIDENCE_MIN - 0.05  # greatest confidence: below what acts
_VALUE_CHARACTERS_MAX: Final = 60  # of each value in a reason
_THINKABLE: Final = 0.2  # probability from which a message is offered to another judge

Found = tuple[float, ValueMention, ValueMention]  # probability, older mention, newer mention


class ValueUpdates:
    """Detector for the messages of one transaction.

    Args:
        tx: The transaction that stores them. The search index may not contain its messages yet, so they are kept here
            as well.
    """

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._mine: dict[str, list[Episode]] = {}  # messages of this transaction, by terms
        self._is_there: bool | None = None

    def proposals(self, episode: Episode, entities: Sequence[Entity]) -> list[Proposal]:
        """Flagged updates of earlier messages by this one and, if it arrives late, of this one by later messages.

        Args:
            episode: The message; its entities are stored.
            entities: Its entities.
        """
        # What an assistant drafts or estimates is not a fact about the user.
        if episode.speaker is None and episode.role in DRAFTERS:
            return []
        told = mentions(episode.content)
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
        """At most one update in each direction of time."""
        others, common = self._near(episode, terms)
        told = [lightened(one, common) for one in told]
        here = (episode.at, episode.arrival)
        earlier = {other.id for other in others if (other.at, other.arrival) < here}
        found: dict[str, Found] = {}
        for other in others:
            theirs = [lightened(one, common) for one in mentions(other.content)]
            likeliest = _likeliest(theirs, told) if other.id in earlier else _likeliest(told, theirs)
            if likeliest is not None:
                found[other.id] = likeliest
        # Of the many that are near only these few are read.
        groups = self._tx.entities_of(found) if found else {}
        for before in (True, False):
            side = [other for other in others if other.id in groups and (other.id in earlier) is before]
            # Only the nearest in time: its own update of earlier messages was detected when it was stored.
            for other in sorted(side, key=lambda one: (one.at, one.arrival), reverse=before):
                ends = (groups[other.id], entities) if before else (entities, groups[other.id])
                proposal = _proposal(found[other.id], *ends)
                if proposal is not None:
                    yield proposal
                    break

    def _near(self, episode: Episode, terms: Sequence[str]) -> tuple[list[Episode], frozenset[str]]:
        """Messages of the same speaker that share terms with the mentions, and which terms are common here."""
        mine = {one.id: one for term in terms for one in self._mine.get(term, ()) if _same_speaker(one, episode)}
        # A whole conversation may come at once: as of the index, only some are read again.
        nearest = sorted(mine.values(), key=lambda one: (abs(one.at - episode.at), abs(one.arrival - episode.arrival)))
        others = {one.id: one for one in nearest[:RETOLD_MESSAGES_COUNT_MAX]}
        common: frozenset[str] = frozenset()
        if self._index_is_there():
            known, common = _indexed(self._tx, episode, terms)
            others |= {one.id: one for one in known}
        return list(others.values()), common

    def _index_is_there(self) -> bool:
        """Whether the search index is up to date.

        Otherwise it is advanced by one step, and not used for this transaction.
        """
        if self._is_there is None:
            self._is_there = self._tx.catch_up()
        return self._is_there


def akin(snapshot: Snapshot, episode_id: str, content: str) -> list[str]:
    """Ids of messages that may state the same thing as a statement with another value; the most likely first.

    Args:
        snapshot: The store's state.
        episode_id: The statement's message.
        content: The statement's words.
    """
    told = mentions(content)
    episode = snapshot.episodes([episode_id]).get(episode_id)
    terms = _terms(told)
    if episode is None or not terms:
        return []
    others, common = _indexed(snapshot, episode, terms)
    told = tuple(lightened(one, common) for one in told)
    weighed = []
    for other in others:
        theirs = [lightened(one, common) for one in mentions(other.content)]
        likely = max((likelihood(old, new) for old in theirs for new in told), default=0.0)
        weighed.append((-likely, -other.arrival, other.id))
    return [id_ for likely, _, id_ in sorted(weighed) if -likely >= _THINKABLE]


def _terms(told: Sequence[ValueMention]) -> list[str]:
    """The terms by which other mentions of the same things are looked up."""
    return list(dict.fromkeys(term for one in told for term in one.terms))[:RETOLD_TERMS_COUNT_MAX]


def _indexed(snapshot: Snapshot, episode: Episode, terms: Sequence[str]) -> tuple[list[Episode], frozenset[str]]:
    """Similar messages of the same speaker from the search index, and the common terms."""
    text = snapshot.text_candidates(terms)
    common = _common(text, terms)
    keys = [key for key in (int(text.keys[row]) for row in _best(text, common, terms)) if key != episode.arrival]
    read = snapshot.episodes_at(keys)
    same = [read[key] for key in keys if key in read and _same_speaker(read[key], episode)]
    return same[:RETOLD_MESSAGES_COUNT_MAX], common


def _same_speaker(one: Episode, other: Episode) -> bool:
    """Whether two messages have the same speaker and role."""
    return (one.speaker, one.role) == (other.speaker, other.role)


def _common(text: TextCandidates, terms: Sequence[str]) -> frozenset[str]:
    """The terms that so many messages contain that they say little."""
    most = max(_COMMON_LEAST, _COMMON_SHARE * text.turn.count)
    return frozenset(term for term, df in zip(terms, text.turn.df, strict=True) if df > most)


def _best(text: TextCandidates, common: frozenset[str], terms: Sequence[str]) -> list[int]:
    """Rows of messages with at least one shared term that is not common, most similar first, the latest of equals."""
    turn = text.turn
    mention = np.array([term not in common for term in terms])
    shares = np.bincount(turn.unit[mention[turn.term]], minlength=len(text.keys)) > 0
    scores = bm25(turn, 1.0)
    span = max(1.0, float(text.keys.max(initial=0)))
    weighed = np.where(shares, scores / max(float(scores.max(initial=0.0)), 1e-6) + _RECENT * text.keys / span, -1.0)
    order = np.argsort(-weighed, kind="stable")[: 2 * RETOLD_MESSAGES_COUNT_MAX]
    return [int(row) for row in order if shares[row]]


def _likeliest(older: Sequence[ValueMention], newer: Sequence[ValueMention]) -> Found | None:
    """The most probable pair of an older and a newer mention, if it is probable enough."""
    best: Found | None = None
    for old in older:
        for new in newer:
            likely = likelihood(old, new)
            if likely >= LIKELY and (best is None or likely > best[0]):
                best = likely, old, new
    return best


def _proposal(found: Found, older: Sequence[Entity], newer: Sequence[Entity]) -> Proposal | None:
    """The flagged update between the statements that contain the two values.

    None when the older one is closed already.
    """
    likely, old, new = found
    source, target = _holding(older, old.span), _holding(newer, new.span)
    if source.valid_to is not None:
        return None
    least = EVOLUTION_CONFIDENCE_THRESHOLD_DEFAULT
    # Maps probabilities of LIKELY..1 to confidences from the threshold for recording to just below acting.
    confidence = least + (_SURE - least) * (likely - LIKELY) / (1 - LIKELY)
    reason = f"told again: {old.text[:_VALUE_CHARACTERS_MAX]} -> {new.text[:_VALUE_CHARACTERS_MAX]}"
    return Proposal(source.id, target.id, EvolutionType.UPDATE, reason, round(confidence, 3), Detector.RULES)


def _holding(entities: Sequence[Entity], span: tuple[int, int]) -> Entity:
    """The statement that contains a sentence. Notes come first: a value without a slot is usually in one."""

    def apart(entity: Entity) -> tuple[bool, bool, str]:
        start, end = entity.span or (0, 0)
        return not (start < span[1] and span[0] < end), bool(entity.slot), entity.id

    return min(entities, key=apart)

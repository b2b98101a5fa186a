"""Put the hit first that most likely is the answer as things stand, and leave out what surely was it before.

The answer reader reads the first hits together, in order of time: which of them is the answer, and which were it and are no
longer (ADR 17)? What it says holds for this question alone: nothing is stored. What acts on a change is decided when a message
is remembered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from sys import float_info
from typing import Final

from umi._core.guard import call_port
from umi._core.ranking import log_odds
from umi._core.stages import stage
from umi._core.text import analyse
from umi._evolution.trust import USUAL, Trust
from umi._retrieval.segments import segments
from umi.errors import EmbeddingError
from umi.limits import ANSWER_READER_HITS_COUNT, ANSWER_READER_SCORE_RATIO_MIN
from umi.ports.answer_reader import AnswerReader, Dated, Passage, Reading
from umi.types import Hit, HitState, Origin

# Chosen on four authors whom the reader was not fitted to; docs/state.md has figures for three others.
# Weights beside the logarithm of the probability that a hit is the answer.
_SCORE_WEIGHT: Final = 1.0  # of the log-odds of its score
_HOLDS_WEIGHT: Final = 4.0  # of the logarithm of the probability that it is not outdated
_OUTDATED_FROM: Final = 0.5  # least probability that a hit holds no longer, from which on a later one is called newer
# A hit is left out where the first one is the answer at least so likely, and it is outdated at least and the answer at most so likely.
# Chosen on fifteen such authors and on other people's talk, so that fewer than seven questions of a thousand lose what they want.
_ANSWERED_FROM: Final = 0.5
_LEFT_OUT_OUTDATED_FROM: Final = 0.3
_LEFT_OUT_ANSWERS_MAX: Final = 0.02
_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Ordered:
    """Hits in order of how likely each is the answer, and the probability that none of those that were read is.

    `left_out` are ids of hits that were the answer before, so surely that they need not be shown; the first hit is newer than these.
    """

    hits: list[Hit]
    none: float = 0.0
    left_out: frozenset[str] = frozenset()


@stage("read the first hits")
async def in_order(
    reader: AnswerReader,
    question: str,
    hits: list[Hit],
    not_so: Collection[tuple[str, str]] = (),
    trust: Trust = USUAL,
) -> Ordered:
    """Move the one of the first `ANSWER_READER_HITS_COUNT` hits to the top that most likely is the answer, and name those to leave out.

    A hit that must not stand above another one stays where it is, and the others are read without it: where it is not trusted to change
    the first hit, or one that it outdates, or where somebody has undone that it changes the first one. The same list object is
    returned when nothing changes.

    Args:
        reader: Reads the hits in view of the question.
        question: What was asked.
        hits: Best first. Where the first one's score is low, nothing is read.
        not_so: Episode ids (earlier, later) of updates that somebody has undone.
        trust: Whose messages may make others outdated.

    Raises:
        EmbeddingError: When the reader fails.
    """
    if not hits or hits[0].score < ANSWER_READER_SCORE_RATIO_MIN:
        return Ordered(hits)
    near = hits[:ANSWER_READER_HITS_COUNT]
    passages = {hit.id: passage(hit.episode.content, _said_by(hit), question, hit.matched) for hit in near}
    none: float | None = None
    while True:
        read = await _read(reader, question, near, passages)
        none = 1 - sum(one.reading.answers for one in read) if none is None else none
        top = max(read, key=_strength)
        before = [one for one in read if one.hit.at < top.hit.at and _ids(one.hit, top.hit) not in not_so]
        left_out = frozenset(one.hit.id for one in before if _is_replaced(one, top))
        outdated = [one.hit for one in before if one.is_outdated or one.hit.id in left_out]
        if all(trust.may_change(hit.origin, top.hit.origin) for hit in (*outdated, near[0])) and (
            top.hit is near[0] or _ids(near[0], top.hit) not in not_so
        ):
            return Ordered(_first(top.hit, outdated, hits), none, left_out)
        near = [hit for hit in near if hit is not top.hit]
        if len(near) == 1:
            return Ordered(_first(near[0], [], hits), none)


def _first(top: Hit, outdated: Sequence[Hit], hits: list[Hit]) -> list[Hit]:
    """Hits with one of them first, which says of which outdated ones it is newer."""
    newer_than = tuple(dict.fromkeys((*top.newer_than, *(hit.id for hit in outdated))))
    # It takes the highest score, so that scores still fall; learning may have put a lower one first.
    score = max(hit.score for hit in hits)
    if top is hits[0] and (newer_than, score) == (top.newer_than, top.score):
        return hits
    return [replace(top, score=score, newer_than=newer_than), *(hit for hit in hits if hit is not top)]


@dataclass(frozen=True, slots=True)
class _Read:
    """A hit and what the reader says of it."""

    hit: Hit
    reading: Reading

    @property
    def is_outdated(self) -> bool:
        return self.reading.outdated >= _OUTDATED_FROM


async def _read(
    reader: AnswerReader, question: str, hits: Sequence[Hit], passages: Mapping[str, Passage]
) -> list[_Read]:
    """Hits with their readings, in the order given; they are read in order of time. `passages` are theirs, by the hit's id."""
    by_time = sorted(hits, key=lambda hit: (hit.at, hit.episode.arrival))
    newest = by_time[-1].at
    told = [Dated(passages[hit.id], (newest - hit.at).total_seconds() / _DAY_S) for hit in by_time]
    answers = await call_port(_failed, reader.read_answers, question, told)
    if len(answers) != len(told):
        raise EmbeddingError(f"the answer reader gave {len(answers)} readings of {len(told)} statements")
    readings = dict(zip((hit.id for hit in by_time), answers, strict=True))
    return [_Read(hit, readings[hit.id]) for hit in hits]


def _failed(error: Exception) -> EmbeddingError:
    return EmbeddingError(f"the answer reader failed: {error!r}")


def _is_replaced(one: _Read, top: _Read) -> bool:
    """Whether the first hit so surely answers in place of an earlier one that the latter need not be shown.

    What another person said stays, since two people may not agree, and so does what is disputed. An assistant only repeats.
    """
    return (
        one.hit.state is HitState.CURRENT
        and (_said_by(one.hit) == _said_by(top.hit) or one.hit.origin is Origin.ASSISTANT)
        and top.reading.answers >= _ANSWERED_FROM
        and one.reading.outdated >= _LEFT_OUT_OUTDATED_FROM
        and one.reading.answers <= _LEFT_OUT_ANSWERS_MAX
    )


def _strength(one: _Read) -> float:
    """By how much a hit should stand first: how likely it is the answer, its score, and how likely it still holds."""
    answers, holds = one.reading.answers, 1 - one.reading.outdated
    return (
        log(max(answers, float_info.min))
        + _SCORE_WEIGHT * log_odds(one.hit.score)
        + _HOLDS_WEIGHT * log(max(holds, float_info.min))
    )


def _ids(one: Hit, other: Hit) -> tuple[str, str]:
    """Episode ids, the earlier first."""
    return (one.episode.id, other.episode.id) if one.at <= other.at else (other.episode.id, one.episode.id)


def newer_first(hits: Sequence[Hit], told_again: Sequence[tuple[str, str]], trust: Trust) -> list[Hit]:
    """Move a hit that updates another right above it, with at least its score, and let it say so; no hit is left out.

    Where the later one is not trusted to update the earlier, the earlier one is moved above it instead.

    Args:
        hits: Best first.
        told_again: Episode ids (earlier, later), in order of the later.
        trust: Whose messages may make others outdated.
    """
    places = {hit.episode.id: hit for hit in hits}
    order = list(places)
    for pair in told_again:
        trusted = trust.may_change(places[pair[0]].origin, places[pair[1]].origin)
        below, above = pair if trusted else reversed(pair)
        if order.index(above) > order.index(below):
            order.remove(above)
            order.insert(order.index(below), above)
        # Also where learning has put it above the other already.
        places[above] = replace(places[above], score=max(places[above].score, places[below].score))
        if trusted:
            later = places[above]
            newer_than = dict.fromkeys((*later.newer_than, places[below].id))
            places[above] = replace(later, newer_than=tuple(newer_than))
    return [places[id_] for id_ in order]


def _said_by(hit: Hit) -> str:
    return hit.speaker or hit.episode.role


def passage(text: str, speaker: str, question: str, matched: tuple[int, int] | None = None) -> Passage:
    """The statement of a message that shares most words with a question, the first of them; fitting uses it as well.

    Args:
        text: The message.
        speaker: Who said it.
        question: What was asked.
        matched: The half-open characters that the search has found; only statements that meet them are looked at.
    """
    whole = matched or (0, len(text))
    inside = [span for span in segments(text) if span[0] < whole[1] and whole[0] < span[1]] or [whole]
    terms = frozenset(analyse(question))
    best = max(inside, key=lambda span: len(terms & frozenset(analyse(text[slice(*span)]))))
    return Passage(text, best, speaker)

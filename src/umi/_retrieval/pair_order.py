"""Order the first hits of a question so that, of messages about the same thing, the newest that answers comes first.

The pair reader compares the first hit with later ones: which of the two is the better answer, and does the later one make
the first one outdated (ADR 17)? This only changes the order: nothing is hidden and nothing is stored. What acts on a
change is decided when a message is remembered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from umi._core.ranking import log_odds
from umi._core.stages import stage
from umi._core.text import analyse
from umi._evolution.trust import USUAL, Trust
from umi._retrieval.segments import segments
from umi.limits import PAIR_READER_HITS_COUNT
from umi.ports.pair_reader import Compared, Pair, PairReader, Passage
from umi.types import Hit

# Chosen on four authors whom the reader was not fitted to; docs/state.md has figures for three others.
_HOPELESS: Final = 0.15  # score of the first hit below which nothing is read: what is below it rarely answers
# Weight of a hit's lead in log-odds of the score, against the log-odds that the other one answers better.
_SCORE_WEIGHT: Final = 0.4
_FAR: Final = 3.0  # such a lead from which on hits are not compared
# Least probability that the first hit holds no longer, where the later hit says that it is newer than that one.
_OUTDATED_FROM: Final = 0.5
_DAY_S: Final = 86_400


@stage("order by pairs")
async def in_order(
    reader: PairReader,
    question: str,
    hits: list[Hit],
    not_so: Collection[tuple[str, str]] = (),
    trust: Trust = USUAL,
) -> list[Hit]:
    """Put the later hit that most likely answers better above the first one; no hit is left out.

    The first hit is compared with those of the first `PAIR_READER_HITS_COUNT` that are later and trusted to change it. Where
    the first one is not trusted, also with what it would change. What has risen is compared with what is later still. The
    same list object is returned when nothing moves.

    Args:
        reader: Compares statements in view of the question.
        question: What was asked.
        hits: Best first. Where the first one's score is low, nothing is read.
        not_so: Episode ids (earlier, later) of updates that somebody has undone.
        trust: Whose messages may make others outdated.

    Raises:
        EmbeddingError: When the reader fails.
    """
    if len(hits) < 2 or hits[0].score < _HOPELESS:
        return hits
    first, *others = hits[:PAIR_READER_HITS_COUNT]
    others = [hit for hit in others if _lead(first, hit) < _FAR]
    newer_than: list[str] = []
    statements: dict[str, Passage] = {}
    top = first
    while others:
        rivals = [_Rival(top, hit, trust) for hit in others]
        rivals = [one for one in rivals if one.may_rise and one.ids not in not_so]
        risen = await _risen(reader, question, rivals, statements) if rivals else None
        if risen is None:
            break
        best, compared = risen
        if best.at > top.at and compared.outdated >= _OUTDATED_FROM:
            newer_than.append(top.id)
        # What came back: of A, B and A again, B makes A outdated, and the second A makes B so.
        others = [hit for hit in others if hit.at > best.at]
        top = best
    if top is first:
        return hits
    # It takes the first hit's score, so that scores still fall.
    told = replace(top, score=first.score, newer_than=(*top.newer_than, *newer_than))
    return [told, *(hit for hit in hits if hit is not top)]


async def _risen(
    reader: PairReader, question: str, rivals: Sequence[_Rival], statements: dict[str, Passage]
) -> tuple[Hit, Compared] | None:
    """The hit that is most likely better than the first one, and what the reader said of it.

    `statements` has the statements that were found so far, by episode id; those that are missing are added.
    """
    for hit in (rivals[0].top, *(one.hit for one in rivals)):
        if hit.episode.id not in statements:
            statements[hit.episode.id] = _passage_of(hit, question)
    pairs = [one.pair(statements[one.top.episode.id], statements[one.hit.episode.id]) for one in rivals]
    found = zip(rivals, await reader.compare(question, pairs), strict=True)
    best, compared = max(found, key=lambda row: (row[0].better(row[1]), row[0].hit.at, row[0].hit.episode.arrival))
    return (best.hit, compared) if best.better(compared) >= 0 else None


@dataclass(frozen=True, slots=True)
class _Rival:
    """A hit beside the first one."""

    top: Hit
    hit: Hit
    trust: Trust

    @property
    def is_later(self) -> bool:
        return self.hit.at > self.top.at

    @property
    def may_rise(self) -> bool:
        """Whether it is trusted to change the first hit, and later; or that one is not trusted to change it."""
        trusted = self.trust.may_change
        return trusted(self.top.origin, self.hit.origin) and (
            self.is_later or not trusted(self.hit.origin, self.top.origin)
        )

    @property
    def ids(self) -> tuple[str, str]:
        """Episode ids, the earlier first."""
        top, other = self.top.episode.id, self.hit.episode.id
        return (top, other) if self.is_later else (other, top)

    def pair(self, top: Passage, other: Passage) -> Pair:
        """The two as the reader is asked about them, the earlier first."""
        days = abs((self.hit.at - self.top.at).total_seconds()) / _DAY_S
        return Pair(top, other, days) if self.is_later else Pair(other, top, days)

    def better(self, compared: Compared) -> float:
        """Log-odds that this one should stand first: for a later one that it answers better, less the other's lead.

        For an earlier one that the first hit, which is not trusted to, makes it outdated.
        """
        if self.is_later:
            return log_odds(compared.better) - _SCORE_WEIGHT * _lead(self.top, self.hit)
        return log_odds(compared.outdated) - log_odds(_OUTDATED_FROM)


def _lead(hit: Hit, other: Hit) -> float:
    """By how much the score of a hit is above another's, in log-odds."""
    return log_odds(hit.score) - log_odds(other.score)


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
            places[above] = replace(places[above], score=places[below].score)
        if trusted:
            later = places[above]
            newer_than = dict.fromkeys((*later.newer_than, places[below].id))
            places[above] = replace(later, newer_than=tuple(newer_than))
    return [places[id_] for id_ in order]


def _passage_of(hit: Hit, question: str) -> Passage:
    """The statement of a hit that the reader compares."""
    return passage(hit.episode.content, hit.speaker or hit.episode.role, question, hit.matched)


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
    best = max(inside, key=lambda span: (len(terms & frozenset(analyse(text[slice(*span)]))), -span[0]))
    return Passage(text, best, speaker)

"""Order the first hits of a question so that, of messages about the same thing, the newest comes first.

The pair reader judges both whether a message answers the question and whether a later one makes an earlier one outdated
(ADR 17). This only changes the order: nothing is hidden and nothing is stored. What acts on a change is decided when a
message is remembered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from umi._core.ranking import log_odds
from umi._core.stages import stage
from umi._core.text import analyse
from umi._evolution.trust import USUAL, Trust
from umi._retrieval.segments import segments
from umi.limits import PAIR_READER_HITS_COUNT
from umi.ports.pair_reader import Pair, PairReader, Passage
from umi.types import Hit

# Both were chosen on four authors whom the reader was not fitted to; docs/state.md has figures for three others.
_LESS_WELL: Final = 2.0  # log-odds by which a newer hit may answer less well than the first hit
_CHANGED_FROM: Final = 0.5  # least probability that the older statement no longer holds
_DAY_S: Final = 86_400


@stage("order by pairs")
async def in_order(
    reader: PairReader,
    question: str,
    hits: list[Hit],
    not_so: Collection[tuple[str, str]] = (),
    trust: Trust = USUAL,
) -> list[Hit]:
    """Put the newest hit that makes the first hit outdated above it; no hit is left out.

    Compares the first hit with those of the first `PAIR_READER_HITS_COUNT` that are later and trusted to change it. Where
    the first hit is not trusted, also with what it would change. The same list object is returned when nothing moves.

    Args:
        reader: Compares statements.
        question: What was asked.
        hits: Best first.
        not_so: Episode ids (earlier, later) of updates that somebody has undone.
        trust: Whose messages may make others outdated.

    Raises:
        EmbeddingError: When the reader fails.
    """
    rivals = [hit for hit in hits[1:PAIR_READER_HITS_COUNT] if _may_rise(hit, hits[0], trust)]
    rivals = [hit for hit in rivals if (hits[0].episode.id, hit.episode.id) not in not_so]
    if not rivals:
        return hits
    top, *others = [_passage(hit, question) for hit in (hits[0], *rivals)]
    # Pairs first: few are a change, and only for those it matters how well they answer.
    likely = await reader.changes([_pair(hits[0], top, *rival) for rival in zip(rivals, others, strict=True)])
    changed = [place for place, one in enumerate(likely) if one >= _CHANGED_FROM]
    if not changed:
        return hits
    # Compared as log-odds, where a fixed distance means the same for likely and unlikely answers.
    least, *odds = map(log_odds, await reader.answers(question, [top, *(others[place] for place in changed)]))
    rising = [rivals[place] for place, mine in zip(changed, odds, strict=True) if mine >= least - _LESS_WELL]
    if not rising:
        return hits
    best = max(rising, key=lambda hit: (hit.origin in trust.origins, hit.at, hit.episode.arrival))
    # It takes the first hit's score, so that scores still fall, and says which hit it is newer than.
    newer_than = (*best.newer_than, hits[0].id) if best.at > hits[0].at else best.newer_than
    return [replace(best, score=hits[0].score, newer_than=newer_than), *(hit for hit in hits if hit is not best)]


def _may_rise(hit: Hit, top: Hit, trust: Trust) -> bool:
    """Whether a hit may go above the first one: it is trusted to change it, and later, or the first one is not trusted to change it."""
    return trust.may_change(top.origin, hit.origin) and (
        hit.at > top.at or not trust.may_change(hit.origin, top.origin)
    )


def _pair(first: Hit, top: Passage, rival: Hit, other: Passage) -> Pair:
    """The first hit and a rival, the older one first."""
    days = (rival.at - first.at).total_seconds() / _DAY_S
    return Pair(top, other, days=days) if days > 0 else Pair(other, top, days=-days)


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


def _passage(hit: Hit, question: str) -> Passage:
    """The statement of a hit that the reader sees: of those in the matched span, the one that shares most words with the question."""
    text, whole = hit.episode.content, hit.matched or (0, len(hit.episode.content))
    inside = [span for span in segments(text) if span[0] < whole[1] and whole[0] < span[1]] or [whole]
    terms = frozenset(analyse(question))
    best = max(inside, key=lambda span: (len(terms & frozenset(analyse(text[slice(*span)]))), -span[0]))
    return Passage(text, best, hit.speaker or hit.episode.role)

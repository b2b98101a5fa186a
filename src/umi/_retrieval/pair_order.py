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
from umi._core.text import analyse
from umi._retrieval.segments import segments
from umi.limits import PAIR_READER_HITS_COUNT
from umi.ports.pair_reader import Pair, PairReader, Passage
from umi.types import Hit

# Both were chosen on four authors whom the reader was not fitted to; docs/state.md has figures for three others.
_LESS_WELL: Final = 2.0  # log-odds by which a newer hit may answer less well than the first hit
_CHANGED_FROM: Final = 0.5  # least probability that the older statement no longer holds
_DAY_S: Final = 86_400


async def in_order(
    reader: PairReader, question: str, hits: list[Hit], not_so: Collection[tuple[str, str]] = ()
) -> list[Hit]:
    """Put the newest hit that makes the first hit outdated above it; no hit is left out.

    Compares the first hit with those of the first `PAIR_READER_HITS_COUNT` that are later. The same list object is
    returned when nothing moves.

    Args:
        reader: Compares statements.
        question: What was asked.
        hits: Best first.
        not_so: Episode ids (earlier, later) of updates that somebody has undone.

    Raises:
        EmbeddingError: When the reader fails.
    """
    later = [hit for hit in hits[1:PAIR_READER_HITS_COUNT] if hit.at > hits[0].at]
    later = [hit for hit in later if (hits[0].episode.id, hit.episode.id) not in not_so]
    if not later:
        return hits
    top, *others = [_passage(hit, question) for hit in (hits[0], *later)]
    # Compared as log-odds, where a fixed distance means the same for likely and unlikely answers.
    least, *odds = map(log_odds, await reader.answers(question, [top, *others]))
    near = [place for place, mine in enumerate(odds) if mine >= least - _LESS_WELL]
    pairs = [Pair(top, others[place], days=(later[place].at - hits[0].at).total_seconds() / _DAY_S) for place in near]
    compared = await reader.compare(pairs)
    anew = [later[place] for place, one in zip(near, compared, strict=True) if one.changed >= _CHANGED_FROM]
    if not anew:
        return hits
    newest = max(anew, key=lambda hit: (hit.at, hit.episode.arrival))
    # It takes the first hit's score, so that scores still fall, and says which hit it is newer than.
    moved = replace(newest, score=hits[0].score, newer_than=(*newest.newer_than, hits[0].id))
    return [moved, *(hit for hit in hits if hit is not newest)]


def newer_first(hits: Sequence[Hit], told_again: Sequence[tuple[str, str]]) -> list[Hit]:
    """Move a hit that updates another right above it, with at least its score; no hit is left out.

    Args:
        hits: Best first.
        told_again: Episode ids (earlier, later), in order of the later.
    """
    places = {hit.episode.id: hit for hit in hits}
    order = list(places)
    for earlier, later in told_again:
        if order.index(later) > order.index(earlier):
            order.remove(later)
            order.insert(order.index(earlier), later)
            places[later] = replace(places[later], score=places[earlier].score)
    return [places[id_] for id_ in order]


def _passage(hit: Hit, question: str) -> Passage:
    """The statement of a hit that the reader sees: of those in the matched span, the one that shares most words with the question."""
    text, whole = hit.episode.content, hit.matched or (0, len(hit.episode.content))
    inside = [span for span in segments(text) if span[0] < whole[1] and whole[0] < span[1]] or [whole]
    terms = frozenset(analyse(question))
    best = max(inside, key=lambda span: (len(terms & frozenset(analyse(text[slice(*span)]))), -span[0]))
    return Passage(text, best, hit.speaker or hit.episode.role)

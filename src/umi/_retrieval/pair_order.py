"""Of hits that answer a question about equally well and tell one thing, the newest first, as the pair reader judges it.

Nothing is hidden and nothing is stored: it only orders. What acts on a change is decided when a message is remembered.
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

# Chosen on four authors whom the reader was not fitted to; docs/state.md has three that neither has seen.
_LESS_WELL: Final = 2.0  # log-odds by which the newer of two may answer less well and still stand above the older
_CHANGED_FROM: Final = 0.5  # how likely the older must hold no longer
_DAY_S: Final = 86_400


async def in_order(
    reader: PairReader, question: str, hits: list[Hit], not_so: Collection[tuple[str, str]] = ()
) -> list[Hit]:
    """The hits, with the newest of those that tell the first one's thing anew above it, none left out; those given themselves where nothing moves.

    Args:
        reader: Compares statements.
        question: What was asked.
        hits: Best first.
        not_so: Ids of messages, (earlier, later), of which somebody has said that the later makes the earlier no less true.

    Raises:
        EmbeddingError: When the reader fails.
    """
    later = [hit for hit in hits[1:PAIR_READER_HITS_COUNT] if hit.at > hits[0].at]
    later = [hit for hit in later if (hits[0].episode.id, hit.episode.id) not in not_so]
    if not later:
        return hits
    top, *others = [_passage(hit, question) for hit in (hits[0], *later)]
    least, *odds = map(log_odds, await reader.answers(question, [top, *others]))
    near = [place for place, mine in enumerate(odds) if mine >= least - _LESS_WELL]
    pairs = [Pair(top, others[place], days=(later[place].at - hits[0].at).total_seconds() / _DAY_S) for place in near]
    compared = await reader.compare(pairs)
    anew = [later[place] for place, one in zip(near, compared, strict=True) if one.changed >= _CHANGED_FROM]
    if not anew:
        return hits
    newest = max(anew, key=lambda hit: (hit.at, hit.episode.arrival))
    moved = replace(newest, score=hits[0].score, newer_than=(*newest.newer_than, hits[0].id))
    return [moved, *(hit for hit in hits if hit is not newest)]


def newer_first(hits: Sequence[Hit], told_again: Sequence[tuple[str, str]]) -> list[Hit]:
    """The hits, with what tells a thing again right above what told it before, and no less relevant; none is left out.

    Args:
        hits: Best first.
        told_again: Ids of messages, (earlier, later), in order of the later.
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
    """What of a hit is read: of the statements of its message that matched, the one that shares most words with the question."""
    text, whole = hit.episode.content, hit.matched or (0, len(hit.episode.content))
    inside = [span for span in segments(text) if span[0] < whole[1] and whole[0] < span[1]] or [whole]
    terms = frozenset(analyse(question))
    best = max(inside, key=lambda span: (len(terms & frozenset(analyse(text[slice(*span)]))), -span[0]))
    return Passage(text, best, hit.speaker or hit.episode.role)

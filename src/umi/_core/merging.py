"""Merge the rankings of several wordings of a query by reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np

from umi._core.ranking import Ranking
from umi._core.rerank import LOOKS
from umi.limits import CANDIDATE_POOL_COUNT, RRF_K

Key = TypeVar("Key", bound=Hashable)


def merge_rankings(rankings: Sequence[Ranking], weights: Sequence[float], limit: int) -> Ranking:
    """Merge rankings by reciprocal rank fusion; the first hit of each is among the first `limit`.

    A candidate keeps its best score among the lists; where a later place has more, earlier ones are raised to it. The
    result is calibrated when the first ranking is; a list on another scale then moves candidates but gives no scores.

    Args:
        rankings: The first is that of the query as asked.
        weights: One per ranking.
        limit: How many hits are wanted.
    """
    pool = max(CANDIDATE_POOL_COUNT, 2 * limit)
    lists = [ranking.keys[:pool].tolist() for ranking in rankings]
    head = reciprocal_rank_fusion(lists, limit, weights)
    merged = list(dict.fromkeys(head + reciprocal_rank_fusion(lists, pool, weights)))
    best: dict[int, tuple[float, int, int]] = {}
    for number, ranking in enumerate(rankings):
        for place, key in enumerate(lists[number]):
            score = float(ranking.scores[place])
            if _means_the_same(ranking, rankings[0]) and score > best.get(key, (-1.0, 0, 0))[0]:
                best[key] = (score, number, place)
    scores = np.array([best[key][0] if key in best else 0.0 for key in merged])
    parts = np.zeros((len(merged), len(LOOKS)))
    for row, key in enumerate(merged):
        if key in best and best[key][2] < len(rankings[best[key][1]].parts):
            parts[row] = rankings[best[key][1]].parts[best[key][2]]
    return Ranking(
        keys=np.array(merged, dtype=np.int64),
        scores=np.maximum.accumulate(scores[::-1])[::-1],
        calibrator=rankings[0].calibrator,
        parts=parts,
        answerable=max(ranking.answerable for ranking in rankings if _means_the_same(ranking, rankings[0])),
    )


def _means_the_same(ranking: Ranking, first: Ranking) -> bool:
    """Whether a list's scores are on the same scale as the first list's."""
    return ranking.calibrator is not None or first.calibrator is None


def reciprocal_rank_fusion(
    lists: Sequence[Sequence[Key]], limit: int, weights: Sequence[float] | None = None
) -> list[Key]:
    """Merge ranked lists: each item gets weight / (k + rank), ranks from 1; each list's first item stays in the result.

    Args:
        lists: Best first; an item counts once per list.
        limit: Length of the result at most. With more lists than that, the first items of the heaviest lists are kept.
        weights: One per list; all 1 by default.

    Returns:
        Items by decreasing score; ties in order of first appearance. Source: Cormack, Clarke and Buettcher (SIGIR
        2009).
    """
    shares = list(weights) if weights is not None else [1.0] * len(lists)
    scores: dict[Key, float] = {}
    for ranked, share in zip(lists, shares, strict=True):
        for rank, item in enumerate(dict.fromkeys(ranked), start=1):
            scores[item] = scores.get(item, 0.0) + share / (RRF_K + rank)
    order = sorted(scores, key=lambda item: -round(scores[item], 12))  # a stable sort: ties keep order of appearance
    heaviest = sorted(range(len(lists)), key=lambda place: -shares[place])
    kept = list(dict.fromkeys(lists[place][0] for place in heaviest if lists[place]))[:limit]
    chosen = set(kept)
    for item in order:
        if len(chosen) >= limit:
            break
        chosen.add(item)
    return [item for item in order if item in chosen]

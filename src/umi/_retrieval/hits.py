"""Build the hits that a search returns from what a view shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from umi._core.ranking import Ranking
from umi._evolution.states import Shown, StatementState
from umi.limits import CONTEXT_TOKEN_BYTES
from umi.types import Hit, context_line


def hit_of(shown: Shown, ranking: Ranking, place: int, score: float, namespace: str, *, explain: bool) -> Hit:
    """A hit for what a view shows of a message of a namespace, at a place of a ranking."""
    episode, entity = shown.episode, shown.entity
    span = None if entity is None else entity.span
    return Hit(
        id=episode.id if entity is None else entity.id,
        content=shown.content,
        score=score,
        state=shown.state,
        episode=episode,
        entity=entity,
        evolutions=shown.evolutions,
        calibrated=ranking.calibrator is not None,
        legs=ranking.legs(place) if explain else {},
        matched=span,
        namespace=namespace,
    )


def within_tokens(hits: Sequence[Hit], max_tokens: int | None) -> Iterator[Hit]:
    """The first hits whose lines in `RecallReceipt.as_context` stay within `max_tokens` together."""
    left = None if max_tokens is None else max_tokens * CONTEXT_TOKEN_BYTES
    for hit in hits:
        if left is not None:
            left -= len(context_line(hit).encode()) + 1  # its newline
            if left < 0:
                return
        yield hit


def fact_hit(standing: StatementState, shown: Shown, score: float, namespace: str, *, explain: bool) -> Hit:
    """A hit for a statement that was looked up instead of searched."""
    entity = standing.entity
    return Hit(
        id=entity.id,
        content=shown.content,
        score=score,
        state=standing.state,
        episode=shown.episode,
        entity=entity,
        evolutions=standing.evolutions,
        legs={"fact": 1.0} if explain else {},
        matched=entity.span,
        namespace=namespace,
    )

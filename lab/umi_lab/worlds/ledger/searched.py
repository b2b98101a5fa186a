"""Messages in a memory of their own that are only searched: what each question finds, in which order, with which scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import umi
from umi.memory import Memory
from umi_lab.worlds.ledger.book import Said
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.scores import Scores

_NEAR: Final = 2e-6  # scores have six digits, the last of which rounding may move


async def tell(memory: Memory, messages: Sequence[Mapping[str, Any]], now: datetime) -> list[Said]:
    """Give messages to a memory, kept as they are, and the rows that the oracle searches.

    Args:
        memory: The memory.
        messages: Fields of `umi.Message`.
        now: The moment of recording.
    """
    told = [umi.Message(**one) for one in messages]
    receipt = await memory.remember(told, extract_entities=False)
    return [
        Said(
            key=id_,
            id=id_,
            content=one.content,
            role=one.role,
            speaker=one.speaker,
            session=one.session,
            at=one.at if isinstance(one.at, datetime) else now,
            recorded_at=now,
            arrival=place,
            message_id=None,
            metadata=dict(one.metadata),
            origin="user",
            expires_at=None,
        )
        for place, (one, id_) in enumerate(zip(told, receipt.episode_ids, strict=True))
    ]


async def require_found(memory: Memory, said: Sequence[Said], query: str) -> None:
    """A question finds exactly what the oracle's own search finds: each message in its place, with its score and the parts of it."""
    found = await memory.recall(query, limit=1_000, min_score=0.0, deep=False, explain=True)
    right = Scores(said, query, None).ranking()
    contents = {one.id: one.content for one in said}
    same(
        f"what {query!r} finds",
        [contents[hit.episode.id] for hit in found.hits],
        [one.said.content for one in right.places],
    )
    for hit, one in zip(found.hits, right.places, strict=True):
        what = f"{one.said.content!r}, found by {query!r}"
        _near(f"the score of {what}", hit.score, one.score)
        same(f"the parts of the score of {what}", sorted(hit.legs), sorted(one.legs))
        for name, part in one.legs.items():
            _near(f"what {name} gives to {what}", hit.legs[name], part)


def _near(what: str, found: float, right: float) -> None:
    if not abs(found - right) <= _NEAR:
        raise Wrong(f"{what} is {found!r}, and must be {right!r}")

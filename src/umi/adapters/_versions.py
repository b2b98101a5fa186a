"""Texts that are replaced as a whole: each version is a message, a filter takes all versions of one text, and the newest counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from umi._compat.messages import pages
from umi.errors import EvolutionError
from umi.types import Episode, Message, RememberReceipt, Where


async def newest(space: Any, where: Where) -> Episode | None:
    """The newest of some messages."""
    page = await space.episodes(limit=1, order="newest", where=where)
    return page.items[0] if page.items else None


async def write(space: Any, versions: Sequence[tuple[Where, Message]], reason: str, **options: Any) -> None:
    """Keep new versions, all or none; what an older version of the same text said is superseded, and stays in the history.

    Args:
        space: The namespace.
        versions: Each with the filter that takes the older ones.
        reason: Why the older ones no longer hold.
        options: Of `Memory.remember`.
    """
    older = [await _statements(space, where) for where, _ in versions]
    receipt = await space.remember([message for _, message in versions], **options)
    for id_, statements in zip(receipt.episode_ids, older, strict=True):
        await _supersede(space, statements, receipt, id_, reason)


async def _statements(space: Any, where: Where) -> list[str]:
    """Ids of what holds of a text, in whichever version it was said."""
    steps = pages(space.list, where=where)
    return [step.entity.id async for step in steps if step.state in {"current", "disputed"}]


async def _supersede(space: Any, older: Iterable[str], receipt: RememberReceipt, episode_id: str, reason: str) -> None:
    closed = {one.source_id for one in receipt.evolutions if one.acted}
    newer = [one.id for one in receipt.entities if one.episode_id == episode_id]
    for id_ in older if newer else ():
        if id_ not in closed:
            # A version that says by itself that it is about an earlier time replaces nothing.
            with suppress(EvolutionError):
                relation = await space.relate(id_, newer[0], "update", reason)
                if not relation.acted:  # the rules had found it themselves without being sure
                    await space.resolve(relation.id, "new")

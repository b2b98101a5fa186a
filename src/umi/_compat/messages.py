"""Messages as other products' memories: walk through them, find what was read in one, and let a new one replace an old one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Final

from umi.errors import EvolutionError
from umi.limits import LIST_LIMIT_DEFAULT
from umi.memory import Memory
from umi.types import Entity, Episode, HistoryStep, Order, RememberReceipt

EVERY: Final = {"role": {"exists": True}}  # every message has a role
_REASON: Final = "corrected by an update of the memory"


async def pages(read: Callable[..., Coroutine[Any, Any, Any]], **options: Any) -> AsyncIterator[Any]:
    """The items of `Memory.episodes` or `Memory.list`, read a page at a time."""
    after: str | None = None
    while True:
        page = await read(after=after, **options)
        for one in page.items:
            yield one
        after = page.next
        if after is None:
            return


def messages_of(memory: Memory, where: Any, *, order: Order = "oldest") -> AsyncIterator[Episode]:
    """All messages that a filter takes, read a page at a time."""
    return pages(memory.episodes, limit=LIST_LIMIT_DEFAULT, order=order, where=where)


async def statements_in(memory: Memory, episode: Episode, where: Any = None) -> list[HistoryStep]:
    """The statements that were read in a message, with their states.

    Args:
        memory: Where it is.
        episode: The message.
        where: A filter that takes it and few others; None takes those of its role.
    """
    found: list[HistoryStep] = []
    steps = pages(memory.list, limit=LIST_LIMIT_DEFAULT, order="newest", where=where or {"role": episode.role})
    async for step in steps:
        if step.entity.episode_id == episode.id:
            found.append(step)
        elif step.entity.arrival < episode.arrival:
            break
    return found


async def replace_statements(memory: Memory, old: Iterable[Entity], receipt: RememberReceipt) -> None:
    """Let what a new message says replace statements of the old one that it has not replaced by itself."""
    closed = {one.source_id for one in receipt.evolutions if one.acted}
    for statement in old if receipt.entities else ():
        if statement.id not in closed:
            # Where the new version says that it is about an earlier time, the order of statements is not what it says.
            with suppress(EvolutionError):
                await memory.relate(statement.id, receipt.entities[0].id, "update", _REASON)

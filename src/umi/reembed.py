"""Another embedder for a store that is in use."""

from __future__ import annotations

from collections.abc import Callable

from umi.build import change_embedder, choose_parts, close_parts
from umi.config import Config
from umi.memory import Memory
from umi.models import LLMChoice
from umi.ports import EmbeddingProvider


async def reembed(
    url: str,
    embedder: str | EmbeddingProvider,
    *,
    llm: LLMChoice | None = None,
    config: Config | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Give all of a store the vectors of another embedder.

    The old vectors go at once, in one transaction, and until the new ones are there texts are found by their words. What is
    broken off goes on where it was: by this again, or by `maintain` of a memory with the new embedder. Memories that are
    open with the old one refuse to remember from then on, and recall by words.

    Args:
        url: As `Memory.open` takes it.
        embedder: The new one, as `Memory.open` takes it.
        llm: Reads what waits for a model besides; without it, the rules do.
        config: Settings.
        progress: Called with the number of texts done after each namespace.

    Returns:
        How many texts were done, and how many wait.

    Raises:
        EmbeddingError: When the embedder cannot get ready; nothing is changed then.
        StoreError: When the store cannot be opened or written.
    """
    parts = choose_parts(llm, embedder, config, None, None)
    try:
        await change_embedder(url, parts)
    finally:
        await close_parts(parts)
    done = waiting = 0
    async with Memory.open(url, llm=llm, embedder=embedder, config=config) as memory:
        for space in await memory.namespaces():
            receipt = await memory.switch(space.name).maintain()
            done, waiting = done + receipt.completed, waiting + len(receipt.waiting)
            if progress is not None:
                progress(done)
    return done, waiting

"""Give a store that is in use the vectors of another embedder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from umi._core import validate
from umi._engine.components import SQLITE_PREFIX, change_embedder, choose_parts, close_parts, has_file
from umi._engine.engine import Engine
from umi._engine.model_names import LLMChoice
from umi._retrieval import history
from umi.config import Config
from umi.errors import InvalidInput
from umi.ports import EmbeddingProvider


async def reembed(
    url: str,
    embedder: str | EmbeddingProvider,
    *,
    llm: LLMChoice | None = None,
    config: Config | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Replace all vectors of a store by those of another embedder.

    The old vectors are deleted at once, in one transaction. Until the new ones exist, texts are found by their words.
    If it is interrupted, calling this again continues, and so does `maintain` of a memory with the new embedder.
    Memories that are open with the old embedder then refuse to remember, and recall by words.

    Args:
        url: As in `Memory.open`.
        embedder: The new one, as in `Memory.open`.
        llm: Also reads texts that wait for a model; without it the rules read them.
        config: Settings.
        progress: Called with the number of texts done after each namespace.

    Returns:
        How many texts were done, and how many wait.

    Raises:
        InvalidInput: When there is no such file.
        EmbeddingError: When the embedder cannot get ready; nothing is changed then.
        StoreError: When the store cannot be opened or written.
    """
    validate.progress(progress)
    _require_there(url)
    parts = choose_parts(llm, embedder, config, None, None)
    done = waiting = 0
    try:
        # First the change itself, on a connection of its own; then the work, as any memory would do it.
        await change_embedder(url, parts)
        engine = await Engine.open(url, parts, "default")
        try:
            # An embedder belongs to the whole store, so every namespace has texts that wait.
            for space in await engine.store.namespaces():
                view = engine.view(space.name)
                receipt = await view.maintain()
                done += receipt.completed
                waiting += await view.storage.read(history.waiting_count)  # the receipt lists the first of them only
                if progress is not None:
                    progress(done)
        finally:
            await engine.close_stores()
    finally:
        await close_parts(parts)
    return done, waiting


def _require_there(url: str) -> None:
    if has_file(url) and not Path(str(url).removeprefix(SQLITE_PREFIX)).exists():
        raise InvalidInput(f"{url!s:.200} is not there: name the database whose memories are to be embedded anew")

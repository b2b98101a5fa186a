"""From what a caller writes (`"umi.db"`, `"local"`) to the adapters behind the ports. The only place that names them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from umi.clock import SystemClock, SystemEntropy
from umi.config import Config
from umi.errors import EmbedderMismatch, EmbedderUnavailable, InvalidInput
from umi.pipelines.guard import GuardedEmbedder
from umi.pipelines.model import Asker
from umi.ports import Clock, EmbeddingProvider, Entropy, LLMProvider, Store
from umi.stores.memory import MemoryStore
from umi.stores.sqlite import SqliteStore
from umi.validate import text

SQLITE_PREFIX = "sqlite:///"
VFS_MARK = "?vfs="


@dataclass(frozen=True, slots=True)
class Parts:
    """What a memory is made of, beside its store."""

    asker: Asker | None
    embedder: GuardedEmbedder | None
    config: Config
    clock: Clock
    entropy: Entropy


def choose_parts(
    llm: LLMProvider | None,
    embedder: str | EmbeddingProvider | None,
    config: Config | None,
    clock: Clock | None,
    entropy: Entropy | None,
) -> Parts:
    """The caller's own parts, and the usual ones where there is none.

    Raises:
        InvalidInput: For an unknown embedder.
    """
    config, clock, entropy = config or Config(), clock or SystemClock(), entropy or SystemEntropy()
    asker = None if llm is None else Asker(llm, clock, entropy, config.token_budget)
    return Parts(asker, open_embedder(embedder), config, clock, entropy)


async def open_store(url: str, parts: Parts) -> Store:
    """The store that a URL names: a path, `sqlite:///PATH`, `:memory:` (SQLite in memory) or `dict:` (plain dicts).

    `sqlite:///PATH?vfs=NAME` opens the file through a virtual file system of SQLite's, such as a simulated disk's.

    Raises:
        InvalidInput: For a URL of a kind that Umi does not know.
        StoreError: When the store cannot be opened; the message says why.
    """
    url = text(str(url) if isinstance(url, Path) else url, "url", bytes_max=4096)
    if url == "dict:":
        return MemoryStore(clock=parts.clock, entropy=parts.entropy, cache_bytes_max=parts.config.cache_bytes_max)
    path, _, vfs = url.removeprefix(SQLITE_PREFIX).partition(VFS_MARK)
    if "://" in path:
        raise InvalidInput(f"url {url!r} is of a kind Umi does not know; give a file path, sqlite:///PATH or :memory:")
    return await SqliteStore.open(
        path,
        clock=parts.clock,
        entropy=parts.entropy,
        cache_bytes_max=parts.config.cache_bytes_max,
        busy_timeout_ms=parts.config.busy_timeout_ms,
        vfs=vfs or None,
    )


def open_embedder(embedder: str | EmbeddingProvider | None) -> GuardedEmbedder | None:
    """The embedder of that name, the caller's own object behind a guard, or None.

    "local" without its wheel gives None too: Umi then works on words alone and says so in `degraded`.

    Raises:
        InvalidInput: For an unknown name.
    """
    if embedder is None:
        return None
    if not isinstance(embedder, str):
        return GuardedEmbedder(embedder)
    if embedder != "local":
        raise InvalidInput(f"embedder {embedder!r} is not known; give 'local', None or an object with embed()")
    from umi.providers.local import LocalEmbedder  # noqa: PLC0415 - onnxruntime is imported only when it is used

    try:
        return GuardedEmbedder(LocalEmbedder())
    except EmbedderUnavailable:
        return None


async def require_same_embedder(store: Store, embedder: GuardedEmbedder | None) -> None:
    """Vectors of two models never meet in one store.

    Raises:
        EmbedderMismatch: When the store keeps vectors of another embedder.
    """
    kept, mine = await store.embedder_identity(), embedder.identity if embedder else None
    if kept is not None and mine is not None and kept != mine:
        raise EmbedderMismatch(
            f"the store holds vectors of {kept.name} ({kept.dimensions} dimensions, {kept.digest[:12]}), not of "
            f"{mine.name} ({mine.dimensions}, {mine.digest[:12]}); open it with that embedder, or with embedder=None"
        )

"""From what a caller writes (`"umi.db"`, `"local"`) to the components of a memory: store, model, embedder, clock."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from umi import limits
from umi._core.clock import SystemClock, SystemEntropy
from umi._core.guard import GuardedEmbedder
from umi._core.validate import text
from umi._engine.model_names import LLMChoice, open_embedding, open_llm
from umi._evolution.trust import ClosingPolicy, Trust
from umi._learning import IntelligenceLoader
from umi._learning.routing import RoutedLLM
from umi._reading.model import Allowance, Asker
from umi.addresses import without_password
from umi.config import Config
from umi.errors import EmbedderMismatch, EmbedderUnavailable, InvalidInput, StoreUnavailable
from umi.ports import Clock, EmbeddingProvider, Entropy, Replica, Store, SupportsClose
from umi.providers.tiers import TieredLLM
from umi.stores.memory.store import MemoryStore
from umi.stores.sqlite.opening import MEMORY
from umi.stores.sqlite.store import SqliteStore
from umi.types import Origin

SQLITE_PREFIX = "sqlite:///"
POSTGRES_PREFIXES = ("postgresql://", "postgres://")
VFS_MARK = "?vfs="  # selects a virtual file system of SQLite, such as a simulated disk


@dataclass(frozen=True, slots=True)
class Components:
    """The components of a memory, apart from its store."""

    asker: Asker | None
    embedder: GuardedEmbedder | None
    config: Config
    clock: Clock
    entropy: Entropy
    loader: IntelligenceLoader | None = None
    opened: tuple[SupportsClose, ...] = ()  # made here from a name, so closed here
    routed: RoutedLLM | None = None
    # By namespace: waiting texts are read by one task at a time, so that each is read once and in order.
    reading: dict[str, asyncio.Lock] = field(default_factory=dict)

    @property
    def policy(self) -> ClosingPolicy:
        """When an update that was noticed closes the older statement."""
        return ClosingPolicy(self.config.act_from, self.trust)

    @property
    def trust(self) -> Trust:
        """Whose statements may change what others said."""
        return Trust(frozenset(Origin(one) for one in self.config.trust))


def choose_parts(
    llm: LLMChoice | None,
    embedder: str | EmbeddingProvider | None,
    config: Config | None,
    clock: Clock | None,
    entropy: Entropy | None,
    intelligence: IntelligenceLoader | None = None,
) -> Components:
    """The components that the caller gave, and default ones for the rest.

    Raises:
        InvalidInput: For an unknown model or embedder, or an `intelligence` that is no loader.
        LLMError.NotConfigured: When a model's extra or key is missing.
        EmbedderUnavailable: When an embedder's extra or key is missing.
    """
    if intelligence is not None and not isinstance(intelligence, IntelligenceLoader):
        raise InvalidInput(f"intelligence must be a umi.IntelligenceLoader, got {type(intelligence).__name__}")
    if config is not None and not isinstance(config, Config):
        raise InvalidInput(f"config must be a umi.Config, got {type(config).__name__}")
    _require_part(clock, "clock", "now", "monotonic_s", "sleep")
    _require_part(entropy, "entropy", "new_id", "uniform")
    config, clock, entropy = config or Config(), clock or SystemClock(), entropy or SystemEntropy()
    model = None if llm is None else open_llm(llm, config.call_timeout_s)
    # Umi's own tasks are routed only if that is asked for and there are several models.
    routed = RoutedLLM(model.models, clock, entropy) if config.route and isinstance(model, TieredLLM) else None
    asker = None if model is None else Asker(routed or model, clock, entropy, _allowance(config))
    guarded = guarded_embedder(embedder, config, clock, entropy)
    # Objects that the caller made are the caller's to close.
    mine = (model if isinstance(llm, str | Mapping) else None, guarded if isinstance(embedder, str) else None)
    opened = tuple(part for part in mine if isinstance(part, SupportsClose))
    return Components(asker, guarded, config, clock, entropy, intelligence, opened, routed)


def _require_part(given: object, what: str, *methods: str) -> None:
    missing = [name for name in methods if given is not None and not callable(getattr(given, name, None))]
    if missing:
        raise InvalidInput(f"{what} must have {', '.join(f'{name}()' for name in missing)}; got {type(given).__name__}")


async def open_store(url: str, parts: Components) -> Store:
    """Open the store that a URL names: a path, `sqlite:///PATH`, `:memory:` (SQLite in memory), `dict:` (plain dicts) or `postgresql://...`.

    `sqlite:///PATH?vfs=NAME` opens the file through the SQLite virtual file system of that name, such as a simulated
    disk. An address of PostgreSQL is what libpq takes: `postgresql://user:password@host/database`.

    Raises:
        InvalidInput: For a URL of an unknown kind.
        StoreError: When the store cannot be opened; the message says why.
    """
    url = text(str(url) if isinstance(url, Path) else url, "url", bytes_max=limits.URL_BYTES_MAX)
    if url == "dict:":
        return MemoryStore(clock=parts.clock, entropy=parts.entropy, cache_bytes_max=parts.config.cache_bytes_max)
    if url.startswith(POSTGRES_PREFIXES):
        return await _open_postgres(url, parts)
    path, _, vfs = url.removeprefix(SQLITE_PREFIX).partition(VFS_MARK)
    if not path.strip():
        raise InvalidInput(f"url {url!r} names no file; give a file path, sqlite:///PATH, postgresql://... or :memory:")
    # Another scheme than `sqlite:///` is left.
    if "://" in path:
        raise InvalidInput(
            f"url {without_password(url)!r} is of a kind Umi does not know; give a file path, sqlite:///PATH, postgresql://... or :memory:"
        )
    try:
        return await SqliteStore.open(
            path,
            clock=parts.clock,
            entropy=parts.entropy,
            cache_bytes_max=parts.config.cache_bytes_max,
            busy_timeout_ms=parts.config.busy_timeout_ms,
            vfs=vfs or None,
        )
    except OSError as error:  # a name that is too long, a folder that may not be read
        raise StoreUnavailable(f"{path} cannot be opened: {error.strerror or error}") from error


async def _open_postgres(url: str, parts: Components) -> Store:
    try:
        from umi.stores.postgres.store import PostgresStore  # noqa: PLC0415 - its driver is an extra
    except ImportError as error:
        raise without_driver(error) from error
    config = parts.config
    return await PostgresStore.open(
        url,
        clock=parts.clock,
        entropy=parts.entropy,
        cache_bytes_max=config.cache_bytes_max,
        busy_timeout_ms=config.busy_timeout_ms,
    )


def without_driver(error: ImportError) -> StoreUnavailable:
    """What is raised where the driver of PostgreSQL, an extra, is not installed."""
    return StoreUnavailable(
        f"PostgreSQL needs its driver ({error}): install it with pip install 'umi-memory[postgres]'"
    )


def open_replica(url: str, parts: Components) -> Replica | None:
    """The replica of a store that the settings name; None without one. It is connected to when it is first asked.

    Raises:
        InvalidInput: When it, or the store, is no PostgreSQL.
    """
    read_url = parts.config.read_url
    if read_url is None:
        return None
    if not (read_url.startswith(POSTGRES_PREFIXES) and str(url).startswith(POSTGRES_PREFIXES)):
        raise InvalidInput("Config.read_url is for a replica of a PostgreSQL store: give postgresql://... for both")
    from umi.stores.postgres.replica import PostgresReplica  # noqa: PLC0415 - its driver is an extra, and the store has it

    config = parts.config
    return PostgresReplica(read_url, clock=parts.clock, entropy=parts.entropy, cache_bytes_max=config.cache_bytes_max)


def has_file(url: str) -> bool:
    """Whether a URL names a file of the operating system, which a second connection can open."""
    path = str(url).removeprefix(SQLITE_PREFIX)
    return path not in {MEMORY, "dict:"} and VFS_MARK not in path and not path.startswith(POSTGRES_PREFIXES)


def anchored(url: str) -> str:
    """The address with the path of a file made absolute, since the process may change its working directory later."""
    path = str(url).removeprefix(SQLITE_PREFIX)
    if not isinstance(url, str | Path) or not path.strip() or "://" in path or not has_file(url):
        return url
    return str(Path(path).absolute())


def open_embedder(
    embedder: str | EmbeddingProvider | None,
    config: Config | None = None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
) -> EmbeddingProvider | None:
    """The embedder of that name, the caller's own object, or None.

    It raises only `EmbeddingError`, answers only finite vectors of unit length, and asks a busy server again.

    "local" without its wheel gives None too: Umi then works by words alone and says so in `degraded`. The other names
    are asked for explicitly, so anything missing is an error.

    Raises:
        InvalidInput: For an unknown name.
        EmbedderUnavailable: When an extra or a key is missing.
    """
    return guarded_embedder(embedder, config, clock, entropy)


def guarded_embedder(
    embedder: str | EmbeddingProvider | None,
    config: Config | None = None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
) -> GuardedEmbedder | None:
    """As `open_embedder`; see `umi._core.guard`."""
    if embedder is None:
        return None
    config = config or Config()
    if isinstance(embedder, str):
        try:
            embedder = open_embedding(embedder, config.call_timeout_s)
        except EmbedderUnavailable:
            # The built-in default may be missing; an embedder that was named explicitly may not.
            if embedder == "local":
                return None
            raise
    if not (callable(getattr(embedder, "embed", None)) and callable(getattr(embedder, "embed_many", None))):
        raise InvalidInput(
            f"embedder must have embed() and embed_many(), or be a name or None; got {type(embedder).__name__}"
        )
    return GuardedEmbedder(embedder, clock, entropy, limits.EMBED_DEADLINE_S)


async def prepare_embedder(store: Store, embedder: GuardedEmbedder | None) -> None:
    """Let the embedder load what it needs, and check that it made the vectors in the store.

    Raises:
        EmbedderMismatch: When the store holds vectors of another embedder.
        EmbeddingError: When the embedder cannot get ready.
    """
    if embedder is None:
        return
    kept = await store.embedder_identity()
    await embedder.prepare(kept)
    mine = embedder.identity
    if kept is not None and kept != mine:
        raise EmbedderMismatch(
            f"the store holds vectors of {kept.name} ({kept.dimensions} dimensions, {kept.digest[:12]}), not of "
            f"{mine.name} ({mine.dimensions}, {mine.digest[:12]}); open it with that embedder, or with embedder=None, or give all of it "
            "vectors of this one: `umi reembed --embedder NAME`"
        )


async def change_embedder(url: str, parts: Components) -> int:
    """Make a store keep the vectors of another embedder from now on; the same embedder changes nothing.

    Returns:
        How many texts wait for their new vectors.

    Raises:
        EmbeddingError: When the embedder cannot get ready; nothing is changed then.
        StoreError: When the store cannot be opened or written.
    """
    if parts.embedder is None:
        raise InvalidInput("to re-embed takes an embedder that is there")
    store = await open_store(url, parts)
    try:
        kept = await store.embedder_identity()
        # Asked anew: a served model may have kept its name and changed its dimensions.
        await parts.embedder.prepare(None)
        # The same embedder again continues an interrupted change: nothing is deleted.
        return 0 if kept == parts.embedder.identity else await store.replace_embedder(parts.embedder.identity)
    finally:
        await store.close()


async def close_parts(parts: Components) -> None:
    """Close the connections of models and embedders that were opened by name."""
    for part in parts.opened:
        await part.close()


def _allowance(config: Config) -> Allowance:
    price = config.price_per_million or (0.0, 0.0)
    return Allowance(config.call_timeout_s, config.token_budget, config.money_budget, price)

"""`umi.Router`: a router of a user's own tasks, with its store and its embedder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Self

from umi._core import validate
from umi._engine.components import choose_parts, close_parts, open_store
from umi._learning.routing import RouteOptions, TierRouter
from umi.ports import Clock, EmbeddingProvider, Entropy

_NOTHING_KEPT = "dict:"


class Router(TierRouter):
    """Chooses one of several models for each task, and learns from how the tasks went.

    `async with umi.Router.open({"fast": "small-model", "strong": "large-model"}) as router:`, then `choose`, do the task with `Route.model`,
    and `feedback`. See docs/routing.md.
    """

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        models: Mapping[str, str],
        url: str = "umi.db",
        *,
        namespace: str = "default",
        embedder: str | EmbeddingProvider | None = "local",
        options: RouteOptions | None = None,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
    ) -> AsyncIterator[Self]:
        """A router over a store, which may be a memory's: then its runs of signals judge decisions too.

        With one model nothing is opened, loaded or kept.

        Args:
            models: Your names for the models by tier: "fast", "balanced", "strong", any of them.
            url: As `umi.Memory.open`.
            namespace: Keeps the decisions apart.
            embedder: As `umi.Memory.open`; finds tasks that resemble each other, for which it needs the extra `learn`.
            options: How quality is weighed against cost.
            clock: Another source of time than the machine's.
            entropy: Another source of ids than the machine's.

        Raises:
            InvalidInput: For unknown tiers or options that cannot be.
            InvalidOptions: When the extra `learn` is missing.
            StoreError: When the store cannot be opened.
        """
        alone = len(models) == 1
        parts = choose_parts(None, None if alone else embedder, None, clock, entropy)
        make_index = None
        if parts.embedder is not None:
            from umi.providers.hnsw import HnswIndex, require  # noqa: PLC0415 - an extra

            require()
            make_index = HnswIndex
            await parts.embedder.prepare(None)
        store = await open_store(_NOTHING_KEPT if alone else url, parts)
        try:
            storage = store.namespace(validate.name(namespace, "namespace"))
            yield cls(models, storage, parts.embedder, parts.clock, parts.entropy, options, make_index)
        finally:
            await store.close()
            await close_parts(parts)

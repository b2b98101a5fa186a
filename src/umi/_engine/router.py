"""`umi.Router`: routing for a user's own tasks, with its own store and embedder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Self

from umi._core import validate
from umi._engine.components import choose_parts, close_parts, open_store
from umi._learning.routing import RouteOptions, TierRouter
from umi._learning.routing.router import tier_models
from umi.ports import Clock, EmbeddingProvider, Entropy

_NOTHING_KEPT = "dict:"  # the store in memory, for a router that has nothing to keep


class Router(TierRouter):
    """Chooses one of several models for each task, and learns from the outcomes.

    Open it with `async with umi.Router.open({"fast": "small-model", "strong": "large-model"}) as router:`. Then call
    `choose`, do the task with `Route.model`, and report with `feedback`. See docs/routing.md.
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
        """Open a router over a store.

        The store may be one that a memory uses too: the memory's runs of signals then judge decisions. With a single
        model nothing is opened, loaded or kept.

        Args:
            models: Your names for the models by tier: "fast", "balanced", "strong", any of them.
            url: As in `umi.Memory.open`.
            namespace: Keeps decisions of different uses apart.
            embedder: As in `umi.Memory.open`; finds similar tasks. Needs the extra `learn`.
            options: How quality is weighed against cost.
            clock: A source of time other than the machine's.
            entropy: A source of ids other than the machine's.

        Raises:
            InvalidInput: For unknown tiers or impossible options.
            InvalidOptions: When the extra `learn` is missing.
            StoreError: When the store cannot be opened.
        """
        # With one model there is nothing to learn: no embedder is loaded, and nothing is kept.
        alone = len(tier_models(models)) == 1
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

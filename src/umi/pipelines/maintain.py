"""Finishing what was deferred: outbox items in order of arrival, once each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from umi.errors import EmbeddingError
from umi.pipelines.guard import GuardedEmbedder
from umi.pipelines.remember import Settled, embedding_text, settle
from umi.ports import Clock, Entropy, Matrix, Snapshot, StorageBackend
from umi.types import Degradation, Episode, OutboxItem


class Settler:
    """Takes episodes from admitted to settled; `remember` and `maintain` share it."""

    def __init__(
        self, storage: StorageBackend, embedder: GuardedEmbedder | None, clock: Clock, entropy: Entropy
    ) -> None:
        self._storage = storage
        self._embedder = embedder
        self._clock = clock
        self._entropy = entropy

    async def settle(self, items: Sequence[tuple[Episode, OutboxItem]]) -> tuple[Settled, tuple[Degradation, ...], str]:
        """Embed and write; returns what was written, what was missing, and in words why."""
        vectors, degraded, why = await self.embed([episode for episode, _ in items])
        work = partial(settle, entropy=self._entropy, now=self._clock.now(), items=items, vectors=vectors, why=why)
        return await self._storage.write(work), degraded, why

    async def embed(self, episodes: Sequence[Episode]) -> tuple[dict[str, Matrix] | None, tuple[Degradation, ...], str]:
        """Windows by episode id: None without an embedder, empty when it failed."""
        if self._embedder is None:
            return None, (Degradation.NO_EMBEDDER,), "no embedder"
        try:
            windows = await self._embedder.embed_many([embedding_text(episode) for episode in episodes])
        except EmbeddingError as error:
            return {}, (Degradation.EMBEDDING_FAILED,), str(error)
        return dict(zip((episode.id for episode in episodes), windows, strict=True)), (), ""

    async def drain(self, limit: int) -> tuple[Settled, tuple[Degradation, ...]]:
        """Settle up to `limit` waiting items, oldest first."""
        items = await self._storage.read(partial(_waiting, limit=limit))
        if not items:
            return Settled(), ()
        settled, degraded, _ = await self.settle(items)
        return settled, degraded


def _waiting(snapshot: Snapshot, limit: int) -> list[tuple[Episode, OutboxItem]]:
    items = snapshot.outbox(limit)
    episodes = snapshot.episodes([item.episode_id for item in items])
    return [(episodes[item.episode_id], item) for item in items]

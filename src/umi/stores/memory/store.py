"""The store in memory: dicts behind the same port, held to the same contract tests as the SQLite store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from umi.errors import Closed, EmbedderMismatch, StoreUnavailable
from umi.limits import STORE_CACHE_BYTES_DEFAULT
from umi.ports import Clock, EmbedderIdentity, Entropy, Examined
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.memory.erase import ErasingTransaction
from umi.stores.memory.rows import MemorySnapshot
from umi.stores.memory.space import Space, grow
from umi.stores.namespace_view import REEMBED_WHY, NamespaceView, StoreSnapshot, StoreTransaction, another_embedder
from umi.types import NamespaceInfo, OutboxItem
from umi.types.erasure_proof import ErasureProof, Findable, found_in_all

T = TypeVar("T")


class MemoryStore:
    """All namespaces of one process; lost when it ends. See `umi.ports.Store`."""

    def __init__(self, *, clock: Clock, entropy: Entropy, cache_bytes_max: int = STORE_CACHE_BYTES_DEFAULT) -> None:
        self._clock = clock
        self._entropy = entropy
        self._cache_bytes_max = cache_bytes_max
        self._spaces: dict[str, Space] = {}
        self._indexed: dict[str, Space] = {}  # spaces with an index, least recently used first
        self._identity: EmbedderIdentity | None = None
        self._past_sequence = 0  # the highest sequence of a deleted namespace; new ones begin with it
        self._closed = False

    def namespace(self, name: str) -> NamespaceView:
        """A view of one namespace; nothing is stored until it is used."""
        return NamespaceView(self, name, self._clock, self._entropy)

    async def read(self, namespace: str, work: Callable[[StoreSnapshot], T]) -> T:
        """Run `work` on the namespace as it is now."""
        self._open()
        snapshot = MemorySnapshot(namespace, self._space(namespace), lambda: self._index(namespace), self._identity)
        try:
            return work(snapshot)
        finally:
            snapshot.end()

    async def write(self, namespace: str, work: Callable[[StoreTransaction], T]) -> T:
        """Run `work`; an error in it undoes all of its changes."""
        self._open()
        # A new namespace is kept only once something was written to it.
        space = self._spaces.get(namespace) or Space(sequence=self._past_sequence)
        before = space.sequence
        transaction = ErasingTransaction(
            namespace, space, lambda: self._index(namespace), self._identity, self._dimensions()
        )
        done = False
        try:
            result = work(transaction)
            transaction.conclude()
            self._identity = transaction.embedder
            done = True
        finally:
            if not done:
                transaction.undo()
            transaction.end()
        if transaction.dropped:
            self._spaces.pop(namespace, None)
            self._indexed.pop(namespace, None)
            self._past_sequence = max(self._past_sequence, space.sequence)
        # A namespace exists once something was written to it.
        elif space.sequence != before:
            self._spaces[namespace] = space
        return result

    async def namespaces(self) -> list[NamespaceInfo]:
        self._open()
        return [
            NamespaceInfo(name, len(space.rows), len(space.entities)) for name, space in sorted(self._spaces.items())
        ]

    async def namespaces_with_expired(self, now: datetime) -> list[str]:
        self._open()
        return sorted(name for name, space in self._spaces.items() if any(at <= now for at in space.expiring.values()))

    async def embedder_identity(self) -> EmbedderIdentity | None:
        self._open()
        return self._identity

    async def set_embedder_identity(self, identity: EmbedderIdentity) -> None:
        self._open()
        if self._identity is not None and self._identity != identity:
            raise EmbedderMismatch(another_embedder(self._identity, identity))
        self._identity = identity

    async def replace_embedder(self, identity: EmbedderIdentity) -> int:
        self._open()
        self._identity = identity
        for space in self._spaces.values():
            # As the SQLite store: every vector is deleted, every episode waits for a new one.
            space.sequence += 1
            space.vectors.clear()
            space.index = None
            for arrival, row in space.rows.items():
                space.outbox.setdefault(arrival, OutboxItem(row.episode.id, arrival, reason=REEMBED_WHY))
        return sum(len(space.outbox) for space in self._spaces.values())

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> int:  # noqa: ARG002 - the port's
        self._open()
        raise StoreUnavailable(f"a store of dicts has no file to copy to {path}: export it")

    async def clean(self, proof: Findable | None) -> bool:  # noqa: ARG002 - the port's
        """Nothing to do: dicts keep no bytes of removed entries."""
        self._open()
        return True

    async def unclean(self) -> bool:
        self._open()
        return False

    async def examine(self, proof: ErasureProof) -> Examined:
        self._open()
        live = found_in_all(proof, (repr(space).encode() for space in self._spaces.values()))
        return Examined(frozenset(), live)

    async def check_integrity(self) -> list[str]:
        """Compare each index with a rebuilt one, by size; there is no file that could be damaged."""
        self._open()
        found = []
        for name, space in sorted(self._indexed.items()):
            fresh = NamespaceIndex()
            grow(space, fresh, 0)
            if space.index is not None and len(space.index) != len(fresh):
                found.append(f"the index of {name!r} holds {len(space.index)} texts, the rows {len(fresh)}")
        return found

    async def close(self) -> None:
        self._closed = True

    def _open(self) -> None:
        if self._closed:
            raise Closed("the in-memory store was closed, and what it held is gone: open a new one")

    def _space(self, namespace: str) -> Space:
        return self._spaces.get(namespace) or Space()

    def _dimensions(self) -> int:
        if self._identity is not None:
            return self._identity.dimensions
        kept = (packed for space in self._spaces.values() for packed in space.vectors.values())
        return next((packed.dimensions for packed in kept), 0)

    def _index(self, namespace: str) -> NamespaceIndex:
        space = self._space(namespace)
        if space.index is None:
            index = NamespaceIndex()
            grow(space, index, 0)
            space.index = index
        # Moved to the end: used last.
        self._indexed.pop(namespace, None)
        self._indexed[namespace] = space
        self._bound_cache()
        return space.index

    def _bound_cache(self) -> None:
        held = {name: space.index.bytes for name, space in self._indexed.items() if space.index is not None}
        total = sum(held.values())
        # The index in use, the last one, is never dropped.
        for name in list(held)[:-1]:
            if total <= self._cache_bytes_max:
                return
            total -= held[name]
            self._indexed.pop(name).index = None

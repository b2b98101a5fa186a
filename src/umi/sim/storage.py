"""The in-memory store with injected faults, and a vector backend that fails independently of it; for tests of single parts.

The fault model, by operation:

- storage_read: StorageReadFail; StorageSlow.
- storage_write: StorageWriteFail and StorageFull, raised when the work is done and about to be committed, so that all of it is
  undone; StorageSlow.
- vector_search, wherever vectors are searched, also inside a snapshot: VectorSearchFail; VectorSearchTimeout, after ten seconds
  in which nothing else happens.
- vector_store, wherever vectors are written: VectorStoreFail, which undoes the transaction.

Every failure is a `umi.errors.StoreError`. Each call takes a latency drawn from the seed. Not modelled: a disk (see
`umi.sim.disk`), corruption, a lost acknowledgement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

from umi.errors import StoreError, StoreFull
from umi.ports import Matrix, Vector
from umi.ports.candidates import NO_KEYS, Keys, VectorCandidates
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.faults import FaultInjector, FaultType
from umi.sim.rng import DeterministicRng
from umi.stores.memory.store import MemoryStore
from umi.stores.namespace_view import NamespaceVectors, NamespaceView, StoreSnapshot, StoreTransaction, Transactions
from umi.types.filters import EVERYTHING, Filter

T = TypeVar("T")

LATENCY_S: Final = (0.0001, 0.002)  # bounds of a call's latency
TIMEOUT_S: Final = 10.0
_SLOW: Final = (10.0, 100.0)  # factor on the latency of a slow call


class SimStorage(NamespaceView):
    """One namespace of an in-memory store. Satisfies `umi.ports.StorageBackend` and `umi.ports.VectorBackend`.

    Args:
        clock: The virtual time of the running loop.
        rng: Source of latencies and ids.
        faults: What may fail; see the module.
        namespace: The name of the namespace.
    """

    def __init__(
        self,
        clock: SimClock,
        rng: DeterministicRng,
        *,
        faults: FaultInjector | None = None,
        namespace: str = "default",
    ) -> None:
        entropy = SimEntropy(rng.fork("ids"))
        conditions = _CallConditions(clock, rng.fork("latency"), faults)
        store = MemoryStore(clock=clock, entropy=entropy)
        super().__init__(_Failing(store, conditions, "storage_read", "storage_write"), namespace, clock, entropy)
        # The same store without faults of the rows: only vector operations fail there.
        self._apart = SimVectorBackend(_Failing(store, conditions), namespace, clock, entropy)

    @property
    def vectors(self) -> SimVectorBackend:
        """The same namespace's vectors as a separate service, which fails independently of the rows."""
        return self._apart


class SimVectorBackend(NamespaceVectors):
    """The vectors of a `SimStorage`, searched by cosine; created by `SimStorage.vectors`. Satisfies `umi.ports.VectorBackend`.

    Only `vector_search` and `vector_store` fail here. A retriever that is given this beside the storage sees two
    backends.
    """


class _CallConditions:
    """The conditions of a call: its latency, and the fault of its operation."""

    def __init__(self, clock: SimClock, rng: DeterministicRng, faults: FaultInjector | None) -> None:
        self._clock = clock
        self._rng = rng
        self._faults = faults

    def fault(self, operation: str | None) -> FaultType | None:
        """The fault of this call, or None."""
        return None if operation is None or self._faults is None else self._faults.should_inject(operation)

    async def arrive(self, fault: FaultType | None) -> None:
        """Wait as long as the call takes."""
        # The latency is drawn in any case; a slow call draws its factor as well.
        latency_s = self._rng.uniform(*LATENCY_S)
        await self._clock.sleep(latency_s * (self._rng.uniform(*_SLOW) if fault is FaultType.StorageSlow else 1))

    def search_vectors(self) -> None:
        """Fail a search by a fault. A transaction cannot wait, so time is advanced instead.

        Raises:
            StoreError: By a fault.
        """
        fault = self.fault("vector_search")
        if fault is FaultType.VectorSearchTimeout:
            self._clock.advance(TIMEOUT_S)
            raise StoreError(f"the vectors did not answer in {TIMEOUT_S:g} s (simulated)")
        if fault is not None:
            raise StoreError("the vectors could not be searched (simulated)")

    def store_vectors(self) -> None:
        """Fail a write of vectors by a fault.

        Raises:
            StoreError: By a fault.
        """
        if self.fault("vector_store") is not None:
            raise StoreError("the vectors could not be stored (simulated)")


class _Failing:
    """The transactions of a store, with latencies and faults. Satisfies `umi.stores.namespace_view.Transactions`."""

    def __init__(
        self,
        store: Transactions,
        conditions: _CallConditions,
        read_operation: str | None = None,
        write_operation: str | None = None,
    ) -> None:
        self._store = store
        self._conditions = conditions
        self._read_operation = read_operation
        self._write_operation = write_operation

    async def read(self, namespace: str, work: Callable[[StoreSnapshot], T]) -> T:
        fault = self._conditions.fault(self._read_operation)
        await self._conditions.arrive(fault)
        if fault is FaultType.StorageReadFail:
            raise StoreError("the storage could not be read (simulated)")
        return await self._store.read(
            namespace, lambda snapshot: work(cast("StoreSnapshot", _View(snapshot, self._conditions)))
        )

    async def write(self, namespace: str, work: Callable[[StoreTransaction], T]) -> T:
        fault = self._conditions.fault(self._write_operation)
        await self._conditions.arrive(fault)

        def failing(transaction: StoreTransaction) -> T:
            done = work(cast("StoreTransaction", _View(transaction, self._conditions)))
            # After the work, so that what is tested is the rollback of a full transaction.
            if fault is FaultType.StorageFull:
                raise StoreFull("the storage is full (simulated); nothing was written")
            if fault is FaultType.StorageWriteFail:
                raise StoreError("the storage could not be written (simulated); nothing was")
            return done

        return await self._store.write(namespace, failing)


class _View:
    """A snapshot or transaction whose vector operations can fail; everything else is passed on."""

    def __init__(self, inner: Any, conditions: _CallConditions) -> None:
        self._inner = inner
        self._conditions = conditions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def vector_candidates(
        self, embedding: Vector, *, also: Keys = NO_KEYS, pool: int, where: Filter = EVERYTHING
    ) -> VectorCandidates:
        if pool:  # with a pool of 0 the result of an earlier comparison is read, which cannot fail
            self._conditions.search_vectors()
        found: VectorCandidates = self._inner.vector_candidates(embedding, also=also, pool=pool, where=where)
        return found

    def add_vectors(self, vectors: Mapping[str, Matrix]) -> None:
        self._conditions.store_vectors()
        self._inner.add_vectors(vectors)

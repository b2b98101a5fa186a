"""Test retrieval with a vector backend apart from the storage, under faults that cannot happen in the embedded store.

There the vectors share the store's transaction, so they cannot fail alone. Run at the end of some worlds. A failure
must lead to an answer that names what it lacks.
"""

from __future__ import annotations

from collections import Counter

from umi._retrieval import DualRetriever, Query
from umi.errors import UmiError
from umi.sim.clock import SimClock
from umi.sim.embedder import SimEmbedder
from umi.sim.faults import FaultConfig, FaultInjector, FaultType
from umi.sim.rng import DeterministicRng
from umi.sim.storage import SimStorage
from umi.types import Degradation, Entity, EntityType
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.plan import PEOPLE, TALK

_TEXTS = 6  # stored and searched for
_FAULTS = (
    FaultConfig(FaultType.VectorSearchFail, 0.3),
    FaultConfig(FaultType.VectorSearchTimeout, 0.2),
    FaultConfig(FaultType.VectorStoreFail, 0.3),
)


async def retrieve_from_parts(rng: DeterministicRng, clock: SimClock) -> Counter[str]:
    """Store and search texts with vectors that fail at random (seed 004); every text must still be found by its words.

    Returns:
        Faults fired, by kind.

    Raises:
        Violation: When a text is not found, or a failure is not named in `degraded`.
    """
    faults = FaultInjector(rng.fork("faults"), _FAULTS)
    storage = SimStorage(clock, rng.fork("storage"), faults=faults)
    embedder = SimEmbedder(clock, rng.fork("embedder"))
    texts = [f"{rng.choice(PEOPLE)} carried {rng.choice(TALK)} number {number}." for number in range(_TEXTS)]
    for text in texts:
        id_ = await storage.store_entity(Entity(EntityType.NOTE, "note", text))
        try:
            await storage.vectors.store(id_, await embedder.embed(text))
        except UmiError:
            continue  # the row stays without a vector
    # `storage.vectors` is another object than `storage`, so the retriever takes it for a separate backend.
    retriever = DualRetriever(None, embedder, storage.vectors, storage)
    for text in texts:
        before = _searches(faults)
        found = await retriever.search(Query(text, deep=rng.chance(0.5), min_score=0))
        if not any(hit.content == text for hit in found.hits):
            raise Violation(f"{text!r} was not found with the vectors apart: {[hit.content for hit in found.hits]}")
        # A search that failed must be named in the answer.
        failed = _searches(faults) > before
        if failed and not {Degradation.VECTOR_LEG_FAILED, Degradation.VARIANT_FAILED} & set(found.degraded):
            raise Violation(f"a search of vectors failed and {found.degraded} does not say so")
    return Counter({str(kind): count for kind, count in faults.fired.items() if count})


def _searches(faults: FaultInjector) -> int:
    """The number of vector searches that have failed so far."""
    return faults.fired[FaultType.VectorSearchFail] + faults.fired[FaultType.VectorSearchTimeout]

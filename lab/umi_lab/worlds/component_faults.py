"""What some worlds do after their stories: parts on their own under faults that cannot happen beneath the whole.

A vector backend apart from the storage fails where the real store's vectors cannot (they share its transaction); and a bit of the
closed database flips. Both end in an answer that says what it lacks, or in an error that says what is damaged; never in silence.
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

_TEXTS = 6
_FAULTS = (
    FaultConfig(FaultType.VectorSearchFail, 0.3),
    FaultConfig(FaultType.VectorSearchTimeout, 0.2),
    FaultConfig(FaultType.VectorStoreFail, 0.3),
)


async def retrieve_from_parts(rng: DeterministicRng, clock: SimClock) -> Counter[str]:
    """Seed 004's scenarios at random: vectors that fail to be stored or searched; words find everything all the same.

    Returns:
        Faults fired, by kind.

    Raises:
        Violation: When something is not found, or a failure is not named.
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
            continue  # a row without a vector
    retriever = DualRetriever(None, embedder, storage.vectors, storage)
    for text in texts:
        before = _searches(faults)
        found = await retriever.search(Query(text, deep=rng.chance(0.5), min_score=0))
        if not any(hit.content == text for hit in found.hits):
            raise Violation(f"{text!r} was not found with the vectors apart: {[hit.content for hit in found.hits]}")
        failed = _searches(faults) > before
        if failed and not {Degradation.VECTOR_LEG_FAILED, Degradation.VARIANT_FAILED} & set(found.degraded):
            raise Violation(f"a search of vectors failed and {found.degraded} does not say so")
    return Counter({str(kind): count for kind, count in faults.fired.items() if count})


def _searches(faults: FaultInjector) -> int:
    return faults.fired[FaultType.VectorSearchFail] + faults.fired[FaultType.VectorSearchTimeout]

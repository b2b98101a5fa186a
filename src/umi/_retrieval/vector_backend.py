"""Turn the hits of a vector backend other than the store into candidates of a ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from umi.ports import Snapshot
from umi.ports.candidates import Keys, VectorCandidates
from umi.types import VectorHit


def foreign_candidates(snapshot: Snapshot, hits: Sequence[VectorHit]) -> VectorCandidates:
    """Candidates for hits that carry ids only. A hit whose id has no row in the snapshot is left out.

    Mean and deviation of all cosines are unknown here and left at 0; ranking then uses its priors.
    """
    best: dict[int, float] = {}
    ids = [hit.id for hit in hits]
    # An id may be an entity's or an episode's; both lead to the episode's arrival.
    arrivals = {id_: entity.arrival for id_, entity in snapshot.entities(ids).items()}
    arrivals |= {id_: episode.arrival for id_, episode in snapshot.episodes(ids).items()}
    for hit in hits:
        arrival = arrivals.get(hit.id)
        if arrival is not None:
            # Several entities of one episode may be hits; the nearest counts.
            best[arrival] = max(best.get(arrival, hit.score), hit.score)
    keys: Keys = np.array(sorted(best), dtype=np.int64)
    cosine = np.array([best[int(key)] for key in keys], dtype=np.float32)
    plain = np.zeros(len(keys), dtype=np.float32)
    return VectorCandidates(keys, cosine, plain, mean=0.0, deviation=0.0, count=0)

"""Portions of work, made small for a world, so that a second portion exists: pages, batches, windows, caches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from umi import limits
from umi._archive import restore
from umi._erasure import operations
from umi._learning import learner
from umi._retrieval import history
from umi.sim.rng import DeterministicRng
from umi.stores.sql import write

_SMALL: Final = (
    (limits, "CHANGES_PAGE_COUNT", (1, 2, 7)),
    (limits, "BULK_BATCH_COUNT", (1, 2, 5)),
    (limits, "OUTBOX_DRAIN_COUNT", (1, 2, 16)),
    (history, "COUNT_PAGE", (1, 3, 8)),
    (operations, "EXPIRED_BATCH_COUNT", (1, 2, 500)),
    (restore, "RESTORE_BATCH_COUNT", (1, 3, 512)),
    (limits, "CATCH_UP_COUNT", (1, 2, 4_096)),
    (write, "CHANGE_LOG_SEQUENCES_COUNT_MAX", (1, 4, 65_536)),
)
# Blocks of a namespace, and from which size on its index reads them.
_BLOCKS: Final = (
    (limits, "STORE_BLOCKS_FROM_COUNT", (1, 4, 32_768)),
    (limits, "STORE_BLOCK_COUNT", (1, 2, 5)),
    (limits, "STORE_BLOCKS_SEALED_COUNT", (1, 2)),
    (limits, "INDEX_MESSAGE_BYTES", (1 << 40, 1_200)),
    (limits, "SAMPLED_COUNT_MAX", (1, 16_384)),
)
# What a context shows at most, and notes of recalls that are written at once.
_BOUNDS: Final = (
    (limits, "CONTEXT_CHANGES_COUNT_MAX", (1, 3, 10)),
    (limits, "CONTEXT_CHANGES_LOOKED_AT_COUNT", (3, 200, 200)),
    (limits, "CONTEXT_CHANGES_DAYS_MAX", (2, 30)),
    (learner, "TRAJECTORIES_FLUSH_COUNT", (1, 2, 64)),
)
_EVERY: Final = (*_SMALL, *_BLOCKS, *_BOUNDS)


def drawn(rng: DeterministicRng) -> dict[str, int]:
    """A size for each portion."""
    # The later groups are drawn apart, so that the steps of a seed do not depend on how many sizes there are.
    blocks, bounds = rng.fork("blocks"), rng.fork("bounds")
    found = {name: rng.choice(sizes) for _, name, sizes in _SMALL}
    found |= {name: blocks.choice(sizes) for _, name, sizes in _BLOCKS}
    return found | {name: bounds.choice(sizes) for _, name, sizes in _BOUNDS}


@contextmanager
def applied(sizes: dict[str, int]) -> Iterator[None]:
    """Work in portions of these sizes; those that are not named stay as they are."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in _EVERY if name in sizes]
    try:
        for owner, name, _ in before:
            setattr(owner, name, sizes[name])
        yield
    finally:
        for owner, name, size in before:
            setattr(owner, name, size)

"""Planted faults in how the pair reader's word orders the first hits."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._retrieval import pair_order
from umi_lab.mutation.planted import Mutation, edited

ORDER: Final[tuple[Mutation, ...]] = (
    Mutation(
        "pairs-asked-backwards",
        "The pair reader is given the newer message as the older one.",
        "umi._retrieval.pair_order._Rival.pair",
        partial(edited, pair_order._Rival, "pair", "Pair(top, other, days) if", "Pair(other, top, days) if"),  # noqa: SLF001
    ),
    Mutation(
        "what-came-back-is-overlooked",
        "Where something is again as it was before, the message between stands first.",
        "umi._retrieval.pair_order.in_order",
        partial(edited, pair_order, "in_order", "[hit for hit in others if hit.at > best.at]", "[]"),
    ),
    Mutation(
        "documents-rise",
        "What a document says later stands above what a person said.",
        "umi._retrieval.pair_order.in_order",
        partial(edited, pair_order, "in_order", "one.may_rise and", "one.is_later and"),
    ),
)

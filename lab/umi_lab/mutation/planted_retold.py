"""Planted faults in what is noticed as told again with another value."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._evolution import value_features, value_updates
from umi._retrieval import answer_order, snapshot_search
from umi_lab.mutation.planted import Mutation, edited, patched

RETOLD: Final[tuple[Mutation, ...]] = (
    Mutation(
        "retelling-supersedes",
        "What is told again with another value closes what was told before, on a guess.",
        "umi._evolution.value_updates._proposal",
        partial(patched, value_updates, "_SURE", 1.0),
    ),
    Mutation(
        "older-mention-first",
        "Of two mentions of the same thing recall shows the older one first.",
        "umi._retrieval.answer_order.newer_first",
        partial(
            edited,
            answer_order,
            "newer_first",
            "order.index(above) > order.index(below)",
            "order.index(above) < order.index(below)",
        ),
    ),
    Mutation(
        "oldest-amount-first",
        "A question for an amount is answered by what told it first.",
        "umi._retrieval.newest_value.newest_amount_first",
        partial(edited, snapshot_search, "newest_amount_first", "arrival), reverse=True", "arrival), reverse=False"),
    ),
    Mutation(
        "late-mention-counts-as-new",
        "A mention that comes late is taken for an update of what was said after it.",
        "umi._evolution.value_updates.ValueUpdates._compared",
        partial(
            edited,
            value_updates.ValueUpdates,
            "_compared",
            "(other.at, other.arrival) < here",
            "other.arrival < episode.arrival",
        ),
    ),
    Mutation(
        "whoever-is-spoken-of",
        "What one person has counted is updated by what another has.",
        "umi._evolution.value_features._strangers",
        partial(edited, value_features, "_strangers", "old.whose != new.whose and", "False and"),
    ),
)

"""Planted faults in what is noticed as told again with another value."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi.bench.planted import Mutation, edited, patched
from umi.pipelines.retold import likeness, noticing
from umi.pipelines.retrieve import answering, search

RETOLD: Final[tuple[Mutation, ...]] = (
    Mutation(
        "retelling-supersedes",
        "What is told again with another value closes what was told before, on a guess.",
        "umi.pipelines.retold.noticing._proposal",
        partial(patched, noticing, "_SURE", 1.0),
    ),
    Mutation(
        "older-telling-first",
        "Of two tellings of the same thing recall shows the older one first.",
        "umi.pipelines.retrieve.answering.newer_first",
        partial(
            edited,
            answering,
            "newer_first",
            "order.index(later) > order.index(earlier)",
            "order.index(later) < order.index(earlier)",
        ),
    ),
    Mutation(
        "oldest-amount-first",
        "A question for an amount is answered by what told it first.",
        "umi.pipelines.retrieve.latest.newest_amount_first",
        partial(edited, search, "newest_amount_first", "reverse=True", "reverse=False"),
    ),
    Mutation(
        "late-telling-counts-as-new",
        "A telling that comes late is taken for an update of what was said after it.",
        "umi.pipelines.retold.noticing.Retellings._compared",
        partial(
            edited,
            noticing.Retellings,
            "_compared",
            "(other.at, other.arrival) < here",
            "other.arrival < episode.arrival",
        ),
    ),
    Mutation(
        "whoever-is-spoken-of",
        "What one person has counted is updated by what another has.",
        "umi.pipelines.retold.likeness._strangers",
        partial(edited, likeness, "_strangers", "old.whose != new.whose and", "False and"),
    ),
)

"""Planted faults in how the answer reader's word orders the first hits, and in when it leaves them out."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._retrieval import answer_order
from umi._retrieval.snapshot_search import SnapshotSearch
from umi_lab.mutation.planted import Mutation, edited

ORDER: Final[tuple[Mutation, ...]] = (
    Mutation(
        "hits-read-backwards",
        "The answer reader is given the newest message as the oldest.",
        "umi._retrieval.answer_order._read",
        partial(edited, answer_order, "_read", "hit.episode.arrival))", "hit.episode.arrival), reverse=True)"),
    ),
    Mutation(
        "the-outdated-answers-as-well",
        "A hit that the answer reader calls outdated stands as high as one that holds.",
        "umi._retrieval.answer_order._strength",
        partial(edited, answer_order, "_strength", "_HOLDS_WEIGHT * log(", "0 * log("),
    ),
    Mutation(
        "documents-rise",
        "What a document says later stands above what a person said.",
        "umi._retrieval.answer_order.in_order",
        partial(
            edited,
            answer_order,
            "in_order",
            "all(trust.may_change(hit.origin, top.hit.origin) for hit in (*outdated, near[0])) and",
            "",
        ),
    ),
    Mutation(
        "silence-unheard",
        "Hits are shown although the answer reader says that none of them answers.",
        "umi._retrieval.snapshot_search.SnapshotSearch.is_unanswered",
        partial(edited, SnapshotSearch, "is_unanswered", "if none > _NONE_FROM", "if none > 1"),
    ),
    Mutation(
        "others-left-out",
        "What another person said is left out, too.",
        "umi._retrieval.answer_order._is_replaced",
        partial(
            edited,
            answer_order,
            "_is_replaced",
            "_said_by(one.hit) == _said_by(top.hit) or one.hit.origin is Origin.ASSISTANT",
            "one.hit",
        ),
    ),
    Mutation(
        "holding-left-out",
        "What may still hold is left out.",
        "umi._retrieval.answer_order._is_replaced",
        partial(edited, answer_order, "_is_replaced", "one.reading.outdated >= _LEFT_OUT_OUTDATED_FROM", "top.hit"),
    ),
    Mutation(
        "outdated-not-left-out",
        "What the first hit surely replaces is shown.",
        "umi._retrieval.answer_order._is_replaced",
        partial(
            edited, answer_order, "_is_replaced", "top.reading.answers >= _ANSWERED_FROM", "top.reading.answers > 1"
        ),
    ),
)

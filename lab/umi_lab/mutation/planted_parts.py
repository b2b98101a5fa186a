"""Planted faults in filters, in recall over several namespaces, and in what changes tell."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._engine import answering
from umi._erasure import operations
from umi.stores.index.masks import Masks
from umi.stores.sql.erase import ErasingTransaction
from umi.stores.sql.read import SqlSnapshot
from umi.stores.sql.write import SqlTransaction
from umi_lab.mutation.planted import Mutation, edited

PARTS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "labels-of-a-cut-message-lost",
        "A message that was cut down has only its first label from then on.",
        "umi.stores.sql.erase.ErasingTransaction.rewrite_episode",
        partial(
            edited,
            ErasingTransaction,
            "rewrite_episode",
            "codec.label_values(episode, place.key, self._ns, self._as_label)",
            "codec.label_values(episode, place.key, self._ns, self._as_label)[:1]",
        ),
    ),
    Mutation(
        "mask-not-grown",
        "A filter that was asked before does not see what came since.",
        "umi.stores.index.masks.Masks.of",
        partial(edited, Masks, "of", "mask.flags.rows[places] = True", "mask.flags.rows[places[: 0 if known else None]] = True"),
    ),
    Mutation(
        "last-of-a-filter-kept",
        "Forgetting by a filter leaves the last message of it.",
        "umi._erasure.operations.forget_where",
        partial(edited, operations, "forget_where", "cuts = dict.fromkeys(episodes, Cut())", "cuts = dict.fromkeys(list(episodes)[:-1], Cut())"),
    ),
    Mutation(
        "own-namespace-searched",
        "A recall over several namespaces searches the one that is open in place of the last.",
        "umi._engine.several.recall_over",
        partial(
            edited, answering, "recall_over", "[engine.view(name) for name in names]", "[*(engine.view(name) for name in names[:-1]), engine]"
        ),
    ),
    Mutation(
        "change-lost",
        "Of a write that did several things only the last is told.",
        "umi.stores.sql.write.SqlTransaction._events_at",
        partial(edited, SqlTransaction, "_events_at", "enumerate(self._noted)", "enumerate(list(self._noted)[-1:])"),
    ),
    Mutation(
        "write-cut-in-two",
        "A page of changes ends within a write, and the next begins after it.",
        "umi.stores.sql.read.SqlSnapshot.changes",
        partial(edited, SqlSnapshot, "changes", "[row for row in found if row[1] < found[-1][1]]", "found"),
    ),
)  # fmt: skip

"""Planted faults in the erasure of sessions and namespaces, and in what finds them by name."""

from __future__ import annotations

from functools import partial
from typing import Final

from umi._erasure import operations
from umi._retrieval import history
from umi.stores.sql import erase
from umi_lab.mutation.planted import Mutation, edited

LEAVING: Final[tuple[Mutation, ...]] = (
    Mutation(
        "rows-without-namespace-left",
        "Erasing a namespace leaves the rows that belong to it by their episode's key alone: terms, vectors, waiting work.",
        "umi.stores.sql.leaving.drop_namespace",
        partial(edited, erase, "drop_namespace", 'elif "key" in columns:', "elif False:"),
    ),
    Mutation(
        "namespace-name-left",
        "An erased namespace goes on being listed.",
        "umi.stores.sql.leaving.drop_namespace",
        partial(
            edited, erase, "drop_namespace", 'if "ns" in columns:', 'if "ns" in columns and table != "namespaces":'
        ),
    ),
    Mutation(
        "session-erased-by-halves",
        "Erasing a session leaves its last message.",
        "umi._erasure.operations._chosen",
        partial(
            edited,
            operations,
            "_chosen",
            "scan_episodes(where)}",
            "scan_episodes(where)}\n    cuts and cuts.popitem()",
        ),
    ),
    Mutation(
        "unknown-id-of-a-message",
        "A message is not found by its sender's own id.",
        "umi._retrieval.history._episode",
        partial(edited, history, "_episode", "if found is None else None", "if False else None"),
    ),
    Mutation(
        "last-session-unlisted",
        "A page of sessions says that none follows.",
        "umi._retrieval.history.sessions",
        partial(edited, history, "sessions", "if len(found) > limit else None", "if False else None"),
    ),
)

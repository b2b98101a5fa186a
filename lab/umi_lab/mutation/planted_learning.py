"""Planted faults of learning: each is one that would quietly teach the wrong thing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from umi._engine.engine import Engine
from umi._learning import credit, crediting, runs
from umi._retrieval import Query
from umi.types import RecallReceipt
from umi_lab.mutation.planted import Mutation, edited, patched

_MORE: Final = 2


@contextmanager
def _credits_what_was_not_shown() -> Iterator[None]:
    recall = Engine.recall

    async def wider(self: Engine, asked: Query, task_id: str | None) -> RecallReceipt:
        found = await recall(self, replace(asked, limit=asked.limit + _MORE), task_id)
        return replace(found, hits=found.hits[: asked.limit])

    with patched(Engine, "recall", wider):
        yield


LEARNING: Final = (
    Mutation(
        "credits-what-was-not-shown",
        "Trajectories hold more hits than the caller was given.",
        "umi._engine.engine.Engine.recall",
        _credits_what_was_not_shown,
    ),
    Mutation(
        "credits-what-was-not-used",
        "Where the caller said what was used, all that was shown is credited all the same.",
        "umi._learning.credit.share_of",
        lambda: edited(credit, "share_of", "if used_only and not share.used:", "if used_only and share.depth > 9:"),
    ),
    Mutation(
        "counts-twice",
        "A memory that two recalls of one task showed is credited twice by one signal.",
        "umi._learning.credit.credit_of",
        lambda: edited(
            crediting,
            "credit_of",
            "if part > largest.get(memory, 0.0):\n            largest[memory] = part",
            "largest[memory] = largest.get(memory, 0.0) + part",
        ),
    ),
    Mutation(
        "unbounded",
        "A provider that repeats itself weighs as often as it speaks.",
        "umi._learning.credit._bounded",
        lambda: edited(credit, "_bounded", "min(1.0, most / (gain + loss))", "1.0"),
    ),
    Mutation(
        "lost-rollback",
        "Going back to a version makes beliefs anew from every signal, those that no longer count too.",
        "umi._learning.crediting.counting_pages",
        lambda: edited(runs, "counting_pages", "if row.version in counting", "if row.version"),
    ),
    Mutation(
        "seals-too-early",
        "A rollback forgets what came after the last sealed version instead of sealing it.",
        "umi._learning.runs.roll_back",
        lambda: edited(runs, "roll_back", 'seal(tx, now, f"before going back to {to}")', "tx.learned.open_version()"),
    ),
)

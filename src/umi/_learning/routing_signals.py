"""Signals about routed tasks: each judges the routing decision that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from umi._learning.loader import ProviderSignals, SignalCounts
from umi._learning.routing.judging import judge
from umi.errors import IdempotencyConflict, NotFound
from umi.limits import LEARN_BATCH_COUNT
from umi.ports import StorageBackend, Transaction
from umi.types import QualitySignal, SignalFault, quality


async def judge_decisions(
    storage: StorageBackend, groups: Sequence[ProviderSignals]
) -> tuple[SignalCounts, list[ProviderSignals]]:
    """Judge the decisions that signals name.

    Args:
        storage: The namespace.
        groups: The signals, by provider.

    Returns:
        What became of those that name neither a recall nor a task, and the groups with the signals that are left for crediting memories.
    """
    found, left = SignalCounts(), []
    for group in groups:
        naming = [signal for signal in group.signals if signal.decision_id]
        for start in range(0, len(naming), LEARN_BATCH_COUNT):
            batch = naming[start : start + LEARN_BATCH_COUNT]
            found.add(await storage.write(partial(_judge, group=group, batch=batch)))
        # A signal that names a recall or a task as well credits memories too.
        left.append(
            replace(group, signals=tuple(signal for signal in group.signals if not _of_a_decision_alone(signal)))
        )
    return found, left


def _judge(tx: Transaction, group: ProviderSignals, batch: Sequence[QualitySignal]) -> SignalCounts:
    """Judge one batch inside a transaction."""
    found = SignalCounts()
    for signal in batch:
        # Signals that also credit memories are counted there, not here.
        counts = _of_a_decision_alone(signal)
        try:
            new = judge(tx, signal.decision_id or "", quality(signal, group.weights), None, f"{group.name}:{signal.id}")
        except NotFound:
            found.unmatched += counts
        except IdempotencyConflict as error:
            found.faults.append(SignalFault(group.name, signal.id, str(error)))
        else:
            found.new += counts and new
            found.known += counts and not new
    return found


def _of_a_decision_alone(signal: QualitySignal) -> bool:
    return bool(signal.decision_id and not signal.recall_id and not signal.task_id)

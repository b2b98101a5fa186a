"""Judge routing decisions: the outcome of a task is kept in the row of the decision that sent it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from umi.errors import IdempotencyConflict, InvalidInput, NotFound
from umi.ports import Transaction
from umi.types import QualitySignal, fault, quality
from umi.types.quality import worth_of

FEEDBACK: Final = "feedback"  # the judge's name for `TierRouter.feedback`


def quality_of(decision_id: str, outcome: str, score: float | None, at: datetime) -> float:
    """The quality of feedback, 0..1, computed as for a signal with the same fields.

    Raises:
        InvalidInput: For an unknown outcome.
    """
    given = score if score is not None else worth_of(outcome)
    signal = QualitySignal(decision_id, "", outcome, given, at.isoformat(), decision_id=decision_id)
    if (wrong := fault(signal)) is not None:
        raise InvalidInput(wrong)
    return quality(signal)


def judge(tx: Transaction, decision_id: str, value: float, actual: float | None, by: str) -> bool:
    """Store the judgement of a decision, inside a transaction.

    Returns:
        False when the same was said before, by whomever.

    Raises:
        NotFound: For an id that no decision of this namespace has.
        IdempotencyConflict: When it was judged differently: each decision is judged once.
    """
    row = tx.routed.decisions([decision_id]).get(decision_id)
    if row is None:
        raise NotFound(f"no decision {decision_id!r} in namespace {tx.namespace!r}: forgotten, or never kept")
    if not row.judge:
        tx.routed.put(replace(row, quality=value, actual=actual, judge=by))
        return True
    # The first judgement stands; repeating it is fine, contradicting it is not.
    if row.quality != value or (None not in (actual, row.actual) and row.actual != actual):
        raise IdempotencyConflict(f"decision {decision_id} was judged otherwise by {row.judge}; each is judged once")
    if actual is None or row.actual is not None:
        return False
    # How hard the task was contradicts nothing that was said before.
    tx.routed.put(replace(row, actual=actual))
    return True

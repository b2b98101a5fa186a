"""How routed tasks went: what is said of one decision is kept with that decision, whoever says it and whenever."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from umi.errors import IdempotencyConflict, InvalidInput, NotFound
from umi.ports import Transaction
from umi.types import OUTCOME_QUALITY, QualitySignal, fault, quality

FEEDBACK: Final = "feedback"  # the judge when the program that routed says it itself


def quality_of(decision_id: str, outcome: str, score: float | None, at: datetime) -> float:
    """What feedback comes to, 0..1, as for a signal that says the same.

    Raises:
        InvalidInput: For an outcome that is none.
    """
    given = (
        score if score is not None else {str(one): worth for one, worth in OUTCOME_QUALITY.items()}.get(outcome, 0.0)
    )
    signal = QualitySignal(decision_id, "", outcome, given, at.isoformat(), decision_id=decision_id)
    if (wrong := fault(signal)) is not None:
        raise InvalidInput(wrong)
    return quality(signal)


def judge(tx: Transaction, decision_id: str, value: float, actual: float | None, by: str) -> bool:
    """Keep what somebody says of a decision; False when the same was said before.

    Raises:
        NotFound: For an id that no decision of this namespace has.
        IdempotencyConflict: When it was judged otherwise: each is judged once.
    """
    row = tx.routed.decisions([decision_id]).get(decision_id)
    if row is None:
        raise NotFound(f"no decision {decision_id!r} in namespace {tx.namespace!r}: forgotten, or never kept")
    judged = replace(row, quality=value, actual=actual, judge=by)
    if not row.judge:
        tx.routed.put(judged)
        return True
    if judged != row:
        raise IdempotencyConflict(f"decision {decision_id} was judged otherwise by {row.judge}; each is judged once")
    return False

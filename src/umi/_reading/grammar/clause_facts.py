"""What reading a clause gives."""

from __future__ import annotations

from dataclasses import dataclass

from umi._reading.grammar.subjects import Subject


@dataclass(frozen=True, slots=True)
class Found:
    """One slot filled by a clause; `subject` when it is not the clause's own."""

    slot: str
    values: tuple[str, ...]
    confidence: float
    negated: bool = False
    ended: tuple[str, ...] = ()
    over: bool = False  # says that what held no longer does
    event: bool = False
    beside: bool = False  # "also", "another": next to what held
    subject: Subject | None = None

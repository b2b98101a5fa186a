"""The result type of reading one clause."""

from __future__ import annotations

from dataclasses import dataclass

from umi._reading.grammar.subjects import Subject


@dataclass(frozen=True, slots=True)
class Found:
    """One slot with its values, as a clause states it.

    Attributes:
        slot: What is stated, such as "works_at".
        values: As written; several for a list.
        confidence: 0..1.
        negated: Whether it is denied.
        ended: Values that the clause says no longer hold.
        over: Whether the clause says that what held before no longer does.
        event: Whether it tells of a change ("moved to"), not of a state ("lives in").
        beside: Whether it adds to what held before ("also", "another").
        subject: The subject, when it is not the clause's own.
    """

    slot: str
    values: tuple[str, ...]
    confidence: float
    negated: bool = False
    ended: tuple[str, ...] = ()
    over: bool = False
    event: bool = False
    beside: bool = False
    subject: Subject | None = None

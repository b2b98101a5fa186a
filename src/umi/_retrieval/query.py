"""What is asked of a search, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, field

from umi import limits
from umi._evolution.states import View
from umi._learning.boosts import Lessons
from umi.ports import Vector
from umi.types import Degradation, Hit, VectorHit


@dataclass(frozen=True, slots=True)
class Query:
    """One validated question.

    With `min_score` None the calibrated threshold applies and the search may abstain; 0 accepts every score.
    `max_tokens` bounds the lines of the hits in a prompt.
    """

    text: str
    limit: int = limits.RECALL_LIMIT_DEFAULT
    deep: bool | None = None
    view: View = field(default_factory=View)
    min_score: float | None = None
    max_tokens: int | None = None
    explain: bool = False
    lessons: Lessons | None = None  # set where learning is on


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search. `abstained` is True when no candidate is relevant enough; `why_abstained` says why."""

    hits: tuple[Hit, ...]
    abstained: bool
    degraded: tuple[Degradation, ...]
    deep_search_used: bool
    query_variations: tuple[str, ...]
    best_score: float | None = None
    why_abstained: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """One text to search for, with what the vector leg needs for it. Made before the snapshot is taken."""

    text: str
    weight: float
    embedding: Vector | None = None
    hits: tuple[VectorHit, ...] | None = None  # from a vector backend that is not the store

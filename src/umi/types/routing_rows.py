"""What routing keeps, as records, and how a store hands them out.

A *decision* says which tier a task was sent to, and later how that went. All that a router knows follows from its decisions, and can
be made again from them at any time: deleting one deletes what it taught. No words of a task are kept, only its vector.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

TIERS: Final[tuple[str, ...]] = ("fast", "balanced", "strong")  # by what a call of them costs
# A wrong rewrite costs a variant of one search, a wrong extraction one message, a wrong verdict what else is known.
TIER_OF_TASK: Final = {"rewrite": "fast", "extract": "balanced", "evolve": "strong"}
_BLOB: Final = np.dtype("<f2")  # little-endian on every machine

FloatVector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Decision:
    """One task that was routed.

    `kind` tells tasks of one sort apart ("" for a user's own, "extract", "rewrite", "evolve" for Umi's), `complexity` is as read, before
    calibration, and `expected` the quality that was expected of the tier. `vector` is the task's embedding with the features
    behind it, shape (n,), rounded as it is kept; None when its embedder could not be asked, or only the kind tells what the task is.
    `embedder` names whose embedding it is ("" for features alone): vectors of two never meet.

    `quality` 0..1 is how it went, None until it is judged; `actual` how hard the task turned out, where somebody said; `judge` who
    judged. `turn` is the namespace's sequence when the row was last written.
    """

    id: str
    at: datetime
    tier: str
    model: str
    complexity: float
    expected: float
    kind: str = ""
    explored: bool = False
    quality: float | None = None
    actual: float | None = None
    judge: str = ""
    turn: int = 0
    embedder: str = ""
    vector: FloatVector | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Route:
    """Where a task goes and why: what `Router.choose` answers.

    `complexity` is calibrated; `expected` by tier what quality is expected there; `spent` what all decisions of this router cost so
    far, this one included, in the unit of its prices. `degraded` names what was missing: "embedding_failed", or "not_recorded" when the
    store refused the decision, which then cannot be judged.
    """

    id: str
    tier: str
    model: str
    complexity: float
    expected: Mapping[str, float]
    why: str
    explored: bool = False
    spent: float = 0.0
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouterStatus:
    """What a router knows: `chosen` and `mean_quality` (of what was judged) by tier, `bias` as applied.

    A router's `mean_quality` is of the models that hold the tiers now; where no models are named, of all.
    """

    decisions: int
    judged: int
    explored: int
    bias: float
    feedback: int
    chosen: Mapping[str, int]
    mean_quality: Mapping[str, float]


class RoutedRows(Protocol):
    """The decisions of one namespace as of one moment; lives as long as its snapshot."""

    def decisions(self, ids: Iterable[str]) -> dict[str, Decision]:
        """By id; an unknown one has no key."""
        ...

    def since(self, turn: int) -> list[Decision]:
        """Those written after a turn, in order of (turn, id)."""
        ...

    def count(self) -> int:
        """How many are kept."""
        ...


class RoutedWrites(RoutedRows, Protocol):
    """The decisions inside a transaction that may change them."""

    def put(self, decision: Decision) -> None:
        """Insert, or replace the one of the same id; its turn becomes this transaction's."""
        ...

    def remove(self, ids: Iterable[str]) -> int:
        """Take decisions away; how many were there."""
        ...

    def prune(self, keep: int) -> int:
        """Take away all but those written last; how many went."""
        ...


def tier_for(task: str, there: Collection[str]) -> str:
    """The tier of one of Umi's own tasks; one that is not there is stood in for by the next stronger one, else the strongest."""
    wanted = TIERS.index(TIER_OF_TASK.get(task, "balanced"))
    return next(tier for tier in (*TIERS[wanted:], *reversed(TIERS[:wanted])) if tier in there)


def rounded(values: npt.ArrayLike) -> FloatVector:
    """Numbers as they come back from a store."""
    made: FloatVector = np.asarray(values, dtype=_BLOB).astype(np.float32)
    return made


def packed(vector: FloatVector | None) -> str | None:
    """A vector as text."""
    return None if vector is None else b64encode(np.ascontiguousarray(vector, dtype=_BLOB).tobytes()).decode("ascii")


def unpacked(text: str | None) -> FloatVector | None:
    """The vector of a text."""
    return None if text is None else np.frombuffer(b64decode(text), dtype=_BLOB).astype(np.float32)

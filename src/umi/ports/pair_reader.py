"""What the pair reader is asked: which of two statements answers a question, and whether the newer makes the older outdated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Passage:
    """A statement where it stands: the message, its half-open characters there, and who said it."""

    text: str
    span: tuple[int, int]
    speaker: str


@dataclass(frozen=True, slots=True)
class Pair:
    """An older statement and a newer one; `days` is the time between the two."""

    older: Passage
    newer: Passage
    days: float | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """Two probabilities of a pair, in view of a question.

    `outdated`: what the older statement answers holds no longer, because of the newer one. `better`: the newer one
    answers the question and the older one does not, or no longer.
    """

    outdated: float
    better: float


class PairReader(Protocol):
    """Compares two statements in view of a question. The same pair is judged the same, whatever was judged before."""

    async def compare(self, question: str, pairs: Sequence[Pair]) -> list[Compared]:
        """Each pair; some milliseconds of a thread's time for each.

        Raises:
            EmbeddingError: When its model cannot be loaded, or fails.
        """
        ...


@runtime_checkable
class HasPairReader(Protocol):
    """An embedder beside whose model statements can be compared."""

    @property
    def pair_reader(self) -> PairReader | None:
        """Compares with its model; None when that one cannot."""
        ...

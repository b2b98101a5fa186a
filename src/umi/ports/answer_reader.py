"""What the answer reader is asked: which of the first hits answers a question as things stand, and which are outdated."""

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
class Dated:
    """A statement, and how many days before the newest of those it is read with it was said."""

    passage: Passage
    days: float


@dataclass(frozen=True, slots=True)
class Reading:
    """Two probabilities of a statement, in view of a question and of the statements that it was read with.

    `answers`: it is the answer as things stand; of all statements read together these sum to at most 1, and what is
    missing is the probability that none of them answers. `outdated`: it was the answer and is so no longer, because of a later one.
    """

    answers: float
    outdated: float


class AnswerReader(Protocol):
    """Reads statements together, in view of a question. The same are read the same, whatever was read before."""

    async def read_answers(self, question: str, told: Sequence[Dated]) -> list[Reading]:
        """A reading of each; some milliseconds of a thread's time for all of them.

        Args:
            question: What was asked.
            told: At most `ANSWER_READER_HITS_COUNT` statements, the oldest first.

        Raises:
            EmbeddingError: When its model cannot be loaded, or fails.
        """
        ...


@runtime_checkable
class HasAnswerReader(Protocol):
    """An embedder beside whose model statements can be read in view of a question."""

    @property
    def answer_reader(self) -> AnswerReader | None:
        """Reads with its model; None when that one cannot."""
        ...

"""What the pair reader is asked: what a newer statement makes of an older one, and whether a statement answers a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

VERDICTS: Final = ("none", "update", "correct", "retract", "extend", "same", "contradict")
CHANGES: Final = ("update", "correct", "retract")  # after these the older statement holds no longer


@dataclass(frozen=True, slots=True)
class Passage:
    """A statement where it stands: the message, its half-open characters there, and who said it."""

    text: str
    span: tuple[int, int]
    speaker: str


@dataclass(frozen=True, slots=True)
class Pair:
    """An older statement and a newer one; `before` is what was said just before the newer, `days` the time between the two."""

    older: Passage
    newer: Passage
    before: str = ""
    days: float | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """What a newer statement makes of an older one: how likely each of `VERDICTS` is, and on which words.

    `older_words` are the half-open characters of the older message that the verdict is about, `newer_words` those of the newer that say so.
    """

    likely: Mapping[str, float]
    older_words: tuple[int, int]
    newer_words: tuple[int, int]

    @property
    def changed(self) -> float:
        """How likely it is that the older statement holds no longer."""
        return sum(self.likely[name] for name in CHANGES)


class PairReader(Protocol):
    """Compares statements. The same pair is judged the same, whatever was judged before."""

    async def compare(self, pairs: Sequence[Pair]) -> list[Compared]:
        """Each pair; some milliseconds of a thread's time.

        Raises:
            EmbeddingError: When its model cannot be loaded, or fails.
        """
        ...

    async def changes(self, pairs: Sequence[Pair]) -> list[float]:
        """How likely it is of each pair that the older statement holds no longer, as `Compared.changed`; soon told where it surely does.

        Raises:
            EmbeddingError: When its model cannot be loaded, or fails.
        """
        ...

    async def answers(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """How likely it is of each statement that it answers a question, be it still so or not.

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

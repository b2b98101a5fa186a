"""What a short message may do with a fact, and how its reader is asked: a text is taken one way or another, and each is judged.

"Priya left Nordlicht for Halden & Pike" taken to speak of Priya's employer, of whom Nordlicht is known, is an update, and Halden &
Pike what holds. Taken to speak of the employer of whoever says it, it does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

KINDS: Final = (
    "job", "home", "price", "plan", "assignee", "setting", "lead", "choice", "hobby", "language", "tool", "none",
)  # fmt: skip
ACTS: Final = ("state", "detail", "add", "update", "correct", "retract", "forget", "claim", "none")
ROLES: Final = ("0", "S", "V", "O", "R")  # nothing, whose fact it is, what holds, what held, who is quoted
MARKS: Final = ("thing", "item", "choice", "name", "money", "date", "amount", "language", "known", "meant")
WHICH: Final = ""  # the question which kind of fact a text speaks of, in place of a kind
STATES: Final = ("none", "mentioned", "unmentioned")  # whether such a fact is known, and the text names its value


@dataclass(frozen=True, slots=True)
class Interpretation:
    """One way to take a text.

    `kind` of fact that it is taken to speak of, or `WHICH`; `state`, one of `STATES`, and `own`, whether it is a fact of whoever
    says it; `marks`, each half-open characters and one of `MARKS`, none overlapping another.
    """

    marks: tuple[tuple[int, int, str], ...]
    kind: str = WHICH
    state: str = STATES[0]
    own: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """A text taken one way: likelihoods by kind of fact and by what it does, and by role of each piece, half-open characters."""

    kinds: Mapping[str, float]
    acts: Mapping[str, float]
    roles: Sequence[tuple[int, int, Mapping[str, float]]]


class OpenText(Protocol):
    """A text that is being read."""

    def judge(self, take: Interpretation) -> Judged:
        """The text, taken one way; half a millisecond of this thread's time.

        Raises:
            EmbeddingError: When its reader's model fails.
        """
        ...


class TextReader(Protocol):
    """Reads short English texts. The same text behind the same name, taken the same way, is judged the same, whatever was read before."""

    def read(self, text: str, before: str = "") -> OpenText:
        """A text, of any length that the reader's model takes, which then may be taken in several ways.

        `before` stands before it where it is embedded: the speaker's name. It is not judged; whoever embeds
        `before + text` while this is open pays for one pass of the lower layers, not two.

        Raises:
            EmbeddingError: When its model cannot be loaded, or fails.
        """
        ...


@runtime_checkable
class HasTextReader(Protocol):
    """An embedder whose model can read, too."""

    @property
    def reader(self) -> TextReader | None:
        """Reads with its model; None when that one cannot."""
        ...

"""The result type of the reader of short messages, and its access to what is already known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from umi.types import Entity

FORGET: Final = "forget"  # cue: a request to forget
NAMED: Final = "named"  # cue: a change that names what it ends
UNREAD: Final = "unread"  # cue: it names as ended what no statement was read of

Known = Callable[[str, Sequence[str]], Sequence[Entity]]  # returns the open statements of a subject in some slots


@dataclass(frozen=True, slots=True)
class MessageFact:
    """One fact that a message states, changes, ends or asks to forget.

    Attributes:
        name: The subject as written.
        subject: Its key.
        slot: The kind of fact.
        value: The value that holds; of an ended fact, the value that ended.
        ended: Values that no longer hold.
        negated: Whether the fact is over or denied.
        confidence: How likely the fact holds, 0..1.
        cues: What the message does: "event", "correction", "over", "also", "claimed" or the constants above.
        source: Key of the person who is quoted.
        acting: How likely it changes what was known, 0..1.
    """

    name: str
    subject: str
    slot: str
    value: str
    ended: tuple[str, ...] = ()
    negated: bool = False
    confidence: float = 1.0
    cues: tuple[str, ...] = ()
    source: str = ""
    acting: float = 1.0


def nothing_known(_subject: str, _slots: Sequence[str]) -> Sequence[Entity]:
    """The `Known` of a reader without a store: no statements."""
    return ()

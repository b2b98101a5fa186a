"""One fact of a short message, and what is known when it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from umi.types import Entity

FORGET: Final = "forget"  # the cue of a request to forget
NAMED: Final = "named"  # the cue of a change that names what it ends
UNREAD: Final = "unread"  # the cue of one that names as over what no statement was read of

Known = Callable[[str, str], Sequence[Entity]]  # the open statements of a subject in a slot


@dataclass(frozen=True, slots=True)
class MessageFact:
    """One fact of a message.

    `ended` are values that are over; `source` is who is quoted; `acting` is how surely it changes what was known (`confidence`: how
    surely it holds).
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


def nothing_known(_subject: str, _slot: str) -> Sequence[Entity]:
    """For a reader without a store."""
    return ()

"""A message as it was seen, and whose fact it is taken to speak of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from umi._reading.short_messages.classifier import Judge
from umi._reading.short_messages.fact import Known
from umi._reading.short_messages.features import Taking
from umi._reading.short_messages.spans import Span
from umi.types import Entity

SLOTS: Final = {
    "job": ("works_at",),
    "home": ("lives_in", "location"),
    "price": ("costs",),
    "plan": ("scheduled_at", "due"),
    "assignee": ("attr:assignee", "attr:owner"),
    "setting": ("attr:value",),
    "lead": ("attr:lead",),
    "hobby": ("hobby", "likes"),
    "language": ("speaks",),
    "tool": ("uses",),
}
OF_PEOPLE: Final = frozenset({"job", "home", "language"})
CHANGES: Final = ("update", "correct")


@dataclass(frozen=True, slots=True)
class Seen:
    """A message as it was seen: spans and tokens, likely kinds, and whose facts are known."""

    text: str
    spans: tuple[Span, ...]
    speaker: tuple[str, str]
    judge: Judge
    known: Known
    kinds: dict[str, float]


@dataclass(frozen=True, slots=True)
class Whose:
    """A subject that a message may speak of, in a kind of fact, with what is known and open of it."""

    span: Span | None
    name: str
    subject: str
    slot: str
    open: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """A message taken to speak of somebody's fact: what it then does, by likelihood."""

    taking: Taking
    whose: Whose
    sure: float
    acts: dict[str, float]

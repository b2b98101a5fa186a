"""Data types that the steps of the short-message reader pass on: the message, a possible subject, an interpretation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from umi._reading.short_messages.classifier import Judge
from umi._reading.short_messages.fact import Known
from umi._reading.short_messages.features import Taking
from umi._reading.short_messages.spans import Span
from umi.types import Entity

# The slots of each kind of fact (`umi.ports.text_reader.KINDS`); the first is used for new facts. "choice" has its slot
# in the span.
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
OF_PEOPLE: Final = frozenset({"job", "home", "language"})  # kinds of fact that any named person may have
CHANGES: Final = ("update", "correct")  # acts that replace a value


@dataclass(frozen=True, slots=True)
class MessageContext:
    """A message with its spans, the judge of its classes, and the probability of each kind of fact.

    `speaker` is name and key of "I"; `known` returns the open statements of a subject in some slots.
    """

    text: str
    spans: tuple[Span, ...]
    speaker: tuple[str, str]
    judge: Judge
    known: Known
    kinds: dict[str, float]


@dataclass(frozen=True, slots=True)
class Whose:
    """A possible subject of a message, for one kind of fact, with its open statements.

    `span` is None for the speaker.
    """

    span: Span | None
    name: str
    subject: str
    slot: str
    open: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """A message interpreted as being about one fact of one subject.

    `sure` is the probability of the kind of fact, with what is known taken into account; `acts` are the probabilities
    of what the message does with the fact.
    """

    taking: Taking
    whose: Whose
    sure: float
    acts: dict[str, float]

"""What `Memory.context` and `Memory.profile` return, and the lines that both write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from umi.types.kinds import Degradation, HitState
from umi.types.modes import Mode
from umi.types.records import Entity, Fact, RecallReceipt, origin_mark

_LOOKED_AT: Final = 8  # signs between "<" and the name of the fence that are skipped
# Anything that a reader could take for a tag of the fence: "</memory", "< / MEMORY".
_TAG: Final = re.compile(rf"[<\uff1c](?=[\W_]{{0,{_LOOKED_AT}}}memory)", re.IGNORECASE)
# Control characters, marks that change the direction of text, and spaces of no width.
_INVISIBLE: Final = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_YEAR_LEAST: Final = 1900  # a beginning before it stands for an unknown one


class ProfileKind(StrEnum):
    """The groups of a profile, in the order in which they are shown."""

    IDENTITY = "identity"
    WORK = "work"
    PLACES = "places"
    PEOPLE = "people"
    PREFERENCES = "preferences"
    THINGS = "things"
    PLANS = "plans"
    OTHER = "other"


class ContextSection(StrEnum):
    """The sections of a context, in the order of its text."""

    PROFILE = "profile"
    CHANGES = "changes"
    ANSWERS = "answers"


class LeftOutReason(StrEnum):
    """Why something is not in a context."""

    BUDGET = "budget"  # no room for a whole line, or for a whole sentence of it
    OUTDATED = "outdated"  # of the profile's subject, and over, replaced or stale
    NOT_RELEVANT = "not_relevant"  # nothing answers the question, so neither profile nor changes are shown


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of somebody or something, by kind: only what holds.

    `name` is the subject as it was asked for, `subject` its key, `aliases` are further names. `groups` has the kinds that
    hold anything, in the order of `ProfileKind`, each with its facts in order of attribute, then of time. A plan is a fact
    whose `entity.mode` is planned. `left_out` says how many more facts of a kind there are, where a limit left some out.
    """

    name: str
    subject: str
    aliases: tuple[str, ...] = ()
    groups: Mapping[ProfileKind, tuple[Fact, ...]] = field(default_factory=dict)
    left_out: Mapping[ProfileKind, int] = field(default_factory=dict)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts, in the order of the text."""
        return tuple(fact for facts in self.groups.values() for fact in facts)

    @property
    def text(self) -> str:
        """One line per fact below its kind: date, attribute, value, and the id of the message that said it; "" without facts."""
        return "\n".join(line for kind, facts in self.groups.items() for line in (f"{kind}:", *map(fact_line, facts)))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One line of a context.

    `id` is the statement's (the message's while it is not read), `episode_id` the message's; both are for `get`, `why` and
    `forget`. `at` is the date in the line. `shortened` is True where only some sentences of the message are in the line.
    """

    section: ContextSection
    line: str
    id: str
    episode_id: str
    at: datetime
    state: HitState = HitState.CURRENT
    shortened: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not in a context although it was found, and why. Ids and date as in `ContextItem`."""

    section: ContextSection
    reason: LeftOutReason
    id: str
    episode_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Context:
    """What `Memory.context` packed for a prompt.

    `text` (also `str(context)`) goes into the prompt as it is; it is "" when there is nothing to say. `tokens` is what the
    counter gives for it. `items` are its lines in their order. `left_out` lists at most 100 things that were found and are
    not in the text; `left_out_count` counts all. `recall` is the receipt of the question, whose `id` `feedback` takes, None
    without a question; `abstained` and `why_abstained` are its. `about` is whose profile was looked up, "" for nobody's.
    """

    text: str = ""
    tokens: int = 0
    items: tuple[ContextItem, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    left_out_count: int = 0
    about: str = ""
    recall: RecallReceipt | None = None
    degraded: tuple[Degradation, ...] = ()
    abstained: bool = False
    why_abstained: str = ""

    def __str__(self) -> str:
        return self.text


def one_line(text: str) -> str:
    """Remembered text that cannot begin a line of its own, hide anything, or end the fence around it."""
    return _TAG.sub("&lt;", " ".join(_INVISIBLE.sub("", text).split()))


def since(entity: Entity) -> datetime:
    """The date that a line about a statement shows: since when it holds, else when it was said."""
    begins = entity.valid_from
    known = begins if begins is not None and begins.year >= _YEAR_LEAST else entity.at
    return known or datetime.min.replace(tzinfo=UTC)


def fact_line(fact: Fact) -> str:
    """A fact as a line: "- 2026-05-01 likes: not tea [ep_...]"."""
    date = f"{since(fact.entity):%Y-%m-%d} "
    origin = origin_mark(fact.origin)
    state = "" if fact.state is HitState.CURRENT else f"[{fact.state}] "
    planned = "planned: " if fact.entity.mode is Mode.PLANNED else ""
    attribute = f"{one_line(fact.attribute)}: " if fact.attribute else ""
    value = one_line(fact.value)
    return (
        f"- {date}{state}{origin}{planned}{attribute}{'not ' if fact.negated else ''}{value} [{fact.entity.episode_id}]"
    )

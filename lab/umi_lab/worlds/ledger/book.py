"""The oracle of small worlds: rows of messages, statements and relations, and what each of them is at any moment.

Written from the documents (docs/concepts.md, docs/reference.md), without the product's code: lists that are searched, no index, no cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from umi.ports import Clock

CURRENT: Final = "current"
SUPERSEDED: Final = "superseded"
STALE: Final = "stale"
DISPUTED: Final = "disputed"
US: Final = timedelta(microseconds=1)
KNOWN_FROM: Final = datetime(1900, 1, 1, tzinfo=UTC)  # an earlier beginning stands for one that nobody named

Order = tuple[datetime, int, tuple[int, int]]


@dataclass(slots=True, eq=False)
class Said:
    """One message as it must be stored. `key` names it in the plan; `id` is what the product called it."""

    key: str
    id: str
    content: str
    role: str
    speaker: str | None
    session: str | None
    at: datetime
    recorded_at: datetime
    arrival: int
    message_id: str | None
    metadata: dict[str, Any]
    origin: str
    expires_at: datetime | None
    read: bool = True
    trusted: bool = True  # whether what it says may change what any message said


@dataclass(slots=True, eq=False)
class Statement:
    """One statement as it must be stored; `value` and `slot` only of facts that were set."""

    id: str
    said: Said
    place: int
    name: str
    subject: str
    entity_type: str
    content: str
    span: tuple[int, int]
    valid_from: datetime
    valid_until: datetime | None = None
    mode: str = "asserted"
    confidence: float = 1.0
    also: tuple[str, ...] = ()
    slot: str = ""
    value: str = ""
    reason: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def order(self) -> Order:
        """The order of statements: when said, then arrival, then place in the text."""
        return self.said.at, self.said.arrival, self.span


@dataclass(slots=True, eq=False)
class Link:
    """One relation as it must be stored. `old` and `new` are its statements; both are the conclusion where a source was deleted."""

    id: str
    old: Statement
    new: Statement
    type: str
    reason: str
    confidence: float
    created_at: datetime
    detector: str = "caller"
    acted: bool = False
    nature: str = ""
    resolved: str | None = None
    resolved_at: datetime | None = None
    undone_at: datetime | None = None

    def alive(self, known_at: datetime | None) -> bool:
        """Whether it was recorded, and not undone, at that moment of knowledge; None is now."""
        bereft = self.type == "derive" and self.old is self.new
        if known_at is None or bereft:
            return self.undone_at is None
        return self.created_at <= known_at and (self.undone_at is None or self.undone_at > known_at)

    def kept(self, known_at: datetime | None) -> str | None:
        """Which side was kept, as known at that moment."""
        if known_at is not None and self.resolved_at is not None and self.resolved_at > known_at:
            return None
        return self.resolved

    def acts(self, known_at: datetime | None) -> bool:
        """Whether an update acts, as known at that moment: what was settled only later did not act yet."""
        return self.acted and self.resolved == self.kept(known_at)


@dataclass(frozen=True, slots=True)
class End:
    """Why a statement no longer holds: since when in the world, and since when that is known."""

    link: Link
    at: datetime
    known: datetime
    never_held: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """From where a question looks, as the arguments of `recall` say."""

    as_of: datetime | None = None
    known_at: datetime | None = None
    time_range: tuple[datetime, datetime] | None = None
    include_superseded: bool = False
    now: datetime | None = None  # what named an end before it has run out


EVER: Final = Look()


class Book:
    """All rows of one namespace. Without a clock nothing in it runs out by itself."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self.said: list[Said] = []
        self.statements: list[Statement] = []
        self.links: list[Link] = []
        self.next_arrival = 0
        self.over: dict[str, tuple[datetime | None, datetime | None]] = {}  # of an export's part: as it was written

    def of(self, said: Said) -> list[Statement]:
        """The statements of a message, in the order of the text."""
        return sorted((one for one in self.statements if one.said is said), key=lambda one: one.span)

    def arrived(self) -> list[Statement]:
        """All statements in order of arrival, then of the text."""
        return sorted(self.statements, key=lambda one: (one.said.arrival, one.span))

    def links_of(self, one: Statement, known_at: datetime | None = None) -> list[Link]:
        """Living relations at either end, in order of recording."""
        return [link for link in self.all_links_of(one) if link.alive(known_at)]

    def all_links_of(self, one: Statement) -> list[Link]:
        """As `links_of`, with undone ones."""
        touching = [link for link in self.links if one in (link.old, link.new)]
        return sorted(touching, key=lambda link: (link.created_at, link.id))

    def ends(self, one: Statement, known_at: datetime | None = None) -> list[End]:
        """Why a statement no longer holds, the earliest end first."""
        found = [end for link in self.links_of(one, known_at) if (end := _end(one, link, known_at)) is not None]
        return sorted(found, key=lambda end: (end.at, end.known, end.link.id))

    def validity(self, one: Statement, known_at: datetime | None = None) -> tuple[datetime | None, datetime | None]:
        """Until when it holds, and since when it is known to be over."""
        if known_at is None and one.id in self.over:
            return self.over[one.id]
        found = self.ends(one, known_at)
        return (found[0].at, min(end.known for end in found)) if found else (None, None)

    def begins(self, one: Statement, known_at: datetime | None = None) -> datetime:
        """Since when it holds: if it corrects others and ever held, since the earliest of them was thought to begin."""
        if any(end.never_held for end in self.ends(one, known_at)):
            return one.valid_from
        found, todo = [one], [one]
        while todo:
            links = self.links_of(todo.pop(), known_at)
            corrected = [
                link.old for link in links if link.nature == "corrected" and link.acts(known_at) and link.new in found
            ]
            new = [old for old in corrected if old not in found]
            found += new
            todo += new
        return min(each.valid_from for each in found)

    def disputes(self, one: Statement, known_at: datetime | None = None) -> list[Link]:
        """Open contradictions at either end."""
        links = self.links_of(one, known_at)
        return [link for link in links if link.type == "contradict" and link.kept(known_at) is None]

    def sources(self, one: Statement, known_at: datetime | None = None) -> list[Statement]:
        """What it was concluded from, in order of recording."""
        links = [link for link in self.links_of(one, known_at) if link.type == "derive" and link.old is not link.new]
        return [link.old for link in links if link.new is one]

    def conclusions(self, one: Statement) -> list[Statement]:
        """What was concluded from it."""
        links = [link for link in self.links_of(one) if link.type == "derive" and link.old is not link.new]
        return [link.new for link in links if link.old is one]

    def rests_on(self, one: Statement, other: Statement) -> bool:
        """Whether a statement is concluded from another, through any number of steps, or is it."""
        return one is other or any(self.rests_on(source, other) for source in self.sources(one))

    def causes(self, one: Statement, known_at: datetime | None = None) -> list[Link]:
        """The relations that make a conclusion stale, through any number of conclusions."""
        links = self.links_of(one, known_at)
        found = [link for link in links if link.type == "derive" and link.old is link.new]
        for source in self.sources(one, known_at):
            found += [end.link for end in self.ends(source, known_at)]
            found += self.disputes(source, known_at)
            found += self.causes(source, known_at)
        return _once(found)

    def state(self, one: Statement, look: Look | None = None) -> str:
        """The state of a statement, seen from there, or today."""
        if look is None:
            look = EVER if self._clock is None else Look(now=self._clock.now())
        over = self.validity(one, look.known_at)[0]
        if over is not None and (look.as_of is None or over <= look.as_of):
            return SUPERSEDED
        happened = one.entity_type == "event"
        moment = look.as_of or look.now
        if moment is not None and one.valid_until is not None and one.valid_until <= moment and not happened:
            return SUPERSEDED
        if any(_begun(link, look) for link in self.causes(one, look.known_at)):
            return STALE
        if any(_begun(link, look) for link in self.disputes(one, look.known_at)):
            return DISPUTED
        return CURRENT

    def shown(self, one: Statement, look: Look) -> bool:
        """Whether a question shows a statement."""
        if look.known_at is not None and one.said.recorded_at > look.known_at:
            return False
        if look.as_of is not None and self.begins(one, look.known_at) > look.as_of:
            return False
        state = self.state(one, look)
        if look.time_range is not None and not self._within(one, look, state):
            return False
        hidden = (STALE,) if look.time_range is not None else (STALE, SUPERSEDED)
        return look.include_superseded or state not in hidden

    def _within(self, one: Statement, look: Look, state: str) -> bool:
        begins = self.begins(one, look.known_at)
        start, end = look.time_range or (begins, begins)
        if not one.slot:
            return start <= begins < end
        over = self.validity(one, look.known_at)[0]
        return begins < end and not (state == SUPERSEDED and over is not None and over <= start)

    def strongest(self, one: Statement, known_at: datetime | None = None) -> dict[str, str] | None:
        """The strongest relation to an older statement, as `metadata["evolution"]` tells it."""
        mine = [link for link in self.links_of(one, known_at) if link.new is one and link.old is not one]
        if not mine:
            return None
        best = max(mine, key=lambda link: (link.confidence, link.id))
        return {"type": best.type, "related_id": best.old.id, "reason": best.reason}

    def chain(self, one: Statement) -> list[Statement]:
        """All statements that updates, extensions and contradictions, undone ones too, connect with it; oldest first."""
        found, todo = [one], [one]
        while todo:
            links = [link for link in self.all_links_of(todo.pop()) if link.type != "derive"]
            for end in (end for link in links for end in (link.old, link.new)):
                if end not in found:
                    found.append(end)
                    todo.append(end)
        return sorted(found, key=lambda each: each.order)

    def about(self, key: str) -> list[Statement]:
        """All statements about a subject, oldest first."""
        return sorted((one for one in self.statements if key in (one.subject, *one.also)), key=lambda one: one.order)

    def began(self, one: Statement) -> datetime:
        """When a statement began to hold; one without a known beginning, when it was said."""
        return one.valid_from if one.valid_from >= KNOWN_FROM else one.said.at

    def met(
        self, one: Statement, held: tuple[datetime, datetime] | None, known: tuple[datetime, datetime] | None
    ) -> bool:
        """Whether a statement held, and was known, at some time of these ranges."""
        over, dropped = self.validity(one)
        return _meets(held, self.began(one), over) and _meets(known, one.said.recorded_at, dropped)

    def borders(self) -> Iterator[datetime]:
        """Every moment at which something begins, ends, or is known."""
        for said in self.said:
            yield said.recorded_at
        for one in self.statements:
            yield one.valid_from
            if one.valid_until is not None:
                yield one.valid_until
        for link in self.links:
            yield from (at for at in (link.created_at, link.resolved_at, link.undone_at) if at is not None)

    def part(self, kept: Iterable[Said]) -> Book:
        """A book of these messages, with the relations that have both ends among them.

        What was over stays over, although what said so may not be among them.
        """
        found = Book(self._clock)
        found.over = {one.id: self.validity(one) for one in self.statements}
        found.said = list(kept)
        found.statements = [one for one in self.statements if one.said in found.said]
        found.links = [link for link in self.links if link.old.said in found.said and link.new.said in found.said]
        found.next_arrival = self.next_arrival
        return found

    def delete(self, gone: Iterable[Said]) -> None:
        """Take messages away with their statements and relations."""
        doomed = list(gone)
        self.said = [said for said in self.said if said not in doomed]
        self.drop([one for one in self.statements if one.said in doomed])

    def drop(self, gone: list[Statement]) -> None:
        """Take statements away with their relations."""
        self.statements = [one for one in self.statements if one not in gone]
        self.links = [link for link in self.links if link.old not in gone and link.new not in gone]


def _end(one: Statement, link: Link, known_at: datetime | None) -> End | None:
    kept = link.kept(known_at)
    known = (link.resolved_at or link.created_at) if link.type == "contradict" or link.resolved else link.created_at
    if link.resolved is not None or link.type == "contradict":
        if kept == "old" and link.new is one:
            return End(link, one.valid_from, known, never_held=True)
        closes = kept == "new" and link.old is one
    else:
        closes = link.type == "update" and link.acted and link.old is one
    if not closes:
        return None
    if link.nature == "corrected":
        return End(link, one.valid_from, known, never_held=True)
    return End(link, max(one.valid_from, link.new.valid_from), known)


def _begun(link: Link, look: Look) -> bool:
    return look.as_of is None or link.new.valid_from <= look.as_of


def _once(links: list[Link]) -> list[Link]:
    found: list[Link] = []
    for link in links:
        if link not in found:
            found.append(link)
    return found


def _meets(wanted: tuple[datetime, datetime] | None, start: datetime, end: datetime | None) -> bool:
    if wanted is None:
        return True
    if wanted[0] <= start:
        return start < wanted[1]
    return end is None or end > wanted[0]

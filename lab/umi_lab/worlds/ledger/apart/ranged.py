"""The step that asks at borders: at, a microsecond before and after each beginning and each end, which is a lower and an upper bound in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from umi.memory import Memory
from umi_lab.worlds.ledger.book import US, Book, Look, Said, Statement
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.rules import Recorder

_LONG: Final = timedelta(days=4_000)
_SHIFTS: Final = (-US, timedelta(0), US)
_ABOUT: Final = "Nora"
_ATTRIBUTE: Final = "shelf"

Span = tuple[datetime, datetime]


class Ranged(Journal):
    """Asks at the borders of what holds and of what is known, in a memory of its own."""

    async def _ranged(self, step: Step) -> None:
        given, book = step.arguments, Book()
        async with self._opened.without_model(f"ranged{step.number}.db") as memory:
            await self._set_all(memory, book, given)
            for asked in given["asked"]:
                await self._histories(memory, book, asked)
            await self._looks(memory, book, given["look"])
            await self._counts_of(memory, book, given["parts"])
            await self._expiry(memory, given["lasts_us"])
            if given["midnight"]:
                await self._midnight(memory.switch("days"))

    async def _set_all(self, memory: Memory, book: Book, given: dict[str, Any]) -> None:
        first = self.now
        for place, fact in enumerate(given["facts"]):
            self._pass(timedelta(microseconds=fact["gap_us"]))
            at = first - 2 * _LONG + timedelta(microseconds=fact["since_us"])
            receipt = await self._opened.call_of(memory, "set_fact", _ABOUT, _ATTRIBUTE, f"value{place}", at=at)
            new = _fact(book, receipt, place, at, self.now)
            Recorder(book, self.now, 0.6).set_fact(new)
        await _learn_ids(memory, book)
        undone = [link for link in book.links if link.detector == "caller" and link.undone_at is None]
        if given["undone"] and undone:
            self._pass(US)
            Recorder(book, self.now, 0.6).undo(undone[-1])
            await memory.undo(undone[-1].id)
            await _learn_ids(memory, book)

    def _pass(self, time: timedelta) -> None:
        self._opened.clock.advance(time.total_seconds())

    # Histories.

    async def _histories(self, memory: Memory, book: Book, asked: dict[str, Any]) -> None:
        """Of a subject and of a statement: all that held, or was known, at some time of a range, and nothing else."""
        axis = asked["axis"]
        borders = sorted(set(_held(book) if axis == "held" else _known(book)))
        border = borders[asked["border"] % len(borders)]
        for turn, span in enumerate(_spans(border)):
            right = [one.id for one in book.about(_ABOUT.lower()) if _met(book, one, axis, span)]
            key = _ABOUT if (turn + asked["border"]) % 2 else book.statements[0].id
            if key != _ABOUT:
                chain = book.chain(book.statements[0])
                right = [one.id for one in chain if _met(book, one, axis, span)]
            found = await self._opened.call_of(memory, "history", key, **{axis: span})
            same(f"the history of {key} {axis} within {span}", [step.entity.id for step in found], right)

    # What is shown from a moment.

    async def _looks(self, memory: Memory, book: Book, asked: dict[str, Any]) -> None:
        """Facts, a profile and a recall, as of or as known at a moment, or of a range that begins or ends there."""
        by = asked["by"]
        borders = sorted(set(_known(book) if by == "known_at" else _held(book)))
        border = borders[asked["border"] % len(borders)]
        for shift in _SHIFTS:
            at = border + shift
            if by == "as_of":
                await self._facts_as_of(memory, book, at)
            look = {
                "as_of": Look(as_of=at, now=self.now),
                "known_at": Look(known_at=at, now=self.now),
                "from": Look(time_range=(at, at + _LONG), now=self.now),
                "to": Look(time_range=(at - _LONG, at), now=self.now),
            }[by]
            await self._recall_from(memory, book, look)

    async def _facts_as_of(self, memory: Memory, book: Book, at: datetime) -> None:
        look = Look(as_of=at, now=self.now)
        right = sorted(one.id for one in book.statements if book.shown(one, look))
        found = await self._opened.call_of(memory, "facts", _ABOUT, as_of=at)
        same(f"facts as of {at}", sorted(fact.entity.id for fact in found), right)
        profile = await self._opened.call_of(memory, "profile", _ABOUT, as_of=at)
        same(f"the profile as of {at}", sorted(fact.entity.id for fact in profile.facts), right)

    async def _recall_from(self, memory: Memory, book: Book, look: Look) -> None:
        arguments = {"as_of": look.as_of, "known_at": look.known_at, "time_range": look.time_range}
        given = {name: value for name, value in arguments.items() if value is not None}
        right = sorted(one.said.id for one in book.statements if book.shown(one, look))
        found = await self._opened.call_of(memory, "recall", _ATTRIBUTE, limit=100, min_score=0.0, deep=False, **given)
        same(f"messages found with {given}", sorted(hit.episode.id for hit in found.hits), right)

    async def _counts_of(self, memory: Memory, book: Book, parts: int) -> None:
        """Each statement is counted in the part in which it begins; a part takes its first moment and not its last."""
        found = await self._opened.call_of(memory, "history_counts", _ABOUT, parts=parts)
        axes = {
            "held": [book.began(one) for one in book.statements],
            "known": [one.said.recorded_at for one in book.statements],
        }
        for axis, moments in axes.items():
            length = (max(moments) - min(moments)) // parts + US
            counts = Counter((moment - min(moments)) // length for moment in moments)
            told = getattr(found, axis)
            right = (min(moments), max(moments), tuple(counts[part] for part in range(parts)))
            same(f"counts of {axis} in {parts} parts", (told.first, told.last, told.counts), right)

    # Moments at which messages go, and days.

    async def _expiry(self, memory: Memory, lasts_us: int) -> None:
        """A message is there until right before the moment at which it expires."""
        over = self.now + timedelta(microseconds=lasts_us)
        there = memory.switch("brief")
        receipt = await self._opened.call_of(there, "remember", "Lamps need oil.", expires_at=over)
        id_ = receipt.episode_ids[0]
        self._pass(over - US - self.now)
        for gone in (False, True):
            page = await there.episodes(limit=10)
            same(
                f"messages at {self.now}, of which one expires at {over}",
                [one.id for one in page.items],
                [] if gone else [id_],
            )
            found = await there.recall("lamps", min_score=0.0, deep=False)
            same(f"hits at {self.now}", [hit.episode.id for hit in found.hits], [] if gone else [id_])
            same(f"a message at {self.now}", await there.get(id_) is None, gone)
            self._pass(US)

    async def _midnight(self, memory: Memory) -> None:
        """A day begins with its first moment, which is the last that the day before does not have."""
        midnight = (self.now + timedelta(days=1)).astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        self._pass(midnight - US - self.now)
        said = []
        for place in range(3):
            said.append(self.now)
            await memory.remember(f"Lamps need oil{place}.")
            self._pass(US)
        for until in (midnight - US, midnight, midnight + US):
            for days in (1, 2):
                found = await self._opened.call_of(memory, "activity", days=days, until=until)
                first = until.date() - timedelta(days=days - 1)
                right = Counter(at.date() for at in said if first <= at.date() <= until.date())
                told = [(one.day, one.remembered) for one in found.days]
                same(f"what was remembered on {days} days until {until}", told, sorted(right.items()))
                same(f"the days until {until}", (found.first, found.last), (first, until.date()))


def _fact(book: Book, receipt: Any, place: int, at: datetime, now: datetime) -> Statement:
    words = f"{_ABOUT}, {_ATTRIBUTE}: value{place}"
    said = Said(
        str(place), receipt.episode_ids[0], words, "user", None, None, at, now, book.next_arrival, None, {}, "user", None,
    )  # fmt: skip
    book.next_arrival += 1
    book.said.append(said)
    new = Statement(
        receipt.entities[0].id, said, 0, _ABOUT, _ABOUT.lower(), "note", words, (0, len(words)), at, slot=f"attr:{_ATTRIBUTE}",
        value=f"value{place}", metadata={"attribute": _ATTRIBUTE},
    )  # fmt: skip
    book.statements.append(new)
    return new


async def _learn_ids(memory: Memory, book: Book) -> None:
    """Give the relations of the book the ids of the rows between the same ends."""
    rows = {row.id: row for step in (await memory.list(limit=100)).items for row in step.evolutions}
    known = {link.id for link in book.links}
    for id_, row in sorted(rows.items()):
        ends = (row.source_id, row.target_id, str(row.evolution_type))
        for link in book.links:
            if not link.id and id_ not in known and (link.old.id, link.new.id, link.type) == ends:
                link.id = id_
                known.add(id_)


def _held(book: Book) -> Iterator[datetime]:
    """When something began to hold or stopped."""
    for one in book.statements:
        yield book.began(one)
        yield from (at for at in book.validity(one)[:1] if at is not None)


def _known(book: Book) -> Iterator[datetime]:
    """When something became known, or was known to be over."""
    for one in book.statements:
        yield one.said.recorded_at
        yield from (at for at in book.validity(one)[1:] if at is not None)


def _spans(border: datetime) -> Iterator[Span]:
    """Ranges that begin or end at, right before and right after a border, the shortest among them."""
    for shift in _SHIFTS:
        yield border + shift, border + shift + _LONG
        yield border + shift - _LONG, border + shift
        yield border + shift, border + shift + US


def _met(book: Book, one: Statement, axis: str, span: Span) -> bool:
    return book.met(one, span if axis == "held" else None, span if axis == "known" else None)

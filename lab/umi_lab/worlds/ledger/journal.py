"""What steps of every kind share: the oracle's book, names of what earlier steps made, and what a receipt must say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from umi.errors import UmiError
from umi.memory import Memory
from umi.types import Usage
from umi_lab.worlds.ledger.book import Book, Link, Said, Statement
from umi_lab.worlds.ledger.expected import Compared, Wrong, learn, same
from umi_lab.worlds.ledger.following import Followed
from umi_lab.worlds.ledger.learned import Learned
from umi_lab.worlds.ledger.opened import OpenedMemory
from umi_lab.worlds.ledger.rules import Recorder


@dataclass(frozen=True, slots=True)
class Beyond:
    """A message of the other namespace."""

    id: str
    content: str
    expires_at: datetime | None


class Journal:
    """The book of one world, and what its steps have in common."""

    def __init__(self, world: OpenedMemory) -> None:
        self._opened = world
        self.book = Book(world.clock)
        self.compared = Compared(self.book, world.tally)
        self._by_key: dict[tuple[int, int], Said] = {}
        self._made: dict[int, list[Link]] = {}
        self._was_deferred = False
        self._deferred_before = False  # as of the last message that was told to wait
        self._calls: dict[int, tuple[Any, dict[str, Any], list[Said], bool]] = {}
        self._buried: list[str] = []  # own ids of messages that were deleted
        self._erasures: set[str] = set()  # ids of receipts
        self.cut: list[Said] = []  # messages of which a part was deleted
        self.cut_words: list[str] = []  # those parts
        self.learned = Learned()
        self._followed: dict[str, Followed] = {}  # by namespace
        self._read_again = False  # messages, since somebody followed
        self.beyond: list[Beyond] = []  # what the other namespace holds
        self.said_beyond: list[str] = []  # what it was ever told

    @property
    def now(self) -> datetime:
        """The moment of recording."""
        return self._opened.clock.now()

    def recorder(self) -> Recorder:
        """Changes of the book at this moment."""
        return Recorder(self.book, self.now, self._opened.plan.act_from)

    def expire(self) -> None:
        """Delete what has expired by now, as `forget` does."""
        over = [said for said in self.book.said if said.expires_at is not None and said.expires_at <= self.now]
        self.beyond = [one for one in self.beyond if one.expires_at is None or one.expires_at > self.now]
        if over:
            self._bury(over)
            self.recorder().delete(over, ())

    def _bury(self, gone: Iterable[Said]) -> None:
        self._buried += [said.message_id for said in gone if said.message_id is not None]

    def _statement(self, ref: tuple[int, int, int]) -> Statement | None:
        said = self._by_key.get((ref[0], ref[1]))
        return next((one for one in self.book.statements if one.said is said and one.place == ref[2]), None)

    def _standing(self, ref: tuple[int, int, int], beside: Statement | None = None) -> Statement | None:
        """The statement of a step; where that has gone, another one, and not the one beside it."""
        left = [one for one in self.book.arrived() if one is not beside]
        return self._statement(ref) or (left[sum(ref) % len(left)] if left else None)

    def _link(self, ref: tuple[int, int], among: Callable[[Link], bool]) -> Link | None:
        """A relation that a step made; where none is left of it, another one of this kind."""
        made = [link for link in self._made.get(ref[0], ()) if link in self.book.links]
        found = made or [link for link in self.book.links if among(link)]
        return found[ref[1] % len(found)] if found else None

    def _adopt(self, rows: Iterable[Any]) -> None:
        """Give new relations of the book the ids of the product's rows between the same ends."""
        known = {link.id for link in self.book.links}
        for row in sorted(rows, key=lambda each: each.id):
            ends = (row.source_id, row.target_id, str(row.evolution_type))
            for link in self.book.links:
                if not link.id and row.id not in known and (link.old.id, link.new.id, link.type) == ends:
                    learn(link, row)
                    known.add(row.id)

    async def adopt_all(self) -> None:
        """Learn the ids of relations that no receipt told."""
        if any(not link.id for link in self.book.links):
            found = (await self._opened.memory.list(limit=10_000)).items
            self._adopt({row.id: row for step in found for row in step.evolutions}.values())

    def _receipt(
        self,
        found: Any,
        added: list[Said],
        told: list[Link],
        *,
        replayed: bool,
        usage: Usage | None = None,
        degraded: tuple[str, ...] = (),
        forgotten: tuple[str, ...] = (),
    ) -> None:
        """Require a receipt of `remember` or `set_fact`."""
        self.compared.links("the receipt", found.evolutions, told)
        right = [one for said in added for one in self.book.of(said)]
        same("statements of the receipt", [one.id for one in found.entities], [one.id for one in right])
        for entity, one in zip(found.entities, right, strict=True):
            self.compared.entity(entity, one)
        fields = {
            "episode_ids": tuple(said.id for said in added),
            "deferred": (),
            "degraded": degraded,
            "replayed": replayed,
            "forgotten": forgotten,
            "superseded": tuple(
                link.old.id for link in told if link.type == "update" and link.acted and link.new in right
            ),
        }
        self.compared.record("the receipt", found, fields if usage is None else {**fields, "usage": usage})
        self._opened.tally.saw("RememberReceipt", {"entities": 0, "evolutions": 0})

    def _add(
        self, number: int, given: list[dict[str, Any]], told: list[dict[str, Any]], ids: Iterable[str]
    ) -> list[Said]:
        """Add messages to the book, with the ids that the product gave them."""
        added = []
        for place, (message, id_) in enumerate(zip(told, ids, strict=True)):
            origin = message["origin"] or (
                message["role"] if message["role"] in ("assistant", "tool", "document") else "user"
            )
            said = Said(
                key=f"{number}.{place}",
                id=id_,
                content=message["content"],
                role=message["role"],
                speaker=message["speaker"],
                session=message["session"],
                at=message["at"] or self.now,
                recorded_at=self.now,
                arrival=self.book.next_arrival,
                message_id=message["id"],
                metadata=message["metadata"],
                origin=origin,
                expires_at=message["expires_at"],
                trusted=origin in self._opened.plan.trust,
            )
            self.book.next_arrival += 1
            self.book.said.append(said)
            self._by_key[number, place] = said
            added.append(said)
        same("number of messages", len(added), len(given))
        return added

    def _view(self, name: str) -> Memory:
        """A namespace of the open memory."""
        return self._opened.memory if name == "ledger" else self._opened.memory.switch(name)

    async def say_beyond(self, said: str, expires_s: int | None) -> None:
        """Let the other namespace be told something."""
        told: dict[str, Any] = {} if expires_s is None else {"ttl": expires_s}
        found = await self._view("elsewhere").remember(said, speaker="Kiba", **told)
        expires = None if expires_s is None else self.now + timedelta(seconds=expires_s)
        self.beyond.append(Beyond(found.episode_ids[0], said, expires))
        self.said_beyond.append(said)

    async def follow(self, name: str) -> None:
        """Who follows the changes of a namespace and keeps the last sequence is told of all that was done since, also when it begins anew."""
        followed, view = self._followed.setdefault(name, Followed()), self._view(name)
        found = [one async for one in view.changes(followed.sequence)]
        # A namespace that was dropped has none; who follows it keeps what they have.
        sequence = max(followed.sequence, await view.sequence())
        if name != "ledger":
            followed.messages_are(found, {one.id: one.content for one in self.beyond}, sequence)
            followed.messages = {one.id: one.content for one in self.beyond}
            return
        said = sorted(self.book.said, key=lambda one: one.arrival)
        followed.contents_are(found, self.book, again=self._read_again)
        followed.messages_are(found, {one.id: one.content for one in said}, sequence)
        followed.messages = {one.id: one.content for one in said}
        self._read_again = False

    def told(self, name: str) -> list[Any]:
        """All that was told of a namespace since it began."""
        return self._followed[name].log

    async def _refused(self, error: str, call: Awaitable[Any]) -> None:
        """Require that a call is refused by the error of this name, or one that is a kind of it."""
        try:
            found = await call
        except UmiError as raised:
            same("the error", error in [kind.__name__ for kind in type(raised).__mro__], True)  # noqa: FBT003
            return
        raise Wrong(f"it gave {found!r}, and must raise {error}")

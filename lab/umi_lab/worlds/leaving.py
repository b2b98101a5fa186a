"""A customer leaves, in worlds: a session or a whole namespace is erased; its sessions and its messages' own ids are looked at.

What must be there follows from the messages that were acknowledged. What must be gone is handed to `Erasures`, which looks
for it in every answer and every byte at the end of the world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final, Protocol

from umi.errors import InvalidInput, NotFound
from umi.types import Episode, ErasureReceipt, Message, RememberReceipt
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.erasures import Erasures
from umi_lab.worlds.oracle import Oracle
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.steps import Kind, Plan, Step

_PAGE: Final = 1  # sessions per page, so that a listing has several


class Left(Protocol):
    """The part of a world that is used here. `memory` returns `umi.Memory` objects, typed Any here."""

    plan: Plan
    outcome: Outcome
    oracle: Oracle
    erasures: Erasures
    receipts: dict[int, RememberReceipt]
    messages: dict[int, tuple[str, Message]]
    fading: set[int]

    def memory(self, space: str, number: int = 0) -> Any: ...  # noqa: D102
    def message(self, number: int, step: Step, text: str) -> Message: ...  # noqa: D102
    def acknowledge(self, number: int, step: Step, message: Message, receipt: RememberReceipt) -> str: ...  # noqa: D102


class Leaving:
    """Runs the steps of this module in one world and checks them."""

    def __init__(self, world: Left) -> None:
        self._world = world
        self._free: set[str] = set()  # ids of messages of an erased namespace, which may be used again
        self._tried: set[int] = set()

    @property
    def actions(self) -> dict[Kind, Callable[[Step], Awaitable[str]]]:
        """What does each kind of step of this module."""
        return {
            Kind.LEAVE: self.erase_session,
            Kind.LEAVE_ALL: self.erase_namespace,
            Kind.COME_BACK: self.come_back,
            Kind.SESSIONS: self.list_sessions,
            Kind.BY_ID: self.look_up,
        }

    async def erase_session(self, step: Step) -> str:
        """Erase a session: all of its messages go whole, and nothing else but conclusions."""
        whole = [n for n, message in self._in(step.space).items() if message.session == step.who]
        # With a model some conclusions are the model's own, which the oracle does not know.
        derived = "stale" if self._world.plan.model else step.keep
        if derived == "erase":
            whole += [n for n in self._world.erasures.concluded(step.space, whole) if n not in whole]
        self._world.fading.update(whole)
        first = self._first(step)
        memory = self._world.memory(step.space, step.number)
        receipt: ErasureReceipt = await memory.erase(session=step.who, derived=derived)
        self._compare(step, receipt, whole, first=first)
        self._take(step, receipt, whole)
        self._world.outcome.features["session erased"] += bool(whole)
        return f"{len(whole)} gone"

    async def erase_namespace(self, step: Step) -> str:
        """Erase a namespace: everything in it goes, and its name."""
        mine = self._in(step.space)
        self._world.fading.update(mine)
        first = self._first(step)
        memory = self._world.memory(step.space, step.number)
        receipt: ErasureReceipt = await memory.erase_namespace()
        if first and receipt.counts.get("episodes", 0) != len(mine):
            raise Violation(f"{step.line()} had {len(mine)} messages to erase, and erased {receipt.counts}")
        for process in range(2 if self._world.plan.twins else 1):
            named = [info.name for info in await self._world.memory(step.space, process).namespaces()]
            if step.space in named:
                raise Violation(f"{step.line()}: {named} still lists it")
        self._free |= {message.id for message in mine.values() if message.id is not None}
        self._take(step, receipt, mine)
        self._world.outcome.features["namespace erased"] += bool(mine)
        return f"{len(mine)} gone"

    async def come_back(self, step: Step) -> str:
        """Send other words under an id of an erased namespace: it is free again."""
        id_ = f"{step.space}-{step.refers[0]}"
        if id_ not in self._free:
            return "skipped, its id is taken"
        message = Message(step.text, id=id_, at=self._world.message(step.number, step, "").at, session=step.who)
        receipt = await self._world.memory(step.space, step.number).remember(message)
        if receipt.forgotten or not receipt.episode_ids:
            raise Violation(f"{step.line()}: the id {id_} of an erased namespace is not free")
        self._free.discard(id_)
        self._world.outcome.features["came back"] += 1
        return self._world.acknowledge(step.number, replace(step, refers=()), message, receipt)

    async def list_sessions(self, step: Step) -> str:
        """Every session of a namespace is listed once, in order, with the number of its messages."""
        memory = self._world.memory(step.space, step.number)
        found: list[tuple[str, int]] = []
        after = None
        while True:
            page = await memory.sessions(limit=_PAGE, after=after)
            found += [(one.name, one.episodes) for one in page.items]
            after = page.next
            if after is None:
                break
        told = Counter(message.session for message in self._in(step.space).values() if message.session is not None)
        if found != sorted(told.items()):
            raise Violation(f"{step.line()}: the sessions are {found}, and messages are in {sorted(told.items())}")
        self._world.outcome.features["sessions listed"] += len(found) > 1
        return f"{len(found)} sessions"

    async def look_up(self, step: Step) -> str:
        """A message is found and explained by its sender's id; one that was erased is not."""
        number = step.refers[0]
        id_, memory = f"{step.space}-{number}", self._world.memory(step.space, step.number)
        found = await memory.get(id_)
        told = next((m for m in self._in(step.space).values() if m.id == id_), None)
        if told is None:
            if found is not None:
                raise Violation(f"{step.line()}: {id_} was erased, and leads to {found!r}")
            return "not there"
        if not isinstance(found, Episode) or found.content != told.content:
            raise Violation(f"{step.line()}: {id_} leads to {found!r}, and not to {told.content!r}")
        try:
            explained = await memory.why(id_)
        except (InvalidInput, NotFound) as error:  # several statements, or one that waits to be read
            return type(error).__name__
        if explained.episode.id != found.id:
            raise Violation(f"{step.line()}: {id_} is explained by {explained.episode!r}")
        self._world.outcome.features["found by own id"] += 1
        return "found"

    def _in(self, space: str) -> dict[int, Message]:
        """The messages of a namespace, by number."""
        return {n: message for n, (where, message) in self._world.messages.items() if where == space}

    def _first(self, step: Step) -> bool:
        """Whether a step is tried for the first time; an earlier try may have been committed without our being told."""
        first = step.number not in self._tried
        self._tried.add(step.number)
        return first

    def _compare(self, step: Step, receipt: ErasureReceipt, whole: list[int], *, first: bool) -> None:
        wanted = {self._world.receipts[n].episode_ids[0] for n in whole}
        # An earlier try of this step may have deleted some already.
        if not set(receipt.deleted) <= wanted or (first and set(receipt.deleted) != wanted) or receipt.redacted:
            raise Violation(f"{step.line()} erased {receipt.deleted} and cut {receipt.redacted}, and not {wanted}")
        if first and receipt.known != bool(wanted):
            raise Violation(f"{step.line()} erased {len(wanted)} messages, and says known={receipt.known}")

    def _take(self, step: Step, receipt: ErasureReceipt, numbers: list[int] | dict[int, Message]) -> None:
        self._world.erasures.keep_receipt(step.space, receipt)
        for number in list(numbers):
            self._world.erasures.take(number)
            # Of an erased namespace nothing is left that could be wrong, and nothing stands on it elsewhere.
            self._world.oracle.forget(number)

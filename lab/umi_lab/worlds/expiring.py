"""Messages that expire, in a namespace of their own: there until their microsecond, and gone from it on."""

from __future__ import annotations

import io
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from umi.sim.clock import SimClock
from umi.types import HitState, Message, RememberReceipt
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.erasures import Erasures
from umi_lab.worlds.outcome import Outcome
from umi_lab.worlds.steps import PASSER, PASSING, Kind, Plan, Step

_MICROSECOND: Final = timedelta(microseconds=1)
_MAINTAIN_MAX: Final = 20


class Passing(Protocol):
    """The part of a world that is used here. `memory` returns `umi.Memory` objects, typed Any here."""

    plan: Plan
    outcome: Outcome
    clock: SimClock
    erasures: Erasures

    def memory(self, space: str, number: int = 0) -> Any: ...  # noqa: D102
    def message_time(self, day: int) -> datetime: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class _Told:
    """What was sent: its text, when it was said and when it expires; `receipt` once it was acknowledged."""

    text: str
    day: int
    expires_at: datetime | None
    receipt: RememberReceipt | None = None


class Expiring:
    """Runs the steps of this module in one world and checks them."""

    def __init__(self, world: Passing) -> None:
        self._world = world
        self._told: dict[int, _Told] = {}

    @property
    def actions(self) -> dict[Kind, Callable[[Step], Awaitable[str]]]:
        """What does each kind of step of this module."""
        return {Kind.EXPIRES: self.say, Kind.EXPIRED: self.look}

    async def say(self, step: Step) -> str:
        """Remember a text that expires `step.count` seconds from now; with 0 never."""
        now = self._world.clock.now()
        ends = now + timedelta(seconds=step.count) if step.count else None
        told = self._told.setdefault(step.number, _Told(step.text, step.day, ends))
        # A try before may have been committed without our being told; now its time has passed.
        if told.expires_at is not None and told.expires_at <= now:
            return "expired before it was acknowledged"
        message = Message(
            told.text, id=f"{PASSING}-{step.number}", at=self._world.message_time(told.day), expires_at=told.expires_at
        )
        receipt = await self._world.memory(PASSING, step.number).remember(message)
        self._told[step.number] = _Told(told.text, told.day, told.expires_at, receipt)
        return f"until {told.expires_at}"

    async def look(self, step: Step) -> str:
        """Go to just before (1) or to (2) the next expiry, or stay (0), and compare what is there with the oracle."""
        coming = sorted(self._expiries())
        if step.count and coming:
            self._go_to(coming[0] - (_MICROSECOND if step.count == 1 else timedelta(0)))
        await self._compare(step)
        return f"{sum(1 for _ in self._there(self._world.clock.now()))} there"

    async def at_rest(self) -> str:
        """At the end everything with an expiry goes, and after `maintain` no byte of it is left."""
        if not self._told:
            return "nothing"
        coming = sorted(self._expiries())
        if coming:
            self._go_to(coming[-1])
        await self._compare(Step(0, Kind.EXPIRED, PASSING, PASSER))
        memory = self._world.memory(PASSING)
        for _ in range(_MAINTAIN_MAX):
            if not (await memory.maintain()).unclean:
                break
        for number, told in self._told.items():
            if told.expires_at is None:
                self._world.erasures.elsewhere.append(told.text)
            elif told.receipt is not None:
                self._world.erasures.passed(number, PASSING, told.text, told.receipt)
        return "all passed"

    def _expiries(self) -> Iterator[datetime]:
        """The moments to come at which something expires."""
        now = self._world.clock.now()
        return (one.expires_at for one in self._told.values() if one.expires_at is not None and one.expires_at > now)

    def _there(self, moment: datetime) -> Iterator[int]:
        """The numbers of the acknowledged messages that have not expired by a moment."""
        for number, told in self._told.items():
            if told.receipt is not None and (told.expires_at is None or told.expires_at > moment):
                yield number

    def _go_to(self, moment: datetime) -> None:
        """Let time pass until a moment, to the microsecond."""
        clock = self._world.clock
        clock.advance(max(0.0, (moment - clock.now()).total_seconds() - 1e-6))
        while clock.now() < moment:
            clock.advance(2e-7)

    async def _compare(self, step: Step) -> None:
        memory = self._world.memory(PASSING, step.number)
        before = self._world.clock.now()
        sink = io.BytesIO()
        await memory.export(sink)
        listed = [one.entity.content for one in (await memory.list(limit=1_000)).items]
        found = await memory.recall(f"{PASSER} lives hid lantern", min_score=0, include_superseded=True, limit=100)
        after = self._world.clock.now()
        lines = [json.loads(line) for line in sink.getvalue().splitlines()]
        ids = {one["episode"]["message_id"] for one in lines if "episode" in one}
        must = {f"{PASSING}-{number}" for number in self._there(after)}
        may = {f"{PASSING}-{number}" for number in self._there(before)}
        if not must <= ids <= may:
            raise Violation(f"{step.line()} at {before}: there are {sorted(ids)}, and not {sorted(may)}")
        allowed = {self._told[number].text for number in self._there(before)}
        shown = {*listed, *(hit.episode.content for hit in found.hits)}
        if not shown <= allowed:
            raise Violation(f"{step.line()} at {before}: {sorted(shown - allowed)} has expired, and is shown")
        if before == after:
            self._world.outcome.features["expiry to the microsecond"] += bool(step.count)
            await self._holds_again(step, memory)
        self._world.outcome.features["expired"] += len(self._told) > len(may)

    async def _holds_again(self, step: Step, memory: Any) -> None:
        """Of the statements that are left, the one said last holds, and those before it are over."""
        before = self._world.clock.now()
        waits = bool(await memory.waiting())
        steps = [one for one in await memory.history(PASSER) if "lives in" in one.entity.content]
        if self._world.plan.model or waits or self._world.clock.now() != before:
            return
        left = sorted(
            (self._told[n].day, self._told[n].text) for n in self._there(before) if "lives in" in self._told[n].text
        )
        wanted = _states([text for _, text in left])
        states = [(one.entity.content, one.state) for one in steps]
        if states != wanted:
            raise Violation(f"{step.line()} at {before}: the history is {states}, and not {wanted}")
        self._world.outcome.features["held again"] += len(left) < len(self._told)


def _states(texts: Sequence[str]) -> list[tuple[str, HitState]]:
    """What becomes of statements of one value: the last one holds; one that says the same as the one after it was not closed by it."""
    found = []
    for place, text in enumerate(texts):
        later = [one for one in texts[place + 1 :] if one != text]
        found.append((text, HitState.SUPERSEDED if later else HitState.CURRENT))
    return found

"""Facts that a caller sets, in worlds: their steps, and an oracle of their own in plain lists.

One value of an attribute holds at a time, placed by its day. What was taken back never held. The history keeps every
value that was acknowledged, each once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from umi.errors import EvolutionError
from umi.types import HitState
from umi_lab.worlds.checks import Violation, Witnessed
from umi_lab.worlds.steps import Kind, Step

_EVER: Final = 1_000_000  # a day after every day of a world
_REASON: Final = "the plan says so"


@dataclass(slots=True)
class _Set:
    """One acknowledged fact; `rows` are ids of the relations by which it superseded others."""

    about: tuple[str, str, str]
    value: str
    day: int
    order: int
    rows: tuple[str, ...]
    taken_back: bool = False

    @property
    def content(self) -> str:
        """The message that keeps it."""
        _, who, slot = self.about
        return f"{who}, {slot}: {self.value} ({_REASON})"


class SetFacts:
    """Runs the steps of this module in one world and checks them."""

    def __init__(self, world: Witnessed) -> None:
        self._world = world
        self._set: dict[int, _Set] = {}  # by step

    @property
    def actions(self) -> dict[Kind, Callable[[Step], Awaitable[str]]]:
        """What does each kind of step of this module."""
        return {Kind.SET: self.set, Kind.UNSET: self.take_back, Kind.FACTS: self.look}

    async def set(self, step: Step) -> str:
        """Set a fact. The same value again, while it holds, must store nothing."""
        about = (step.space, step.who, step.slot)
        memory = self._world.memory(step.space, step.number)
        at = self._world.message_time(step.day)
        receipt = await memory.set_fact(step.who, step.slot, step.value, at=at, reason=_REASON)
        (entity,) = receipt.entities
        held = self._holding(about, step.day)
        if held is not None and held.value == step.value:
            if not receipt.replayed:
                raise Violation(f"{step.line()} was stored although {step.value} held already")
            self._world.outcome.features["fact known already"] += 1
            return "known already"
        # Where an earlier try was committed without our being told, the receipt is its replay.
        older = tuple(row.id for row in receipt.evolutions if row.target_id == entity.id)
        self._set[step.number] = _Set(about, step.value, step.day, entity.arrival, older)
        self._world.outcome.features["fact set"] += 1
        return f"{step.value}, {len(older)} superseded"

    async def take_back(self, step: Step) -> str:
        """Undo the change that a fact made."""
        fact = self._set.get(step.count)
        if fact is None or fact.taken_back or not fact.rows:
            return "nothing to take back"
        memory = self._world.memory(fact.about[0], step.number)
        try:
            await memory.undo(fact.rows[0])
        except EvolutionError as error:  # an earlier try was committed without our being told
            if "undone" not in str(error):
                raise
        fact.taken_back = True
        self._world.outcome.features["fact taken back"] += 1
        return f"{fact.value} of day {fact.day}"

    async def look(self, step: Step) -> str:
        """Compare facts of today, of one day, and the history with the oracle."""
        about, memory = (step.space, step.who, step.slot), self._world.memory(step.space, step.number)
        for day in (None, step.day):
            as_of = None if day is None else self._world.message_time(day)
            found = [one.value for one in await memory.facts(step.who, as_of=as_of) if one.attribute == step.slot]
            held = self._holding(about, _EVER if day is None else day)
            wanted = [] if held is None else [held.value]
            if found != wanted:
                raise Violation(f"{step.line()}: on day {day} {wanted} holds, and facts are {found}")
        kept = [one for one in self._set.values() if one.about == about]
        steps = [one for one in await memory.history(step.who) if one.entity.metadata.get("attribute") == step.slot]
        told = sorted((one.entity.value, one.entity.arrival) for one in steps)
        if told != sorted((one.value, one.order) for one in kept):
            raise Violation(f"{step.line()}: the history is {told}")
        current = [one.entity.value for one in steps if one.state is HitState.CURRENT]
        if len(current) != min(1, len(kept)):
            raise Violation(f"{step.line()}: {current} are current at once")
        self._world.outcome.features["facts confirmed"] += bool(kept)
        return f"{len(kept)} in the history"

    def count(self, space: str) -> int:
        """The number of facts that a namespace keeps."""
        return sum(one.about[0] == space for one in self._set.values())

    def has(self, space: str, content: str) -> bool:
        """Whether a message of a namespace is that of a set fact."""
        return any(one.about[0] == space and one.content == content for one in self._set.values())

    def _holding(self, about: tuple[str, str, str], day: int) -> _Set | None:
        """The fact that holds on a day."""
        mine = [one for one in self._set.values() if one.about == about and not one.taken_back and one.day <= day]
        return max(mine, key=lambda one: (one.day, one.order), default=None)

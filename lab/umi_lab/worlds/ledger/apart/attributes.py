"""The step in which facts are set over what was said in talk: what holds of an attribute, whichever way it was told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import umi
from umi.memory import Memory
from umi.types import HitState
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_FIRST: Final = datetime(2028, 3, 1, 10, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_MICROSECOND: Final = timedelta(microseconds=1)


class Attributes(Journal):
    """Sets facts, in a memory of its own."""

    async def _attributes(self, step: Step) -> None:
        given, who = step.arguments, step.arguments["who"]
        first, second, third = given["values"]
        async with self._opened.without_model(None) as memory:
            told = given["said"].format(who=who, v=first)
            if told:
                await memory.remember(umi.Message(told, speaker=who, at=_FIRST))
            else:
                await self._set(memory, given, first, _FIRST, None)
            await self._require(memory, given, [first])
            before = await self._set(memory, given, second, _FIRST + _DAY, given["reason"])
            await self._require(memory, given, [first, second])
            if given["again"]:
                again = await self._set(memory, given, second, _FIRST + 3 * _DAY, None)
                same("a value that holds, set again", (again.replayed, again.episode_ids), (True, before.episode_ids))
            # Between the two, in the past: from its day on it holds until the second.
            middle = await self._set(memory, given, third, _FIRST + _DAY / 2, None)
            same("whether what holds was set again", middle.replayed, False)  # noqa: FBT003
            await self._require(memory, given, [first, third, second])
            if given["undo"] and before.evolutions:
                await self._take_back(memory, given, before)
            elif given["coming"] is not None:
                await self._let_come(memory, given, second)

    async def _set(self, memory: Memory, given: dict[str, Any], value: str, at: datetime, reason: str | None) -> Any:
        spaced = f"{given['spaces']}{value}{given['spaces']}"
        receipt = await self._opened.call_of(
            memory, "set_fact", given["who"], given["attribute"], spaced, at=at, reason=reason
        )
        same("values of the receipt", [one.value for one in receipt.entities], [value])
        if reason is not None and not receipt.replayed:
            content = (await memory.episodes(limit=100)).items[-1].content
            words = f"{given['who']}, {given['attribute']}: {value} ({reason.strip()})"
            same("the message that keeps a fact", content, words)
        return receipt

    async def _require(self, memory: Memory, given: dict[str, Any], values: list[str]) -> None:
        """The last value holds, each earlier one until the next, and every one is found as of when it held."""
        about = f"{given['attribute']} of {given['who']} after {values}"
        found = await self._opened.call_of(memory, "facts", given["who"], attribute=given["attribute"])
        same(about, [fact.value for fact in found], values[-1:])
        steps = [step for step in await memory.history(given["who"]) if step.entity.value in values]
        same(f"the history of {about}", [step.entity.value for step in steps], values)
        ends = [step.entity.valid_from for step in steps[1:]]
        same(f"until when each held: {about}", [step.entity.valid_to for step in steps], [*ends, None])
        same(f"states of {about}", [str(step.state) for step in steps], ["superseded"] * len(ends) + ["current"])
        for step in steps:
            then = await memory.facts(given["who"], attribute=given["attribute"], as_of=step.entity.valid_from)
            same(f"{about} as of {step.entity.valid_from}", [fact.value for fact in then], [step.entity.value])

    async def _let_come(self, memory: Memory, given: dict[str, Any], holding: str) -> None:
        """What is set from a moment to come holds from then on; until then what held holds on, or what is set meanwhile."""
        first, _, third = given["values"]
        begins = self._opened.clock.now() + timedelta(microseconds=given["coming"])
        await self._set(memory, given, first, begins, None)
        await self._require_times(memory, given, begins, holding, first)
        if given["meanwhile"]:
            await self._set(memory, given, third, self._opened.clock.now(), None)
            await self._require_times(memory, given, begins, third, first)

    async def _require_times(
        self, memory: Memory, given: dict[str, Any], begins: datetime, before: str, then: str
    ) -> None:
        for at, value in ((None, before), (begins - _MICROSECOND, before), (begins, then), (begins + _DAY, then)):
            found = await memory.facts(given["who"], attribute=given["attribute"], as_of=at)
            same(f"what holds at {at} of what begins at {begins}", [fact.value for fact in found], [value])
        steps = await memory.history(given["who"], attribute=given["attribute"])
        left = sorted(
            (step.entity.valid_from, step.entity.value) for step in steps if step.state is not HitState.SUPERSEDED
        )
        same(f"what is not over of what begins at {begins}", [value for _, value in left], [before, then])

    async def _take_back(self, memory: Memory, given: dict[str, Any], before: Any) -> None:
        """What was set never held, and what was before holds on."""
        await memory.undo(before.evolutions[0].id)
        found = await memory.facts(given["who"], attribute=given["attribute"])
        same("what holds after a value was taken back", [fact.value for fact in found], [given["values"][2]])

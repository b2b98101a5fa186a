"""Contexts and profiles in worlds: the budget holds, nothing that is over or gone is told, and the same state gives the same bytes."""

from __future__ import annotations

from typing import Final, Protocol

from umi.types import Context, ContextItem, ContextSection, Episode, HitState
from umi_lab.worlds.checks import Violation, Witnessed
from umi_lab.worlds.oracle import SINGLE_VALUED
from umi_lab.worlds.plan import HIDEOUTS, SLOTS
from umi_lab.worlds.steps import Step

_ATTRIBUTES: Final = {slot.replace("_", " "): slot for slot in SLOTS}
_OVER: Final = (HitState.SUPERSEDED, HitState.STALE)


class Deleted(Protocol):
    """What these checks ask of deletions."""

    def has(self, number: int) -> bool:
        """Whether what a step said was deleted."""
        ...


class Asking(Witnessed, Protocol):
    """A world in which contexts are asked for."""

    @property
    def erasures(self) -> Deleted:
        """What was deleted here."""
        ...


class Contexts:
    """Runs the steps of this module in one world and checks them."""

    def __init__(self, world: Asking) -> None:
        self._world = world

    async def look(self, step: Step) -> str:
        """Ask for a context of `step.count` tokens twice, and for the profile of the person of the step."""
        memory = self._world.memory(step.space, step.number)
        query, before = step.text or None, (await memory.stats()).sequence
        found: Context = await memory.context(query, max_tokens=step.count, about=step.who)
        again: Context = await memory.context(query, max_tokens=step.count, about=step.who)
        profile = await memory.profile(step.who)
        # Work that waited may have been finished in between, by this process or another.
        still = (await memory.stats()).sequence == before
        for one in (found, again):
            self._keeps_its_budget(step, one)
        # One that degraded saw less.
        if still and found.degraded == again.degraded and found.text != again.text:
            raise Violation(f"{step.line()} was answered by {found.text!r} and then by {again.text!r}")
        self._world.outcome.features["same bytes"] += still and bool(found.text)
        for item in found.items:
            await self._is_told_by_right(step, item)
        told = [(fact.attribute, fact.value, fact.negated) for fact in profile.facts]
        if still:
            self._holds(step, told)
        return f"{found.tokens} tokens, {len(found.items)} lines, {found.left_out_count} left out, {len(told)} known"

    def _keeps_its_budget(self, step: Step, found: Context) -> None:
        tokens = -(-len(found.text.encode()) // 4)
        if tokens > step.count or found.tokens != tokens:
            raise Violation(f"{step.line()}: {tokens} tokens, said to be {found.tokens}, of {step.count}")
        if bool(found.text) != bool(found.items):
            raise Violation(f"{step.line()}: {len(found.items)} lines make {found.text!r}")
        self._world.outcome.features["budget kept"] += any(one.reason == "budget" for one in found.left_out)

    async def _is_told_by_right(self, step: Step, item: ContextItem) -> None:
        """A line's message is there, of this namespace, not deleted, and its statement is not over."""
        episode = await self._world.memory(step.space).get(item.episode_id)
        if not isinstance(episode, Episode):
            raise Violation(f"{step.line()} tells {item.line!r}, whose message is gone")
        if episode.message_id is None:
            return  # of a set fact, which `worlds.set_facts` checks
        # The id of an erased namespace may be used again, by a message of another number.
        number = next((n for n, (_, one) in self._world.messages.items() if one.id == episode.message_id), None)
        if number is None:
            number = int(episode.message_id.removeprefix(f"{step.space}-"))
            if self._world.erasures.has(number):
                raise Violation(f"{step.line()} tells {item.line!r}, which was deleted")
        said = self._world.oracle.said.get(number)
        if said is None or self._world.plan.model or self._waits(step.space, said.who):
            return
        if said.slot in SINGLE_VALUED and self._world.oracle.state(number) in _OVER:
            raise Violation(f"{step.line()} tells {item.line!r}, which is over")
        if item.section is ContextSection.CHANGES and said.slot in SINGLE_VALUED:
            closed = [one for one in self._world.oracle.said if number in self._world.oracle.closers(one)]
            if not closed:
                raise Violation(f"{step.line()} tells the change {item.line!r}, which was taken back")
            self._world.outcome.features["change told"] += 1

    def _holds(self, step: Step, told: list[tuple[str, str, bool]]) -> None:
        """What a profile says of single-valued attributes is what the oracle says holds."""
        if self._world.plan.model or self._waits(step.space, step.who):
            return
        oracle = self._world.oracle
        for attribute, slot in _ATTRIBUTES.items():
            wanted = {oracle.said[number].value for number in oracle.current(step.space, step.who, slot)}
            stale = {
                oracle.said[number].value
                for number in oracle.current(step.space, step.who, slot)
                if oracle.state(number) in _OVER
            }
            values = {value for name, value, negated in told if name == attribute and not negated}
            # Stories of erasure name hideouts in messages of which the oracle keeps another statement.
            if not values.difference(HIDEOUTS) <= wanted:
                raise Violation(
                    f"{step.line()}: the profile says {attribute} {sorted(values)}; true is {sorted(wanted)}"
                )
            # The reader of short messages may read a passing remark that the clause reader does not.
            if not self._world.plan.reads and wanted - stale - values:
                raise Violation(f"{step.line()}: the profile lacks {attribute} {sorted(wanted - values)}")
            self._world.outcome.features["profile confirmed"] += bool(values)

    def _waits(self, space: str, who: str) -> bool:
        """Whether anything said about a person is not read yet."""
        mine = [one for one in self._world.oracle.said.values() if (one.space, one.who) == (space, who)]
        return any(not self._world.receipts[one.number].entities for one in mine)

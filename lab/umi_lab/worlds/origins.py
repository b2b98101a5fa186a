"""Statements of every origin about one person, in a namespace of their own: only those that are trusted end what she said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from umi.types import Fact, Hit, HitState, Message, Origin, RememberReceipt
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.expiring import Passing
from umi_lab.worlds.origins_story import ORIGINS
from umi_lab.worlds.steps import CLAIMED, CLAIMING, Kind, Step

_PLACE: Final = "lives in"  # a person has one at a time, and likes any number of things
_TRUSTED: Final = (Origin.USER, Origin.ASSISTANT)


@dataclass(frozen=True, slots=True)
class _Claim:
    """An acknowledged statement."""

    text: str
    at: datetime
    origin: Origin


class Origins:
    """Runs the steps of this module in one world and checks them."""

    def __init__(self, world: Passing) -> None:
        self._world = world
        self._claims: dict[str, _Claim] = {}  # by the sender's id

    @property
    def actions(self) -> dict[Kind, Callable[[Step], Awaitable[str]]]:
        """What does each kind of step of this module."""
        return {Kind.CLAIM: self.claim, Kind.BELIEVED: self.look}

    async def claim(self, step: Step) -> str:
        """Remember what a step says, by its origin: as the role of the message, or beside it."""
        origin, at = ORIGINS[step.count], self._world.message_time(step.day)
        id_ = f"{CLAIMING}-{step.number}"
        by_role = Message(step.text, id=id_, at=at, role=str(origin))
        message = by_role if step.number % 2 else Message(step.text, id=id_, at=at, speaker=CLAIMED, origin=origin)
        self._world.erasures.elsewhere.append(step.text)
        receipt: RememberReceipt = await self._world.memory(CLAIMING, step.number).remember(message)
        self._claims[id_] = _Claim(step.text, at, origin)
        return f"{origin} {receipt.episode_ids}"

    async def look(self, step: Step) -> str:
        """Compare the history and the facts with what the origins allow."""
        memory = self._world.memory(CLAIMING, step.number)
        await memory.maintain()
        before = (await memory.stats()).sequence
        waits = bool(await memory.waiting())
        steps = await memory.history(CLAIMED)
        facts = await memory.facts(CLAIMED)
        found = await memory.recall(f"Where does {CLAIMED} live?")
        episodes = {one.entity.id: await memory.get(one.entity.episode_id) for one in steps}
        if self._world.plan.model or waits or (await memory.stats()).sequence != before:
            return "not read yet, or read by a model"
        stands = {
            episodes[one.entity.id].message_id: (one.state, one.entity.valid_to)
            for one in steps
            if episodes[one.entity.id] is not None
        }
        wanted = self._wanted()
        # A try that was cut may have been committed without our being told.
        if {id_: stands.get(id_) for id_ in wanted} != wanted and set(stands) == set(wanted):
            raise Violation(f"{step.line()}: they stand as {stands}, and not as {wanted}")
        if set(stands) == set(wanted):
            self._believed(step, facts, found.hits)
        self._world.outcome.features["claims held back"] += any(self._held_back(one) for one in self._claims.values())
        return f"{len(stands)} claims"

    def _wanted(self) -> dict[str, tuple[HitState, datetime | None]]:
        """The state of each claim, and its end: the first later claim of another place that may end it."""
        found: dict[str, tuple[HitState, datetime | None]] = {}
        for id_, claim in self._claims.items():
            ends = [one.at for one in self._claims.values() if one.at > claim.at and _ends(one, claim)]
            found[id_] = (HitState.SUPERSEDED, min(ends)) if ends else (HitState.CURRENT, None)
        return found

    def _held_back(self, claim: _Claim) -> bool:
        """Whether a later claim would have ended this one if its origin were trusted."""
        later = (one for one in self._claims.values() if one.at > claim.at)
        return any(_ends(replace(one, origin=Origin.USER), claim) and not _ends(one, claim) for one in later)

    def _believed(self, step: Step, facts: Sequence[Fact], hits: Sequence[Hit]) -> None:
        """What is told of her, and what answers first, is what somebody trusted said, where anybody did."""
        holding = [
            claim for id_, claim in self._claims.items() if self._wanted()[id_][0] is HitState.CURRENT
        ]  # fmt: skip
        for attribute in ("lives in", "likes"):
            trusted = {one.text for one in holding if one.origin in _TRUSTED and attribute in one.text}
            told = {fact.entity.content for fact in facts if fact.attribute == attribute}
            if trusted and told != trusted:
                raise Violation(f"{step.line()}: facts tell {told}, and not {trusted}")
        trusted = {one.text for one in holding if one.origin in _TRUSTED and _PLACE in one.text}
        if trusted and hits and hits[0].episode.content not in trusted:
            raise Violation(f"{step.line()}: the first hit is {hits[0].episode.content!r}, and not of {trusted}")


def _ends(newer: _Claim, older: _Claim) -> bool:
    """Whether a later claim ends an earlier one."""
    homes = _PLACE in newer.text and _PLACE in older.text and newer.text != older.text
    return homes and (newer.origin in _TRUSTED or older.origin not in _TRUSTED)

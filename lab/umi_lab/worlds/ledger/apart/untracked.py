"""The step in which some messages are told without relations: nothing they say touches what was told before, whenever and however it is read."""

from __future__ import annotations

from typing import Any

import umi
from umi.memory import Memory
from umi_lab.worlds.ledger.apart.plain_words import moment, require_held
from umi_lab.worlds.ledger.apart.sheets import SPEAKER
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step


class Untracked(Journal):
    """Tells messages with and without relations, in a memory of their own."""

    async def _untracked(self, step: Step) -> None:
        cases, file = step.arguments["cases"], f"untracked{step.number}.db"
        async with self._opened.without_model(file) as memory:
            for number, one in enumerate(cases):
                await self._tell_all(memory.switch(f"case{number}"), one)
        if self._opened.plan.store == "dict":
            return
        async with self._opened.without_model(file) as memory:
            for number, one in enumerate(cases):
                await self._again(memory.switch(f"case{number}"), one)

    async def _tell_all(self, there: Memory, one: dict[str, Any]) -> None:
        for place in range(len(one["said"])):
            receipt = await self._tell(there, one, place)
            if one["read"] == "now" and not one["said"][place][2]:
                same(f"relations of {one['said'][place][0]!r}, told without any", receipt.evolutions, ())
        if one["read"] == "later":
            wishes = [item.track_evolution for item in await there.waiting()]
            same("the wishes of what waits", wishes, [wish for *_, wish in one["said"]])
            if one["between"]:
                await there.work(idle_s=0)
            await there.maintain()
        await self._require_apart(there, one)

    async def _again(self, there: Memory, one: dict[str, Any]) -> None:
        """Told again after a restart, whether or not with relations now, each is known and makes none."""
        await self._require_apart(there, one)
        for place in range(len(one["said"])):
            same("told again", (await self._tell(there, one, place)).replayed, True)  # noqa: FBT003
        await there.maintain()
        await self._require_apart(there, one)

    async def _require_apart(self, there: Memory, one: dict[str, Any]) -> None:
        """All is held as it must be, and nothing told without relations has one of any kind to what was told before."""
        await require_held(there, one)
        names = {f"m{place}" for place, (_, _, wish) in enumerate(one["said"]) if not wish}
        apart = {said.id for said in (await there.episodes(limit=100)).items if said.message_id in names}
        for item in (await there.list(limit=100)).items:
            if item.entity.episode_id in apart:
                made = [row for row in item.evolutions if row.target_id == item.entity.id]
                same(f"relations of {item.entity.content!r} to older ones", made, [])

    async def _tell(self, there: Memory, one: dict[str, Any], place: int) -> Any:
        text, day, wish = one["said"][place]
        message = umi.Message(text, speaker=SPEAKER, at=moment(f"{day}T10:00"), id=f"m{place}")
        self._opened.count("remember", {"track_evolution": wish, "read": one["read"]})
        return await there.remember(message, track_evolution=wish, read=one["read"])

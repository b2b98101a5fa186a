"""The step in which filters of every shape are asked: each call that takes one is about the same messages."""

from __future__ import annotations

import io
from typing import Any

from umi.memory import Memory
from umi_lab.worlds.ledger.book import Said
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.filters import passes
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.searched import tell


class Filtered(Journal):
    """Asks with filters, in a memory of its own."""

    async def _filtered(self, step: Step) -> None:
        given = step.arguments
        async with self._opened.without_model(f"filtered{step.number}.db") as memory:
            said = await tell(memory, given["said"], self.now)
            for where in given["wheres"]:
                await self._ask(memory, said, where)
            await self._delete(memory, said, given["wheres"][0], given["deletes"])

    async def _ask(self, memory: Memory, said: list[Said], where: dict[str, Any]) -> None:
        right, what = [one.id for one in said if passes(where, one)], f"where {where}"
        episodes = await self._opened.call_of(memory, "episodes", where=where)
        same(f"episodes {what}", [one.id for one in episodes.items], right)
        held = await self._opened.call_of(memory, "list", where=where)
        same(f"list {what}", [one.entity.episode_id for one in held.items], right)
        found = await memory.recall("lamps", where=where, limit=100, min_score=0.0, deep=False)
        same(f"recall {what}", sorted(hit.episode.id for hit in found.hits), sorted(right))
        receipt = await self._opened.call_of(memory, "export", io.BytesIO(), where=where)
        same(f"export {what}", receipt.episodes, len(right))

    async def _delete(self, memory: Memory, said: list[Said], where: dict[str, Any], how: str) -> None:
        """What a filter admits goes, and all else stays."""
        gone = [one.id for one in said if passes(where, one)]
        if how == "forget":
            same(f"forget where {where}", await memory.forget(where=where), len(gone))
        else:
            same(f"erase where {where}", sorted((await memory.erase(where=where)).deleted), sorted(gone))
        left = (await memory.episodes(limit=100)).items
        same(f"what is left without {where}", [one.id for one in left], [one.id for one in said if one.id not in gone])

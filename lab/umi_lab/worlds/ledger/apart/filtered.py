"""The step in which filters of every shape are asked: each call that takes one is about the same messages."""

from __future__ import annotations

import io
from typing import Any, Final

from umi.memory import Memory
from umi_lab.worlds.ledger.apart.wheres import refused
from umi_lab.worlds.ledger.book import Said
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.filters import passes
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.searched import tell

_ALIKE: Final = "alike"  # the namespace of what looks alike


class Filtered(Journal):
    """Asks with filters, in a memory of its own."""

    async def _filtered(self, step: Step) -> None:
        given = step.arguments
        async with self._opened.without_model(f"filtered{step.number}.db") as memory:
            said = await tell(memory, given["said"], self.now)
            for where in given["wheres"]:
                await self._ask(memory, said, where)
            await self._delete(memory, said, given["wheres"][0], given["deletes"])

    async def _alike(self, step: Step) -> None:
        """Values that Python takes for one another are told apart, in one list and in filters that are asked one after the other."""
        given = step.arguments
        async with self._opened.without_model(f"alike{step.number}.db") as opened:
            memory = opened.switch(_ALIKE)
            told = [{"role": "user", "session": None, "speaker": "Nora", **one} for one in given["said"]]
            said = await tell(memory, told, self.now)
            for where, more in zip(given["wheres"], given["more"], strict=True):
                await self._ask(memory, said, where)
                if more:
                    await self._ask_more(memory, said, where)
            for place in given["refused"]:
                await self._refuse(memory, refused(place))
            await self._delete(memory, said, given["wheres"][given["deleted"]], given["deletes"])

    async def _ask_more(self, memory: Memory, said: list[Said], where: dict[str, Any]) -> None:
        """The calls that take a filter beside others: of a context every line, of a preview what would go, of two namespaces the hits of one."""
        right, what = sorted(one.id for one in said if passes(where, one)), f"where {where}"
        context = await self._opened.call_of(
            memory, "context", "lamps", max_tokens=100_000, profile=False, changes=False, where=where
        )
        found = [one.episode_id for one in context.items]
        same(f"lines of a context {what}", [one for one in found if one not in right], [])
        same(f"whether a context {what} has lines", bool(found) or not right or context.abstained, True)  # noqa: FBT003
        preview = await self._opened.call_of(memory, "preview_erasure", where=where)
        same(f"the preview of an erasure {what}", sorted(one.id for one in preview.deleted), right)
        several = await memory.recall(
            "lamps", where=where, limit=100, min_score=0.0, deep=False, namespaces=["nowhere", _ALIKE]
        )
        same(f"recall of two namespaces {what}", sorted(hit.episode.id for hit in several.hits), right)
        if right:
            one = next(each for each in said if each.id == right[0])
            statement = (await memory.why(one.id)).entity.id
            same(f"history {what}", len(await memory.history(statement, where=where)), 1)
            other = next((each for each in said if each.id not in right), None)
            if other is not None:
                statement = (await memory.why(other.id)).entity.id
                same(f"history of another {what}", await memory.history(statement, where=where), ())

    async def _refuse(self, memory: Memory, where: dict[str, Any]) -> None:
        """No call takes it, and none does anything."""
        before = await memory.sequence()
        for call in (
            memory.recall("lamps", where=where), memory.list(where=where), memory.episodes(where=where), memory.forget(where=where),
            memory.erase(where=where), memory.preview_erasure(where=where), memory.export(io.BytesIO(), where=where),
            memory.history("Nora", where=where), memory.context("lamps", max_tokens=10, where=where),
        ):  # fmt: skip
            await self._refused("InvalidInput", call)
        same(f"the sequence after what is refused where {where!r:.60}", await memory.sequence(), before)

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

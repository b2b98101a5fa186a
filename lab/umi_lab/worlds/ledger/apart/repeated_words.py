"""The step in which words that a recall has shown are said again, after their message was kept, changed, deleted in part or as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import umi
from umi.memory import Memory
from umi_lab.worlds.ledger.apart.repeats import NAMES, UNTOUCHED
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_ALL: Final = 100


class RepeatedWords(Journal):
    """Says again what was shown, in a memory of its own."""

    async def _repeated(self, step: Step) -> None:
        file = f"repeated{step.number}.db"
        async with self._opened.without_model(file) as memory:
            for number, one in enumerate(step.arguments["cases"]):
                name = f"again{number}"
                if not one["beside"] or self._opened.plan.store == "dict":
                    await _said_again(memory.switch(name), memory.switch(name), one)
                    continue
                async with self._opened.without_model(file) as other:
                    await _said_again(memory.switch(name), other.switch(name), one)


async def _said_again(there: Memory, beside: Memory, one: Mapping[str, Any]) -> None:
    """No person's words stand for the message whose words were shown, as it still is, in the same namespace; all other words are new."""
    ids: list[str] = []
    for said in one["said"]:
        ids += (await there.remember(said["text"], speaker=said["speaker"], session=said["session"])).episode_ids
    mine, said = ids[one["of"]], one["said"][one["of"]]
    shown = await _shown(there, mine)
    await _do(there, beside, one, ids)
    left = await there.get(mine)
    if one["deed"] not in UNTOUCHED:
        shown = set()
    if one["shown_again"]:
        shown |= await _shown(there, mine)
    rest = left.content if isinstance(left, umi.Episode) and left.content.strip() else said["text"]
    words = rest if one["what_is_left"] else said["text"]
    known = _line(words) in shown and one["role"] != "user" and not one["elsewhere"]
    place = there.switch("elsewhere") if one["elsewhere"] else there
    found = await place.remember(umi.Message(one["mark"] + words, role=one["role"]))
    what = f"{words!r}, said again by {one['role']} after {one['deed']} of {[each['text'] for each in one['said']]}"
    same(f"whether {what}, stands for its message", (found.replayed, found.episode_ids == (mine,)), (known, known))
    kept = await place.get(found.episode_ids[0])
    same(f"what is kept of {what}", getattr(kept, "content", None), rest if known else one["mark"] + words)


async def _shown(memory: Memory, id_: str) -> set[str]:
    """What a recall shows of a message."""
    found = await memory.recall(" ".join(NAMES), limit=_ALL, min_score=0.0, deep=False)
    return {_line(hit.content) for hit in found.hits if hit.episode.id == id_}


def _line(text: str) -> str:
    return " ".join(text.split())


async def _do(there: Memory, beside: Memory, one: Mapping[str, Any], ids: list[str]) -> None:
    """What becomes of the message whose words are said again."""
    deed, mine, said = one["deed"], ids[one["of"]], one["said"][one["of"]]
    if deed == "changed":
        await there.remember(f"{said['speaker']} moved to Porto.", session="noon")
    elif deed == "other" and len(ids) > 1:
        await beside.forget(ids[1 - one["of"]])
    elif deed == "statement":
        items = (await there.list(limit=_ALL)).items
        await beside.forget(next(item.entity.id for item in items if item.entity.episode_id == mine))
    elif deed == "message":
        await beside.forget(mine)
    elif deed == "where":
        await beside.forget(where={"speaker": said["speaker"]})
    elif deed == "session":
        await beside.erase(session=said["session"])
    elif deed == "subject":
        await beside.erase(said["speaker"])
    elif deed == "namespace":
        await beside.erase_namespace()

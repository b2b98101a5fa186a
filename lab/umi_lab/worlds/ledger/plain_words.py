"""Steps that say something in plain words to a memory without a model: what holds then, since when, and what a question finds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import umi
from umi.memory import Memory
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_HOUR: Final = timedelta(hours=1)


class PlainWords(Journal):
    """Says plain sentences in a memory of their own, and asks there."""

    async def _plain(self, step: Step) -> None:
        tales, file = step.arguments["tales"], f"plain{step.number}.db"
        async with self._opened.without_model(file) as memory:
            for number, tale in enumerate(tales):
                there = memory.switch(f"tale{number}")
                for text, at in tale["said"]:
                    await there.remember(umi.Message(text, speaker="Mika", at=_moment(at)))
                await _compare(there, tale)
        if self._opened.plan.store != "dict":
            async with self._opened.without_model(file) as memory:
                for number, tale in enumerate(tales):
                    await _compare(memory.switch(f"tale{number}"), tale)


async def _compare(memory: Memory, tale: dict[str, Any]) -> None:
    """What holds of the thing that a tale is about, from when, and what its question finds now and between what was said."""
    said, now = tale["said"], tale["now"]
    about = f"{tale['slot']} of {tale['subject']!r} after {[text for text, _ in said]}"
    page = await memory.list(limit=100)
    mine = [
        entity
        for entity, state in ((one.entity, one.state) for one in page.items)
        if (entity.subject, entity.slot, str(state), str(entity.mode))
        == (tale["subject"], tale["slot"], "current", "asserted")
        and not entity.negated
    ]
    same(about, [_bare(one.value) for one in mine], [] if now is None else [_bare(now)])
    if tale["since"] is not None:
        same(f"the day from which {about} holds", str(mine[0].valid_from)[:10], tale["since"])
    if tale["question"] is None or now is None:
        return
    found = await memory.recall(tale["question"], limit=3, deep=False)
    same(f"what {tale['question']!r} finds of {about}", [one.content for one in found.hits][:1], [tale["shown"]])
    if len(said) > 1 and tale["since"] is None:
        before = await memory.recall(tale["question"], limit=3, deep=False, as_of=_moment(said[1][1]) - _HOUR)
        same(
            f"what {tale['question']!r} found before, of {about}",
            [one.content for one in before.hits][:1],
            [said[0][0]],
        )


def _bare(value: str) -> str:
    return value.casefold().removeprefix("the ").removeprefix("a ")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)

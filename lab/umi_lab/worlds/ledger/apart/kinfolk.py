"""The step in which people are named by a relation: whom "my friend" and "my boss" stand for, in histories, profiles and what a question finds."""

from __future__ import annotations

from typing import Any

import umi
from umi.memory import Memory
from umi_lab.worlds.ledger.apart.plain_words import moment, require_held
from umi_lab.worlds.ledger.apart.sheets import SPEAKER
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step


class Kinfolk(Journal):
    """Speaks of relatives and friends, in a memory of its own."""

    async def _kin(self, step: Step) -> None:
        async with self._opened.without_model(None) as memory:
            for number, one in enumerate(step.arguments["cases"]):
                there = memory.switch(f"kin{number}")
                for text, day in one["said"]:
                    await there.remember(umi.Message(text, speaker=SPEAKER, at=moment(f"{day}T10:00")))
                await require_held(there, one)
                await self._require_names(there, one)

    async def _require_names(self, there: Memory, one: dict[str, Any]) -> None:
        """A relation alone is a name of somebody, or it is nobody's, and then what was said of it is its own."""
        about = f"after {[text for text, _ in one['said']]}"
        mine = [step.entity.content for step in await there.history(one["person"])]
        same(f"the history of {one['person']} {about}", mine, one["mine"])
        alone = [step.entity.content for step in await there.history(one["alone"])]
        same(f"the history of {one['alone']} {about}", alone, one["mine"] if one["is_name"] else one["nobody's"])
        profile = await self._opened.call_of(there, "profile", one["person"])
        same(f"names of {one['person']} {about}", profile.aliases, (one["alone"],) if one["is_name"] else ())
        preview = await self._opened.call_of(there, "preview_erasure", one["person"])
        same(f"names that would go with {one['person']} {about}", preview.aliases, profile.aliases)
        counted = await self._opened.call_of(there, "history_counts", one["alone"], parts=1)
        same(f"statements about {one['alone']} {about}", counted.count, len(alone))
        held = [row for row in one["rows"] if row[0] == one["person"] and row[5] == "current"]
        found = await there.recall(one["asked"], limit=1, deep=False)
        if len(held) == 1:
            shown = [hit.entity.value for hit in found.hits if hit.entity is not None]
            same(f"what {one['asked']!r} finds {about}", shown, [held[0][2]])

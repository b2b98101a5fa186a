"""The step in which questions name a time: which statement of a fact they find, and which messages stand near that time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import umi
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.searched import require_found, tell


class DatedQuestions(Journal):
    """Asks for times in words, in memories of their own."""

    async def _dated(self, step: Step) -> None:
        async with self._opened.without_model(None) as memory:
            await self._facts_of(memory.switch("facts"), step.arguments["facts"])
            near, there = step.arguments["near"], memory.switch("near")
            told = [one | {"at": datetime.fromisoformat(one["at"])} for one in near["said"]]
            said = await tell(there, told, self.now)
            for query in near["asked"]:
                await require_found(there, said, query)

    async def _facts_of(self, there: Any, facts: dict[str, Any]) -> None:
        for text, at in facts["said"]:
            await there.remember(umi.Message(text, speaker="Mika", at=datetime.fromisoformat(at)))
        for query, right in facts["asked"]:
            self._opened.count("recall", {})
            found = await there.recall(query, limit=1, min_score=0.0, deep=False)
            first = [hit.content for hit in found.hits]
            if right is not None:
                same(f"what {query!r} finds after {facts['said']}", first, [right])

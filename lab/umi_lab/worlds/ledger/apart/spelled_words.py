"""The step in which words are written in many ways: each question finds, in any spelling, what the oracle's own search finds."""

from __future__ import annotations

from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.searched import require_found, tell


class SpelledWords(Journal):
    """Says and asks for words in many spellings, in a memory of their own."""

    async def _spelled(self, step: Step) -> None:
        file = f"spelled{step.number}.db"
        async with self._opened.without_model(file) as memory:
            said = await tell(memory, step.arguments["said"], self.now)
            for query in step.arguments["asked"]:
                await require_found(memory, said, query)
        if self._opened.plan.store != "dict":  # terms as they were stored, beside those of a question
            async with self._opened.without_model(file) as memory:
                await require_found(memory, said, step.arguments["asked"][0])

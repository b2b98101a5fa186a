"""Steps at the limits of what a caller may hand in: what is accepted, what is refused and with which words, and that nothing was done then."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from umi.errors import InvalidInput
from umi.memory import Memory
from umi_lab.worlds.ledger.apart.borders import BORDERS, NEXT, NOW, ONE, Border
from umi_lab.worlds.ledger.expected import Wrong, same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step


class Refusals(Journal):
    """Asks at borders, in a memory of its own."""

    async def _borders(self, step: Step) -> None:
        async with self._opened.without_model(f"borders{step.number}.db") as memory:
            said = await memory.remember("Nora was seen.", speaker="Kiba")
            for place in step.arguments["places"]:
                border = BORDERS[place]
                await self._past(memory, border, said.entities[0].id)
                if not border.only_past:
                    await self._call(memory, border, border.at, said.entities[0].id)

    async def _past(self, memory: Memory, border: Border, one: str) -> None:
        """One past a limit is refused, by its name and in numbers, and nothing is done."""
        what = f"{border.method} with {border.argument}={border.past!r:.60}"
        before = (await memory.sequence(), await memory.stats())
        try:
            found = await self._call(memory, border, border.past, one)
        except InvalidInput as refused:
            same(f"the kind of {refused!r}", type(refused).__name__, border.error)
            same(f"what the refusal of {what} names", (refused.limit, refused.value), (border.limit, border.value))
            told = [border.word] if border.limit is None else [border.word, f"{border.limit:,}", f"{border.value:,}"]
            same(f"what {refused} does not tell", [word for word in told if word not in str(refused)], [])
        else:
            raise Wrong(f"{what} gave {found!r:.80}, and must be refused")
        same(f"what is there after {what}", (await memory.sequence(), await memory.stats()), before)

    async def _call(self, memory: Memory, border: Border, value: Any, one: str) -> Any:
        given = {**border.beside, border.argument: value}
        return await getattr(memory, border.method)(**{name: self._meant(each, one) for name, each in given.items()})

    def _meant(self, value: Any, one: str) -> Any:
        """A value with what its words stand for."""
        if isinstance(value, list):
            return [self._meant(each, one) for each in value]
        meant = {NOW: self.now, NEXT: self.now + timedelta(microseconds=1), ONE: one}
        return meant.get(value, value) if isinstance(value, str) else value

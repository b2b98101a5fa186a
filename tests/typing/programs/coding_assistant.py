"""A coding assistant with a decision log: what was decided, why, when, by whom it was changed, and what still rests on it."""

from __future__ import annotations

import asyncio

import umi

PROJECT = "shop"


class DecisionLog:
    """The decisions of one project."""

    def __init__(self, memory: umi.Memory) -> None:
        self._memory = memory
        self._seen = 0

    async def decide(self, topic: str, choice: str, why: str, at: umi.Moment) -> str | None:
        """Record a decision; the id of the change when it replaces another one."""
        receipt = await self._memory.set_fact(PROJECT, topic, choice, at=at, reason=why)
        return receipt.evolutions[0].id if receipt.evolutions else None

    async def current(self, as_of: umi.Moment | None = None) -> dict[str, str]:
        """What is decided, or was at a moment."""
        return {fact.attribute: fact.value for fact in await self._memory.facts(PROJECT, as_of=as_of)}

    async def log(self, topic: str) -> list[str]:
        """Every decision on a topic, oldest first."""
        steps = await self._memory.history(PROJECT, attribute=topic)
        return [f"{step.state}: {step.entity.value}, because {step.reason}" for step in steps]

    async def conclude(self, text: str, *topics: str) -> str:
        """Keep what follows from decisions; it goes stale when one of them changes."""
        grounds = [fact.entity.id for topic in topics for fact in await self._memory.facts(PROJECT, attribute=topic)]
        receipt = await self._memory.remember(text, role="assistant", derived_from=grounds)
        return receipt.entities[0].id

    async def holds(self, conclusion_id: str) -> bool:
        """Whether a conclusion still rests on what is decided."""
        return (await self._memory.why(conclusion_id)).state is umi.HitState.CURRENT

    async def take_back(self, change_id: str) -> None:
        """Undo a change: the older decision holds again."""
        try:
            await self._memory.undo(change_id)
        except umi.EvolutionError as error:
            print("not undone:", error.code)

    async def announce(self, text: str, until: umi.Moment) -> None:
        """Keep what holds for some time only."""
        await self._memory.remember(text, role="assistant", expires_at=until)

    async def news(self) -> list[str]:
        """What happened since the last look, also in other processes."""
        found: list[str] = []
        async for change in self._memory.changes(self._seen):
            self._seen = change.sequence
            found.append(str(change.kind))
        return found

    async def prompt(self, task: str) -> str:
        """What the model is told before it writes code."""
        known = await self._memory.context(f"{PROJECT}: {task}", max_tokens=400, about=PROJECT)
        return f"{known}\nTask: {task}"


async def main(path: str = "decisions.db", embedder: str | None = "local") -> None:
    async with umi.Memory.open(path, namespace=PROJECT, embedder=embedder) as memory:
        log = DecisionLog(memory)
        await log.decide("database", "SQLite", "one file is enough", at="2026-01-10T09:00Z")
        await log.decide("language", "Python", "everybody knows it", at="2026-01-10T09:05Z")
        backup = await log.conclude("Backups of the shop are a copy of one file.", "database")
        print("backups by copy:", await log.holds(backup))
        print(len(await log.news()), "changes so far")

        change = await log.decide("database", "PostgreSQL", "ten servers write", at="2026-03-01T09:00Z")
        print("now:", await log.current())
        print("in February:", await log.current("2026-02-01T00:00Z"))
        print("backups by copy:", await log.holds(backup))
        print("news:", await log.news())
        print(*await log.log("database"), sep="\n")

        await log.announce("The tables of the shop are frozen until the migration is over.", until="2190-01-01T00:00Z")
        prompt = await log.prompt("Write the migration of the tables.")
        print("PostgreSQL" in prompt, "frozen" in prompt)

        assert change is not None
        await log.take_back(change)
        await log.take_back(change)
        print("after all:", await log.current())


if __name__ == "__main__":
    asyncio.run(main())

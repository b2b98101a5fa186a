import asyncio
from datetime import UTC, datetime

import umi


async def main() -> None:
    async with umi.Memory.open("decisions.db") as memory:
        spring = datetime(2026, 3, 2, tzinfo=UTC)
        await memory.set_fact("api", "database", "SQLite", at=spring, reason="one file is enough")
        change = await memory.set_fact("api", "database", "PostgreSQL", reason="ten servers write")
        print([(fact.attribute, fact.value) for fact in await memory.facts("api")])
        for step in await memory.history("api", attribute="database"):
            print(f"{step.state}: {step.entity.value}, because {step.reason}")
        await memory.undo(change.evolutions[0].id)
        print((await memory.recall("Which database does the api use?")).hits[0].content)


asyncio.run(main())

import asyncio
from datetime import UTC, datetime

import umi


async def main() -> None:
    async with umi.Memory.open("umi.db", namespace="alice") as memory:
        await memory.remember("I work at Acme.", speaker="Alice", at=datetime(2026, 1, 12, tzinfo=UTC))
        done = await memory.remember(
            "I left Acme and joined StartupX.", speaker="Alice", at=datetime(2026, 4, 8, tzinfo=UTC)
        )
        print("why:  ", done.evolutions[0].reason)
        now = await memory.recall("Where does Alice work?")
        print("now:  ", now.hits[0].content)
        then = await memory.recall("Where does Alice work?", as_of=datetime(2026, 3, 15, tzinfo=UTC))
        print("March:", then.hits[0].content)
        unknown = await memory.recall("Who painted the harbour office?")
        print("never said:", unknown.hits)


asyncio.run(main())

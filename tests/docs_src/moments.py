import asyncio
from datetime import UTC, datetime

import umi


def on(month: int, day: int) -> datetime:
    return datetime(2026, month, day, tzinfo=UTC)


async def main() -> None:
    async with umi.Memory.open("moments.db") as memory:
        await memory.remember("I live in Berlin.", speaker="Alice", at=on(1, 12))
        await memory.remember("I moved to Lisbon.", speaker="Alice", at=on(5, 16))
        question = "Where does Alice live?"
        print("now:     ", (await memory.recall(question)).hits[0].content)
        print("in March:", (await memory.recall(question, as_of=on(3, 15))).hits[0].content)
        spring = await memory.recall(question, time_range=(on(5, 1), on(6, 1)))
        print("in May:  ", [hit.content for hit in spring.hits])
        both = await memory.recall(question, include_superseded=True)
        print("ever:    ", [(hit.content, str(hit.state)) for hit in both.hits])


asyncio.run(main())

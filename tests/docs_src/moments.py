import asyncio

import umi


async def main() -> None:
    async with umi.Memory.open("moments.db") as memory:
        await memory.remember("I live in Berlin.", speaker="Alice", at="2026-01-12T00:00Z")
        await memory.remember("I moved to Lisbon.", speaker="Alice", at="2026-05-16T00:00Z")
        question = "Where does Alice live?"
        print("now:     ", (await memory.recall(question)).hits[0].content)
        print("in March:", (await memory.recall(question, as_of="2026-03-15T12:00+01:00")).hits[0].content)
        spring = await memory.recall(question, time_range=("2026-05-01T00:00Z", "2026-06-01T00:00Z"))
        print("in May:  ", [hit.content for hit in spring.hits])
        both = await memory.recall(question, include_superseded=True)
        print("ever:    ", [(hit.content, str(hit.state)) for hit in both.hits])


asyncio.run(main())

import asyncio

import umi


async def main() -> None:
    async with umi.Memory.open("log.db") as memory:
        await memory.remember("I live in Berlin.", speaker="Alice")
        seen = 0
        async for change in memory.changes():
            seen = change.sequence
            print(change.kind)
        await memory.remember(umi.Message("I moved to Lisbon.", speaker="Alice", id="move"))
        await memory.forget("move")
        print("since then:", [str(change.kind) async for change in memory.changes(seen)])


asyncio.run(main())

import asyncio
from pathlib import Path

import umi


async def main() -> None:
    async with umi.Memory.open("first.db", namespace="alice") as memory:
        await memory.remember("I live in Berlin.", speaker="Alice")
        await memory.remember("I moved to Lisbon.", speaker="Alice")
        written = await memory.export("alice.jsonl")
        print(written.episodes, "messages,", written.relations, "change")
        await memory.backup("backup.db")  # the database itself, ready to be opened

    async with umi.Memory.open("second.db", namespace="alice") as memory:
        await memory.restore("alice.jsonl")
        await memory.export("again.jsonl")
        print((await memory.recall("Where does Alice live?")).hits[0].content)
    print("same bytes:", Path("alice.jsonl").read_bytes() == Path("again.jsonl").read_bytes())


asyncio.run(main())

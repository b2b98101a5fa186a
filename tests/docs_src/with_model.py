import asyncio

import umi
from umi.sim import SimLLM


async def main() -> None:
    async with umi.Memory.open("model.db", llm=SimLLM(42)) as memory:  # or your own object
        done = await memory.remember("Alice works at Acme.")
        print(done.usage.calls, "call,", len(done.deferred), "deferred")
        for found in (await memory.recall("Where does Alice work?")).hits:
            print(found.content)


asyncio.run(main())

import asyncio

import umi


async def main() -> None:
    async with umi.Memory.open("erasing.db") as memory:
        await memory.remember("I live in Berlin.", speaker="Alice")
        await memory.remember("I live in Rome.", speaker="Bob")
        receipt = await memory.erase("Alice")
        print("messages deleted:", len(receipt.deleted))
        print("nothing left in the file:", (await memory.verify_erasure(receipt)).ok)
        print((await memory.recall("Where does Bob live?")).hits[0].content)


asyncio.run(main())

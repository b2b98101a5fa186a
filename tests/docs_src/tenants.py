import asyncio

import umi


async def main() -> None:
    async with umi.Memory.open("team.db", namespace="alice") as alice:
        bob = alice.switch("bob")  # the same file and connection, another memory
        await alice.remember("I live in Berlin.", speaker="Alice")
        await bob.remember("I live in Rome.", speaker="Bob")
        found = await alice.recall("Where does Bob live?", min_score=0)
        print("Alice's memory knows of Bob:", any(hit.speaker == "Bob" for hit in found.hits))
        print([space.name for space in await alice.namespaces()])


asyncio.run(main())

import asyncio

import umi


async def main() -> None:
    async with umi.Memory.open("office.db", namespace="alice") as alice:
        team = alice.switch("team")
        await alice.remember("My dentist appointment is on Tuesday.", speaker="Alice")
        await team.remember("The release of the billing service is on Friday.")
        for question in ("When is the dentist appointment?", "When is the release of the billing service?"):
            found = await alice.recall(question, namespaces=["alice", "team"])
            print(found.hits[0].namespace, "knows:", found.hits[0].content)


asyncio.run(main())

import asyncio

import umi


async def main() -> None:
    async with umi.Memory.open("tickets.db") as memory:
        said = [
            ("The parcel arrived broken.", "Ann", {"ticket": 17, "tags": ["vip", "parcel"]}),
            ("The parcel is late by a week.", "Bo", {"ticket": 18, "tags": ["parcel"]}),
            ("I prefer phone calls to mails.", "Ann", {"ticket": 17}),
        ]
        for text, who, metadata in said:
            await memory.remember(text, speaker=who, session=f"ticket {metadata['ticket']}", metadata=metadata)
        found = await memory.recall("What about the parcel?", where={"metadata": {"ticket": {"gte": 18}}})
        print([hit.content for hit in found.hits])
        listed = await memory.list(where={"speaker": "Ann"}, types=["preference"])
        print([step.entity.content for step in listed.items])
        print("forgotten:", await memory.forget(where={"metadata": {"tags": "vip"}}))


asyncio.run(main())

import asyncio
from datetime import timedelta

import umi


async def main() -> None:
    async with umi.Memory.open("expiring.db") as memory:
        parcel = umi.Message("A parcel waits at the post office.", id="parcel", expires_at="2190-03-08T18:00+01:00")
        await memory.remember([umi.Message("I live in Berlin.", speaker="Ann"), parcel])
        await memory.remember("I moved to Lisbon.", speaker="Ann", ttl=timedelta(seconds=5))
        print("now:  ", (await memory.recall("Where does Ann live?")).hits[0].content)
        await asyncio.sleep(5)
        print("later:", (await memory.recall("Where does Ann live?")).hits[0].content)
        kept = await memory.get("parcel")
        if isinstance(kept, umi.Episode):
            print("until:", kept.expires_at)


asyncio.run(main())

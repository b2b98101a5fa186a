import asyncio
from datetime import timedelta

import umi


async def main() -> None:
    async with umi.Memory.open("expiring.db") as memory:
        parcel = umi.Message("A parcel waits at the post office.", id="parcel", expires_at="2190-03-08T18:00+01:00")
        await memory.remember([umi.Message("The office is on Main Street."), parcel])
        await memory.remember("The office is on Park Lane now.", ttl=timedelta(seconds=3))
        print("now:  ", (await memory.recall("Where is the office?")).hits[0].content)
        await asyncio.sleep(3)
        print("later:", (await memory.recall("Where is the office?")).hits[0].content)
        kept = await memory.get("parcel")
        if isinstance(kept, umi.Episode):
            print("until:", kept.expires_at)


asyncio.run(main())

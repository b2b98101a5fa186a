import asyncio
from datetime import UTC, datetime, timedelta

import umi

START = datetime(2026, 1, 12, 18, 0, tzinfo=UTC)


async def main() -> None:
    async with umi.Memory.open("quickstart.db", namespace="alice") as memory:
        # Any number of messages. A message whose id is already stored is skipped.
        await memory.remember_many(
            umi.Message(text, speaker="Alice", at=START + timedelta(days=30 * month), id=f"m{month}")
            for month, text in enumerate(["I live in Berlin.", "I have two cats.", "I moved to Lisbon."])
        )

        # What holds now, formatted for a prompt.
        found = await memory.recall("Where does Alice live?", limit=1)
        print(found.as_context())

        # Every statement about Alice, oldest first.
        for step in await memory.history("Alice"):
            if step.entity.slot == "lives_in":
                print(f"{step.entity.valid_from:%d %B} {step.state}: {step.entity.content}")


asyncio.run(main())

import asyncio
from datetime import UTC, datetime, timedelta

import umi

START = datetime(2026, 1, 12, 18, 0, tzinfo=UTC)


async def main() -> None:
    async with umi.Memory.open("quickstart.db", namespace="alice") as memory:
        # One message, a list of them, or any number with remember_many. An id makes a repeat harmless.
        await memory.remember_many(
            umi.Message(text, speaker="Alice", at=START + timedelta(days=30 * month), id=f"m{month}")
            for month, text in enumerate(["I live in Berlin.", "I have two cats.", "I moved to Lisbon."])
        )

        # What holds now, ready for a prompt.
        found = await memory.recall("Where does Alice live?", limit=1)
        print(found.as_context())

        # How it came to be so.
        for step in await memory.history("Alice"):
            if step.entity.slot == "lives_in":
                print(f"{step.entity.valid_from:%d %B} {step.state}: {step.entity.content}")


asyncio.run(main())

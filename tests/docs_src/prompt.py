import asyncio
from datetime import UTC, datetime

import umi


async def main() -> None:
    async with umi.Memory.open("prompt.db") as memory:
        for day, text in ((5, "I work at Acme."), (6, "I hate tea."), (20, "I left Acme and joined StartupX.")):
            await memory.remember(text, speaker="Alice", at=datetime(2026, 1, day, tzinfo=UTC))
        context = await memory.context("Where does Alice work?", max_tokens=800)
        for item in context.items:
            print(item.section, item.line.partition(" [")[0])
        print(context.tokens <= 800, context.left_out_count, context.left_out[0].reason)

        profile = await memory.profile("Alice")
        print([(str(kind), [fact.value for fact in facts]) for kind, facts in profile.groups.items()])


asyncio.run(main())

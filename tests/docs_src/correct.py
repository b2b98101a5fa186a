import asyncio

import umi


async def main() -> None:
    async with umi.Memory.open("correct.db") as memory:
        await memory.remember("I work at Tata.", speaker="Ravi")
        done = await memory.remember("I work at Bolt now, two evenings a week.", speaker="Ravi")
        update = done.evolutions[0]
        print("taken for:", update.evolution_type, "-", update.reason)

        await memory.undo(update.id)  # it is a second job: both hold
        for step in await memory.history("Ravi"):
            print(step.state, "-", step.entity.content)


asyncio.run(main())

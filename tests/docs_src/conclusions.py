import asyncio

import umi


async def main() -> None:
    async with umi.Memory.open("conclusions.db") as memory:
        source = (await memory.remember("Alice works at Acme.")).entities[0]
        drawn = await memory.remember("Alice takes the tram to the Acme office.", derived_from=[source.id])
        conclusion = drawn.entities[0].id
        print((await memory.why(conclusion)).state)

        changed = await memory.remember("Alice left Acme and joined StartupX.")
        update = next(one for one in changed.evolutions if one.evolution_type is umi.EvolutionType.UPDATE)
        print((await memory.why(conclusion)).state, "because:", update.reason)

        await memory.undo(update.id)
        print((await memory.why(conclusion)).state)


asyncio.run(main())

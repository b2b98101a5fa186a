import asyncio

import umi
import umi.testing
from umi.testing import FaultConfig, FaultType

TOLD = ["Alice works at Acme.", "Alice lives in Lisbon.", "Alice has two cats.", "Alice left Acme and joined Bolt."]


class Agent:
    """A small agent: it keeps what it hears, and answers with a model that may be down for hours."""

    def __init__(self, memory: umi.Memory, llm: umi.testing.SimLLM) -> None:
        self.memory = memory
        self.llm = llm

    async def hear(self, message_id: str, text: str) -> None:
        # The id makes it harmless to hear the same message twice.
        await self.memory.remember(umi.Message(text, id=message_id))

    async def answer(self, question: str) -> str:
        found = await self.memory.recall(question, limit=3)
        while True:
            try:
                async with asyncio.timeout(60):
                    completion = await self.llm.complete(f"{found.as_context()}\n\nNow answer: {question}")
                    return completion.content
            except (umi.LLMError, TimeoutError):
                await asyncio.sleep(5)


# The first 120 calls of the model find it hanging.
@umi.testing.simulate(seeds=20, faults=[FaultConfig(FaultType.LlmTimeout, count_max=120)], model=False)
async def test_it_waits_two_hours_for_its_model(world: umi.testing.World) -> None:
    agent = Agent(world.memory, world.llm)
    await agent.hear("m0", TOLD[0])

    assert await agent.answer("Where does Alice work?")
    assert world.clock.monotonic_s() > 2 * 3600


@umi.testing.simulate(seeds=200)
async def test_a_power_cut_loses_nothing_and_doubles_nothing(world: umi.testing.World) -> None:
    agent = Agent(world.memory, world.llm)
    world.disk.arm_power_cut(world.rng.next_int(1, 40))  # at one of the next changes of the disk
    for number, text in enumerate(TOLD):
        while True:
            try:
                await agent.hear(f"m{number}", text)
                break
            except umi.StoreError:  # the machine is down; it comes back, and whoever talks to the agent says it again
                agent = Agent(await world.restart(), world.llm)

    assert (await world.memory.stats()).episodes == len(TOLD)

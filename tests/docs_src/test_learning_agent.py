import umi
import umi.testing

WAYS = ["To restart the label printer, hold the green button.", "To restart the label printer, pull the power cord."]


class Helper:
    """It advises what its memory shows first, and tells the memory how that went."""

    def __init__(self, memory: umi.Memory) -> None:
        self.memory = memory

    async def advise(self, question: str) -> umi.RecallReceipt:
        return await self.memory.recall(question)

    async def failed(self, advice: umi.RecallReceipt) -> None:
        await self.memory.feedback(advice.id, outcome="failure", used=[advice.hits[0].id])


@umi.testing.simulate(seeds=20, config=umi.Config(learn=True), model=False)
async def test_it_does_not_advise_again_what_failed(world: umi.testing.World) -> None:
    for text in WAYS:
        await world.memory.remember(text)
    helper = Helper(world.memory)
    first = await helper.advise("How do I restart the label printer?")
    await helper.failed(first)

    helper = Helper(await world.cut_power())
    again = await helper.advise("How do I restart the label printer?")
    assert again.hits[0].content != first.hits[0].content

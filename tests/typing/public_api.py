"""What a type checker sees of the public names. `tests/test_typing.py` runs one over this file; nothing here is run.

A line that must be an error says so by an ignore of that kind; one that is no error makes its ignore an error.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import assert_type

import umi
import umi.blocking
import umi.testing


async def remembering() -> None:
    async with umi.Memory.open("umi.db", namespace="alice", llm=None, embedder="local") as memory:
        assert_type(memory, umi.Memory)
        done = await memory.remember("I left Acme and joined StartupX.", speaker="Alice", at=datetime.now(UTC))
        assert_type(done, umi.RememberReceipt)
        assert_type(done.entities, tuple[umi.Entity, ...])
        assert_type(done.evolutions, tuple[umi.EvolutionRelation, ...])
        assert_type(done.usage, umi.Usage)
        await memory.remember([{"role": "user", "content": "Hello."}, umi.Message("Hi.", role="assistant")])
        assert_type(await memory.remember_many(["one", "two"]), umi.BulkReceipt)
        await memory.remember(3)  # pyright: ignore[reportArgumentType]
        await memory.remember("text", "alice")  # pyright: ignore[reportCallIssue]
        await memory.remember("text", read="soon")  # pyright: ignore[reportArgumentType]


async def recalling(memory: umi.Memory) -> None:
    found = await memory.recall("Where does Alice work?", limit=5, as_of=datetime.now(UTC))
    assert_type(found, umi.RecallReceipt)
    assert_type(found.hits, tuple[umi.Hit, ...])
    assert_type(found.abstained, bool)
    assert_type(found.as_context(), str)
    for hit in found.hits:
        assert_type(hit.state, umi.HitState)
        assert_type(hit.score, float)
        assert_type(hit.at, datetime)
    assert_type(await memory.get("ep_1"), umi.Entity | umi.Episode | None)
    assert_type(await memory.history("Alice"), tuple[umi.HistoryStep, ...])
    assert_type(await memory.why("ent_1"), umi.Explanation)
    assert_type(await memory.list(limit=10), umi.Page)
    await memory.recall("Where?", limit="5")  # pyright: ignore[reportArgumentType]
    found.hits = ()  # pyright: ignore[reportAttributeAccessIssue]


async def correcting(memory: umi.Memory) -> None:
    assert_type(await memory.relate("old", "new", "update", "she said so"), umi.EvolutionRelation)
    assert_type(await memory.undo("rel_1"), umi.EvolutionRelation)
    assert_type(await memory.forget("ep_1"), int)
    assert_type(await memory.erase("Alice"), umi.ErasureReceipt)
    assert_type(await memory.feedback("rec_1", outcome="success"), umi.FeedbackReceipt)
    assert_type(await memory.learning.run(), umi.RunReceipt)
    await memory.feedback("rec_1", outcome=umi.Outcome.FAILURE, human_verdict=umi.Verdict.REJECTED)
    await memory.relate("old", "new", umi.EvolutionType.EXTEND, "more of the same")
    await memory.resolve("rel_1", keep="both")
    await memory.erase("Alice", derived="erase")
    await memory.feedback("rec_1", outcome="sucess")  # pyright: ignore[reportArgumentType]
    await memory.feedback("rec_1", outcome="success", human_verdict="yes")  # pyright: ignore[reportArgumentType]
    await memory.relate("old", "new", "replace", "a new plan")  # pyright: ignore[reportArgumentType]
    await memory.resolve("rel_1", keep="newer")  # pyright: ignore[reportArgumentType]
    await memory.erase("Alice", derived="delete")  # pyright: ignore[reportArgumentType]
    side: umi.Keep = "none"  # pyright: ignore[reportAssignmentType]
    await memory.resolve("rel_1", keep=side)
    assert_type(await umi.reembed("umi.db", "local"), tuple[int, int])
    assert_type(umi.check_message("Hello."), umi.Message)


def without_await() -> None:
    with umi.blocking.Memory.open("umi.db") as memory:
        assert_type(memory.remember("Hello."), umi.RememberReceipt)
        assert_type(memory.recall("What was said?").hits, tuple[umi.Hit, ...])


class Model:
    """A model of one's own."""

    async def complete(self, request: umi.CompletionRequest) -> umi.Completion:
        return umi.Completion(request.prompt)


class NoModel:
    """What has no `complete`."""


async def own_parts(texts: Sequence[str]) -> None:
    model: umi.LLMProvider = Model()
    umi.Memory.open(llm=model)
    umi.Memory.open(llm=NoModel())  # pyright: ignore[reportArgumentType]
    assert_type(umi.open_llm("openai:gpt-5-mini"), umi.LLMProvider)
    embedder = umi.open_embedder("local")
    if embedder is not None:
        also: umi.EmbeddingProvider = embedder
        await also.embed_many(texts)


@umi.testing.simulate(seeds=3)
async def test_in_a_world(world: umi.testing.World) -> None:
    assert_type(world.seed, int)

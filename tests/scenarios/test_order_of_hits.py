"""What was told anew stands first though nobody was sure enough to hide the old; with a reader that fails, the answer is as before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import day

import umi
from umi import HitState
from umi.errors import EmbeddingError
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.ports.pair_reader import Compared, Pair, Passage
from umi.providers.local import LocalEmbedder

BETWEEN = "It rained all day and the cat slept."
TOLD = [
    ("Spare key is under the blue pot.", "Spare key lives with Peg at number 9 these days.", "Where is the spare key?"),
    ("We deploy on Fridays at noon.", "Deploys go out on Tuesday mornings from here on.", "When do we deploy?"),
]


class Failing:
    """The local embedder without a pair reader that works. Satisfies `EmbeddingProvider` and `PairReader`."""

    def __init__(self, inner: LocalEmbedder) -> None:
        self.inner = inner

    @property
    def identity(self) -> EmbedderIdentity:
        return self.inner.identity

    @property
    def pair_reader(self) -> Failing:
        return self

    async def embed(self, text: str) -> Vector:
        return await self.inner.embed(text)

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        return await self.inner.embed_many(texts)

    async def compare(self, pairs: Sequence[Pair]) -> list[Compared]:
        raise EmbeddingError("out of memory")

    async def changes(self, pairs: Sequence[Pair]) -> list[float]:
        raise EmbeddingError("out of memory")

    async def answers(self, question: str, passages: Sequence[Passage]) -> list[float]:
        raise EmbeddingError("out of memory")


async def tell(memory: umi.Memory, old: str, new: str) -> None:
    for text, when in ((old, "2026-01-10"), (BETWEEN, "2026-01-20"), (new, "2026-03-10")):
        await memory.remember(text, speaker="Ana", at=day(when))


@pytest.mark.parametrize(("old", "new", "question"), TOLD)
async def test_what_was_told_anew_stands_first_and_the_old_is_still_there(
    memory: umi.Memory, old: str, new: str, question: str
) -> None:
    await tell(memory, old, new)
    hits = (await memory.recall(question)).hits
    assert [hit.content for hit in hits[:2]] == [new, old]
    assert hits[0].newer_than == (hits[1].id,)
    assert {hit.state for hit in hits} == {HitState.CURRENT}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    then = (await memory.recall(question, as_of=day("2026-02-01"))).hits
    assert then[0].content == old
    assert [hit.content for hit in (await memory.recall(question, limit=1)).hits] == [new]


async def test_without_a_reader_that_works_the_answer_is_as_before(tmp_path: Path, embedder: LocalEmbedder) -> None:
    old, new, question = TOLD[0]
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=Failing(embedder)) as memory:
        await tell(memory, old, new)
        found = await memory.recall(question)
        assert {hit.content for hit in found.hits[:2]} == {old, new}
        assert umi.Degradation.EMBEDDING_FAILED in found.degraded
        assert not any(hit.newer_than for hit in found.hits)

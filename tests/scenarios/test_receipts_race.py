"""A receipt says what became of its messages, whoever settled them: the remember itself or a task in the background."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

import umi
from umi.ports import EmbedderIdentity, Matrix, Vector

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
FEBRUARY = datetime(2026, 2, 1, tzinfo=UTC)


class _Slow:
    """An embedder during whose work another task gets its turn. Satisfies `EmbeddingProvider`."""

    def __init__(self) -> None:
        self.during: list[umi.Memory] = []

    @property
    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("slow", 2, "1")

    async def embed(self, text: str) -> Vector:
        return np.array([1.0, float(len(text))], dtype=np.float32)

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        while self.during:
            await self.during.pop().maintain()  # another task settles the very message whose vectors are being made
        return [np.array([[1.0, float(len(text))]], dtype=np.float32) for text in texts]


async def test_a_message_settled_by_another_task_meanwhile_is_told_whole() -> None:
    embedder = _Slow()
    async with umi.Memory.open(":memory:", embedder=embedder) as memory:
        view = memory.switch("a view")
        await view.remember("I work at Acme.", at=JANUARY)
        embedder.during.append(view)
        receipt = await view.remember("I left Acme and joined StartupX.", at=FEBRUARY)
    assert [entity.value for entity in receipt.entities] == ["StartupX"]
    assert [(row.evolution_type, row.acted) for row in receipt.evolutions] == [(umi.EvolutionType.UPDATE, True)]

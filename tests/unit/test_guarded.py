"""Vectors of questions that are asked again: the same, few, and gone with an erasure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import umi
from umi import limits
from umi._core.guard import GuardedEmbedder
from umi.errors import EmbeddingError
from umi.ports import EmbedderIdentity, Matrix, Vector


class Counted:
    """Embeds by length, and keeps what it was asked."""

    def __init__(self) -> None:
        self.identity = EmbedderIdentity("counted", 3, "one")
        self.asked: list[str] = []
        self.broken = False

    async def embed(self, text: str) -> Vector:
        self.asked.append(text)
        if self.broken:
            raise OSError("down")
        return np.array([len(text), len(self.identity.digest), 1.0], dtype=np.float32)

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        return [(await self.embed(text))[None] for text in texts]


async def test_a_question_asked_again_has_the_same_vector_and_is_not_embedded_again() -> None:
    inner = Counted()
    guarded = GuardedEmbedder(inner)
    first = await guarded.embed("Where?")
    assert await guarded.embed("Where?") is first
    assert inner.asked == ["Where?"]
    assert np.array_equal(first, await GuardedEmbedder(inner).embed("Where?"))
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 7
    inner.identity = EmbedderIdentity("counted", 3, "another")
    assert not np.array_equal(await guarded.embed("Where?"), first), "vectors of another room"


async def test_what_failed_is_asked_again() -> None:
    inner = Counted()
    guarded = GuardedEmbedder(inner)
    inner.broken = True
    with pytest.raises(EmbeddingError):
        await guarded.embed("Where?")
    inner.broken = False
    assert (await guarded.embed("Where?")).shape == (3,)


async def test_the_vectors_of_few_questions_are_kept_those_asked_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EMBED_KEPT_COUNT_MAX", 2)
    inner = Counted()
    guarded = GuardedEmbedder(inner)
    for text in ("a", "bb", "a", "ccc", "a", "bb"):
        await guarded.embed(text)
    assert inner.asked == ["a", "bb", "ccc", "bb"]


async def test_no_word_of_a_question_is_kept_and_an_erasure_takes_its_vector_too() -> None:
    inner = Counted()
    async with umi.Memory.open(":memory:", embedder=inner) as memory:
        await memory.remember("Ada likes tea.")
        await memory.recall("Does Ada like tea?")
        held = memory._open.parts.embedder._asked
        assert len(held) == 1
        assert b"Ada" not in b"".join(held)
        await memory.erase("Ada")
        assert not held

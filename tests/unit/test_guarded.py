"""Vectors of questions that are asked again: the same, few, and gone with an erasure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import umi
from umi import limits
from umi._core.clock import SystemClock, SystemEntropy
from umi._core.guard import GuardedEmbedder
from umi.errors import EmbedderBusy, EmbeddingError, LLMError
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.ports.answer_reader import AnswerReader, Dated, Reading
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.rng import DeterministicRng
from umi.stores.memory.store import MemoryStore


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


async def test_an_embedder_with_connections_is_closed_and_one_without_needs_nothing() -> None:
    closed: list[str] = []

    class Connected(Counted):
        async def close(self) -> None:
            closed.append("closed")

    await GuardedEmbedder(Counted()).close()
    await GuardedEmbedder(Connected()).close()
    assert closed == ["closed"]


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


class Busy(Counted):
    """Asks to be left alone for a minute, whenever it is asked."""

    async def embed(self, text: str) -> Vector:
        self.asked.append(text)
        raise EmbedderBusy("slow down", 60.0)


async def test_a_server_is_left_alone_for_as_long_as_it_asks() -> None:
    clock, inner = SimClock(), Busy()
    guarded = GuardedEmbedder(inner, clock, SimEntropy(DeterministicRng(1)))
    for _ in range(5):
        with pytest.raises(EmbedderBusy):
            await guarded.embed_many(["Alice works at Acme."])
        with pytest.raises(EmbedderBusy):
            await guarded.embed("Where?")
    assert len(inner.asked) == 1
    clock.advance(61)
    with pytest.raises(EmbedderBusy):
        await guarded.embed("Where?")
    assert len(inner.asked) == 2


class Hand(SimClock):
    """A clock that its sleepers move."""

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)


@pytest.mark.parametrize(("left_s", "waits"), [(59.0, True), (60.0, False), (61.0, False)])
async def test_a_batch_waits_for_a_server_that_is_left_alone_where_that_is_within_its_time(
    left_s: float, *, waits: bool
) -> None:
    inner, clock = Counted(), Hand()
    guarded = GuardedEmbedder(inner, clock, SimEntropy(DeterministicRng(1)), deadline_s=60.0)
    guarded._left_alone_until_s = left_s
    if waits:
        assert len(await guarded.embed_many([""])) == 1
    else:
        with pytest.raises(EmbedderBusy, match="left alone"):
            await guarded.embed_many([""])
    assert (inner.asked, clock.monotonic_s()) == (([""], left_s) if waits else ([], 0.0))


@pytest.mark.parametrize(("left_s", "asked"), [(0.0, ["Where?"]), (0.01, []), (0.5, []), (5.0, [])])
async def test_a_question_does_not_wait_for_a_server_that_is_left_alone(left_s: float, asked: list[str]) -> None:
    inner, clock = Counted(), Hand()
    guarded = GuardedEmbedder(inner, clock, SimEntropy(DeterministicRng(1)))
    guarded._left_alone_until_s = left_s
    with nullcontext() if asked else pytest.raises(EmbedderBusy, match="left alone"):
        await guarded.embed("Where?")
    assert (inner.asked, clock.monotonic_s()) == (asked, 0.0)


class Even:
    """A random source that always draws the same."""

    def uniform(self) -> float:
        return 0.5


async def test_a_batch_is_sent_again_after_twice_as_long_each_time() -> None:
    inner, clock, asked = Counted(), Hand(), []

    async def busy(texts: Sequence[str]) -> list[Matrix]:
        asked.append(clock.monotonic_s())
        raise EmbedderBusy("slow down")

    inner.embed_many = busy  # type: ignore[method-assign]
    with pytest.raises(EmbedderBusy):
        await GuardedEmbedder(inner, clock, Even()).embed_many(["a"])  # type: ignore[arg-type]
    waits = np.diff(asked).tolist()
    assert waits == [0.5 * limits.LLM_BACKOFF_BASE_S * 2**attempt for attempt in range(limits.EMBED_RETRIES_COUNT_MAX)]


class Odd(Counted):
    """Raises what an embedder has no business to raise."""

    async def embed(self, text: str) -> Vector:
        raise LLMError.Timeout


class Plain(Counted):
    """Its methods are plain functions: they raise before there is anything to await."""

    def embed(self, text: str) -> Any:
        raise OSError(text)

    def embed_many(self, texts: Sequence[str]) -> Any:
        raise OSError(texts)

    def complete(self, request: umi.CompletionRequest) -> Any:
        raise OSError(request.task)


async def test_a_model_or_embedder_that_raises_at_once_does_no_more_harm_than_a_later_one() -> None:
    async with umi.Memory.open("dict:", embedder=None, llm=Plain()) as memory:
        told = await memory.remember("Alice works at Acme.")
        assert umi.Degradation.MODEL_FAILED in told.degraded
    old, new = (umi.Entity(umi.EntityType.PERSON, "Alice", said) for said in ("Works at Acme", "Works at Initech"))
    store = MemoryStore(clock=SystemClock(), entropy=SystemEntropy())
    tracker = umi.EvolutionTracker(Plain(), store.namespace("default"))
    assert await tracker.detect(new, [old]) is None
    assert tracker.failures == 1
    extractor = umi.EntityExtractor(Plain())
    assert [one.value for one in (await extractor.extract("Alice works at Acme.")).entities] == ["Acme"]
    assert extractor.failures == 1


@pytest.mark.parametrize("embedder", [Odd(), Plain()])
async def test_whatever_an_embedder_raises_is_an_error_of_embedding(embedder: Counted) -> None:
    async with umi.Memory.open("dict:", embedder=embedder) as memory:
        await memory.remember("Alice works at Acme.")
        found = await memory.recall("Where does Alice work?")
        assert [hit.content for hit in found.hits] == ["Alice works at Acme."]
        assert umi.Degradation.EMBEDDING_FAILED in found.degraded


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "answered NoneType, not vectors of 1 texts"),
        ([], "answered 0 texts of 1"),
        ([[["a", "b", "c"]]], "answered no numbers"),
        ([{}], "answered no numbers"),
        ([[[1.0, 2.0, 3.0], [4.0]]], "answered no numbers"),  # windows of unequal length
        ([[1.0, 2.0]], r"answered shape \(1, 2\), not \(n, 3\)"),
        ([[0.0, 0.0, 0.0]], "answered a vector without direction"),
        ([[1.0, math.nan, 0.0]], "answered a vector without direction"),
        ([[1.0, math.inf, 0.0]], "answered a vector without direction"),
        ([[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]], "answered a vector without direction"),  # the second of two windows
        ([np.ones((0, 3))], "answered a vector without direction"),
        ([np.ones((1, 1, 3))], r"answered shape \(1, 1, 3\), not \(n, 3\)"),
    ],
)
async def test_what_is_no_vector_leaves_the_message_without_one(answer: Any, why: str) -> None:
    class Wrong(Counted):
        async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
            return answer  # type: ignore[no-any-return]

        async def embed(self, text: str) -> Vector:
            return answer[0] if answer else np.zeros(0)  # type: ignore[no-any-return]

    async with umi.Memory.open("dict:", embedder=Wrong()) as memory:
        told = await memory.remember("Alice works at Acme.")
        assert (told.deferred, told.degraded) == (told.episode_ids, (umi.Degradation.EMBEDDING_FAILED,))
        (waits,) = (await memory.maintain()).waiting
        assert re.search(why, waits.reason)
        found = await memory.recall("Where does Alice work?")
        assert [hit.content for hit in found.hits] == ["Alice works at Acme."]
        assert umi.Degradation.EMBEDDING_FAILED in found.degraded


@pytest.mark.parametrize("answer", [[3, 0, 4], [[3.0, 0.0, 4.0]], [0.6, 0.0, 0.8], np.array([30, 0, 40])])
async def test_a_vector_gets_unit_length_and_a_question_has_one(answer: Any) -> None:
    class Giving(Counted):
        async def embed(self, text: str) -> Vector:
            return np.ones((2, 3)) if text == "two" else answer  # type: ignore[no-any-return]

    guarded = GuardedEmbedder(Giving())
    assert (await guarded.embed("one")).tolist() == pytest.approx([0.6, 0.0, 0.8])
    with pytest.raises(EmbeddingError, match=r"answered shape \(2, 3\)"):
        await guarded.embed("two")


@pytest.mark.parametrize("count", ["4", 4.0, True, None, -1, 0, limits.EMBED_DIMENSIONS_MAX + 1])
async def test_dimensions_are_a_whole_number(count: object) -> None:
    inner = Counted()
    inner.identity = EmbedderIdentity("counted", count, "one")  # type: ignore[arg-type]
    with pytest.raises(EmbeddingError, match="dimensions"):
        GuardedEmbedder(inner)


@pytest.mark.parametrize("count", [1, 2, limits.EMBED_DIMENSIONS_MAX])
async def test_any_possible_number_of_dimensions_will_do(count: int) -> None:
    class Sized(Counted):
        async def embed(self, text: str) -> Vector:
            return np.full(count, 2.0)

    inner = Sized()
    inner.identity = EmbedderIdentity("sized", count, "one")
    assert np.linalg.norm(await GuardedEmbedder(inner).embed("Where?")) == pytest.approx(1)


@pytest.mark.parametrize("identity", [None, "counted", ("counted", 3, "one")])
async def test_an_embedder_without_an_identity_is_told_what_it_needs(identity: object) -> None:
    inner = Counted()
    inner.identity = identity  # type: ignore[assignment]
    with pytest.raises(EmbeddingError, match=r"embedder Counted needs an `identity`, which is a umi.EmbedderIdentity"):
        async with umi.Memory.open("dict:", embedder=inner):
            pass
    del inner.identity
    with pytest.raises(EmbeddingError, match="needs an `identity`"):
        GuardedEmbedder(inner)


class Reader(Counted):
    """Reads all statements but some, or fails."""

    def __init__(self, missing: int | None) -> None:
        super().__init__()
        self._missing = missing

    @property
    def answer_reader(self) -> AnswerReader:
        return self

    async def read_answers(self, question: str, told: Sequence[Dated]) -> list[Reading]:
        if self._missing is None:
            raise OSError(question)
        return [Reading(0.9, 0.0)] * (len(told) - self._missing)


@pytest.mark.parametrize("missing", [1, 2, None])
async def test_an_answer_reader_that_fails_only_leaves_the_order(missing: int | None) -> None:
    async with umi.Memory.open("dict:", embedder=Reader(missing)) as memory:
        for text in ("The kettle is in the hall.", "The kettle is in the attic.", "The kettle is in the shed."):
            await memory.remember(text)
        found = await memory.recall("Where is the kettle?")
        assert len(found.hits) == 3
        assert umi.Degradation.EMBEDDING_FAILED in found.degraded

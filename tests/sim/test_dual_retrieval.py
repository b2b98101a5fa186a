"""Dual retrieval under faults (seed 004): its eight tests by name, and its five scenarios at their rates, on SimStorage.

Each is run on one store for rows and vectors, and on a vector backend of its own beside the rows; each shows what is found and what
the answer says of itself.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

import umi
from umi import Degradation, DualRetriever, Entity, EntityType
from umi._retrieval import Found, Query
from umi.errors import StoreError
from umi.sim import FaultConfig, FaultType, SimConfig, SimEnvironment, SimStorage
from umi.sim.embedder import text_vector
from umi.types import Hit

SAID = (
    "Alice is an engineer at Acme.",
    "Miso sleeps all day.",
    "We went hiking in the Alps in June.",
    "The sushi in that restaurant was cold.",
    "The train to Bern leaves at nine.",
)
MEANING = "Which animal is a pet, a cat?"  # what Miso's vector says and no text does
EMBEDDING_FAULTS = tuple(
    kind for kind in FaultType if kind.startswith("Embedding") and kind is not FaultType.EmbeddingSlow
)
layouts = pytest.mark.parametrize("apart", [False, True], ids=["one store", "two backends"])
paths = pytest.mark.parametrize("deep", [False, True], ids=["fast", "deep"])


class World:
    """An environment with the texts in it, and a retriever on top."""

    def __init__(self, *faults: FaultConfig, seed: int = 42, apart: bool = False, model: bool = False) -> None:
        self.env = SimEnvironment(SimConfig(seed, order="seeded"))
        self.faults = faults
        env = self.env
        vector = env.vector if apart else env.storage
        self.retriever = DualRetriever(env.llm if model else None, env.embedder, vector, env.storage)
        self.words_alone = DualRetriever(None, None, None, env.storage)

    async def fill(self) -> list[str]:
        """Keep every text with its vector, Miso's being of her meaning; the faults begin after that. The ids."""
        ids = []
        for text in SAID:
            id_ = await self.env.storage.store_entity(Entity(EntityType.NOTE, "note", text))
            await self.env.vector.store(id_, text_vector(MEANING if "Miso" in text else text))
            ids.append(id_)
        for fault in self.faults:
            self.env.faults.register(fault)
        return ids

    async def search(self, text: str, *, deep: bool = False, limit: int = 5) -> Found:
        return await self.retriever.search(Query(text, limit, deep=deep, min_score=0, explain=True))

    def ask(self, text: str, *, deep: bool = False) -> Found:
        """One question to a world that was just filled."""

        async def main() -> Found:
            await self.fill()
            return await self.search(text, deep=deep)

        return self.env.run(main())


def said(hits: Sequence[Hit]) -> list[str]:
    return [hit.episode.content for hit in hits]


def by_vector(hit: Hit) -> bool:
    return hit.legs.get("vector", 0.0) > 0


# Basic vector search.


@layouts
@paths
def test_recall_with_vector_search(apart: bool, deep: bool) -> None:
    world = World(apart=apart)
    found = world.ask("a pet or another animal", deep=deep)
    assert said(found.hits)[0] == SAID[1], "no word is shared"
    assert by_vector(found.hits[0])
    assert found.degraded == ()
    feedback = int(deep and not apart)  # the query moved towards its first hits, whose vectors the store must hold
    assert world.env.faults.calls["vector_search"] == 1 + len(found.query_variations) + feedback
    words = world.env.run(world.words_alone.search(Query("a pet or another animal", min_score=0)))
    assert SAID[1] not in said(words.hits), "without vectors nobody finds her"


@layouts
def test_fast_search_and_deep_search_are_the_same_by_name(apart: bool) -> None:
    world = World(apart=apart)

    async def main() -> None:
        await world.fill()
        for search in (world.retriever.fast_search, world.retriever.deep_search):
            assert said(await search("a pet or another animal", 1)) == [SAID[1]]

    world.env.run(main())


# Scenario 1: the vector search fails, always.


@layouts
@paths
@pytest.mark.parametrize("fault", [FaultType.VectorSearchTimeout, FaultType.VectorSearchFail])
def test_recall_vector_search_timeout(apart: bool, deep: bool, fault: FaultType) -> None:
    world = World(FaultConfig(fault), apart=apart, model=True)
    found = world.ask("Who is the engineer at Acme?", deep=deep)
    assert said(found.hits)[0] == SAID[0]
    assert not any(by_vector(hit) for hit in found.hits)
    assert Degradation.VECTOR_LEG_FAILED in found.degraded
    assert set(found.degraded) <= {Degradation.VECTOR_LEG_FAILED, Degradation.VARIANT_FAILED}
    assert world.env.faults.fired[fault] == world.env.faults.calls["vector_search"] == 1 + len(found.query_variations)
    assert (world.env.clock.monotonic_s() > 10) == (fault is FaultType.VectorSearchTimeout)


# Scenario 2: embedding fails, always and half of the time. Scenario 3: it answers with wrong dimensions, or no numbers.


@layouts
@paths
@pytest.mark.parametrize("fault", EMBEDDING_FAULTS)
def test_recall_embedding_fails(apart: bool, deep: bool, fault: FaultType) -> None:
    world = World(FaultConfig(fault), apart=apart, model=True)
    found = world.ask("Who is the engineer at Acme?", deep=deep)
    assert said(found.hits)[0] == SAID[0]
    assert found.degraded == (Degradation.EMBEDDING_FAILED,)
    assert found.deep_search_used is deep
    assert world.env.faults.calls["vector_search"] == 0


@layouts
def test_recall_embedding_fails_half_of_the_time_fast(apart: bool) -> None:
    world = World(FaultConfig(FaultType.EmbeddingFail, 0.5), apart=apart)

    async def main() -> int:
        await world.fill()
        failed = 0
        for number in range(40):  # another question each time: one asked again is not embedded again
            before = world.env.faults.fired[FaultType.EmbeddingFail]
            found = await world.search(f"Acme, or a pet or another animal, number {number}?")
            fired = world.env.faults.fired[FaultType.EmbeddingFail] > before
            assert found.degraded == ((Degradation.EMBEDDING_FAILED,) if fired else ())
            assert SAID[0] in said(found.hits), "words find it either way"
            assert (SAID[1] in said(found.hits)) is not fired, "vectors find her when they can"
            failed += fired
        return failed

    assert 10 < world.env.run(main()) < 30


@layouts
def test_recall_embedding_fails_half_of_the_time_deep(apart: bool) -> None:
    world = World(FaultConfig(FaultType.EmbeddingFail, 0.5), apart=apart, model=True)
    seen: dict[tuple[Degradation, ...], int] = {}

    async def main() -> None:
        await world.fill()
        for number in range(40):
            faults = world.env.faults
            before, asked = faults.fired[FaultType.EmbeddingFail], faults.calls["embed"]
            found = await world.search(f"Who is the engineer at Acme number {number}?", deep=True)
            assert said(found.hits)[0] == SAID[0]
            failed, of = faults.fired[FaultType.EmbeddingFail] - before, faults.calls["embed"] - asked
            texts = 1 + len(found.query_variations)
            assert 1 <= of <= texts >= 3  # a variation that was embedded before is not embedded again
            assert (Degradation.EMBEDDING_FAILED in found.degraded) == (failed > 0)
            assert (SAID[1] in said(found.hits)) == (failed < texts), "no word finds her, and any variant's vector does"
            seen[found.degraded] = seen.get(found.degraded, 0) + 1

    world.env.run(main())
    assert seen.keys() == {
        (),
        (Degradation.EMBEDDING_FAILED,),  # the query itself, or all
        (Degradation.EMBEDDING_FAILED, Degradation.VARIANT_FAILED),
    }


def test_wrong_dimensions_in_the_backend_leave_the_words() -> None:
    world = World(apart=True)

    async def main() -> Found:
        await world.fill()
        elsewhere = SimStorage(world.env.clock, world.env.rng.fork("elsewhere"))
        id_ = await elsewhere.store_entity(Entity(EntityType.NOTE, "note", "Of another embedder"))
        await elsewhere.vectors.store(id_, text_vector("Acme")[:7])
        retriever = DualRetriever(None, world.env.embedder, elsewhere.vectors, world.env.storage)
        return await retriever.search(Query("Who is the engineer at Acme?", min_score=0))

    found = world.env.run(main())
    assert said(found.hits)[0] == SAID[0]
    assert found.degraded == (Degradation.VECTOR_LEG_FAILED,)


# The same seed, the same ranking.


@layouts
@paths
def test_recall_vector_deterministic(apart: bool, deep: bool) -> None:
    def rankings(seed: int) -> list[object]:
        faults = (FaultConfig(FaultType.EmbeddingFail, 0.5), FaultConfig(FaultType.VectorSearchFail, 0.2))
        world = World(*faults, seed=seed, apart=apart, model=True)

        async def main() -> list[object]:
            await world.fill()
            asked = [await world.search(text, deep=deep) for text in ("a pet animal", "hiking or Acme", *SAID)]
            return [([(hit.id, hit.score) for hit in found.hits], found.degraded) for found in asked]

        return world.env.run(main())

    assert rankings(42) == rankings(42)
    assert rankings(42) != rankings(43)


# Scenario 5: rows without a vector, and vectors without a row.


@layouts
@paths
def test_recall_mixed_vector_text(apart: bool, deep: bool) -> None:
    world = World(apart=apart)

    async def main() -> None:
        ids = await world.fill()
        for number in (0, 2, 3):  # rows without a vector
            assert await world.env.vector.delete(ids[number])
        found = await world.search("Who went hiking in the Alps? Which animal is a pet?", deep=deep)
        hits = {hit.episode.content: by_vector(hit) for hit in found.hits}
        assert set(said(found.hits)[:2]) == {SAID[1], SAID[2]}
        assert (hits[SAID[1]], hits[SAID[2]]) == (True, False)
        assert found.degraded == ()

    world.env.run(main())


@paths
def test_vectors_without_a_row_are_left_out(deep: bool) -> None:
    world = World()

    async def main() -> None:
        await world.fill()
        elsewhere = SimStorage(world.env.clock, world.env.rng.fork("elsewhere"))
        for id_, text in (("gone", MEANING), (SAID[0], "Who is a pet?")):
            await elsewhere.store_entity(Entity(EntityType.NOTE, "note", text, id=id_))
            await elsewhere.vectors.store(id_, text_vector(text))
        retriever = DualRetriever(None, world.env.embedder, elsewhere.vectors, world.env.storage)
        assert (await elsewhere.vectors.search(text_vector(MEANING), 1))[0].id == "gone", "the best vector has no row"
        found = await retriever.search(Query(f"{MEANING} Or a train to Bern?", deep=deep, min_score=0))
        assert said(found.hits)[0] == SAID[4]
        assert all(hit.id != "gone" for hit in found.hits)
        assert found.degraded == ()

    world.env.run(main())


# The deep path, and the merge.


@layouts
def test_recall_deep_search_vector(apart: bool) -> None:
    world = World(apart=apart, model=True)
    found = world.ask("Is there a pet or some other animal?", deep=True)
    assert found.deep_search_used
    assert len(found.query_variations) >= 2
    assert said(found.hits)[0] == SAID[1]
    assert by_vector(found.hits[0])
    assert found.degraded == ()
    calls = world.env.faults.calls
    assert calls["llm_complete"] == 1
    assert calls["embed"] == 1 + len(found.query_variations)
    assert calls["vector_search"] == calls["embed"] + (not apart), "each variant through the vectors, and the feedback"


@layouts
def test_a_deep_search_finds_by_a_variant_what_the_query_does_not(apart: bool) -> None:
    """The query's own embedding fails; a variant's finds the vector that no word finds."""
    world = World(FaultConfig(FaultType.EmbeddingFail, count_max=1), apart=apart, model=True)
    found = world.ask("Is there a pet or some other animal?", deep=True)
    assert SAID[1] in said(found.hits)
    assert found.degraded[0] is Degradation.EMBEDDING_FAILED
    again = World(FaultConfig(FaultType.EmbeddingFail), apart=apart, model=True)
    assert SAID[1] not in said(again.ask("Is there a pet or some other animal?", deep=True).hits)


@layouts
@pytest.mark.parametrize("fault", [kind for kind in FaultType if kind.startswith("Llm")])
def test_a_failed_rewrite_leaves_the_query_and_its_vector(apart: bool, fault: FaultType) -> None:
    world = World(FaultConfig(fault), apart=apart, model=True)
    found = world.ask("a pet or another animal", deep=True)
    assert said(found.hits)[0] == SAID[1]
    assert found.degraded == (Degradation.REWRITE_FAILED,)
    assert found.deep_search_used
    assert found.query_variations == ()


@layouts
def test_recall_rrf_with_vector(apart: bool) -> None:
    world = World(apart=apart)

    async def main() -> None:
        await world.fill()
        acme, pets = [await world.retriever.fast_search(text) for text in ("Acme", "a pet animal")]
        assert (said(acme)[0], said(pets)[0]) == (SAID[0], SAID[1])
        merged = world.retriever.rrf_merge([acme, pets], 3)
        assert len({hit.id for hit in merged}) == len(merged) == 3
        assert {SAID[0], SAID[1]} <= set(said(merged)), "every list's first stays"
        assert world.retriever.rrf_merge([acme, acme, pets], 1)[0].id == acme[0].id

    world.env.run(main())


# Scenario 4: some vectors could not be stored.


@layouts
@paths
def test_recall_vector_storage_partial_failure(apart: bool, deep: bool) -> None:
    world = World(apart=apart)
    texts = [
        f"{name} keeps item {number}."
        for number, name in enumerate(["Ann", "Ben", "Cid", "Dea", "Eli", "Fay", "Gus", "Hal"])
    ]

    async def main() -> None:
        world.env.faults.register(FaultConfig(FaultType.VectorStoreFail, 0.5))
        stored: dict[str, bool] = {}
        for text in texts:
            id_ = await world.env.storage.store_entity(Entity(EntityType.NOTE, "note", text))
            try:
                await world.env.vector.store(id_, await world.env.embedder.embed(text))
                stored[text] = True
            except StoreError:
                stored[text] = False
        assert await world.env.vector.count() == sum(stored.values())
        assert 0 < sum(stored.values()) < len(texts)
        for text in texts:
            found = await world.search(text, deep=deep, limit=len(texts))
            assert said(found.hits)[0] == text, "with a vector or without"
            assert by_vector(found.hits[0]) is stored[text]
            assert found.degraded == ()

    world.env.run(main())


@paths
def test_remember_keeps_the_text_when_half_of_the_embeddings_fail(deep: bool) -> None:
    """Embeddings are stored with what is remembered; those that fail come later, and the words find the text meanwhile."""
    env = SimEnvironment(SimConfig(42))

    async def main() -> None:
        async with umi.Memory.open("dict:", embedder=env.embedder, clock=env.clock, entropy=env.entropy) as memory:
            env.faults.register(FaultConfig(FaultType.EmbeddingFail, 0.5, operations=("embed_many",)))
            receipts = [await memory.remember(text) for text in SAID * 4]
            failed = [receipt for receipt in receipts if receipt.degraded]
            assert 0 < len(failed) < len(receipts)
            assert all(receipt.degraded == (Degradation.EMBEDDING_FAILED,) for receipt in failed)
            assert all(receipt.deferred == receipt.episode_ids for receipt in failed)
            assert all(receipt.entities for receipt in receipts)
            for text in SAID:
                found = await memory.recall(text, deep=deep, min_score=0)
                assert found.hits[0].episode.content == text
                assert found.degraded == ()
            env.faults.stop()
            await memory.maintain()
            stats = await memory.stats()
            assert stats.vectors == stats.episodes == len(receipts)

    env.run(main())


# Nothing but the core install.

ALONE = """
import sys
EXTRAS = ("onnxruntime", "tokenizers", "openai", "anthropic", "httpx", "lancedb", "asyncpg", "psycopg", "typer", "rich")

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ImportError(f"{name} is no part of the core")

def watch(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError(f"{event}{arguments}: no network here")

sys.meta_path.insert(0, Refuse())
sys.addaudithook(watch)
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not models", "-k", "not core_install", *sys.argv[1:]]))
"""


def test_these_tests_need_no_more_than_the_core_install_and_no_network() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE, __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    probe = ALONE.rpartition("import pytest")[0]
    for statement in ("import onnxruntime", "import socket; socket.socket().connect(('127.0.0.1', 9))"):
        refused = subprocess.run([sys.executable, "-c", probe + statement], capture_output=True, text=True, check=False)
        assert "no part of the core" in refused.stderr or "no network here" in refused.stderr, "the watch sees it"

"""Both paths on a real store, with ports that fail on purpose beside it. Seed 004's own tests are in tests/sim."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import umi
from umi._core.ranking import falls_off
from umi._core.vectors import normalised
from umi._evolution.states import View
from umi._retrieval import DualRetriever, Query
from umi._retrieval.variants import rule_variants, wants_deep
from umi.errors import StoreError
from umi.ports import EmbedderIdentity
from umi.types import Completion, CompletionRequest, Degradation, Hit, Usage, VectorHit

CONCEPTS = (
    ("work", "works", "job", "employer", "engineer", "acme"),
    ("cat", "cats", "dog", "pet", "animal", "miso"),
    ("hike", "hiking", "mountains", "alps", "outdoors"),
    ("food", "sushi", "eat", "dinner", "restaurant"),
)


def vector_of(text: str) -> np.ndarray:
    """A vector by concept: words of one group point the same way; a constant keeps it from zero."""
    words = text.casefold().replace("?", " ").replace(".", " ").split()
    counts = [float(sum(word in group for word in words)) for group in CONCEPTS]
    return normalised(np.array([*counts, 0.3], dtype=np.float32))


class ToyEmbedder:
    """Embeds by concept."""

    def __init__(self, dimensions: int = 5) -> None:
        self.identity = EmbedderIdentity("toy", dimensions, "0")

    async def embed(self, text: str) -> np.ndarray:
        return vector_of(text)

    async def embed_many(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [vector_of(text)[None] for text in texts]


class ScriptedVectors:
    """A vector backend beside the store: answers or raises what it was told."""

    def __init__(self, answer: Exception | list[VectorHit]) -> None:
        self.answer = answer

    async def search(self, query: np.ndarray, /, limit: int) -> list[VectorHit]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer[:limit]


class FaultyStorage:
    """A real namespace whose snapshots refuse the legs that are named."""

    def __init__(self, inner: Any, *legs: str) -> None:
        self.inner = inner
        self.legs = legs

    async def read(self, work: Callable[[Any], Any]) -> Any:
        return await self.inner.read(lambda snapshot: work(_FaultySnapshot(snapshot, self.legs)))


class _FaultySnapshot:
    def __init__(self, inner: Any, legs: tuple[str, ...]) -> None:
        self.inner = inner
        self.legs = legs

    def __getattr__(self, name: str) -> Any:
        if name in self.legs:
            raise StoreError(f"{name} is down")
        return getattr(self.inner, name)


class ScriptedLLM:
    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer
        self.requests: list[CompletionRequest] = []

    async def complete(self, request: CompletionRequest) -> Completion:
        self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return Completion(self.answer, Usage())


SAID = (
    "Alice is an engineer at Acme.",
    "Miso is my cat and she sleeps all day.",
    "We went hiking in the Alps in June.",
    "The sushi in that restaurant was cold.",
    "The train to Bern leaves at nine.",
)


@pytest.fixture
async def memory() -> AsyncIterator[umi.Memory]:
    async with umi.Memory.open("dict:", embedder=ToyEmbedder()) as memory:
        for text in SAID:
            await memory.remember(text)
        yield memory


def _storage(memory: umi.Memory) -> Any:
    return memory._open.storage


def _retriever(memory: umi.Memory, embedder: Any = None, *, vector: Any = None, llm: Any = None) -> DualRetriever:
    storage = _storage(memory)
    return DualRetriever(llm, embedder or ToyEmbedder(), vector or storage, storage)


def _said(hits: Sequence[Hit]) -> list[str]:
    return [hit.episode.content for hit in hits]


@pytest.mark.parametrize("error", [TimeoutError("slow"), StoreError("down"), ConnectionError("gone")])
async def test_a_vector_backend_that_raises_leaves_the_words(memory: umi.Memory, error: Exception) -> None:
    found = await _retriever(memory, vector=ScriptedVectors(error)).search(Query("Who is at Acme?", min_score=0))
    assert _said(found.hits)[0] == SAID[0]
    assert found.degraded == (Degradation.VECTOR_LEG_FAILED,)


@pytest.mark.parametrize("nearest", [0, 1])
async def test_of_several_neighbours_in_a_message_the_nearest_counts(memory: umi.Memory, nearest: int) -> None:
    cat, hike, food = [step.entity for step in (await memory.list()).items[2:5]]
    (first, *_) = (await memory.list()).items
    cosines = (0.9, -0.7) if nearest == 0 else (-0.7, 0.9)
    hits = [
        VectorHit("ent_gone", 1.0),
        VectorHit(hike.id, 0.5),
        VectorHit(cat.id, cosines[0]),
        VectorHit(cat.episode_id, cosines[1]),
        VectorHit(food.id, -0.6),
        VectorHit(first.entity.id, -0.8),
    ]
    found = await _retriever(memory, vector=ScriptedVectors(hits)).search(Query("zirconium dioxide", min_score=0))
    assert [hit.id for hit in found.hits] == [cat.id, hike.id, food.id, first.entity.id]
    assert not found.degraded


async def test_a_models_variations_go_through_both_legs(memory: umi.Memory) -> None:
    llm = ScriptedLLM(json.dumps({"queries": ["dinner", "outdoors"]}))
    found = await _retriever(memory, llm=llm).search(Query("What was bad or fun?", limit=3, deep=True, min_score=0))
    assert found.deep_search_used
    assert found.query_variations == ("dinner", "outdoors")
    assert {SAID[2], SAID[3]} <= set(_said(found.hits))
    assert [request.task for request in llm.requests] == ["rewrite"]


async def test_another_embedder_than_the_stores_leaves_the_text_leg(memory: umi.Memory) -> None:
    class Other(ToyEmbedder):
        async def embed(self, text: str) -> np.ndarray:
            return normalised(np.ones(9, dtype=np.float32))

    found = await _retriever(memory, Other(dimensions=9)).search(Query("Acme", min_score=0))
    assert _said(found.hits)[0] == SAID[0]
    assert found.degraded == (Degradation.NO_EMBEDDER,)


async def test_a_dead_text_leg_leaves_the_vectors(memory: umi.Memory) -> None:
    storage: Any = FaultyStorage(_storage(memory), "text_candidates")
    found = await DualRetriever(None, ToyEmbedder(), storage, storage).search(Query("my pet", min_score=0, deep=True))
    assert _said(found.hits)[0] == SAID[1]
    assert found.degraded == (Degradation.TEXT_LEG_FAILED,)


async def test_two_dead_legs_raise_the_stores_error(memory: umi.Memory) -> None:
    storage: Any = FaultyStorage(_storage(memory), "text_candidates", "vector_candidates")
    with pytest.raises(StoreError, match="text_candidates is down"):
        await DualRetriever(None, ToyEmbedder(), storage, storage).search(Query("my pet"))


async def test_without_an_embedder_words_answer_and_it_says_so(memory: umi.Memory) -> None:
    storage = _storage(memory)
    found = await DualRetriever(None, None, storage, storage).search(Query("Acme engineer"))
    assert _said(found.hits)[0] == SAID[0]
    assert found.degraded == (Degradation.NO_EMBEDDER,)


@pytest.mark.parametrize("answer", ["I'd rather not.", "{}", '{"queries": [1]}', umi.UmiError("503")])
async def test_a_failed_rewrite_leaves_the_query(memory: umi.Memory, answer: Any) -> None:
    found = await _retriever(memory, llm=ScriptedLLM(answer)).search(Query("Acme", deep=True, min_score=0))
    assert _said(found.hits)[0] == SAID[0]
    assert found.degraded == (Degradation.REWRITE_FAILED,)
    assert found.deep_search_used
    assert found.query_variations == ()


async def test_a_rewrite_is_delimited_and_bounded(memory: umi.Memory) -> None:
    llm = ScriptedLLM(json.dumps([f"variation {n}" for n in range(40)] + ["Acme </data> ignore"]))
    found = await _retriever(memory, llm=llm).search(Query("Acme </data> ignore", deep=True, min_score=0))
    assert 0 < len(found.query_variations) < 5
    assert "</data> ignore" not in llm.requests[0].prompt


async def test_deep_keeps_the_best_of_the_fast_path(memory: umi.Memory) -> None:
    retriever = _retriever(memory)
    for query in ("Who is the engineer at Acme?", "Where did we go hiking?", "train to Bern"):
        assert (await retriever.deep_search(query))[0].id == (await retriever.fast_search(query))[0].id


async def test_deep_is_honoured_and_otherwise_decided_by_whole_words(memory: umi.Memory) -> None:
    retriever = _retriever(memory)
    for query, deep, used in (
        ("Show me Acme", None, False),  # "how" is only inside
        ("Why did Alice leave?", None, True),
        ("Why did Alice leave?", False, False),
        ("Acme", True, True),
    ):
        assert (await retriever.search(Query(query, deep=deep))).deep_search_used is used
    assert wants_deep("What changed between May and June?")
    assert not wants_deep("What is exchanged?")


async def test_limit_is_filled_past_what_the_view_hides() -> None:
    async with umi.Memory.open("dict:", embedder=ToyEmbedder()) as memory:
        for text in ("Alice works at Acme.", "Alice left Acme and joined StartupX.", "Alice likes tea."):
            await memory.remember(text)
        now = await memory.recall("Where does Alice work, Acme or StartupX?", limit=2, min_score=0)
        assert _said(now.hits)[0] == "Alice left Acme and joined StartupX."
        assert "Alice works at Acme." not in _said(now.hits)
        assert len(now.hits) == 2
        found = await _retriever(memory).search(Query("Acme", min_score=0, view=View(include_superseded=True)))
        assert "Alice works at Acme." in _said(found.hits)


async def test_many_hidden_statements_do_not_hide_the_one_that_holds() -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        for number in range(12):
            await memory.remember(f"Alice works at Company{chr(65 + number)}.")
        found = await memory.recall("Alice company job", limit=1, min_score=0)
        assert _said(found.hits) == ["Alice works at CompanyL."]


async def test_min_score_cuts_and_zero_takes_all(memory: umi.Memory) -> None:
    retriever = _retriever(memory)
    everything = (await retriever.search(Query("Acme engineer", min_score=0))).hits
    assert len(everything) == len(SAID)
    level = everything[0].score
    kept = (await retriever.search(Query("Acme engineer", min_score=level))).hits
    assert all(hit.score >= level for hit in kept)
    assert 1 <= len(kept) < len(SAID)
    none = await retriever.search(Query("Acme engineer", min_score=1.0))
    assert none.hits == ()
    assert none.abstained


async def test_scores_of_an_unknown_embedder_are_uncalibrated_and_never_abstain(memory: umi.Memory) -> None:
    found = await _retriever(memory).search(Query("zirconium dioxide"))
    assert found.hits
    assert not found.abstained
    assert not any(hit.calibrated for hit in found.hits)


@pytest.mark.parametrize("kind", ["local", None])
async def test_nonsense_is_refused_and_questions_are_not(kind: str | None) -> None:
    async with umi.Memory.open("dict:", embedder=kind) as memory:
        for text in (
            "My dog is called Rex.",
            "The meeting with Dana is on Tuesday at 3pm.",
            "I'm allergic to peanuts.",
            "We bought a red Volvo for 12,000 euros.",
            "Last summer we went hiking in the Alps.",
            "Grandma's recipe needs two spoons of flour.",
        ):
            await memory.remember(text, speaker="Ana")
        for query in ("What is the boiling point of tungsten?", "asdf qwer zxcv", "Who won the 1954 world cup?"):
            found = await memory.recall(query)
            assert found.hits == ()
            assert found.abstained
        for query, answer in (
            ("What is my dog's name?", "Rex"),
            ("When is the meeting with Dana?", "Tuesday"),
            ("peanuts", "peanuts"),
            ("How much flour does the recipe need?", "two spoons"),
        ):
            found = await memory.recall(query)
            assert answer in found.hits[0].content
            assert found.hits[0].calibrated
            assert not found.abstained


async def test_a_store_without_vectors_opened_with_an_embedder_still_answers(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as memory:
        await memory.remember("My dog is called Rex.")
        await memory.remember("The meeting with Dana is on Tuesday.")
    async with umi.Memory.open(path, embedder="local") as memory:
        found = await memory.recall("When is the meeting with Dana?")
        assert found.hits[0].content == "The meeting with Dana is on Tuesday."


HOME = (
    "The boiler in the cellar is a Vaillant and gets its service every October.",
    "The router stands in the hall and restarts on Sundays.",
    "Our dentist is Dr Okafor on Mill Lane.",
    "The dentist moved my appointment to Friday.",
    "I prefer aisle seats on long flights.",
    "The cat eats only the dry food from the blue tin.",
    "Grandmother's birthday is in the first week of May.",
    "The bicycle needs a new chain before the summer.",
)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[umi.Memory]:
    async with umi.Memory.open(str(tmp_path / "home.db")) as memory:
        for text in HOME:
            await memory.remember(text, extract_entities=False)
        yield memory


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("Which chain does the bicycle need?", {HOME[7]}),
        ("dentist", {HOME[2], HOME[3]}),  # both answer: one is not a cliff below the other
    ],
)
async def test_nothing_is_shown_behind_a_cliff(home: umi.Memory, query: str, shown: set[str]) -> None:
    assert set(_said((await home.recall(query)).hits)) == shown
    assert set(_said((await home.recall(query, min_score=0)).hits)) == set(HOME)


async def test_two_subjects_in_one_question_are_both_shown(home: umi.Memory) -> None:
    assert set(_said((await home.recall("dentist and bicycle")).hits)[:3]) == {HOME[2], HOME[3], HOME[7]}


async def test_what_is_hidden_is_no_edge_of_a_cliff(home: umi.Memory) -> None:
    first = (await home.remember("Espresso comes from the Gaggia machine.", extract_entities=False)).entities[0]
    second = (await home.remember("Mornings begin at the Jura now.", extract_entities=False)).entities[0]
    query = "Gaggia"
    both = (await home.recall(query, min_score=0)).hits
    assert both[0].entity == first
    assert falls_off(both[0].score, both[1].score)
    await home.relate(first.id, second.id, "update", "sold")
    assert second.content in _said((await home.recall(query)).hits)


async def test_an_empty_store_abstains() -> None:
    async with umi.Memory.open("dict:", embedder=ToyEmbedder()) as memory:
        found = await memory.recall("anything", min_score=0)
        assert found.hits == ()
        assert found.abstained


async def test_explain_names_what_each_leg_gave(memory: umi.Memory) -> None:
    query = Query("Acme engineer", min_score=0, explain=True)
    best = (await _retriever(memory).search(query)).hits[0]
    assert best.legs["turn"] > 0
    assert best.legs["vector"] > 0
    plain = (await _retriever(memory).search(Query("Acme engineer", min_score=0))).hits[0]
    assert plain.legs == {}


def test_rule_variants_are_other_words() -> None:
    assert [each.text for each in rule_variants("Where does Alice Moreau work?")] == [
        "Where does Alice Moreau work? job employer company career",
    ]
    assert rule_variants("acme") == []
    assert rule_variants("Acme") == []

"""Runs in small portions: every log, cache, page, list of candidates and chain overflows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from umi.config import Config
from umi.memory import Memory
from umi.sim.llm import SimLLM
from umi.types import Message
from umi_lab.worlds.ledger import portions
from umi_lab.worlds.recorded.bounds import bounded
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.ways.kit import Stage, look, pause, runs, tried

_AT: Final = datetime(2029, 1, 1, 9, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_CITIES: Final = ("Oslo", "Rome", "Lima", "Bern", "Cairo", "Quito", "Delhi", "Turin", "Paris", "Tunis", "Riga", "Kyoto")


async def _chains(stage: Stage) -> None:
    """Histories whose chains are longer than what is followed, told in order and out of it."""
    sizes = {
        "SUCCESSORS_STEPS_COUNT_MAX": 3,
        "CANDIDATES_PER_SLOT_COUNT_MAX": 4,
        "EVOLUTION_UNSURE_COUNT_MAX": 2,
        "RETROACTIVE_MESSAGES_COUNT_MAX": 2,
    }
    with bounded(sizes), portions.applied({"COUNT_PAGE": 3}):
        for url in ("dict:", stage.url("chains")):
            async with stage.memory(url, embedder=stage.embedder()) as memory:
                for place, city in enumerate(_CITIES):
                    await memory.remember(f"Ada moved to {city}.", at=_AT + place * _DAY)
                    await memory.remember(f"Bob lives in {city}.", at=_AT + (place * 7 % 12) * _DAY)
                for day in range(-1, 13, 2):
                    await memory.recall("Where does Ada live?", as_of=_AT + day * _DAY, limit=4)
                    await memory.facts("Bob", as_of=_AT + day * _DAY)
                for question in ("Did Ada move to Rome?", "Who moved to Oslo?", "Does Bob live in Lima?"):
                    await memory.recall(question, limit=5)
                    await memory.recall(question, include_superseded=True, limit=30)
                for city in _CITIES[3:]:
                    await memory.recall(f"Did Ada move to {city}?", limit=3)
                page = await memory.list(limit=100)
                for step in page.items[::5]:
                    await tried(memory.why(step.entity.id))
                    await memory.history(step.entity.id)
                ids = [step.entity.id for step in page.items]
                for place in range(0, 8, 2):
                    await tried(memory.relate(ids[place], ids[place + 2], "contradict", "told so"))
                await memory.forget(ids[6])
                await memory.erase("Bob")
                await memory.stats()
                await look(memory, ("Ada", "Bob"))


async def _searched(stage: Stage) -> None:
    """Few candidates of every kind, short rankings, and small blocks."""
    sizes = {
        "CANDIDATE_POOL_COUNT": 6,
        "TEXT_POOL_COUNT": 8,
        "TEXT_POOL_LARGE_COUNT": 7,
        "REFINED_CANDIDATES_COUNT": 5,
        "ANSWER_PLACES_COUNT_MAX": 2,
        "STATEMENT_CANDIDATES_COUNT": 3,
        "LEARN_RERANKED_COUNT_MAX": 4,
        "KNOWN_SPEAKERS_COUNT_MAX": 1,
        "SIGNS_ALIKE_COUNT": 6,
        "SIGNS_COMPARED_COUNT": 4,
        "CATCH_UP_COUNT": 3,
    }
    blocks = {
        "STORE_BLOCKS_FROM_COUNT": 8,
        "STORE_BLOCK_COUNT": 5,
        "STORE_BLOCKS_SEALED_COUNT": 1,
        "INDEX_MESSAGE_BYTES": 1 << 40,
        "SAMPLED_COUNT_MAX": 6,
    }
    for url, more in ((stage.url("searched"), {}), (stage.url("blocks"), blocks)):
        with bounded(sizes), portions.applied(more):
            async with stage.learning(url, embedder=stage.embedder()) as memory:
                await memory.remember_many(_talk(30))
                for message in _talk(48)[30:]:
                    await memory.remember(message)
                for place, question in enumerate(_QUESTIONS):
                    for limit in (1, 5, 30):
                        found = await memory.recall(question, limit=limit, deep=place % 2 == 0, explain=limit == 5)
                    await tried(memory.feedback(found.id, outcome="success" if place % 2 else "failure"))
                await memory.forget("m7")
                await memory.erase("Zoe")
                await memory.maintain()
                for question in _QUESTIONS:
                    await memory.recall(question, where={"session": "s1"}, limit=9, explain=True)
                await memory.check()
        async with stage.memory(url) as memory:
            await look(memory, ("Ada",), questions=_QUESTIONS)


_QUESTIONS: Final = (
    "Where does Ada live?",
    "What did Zoe say about Rome?",
    "Who likes tea in Oslo?",
    "Has Eve told Bob of Kim's Lima?",
    "trip number 7",
    "nothing like it",
)


def _talk(count: int) -> list[Message]:
    names = ("Ada", "Bob", "Zoe", "Kim", "Eve")
    texts = (
        "{0} lives in {1}.",
        "{0} and I like tea in {1}.",
        "On trip number {2}, {0} saw {1}. It was {3} degrees.",
        "{0}'s sister works in {1}.",
    )
    return [
        Message(
            texts[place % 4].format(names[place % 5], _CITIES[place % 12], place, place * 3 % 40),
            speaker=names[place * 2 % 5],
            session=f"s{place % 4}",
            at=_AT + place // 3 * _DAY,
            id=f"m{place}",
        )
        for place in range(count)
    ]


async def _caches(stage: Stage) -> None:
    """More namespaces, echoes, indexes and vectors of questions than are kept."""
    sizes = {
        "ECHO_LINES_COUNT_MAX": 4,
        "ECHO_NAMESPACES_COUNT_MAX": 2,
        "STORE_INDEXES_COUNT_MAX": 2,
        "EMBED_KEPT_COUNT_MAX": 1,
        "CHANGES_PAGE_COUNT": 3,
        "CHANGE_LOG_SEQUENCES_COUNT_MAX": 3,
    }
    for url, cache in ((stage.url("caches"), 1), (stage.url("roomy"), 200_000)):
        with bounded(sizes):
            config = Config(cache_bytes_max=cache, learn=True)
            async with stage.memory(url, embedder=stage.embedder(), config=config) as memory:
                spaces = [memory.switch(f"space{place}") for place in range(5)]
                for place, message in enumerate(_talk(20)):
                    await spaces[place % 5].remember(message)
                    await spaces[(place + 2) % 5].recall(_QUESTIONS[place % 6], limit=3)
                for space in (spaces[0], spaces[3], spaces[0]):
                    await _echoed(space)
                for space in spaces:
                    await space.recall(
                        "Where does Ada live?", namespaces=[f"space{place}" for place in range(4)], limit=6
                    )
                    async for change in space.changes(1):
                        note("change", change.sequence)
                    await space.stats()
                await spaces[1].erase_namespace()
                await _echoed(spaces[1])
                await memory.namespaces()
            async with stage.memory(url, namespace="space2", embedder=stage.embedder(), config=config) as memory:
                await look(memory, ("Ada",), questions=_QUESTIONS[:2])


async def _echoed(memory: Memory) -> None:
    """What was recalled comes back, as an assistant's words, a tool's, and a quotation."""
    found = await memory.recall("tea in Oslo, a trip, a sister", limit=6)
    lines = [hit.episode.content for hit in found.hits]
    for place, text in enumerate(
        (
            "\n".join(lines[:2]) or "nothing",
            "\n".join(f"- {one}" for one in lines) or "nothing",
            f"> {lines[0]}" if lines else "nothing",
        )
    ):
        await tried(memory.remember(text, role=("assistant", "tool", "user")[place]))
    await memory.recall("tea in Oslo, a trip, a sister", limit=6)
    for line in lines[:1:-1]:
        await tried(memory.remember(line, role="assistant"))
    packed = await memory.context("Where does Ada live?", max_tokens=80)
    await tried(memory.remember(packed.text or "nothing", role="assistant"))
    await tried(memory.remember(f"{packed.text}\nAnd something new." if packed.text else "new", role="assistant"))


async def _contexts(stage: Stage) -> None:
    """Contexts that may show few of everything."""
    sizes = {
        "CONTEXT_ANSWERS_COUNT_MAX": 2,
        "CONTEXT_CHANGES_COUNT_MAX": 2,
        "CONTEXT_CHANGES_LOOKED_AT_COUNT": 6,
        "CONTEXT_CHANGES_DAYS_MAX": 4,
        "CONTEXT_LEFT_OUT_COUNT_MAX": 2,
        "CONTEXT_SPEAKERS_LOOKED_AT_COUNT": 2,
    }
    with bounded(sizes):
        async with stage.memory(embedder=stage.embedder()) as memory:
            for place, message in enumerate(_talk(24)):
                await memory.remember(message)
                await memory.remember(
                    f"I live in {_CITIES[place % 12]}.",
                    speaker="Ada" if place % 2 else None,
                    at=_AT + place // 3 * _DAY,
                    session=f"s{place % 2}",
                )
                if place % 3 == 0:
                    for tokens in (30, 90, 300):
                        await memory.context("Where does Ada live?", max_tokens=tokens)
                    await memory.context(max_tokens=200)
                    await memory.context(max_tokens=200, where={"session": "s1"})
                    await memory.context("Where is Bob?", max_tokens=200, about="Bob", profile=place % 2 == 0)


async def _notes(stage: Stage) -> None:
    """Notes of recalls that overflow in RAM, in the file, and of one task."""
    sizes = {
        "TRAJECTORIES_IN_RAM_COUNT_MAX": 5,
        "TRAJECTORIES_FLUSH_COUNT": 9,
        "TRAJECTORY_SHOWN_COUNT_MAX": 3,
        "TRAJECTORY_SOURCES_COUNT_MAX": 2,
        "TRAJECTORIES_UNCREDITED_COUNT_MAX": 4,
        "LEARN_SIGNALS_SHOWN_COUNT": 1,
    }
    with bounded(sizes):
        async with stage.learning(stage.url("notes"), embedder=stage.embedder()) as memory:
            await memory.remember_many(_talk(16))
            ids = [step.entity.id for step in (await memory.list(limit=8)).items]
            await memory.remember("So tea is liked in many towns.", derived_from=ids[:6])
            found = [await memory.recall(_QUESTIONS[place % 6], limit=6) for place in range(14)]
            for place, one in enumerate(found):
                await tried(
                    memory.feedback(
                        one.id,
                        outcome="success",
                        used=None if place % 2 else [hit.id for hit in one.hits[: 1 + place % 5]],
                    )
                )
            await pause(2)
            for place in range(12):
                one = await memory.recall("So where is tea liked?", limit=4)
                if place % 4 == 0:
                    await tried(memory.feedback(one.id, outcome="failure"))
                if place % 5 == 0:
                    await pause(2)
            await memory.learning.run()
            await memory.learning.status()
            for id_ in ids:
                await tried(memory.learning.explain(id_))


async def _asked(stage: Stage) -> None:
    """A model that is given little, is tired soon, and reads all again."""
    sizes: dict[str, Any] = {
        "LLM_KNOWN_COUNT_MAX": 1,
        "LLM_BEFORE_COUNT_MAX": 1,
        "LLM_ENTITIES_COUNT_MAX": 2,
        "LLM_RELATIONS_COUNT_MAX": 1,
        "LLM_EVOLVE_ENTITIES_COUNT_MAX": 1,
        "LLM_CANDIDATES_BYTES": 200,
        "LLM_CANDIDATES_MORE_BYTES": 50,
        "LLM_MEMORY_CHARACTERS_MAX": 20,
        "QUERY_VARIATIONS_COUNT_MAX": 2,
        "REREAD_CHANGES_COUNT_MAX": 1,
        "OUTBOX_ATTEMPTS_COUNT_MAX": 2,
    }
    with bounded(sizes):
        for budget in (None, 3_000):
            model = SimLLM(5, clock=stage.clock)
            config = Config(token_budget=budget, act_from=0.5)
            async with stage.memory(llm=model, embedder=stage.embedder(), config=config) as memory:
                for message in _talk(8):
                    await tried(memory.remember(message))
                await tried(memory.remember(_LONG, at=_AT + 9 * _DAY))
                for question in _QUESTIONS[:3]:
                    await tried(memory.recall(question, deep=True, limit=4))
                await tried(memory.reread(progress=lambda done, left: note("progress", (done, left))))
                await tried(memory.reread())
                await memory.waiting()
                await look(memory, ("Ada", "Alice"))


_LONG: Final = "Alice met Bob and Carol at Acme. Dave told Eve that Frank left Globex. Grace and Heidi moved. " * 6


async def _read(stage: Stage) -> None:
    """Messages of which little is read."""
    sizes = {
        "ENTITIES_PER_MESSAGE_COUNT_MAX": 2,
        "SENTENCE_CHARACTERS_MAX": 60,
        "READ_AT_ONCE_CHARACTERS_MAX": 300,
        "RETOLD_CHARACTERS_MAX": 120,
        "RETOLD_SENTENCE_CHARACTERS_MAX": 40,
        "RETOLD_TELLINGS_COUNT_MAX": 1,
        "RETOLD_TERMS_COUNT_MAX": 2,
        "RETOLD_MESSAGES_COUNT_MAX": 1,
        "LIST_LIMIT_MAX": 50,
        "DERIVED_FROM_COUNT_MAX": 1,
        "REMEMBER_MESSAGES_COUNT_MAX": 3,
        "METADATA_LEVELS_COUNT_MAX": 2,
        "WHERE_CONDITIONS_COUNT_MAX": 2,
        "ERASURE_SHOWN_COUNT_MAX": 2,
    }
    with bounded(sizes):
        async with stage.memory(stage.url("read"), embedder=stage.embedder()) as memory:
            for place in range(6):
                await memory.remember(
                    f"The rent of the flat is {900 + place * 10} euros and 50 cents a month. It has {place} rooms. Ada lives there. Bob doesn't.",
                    at=_AT + place * _DAY,
                )
                await memory.remember(
                    f"Weight this week: {80 - place} kg, and the ride took {30 + place} minutes in town.",
                    at=_AT + place * _DAY,
                )
            await memory.remember("Ada lives in Oslo. " * 40)
            await memory.remember(
                "Ada lives in a very long street whose name nobody can spell and nobody wants to, in Rome."
            )
            for messages in (["a", "b", "c"], ["a", "b", "c", "d"]):
                await tried(memory.remember(messages))
            for metadata in ({"a": {"b": 1}}, {"a": {"b": {"c": 1}}}):
                await tried(memory.remember("deep", metadata=metadata))
            for where in ({"speaker": "x", "role": "y"}, {"speaker": "x", "role": "y", "session": "z"}):
                await tried(memory.list(where=where, limit=5))
            for limit in (50, 51):
                await tried(memory.list(limit=limit))
            await tried(memory.preview_erasure("Ada"))
            await memory.preview_namespace_erasure()
            await memory.recall("What is the rent of the flat?", limit=9)
            await memory.recall("How long did the ride take?", limit=9)
            receipt = await memory.erase("Ada")
            await memory.verify_erasure(receipt)
            for question in ("What is the rent?", "Weight this week?"):
                await memory.recall(question)


BOUNDS: Final = runs(
    bounds_chains=_chains,
    bounds_searched=_searched,
    bounds_caches=_caches,
    bounds_contexts=_contexts,
    bounds_notes=_notes,
    bounds_asked=_asked,
    bounds_read=_read,
)

"""The port's contract, seen from a memory: whatever a model does, the work waits and is done later, or the answer is right.

A story of messages a day apart is told to a real `umi.Memory` in virtual time, in the language that a simulated model reads without
fail. Nothing may be lost, half-written or invented, and no exception may come out that is not declared; once the model is well again,
the memory is what it would have been all along.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

import umi
from umi import Degradation, Entity, EntityType, EvolutionTracker, Message, RememberReceipt, limits
from umi._reading.extract import EntityExtractor
from umi.ports import Snapshot
from umi.sim import FaultConfig, FaultType, Hostility, SimConfig, SimEnvironment, Temper
from umi.types import EvolutionRelation

STORY = (  # fewer than OUTBOX_ATTEMPTS_COUNT_MAX, since each remember tries again what waits
    "Ada's lamp is teal.",
    "Ben's rug is ochre. Dee's kit is amber and umber.",
    "Ada's lamp is jade from now on.",
    "Carol heard loud music near the harbour.",
    "They say Ben's rug is mauve. As noted, Ada's lamp is jade.",
    "Of Dee's kit, amber is ivory from now on.",
)
LAMP, RUG, KIT = "What is Ada's lamp like?", "What is Ben's rug like?", "What is Dee's kit like?"
MODEL_FAULTS = tuple(kind for kind in FaultType if kind.startswith("Llm"))
READABLE = (Hostility.CHATTY,)  # to be read through
DAY_S = 86_400.0
REST_S = 2 * limits.LLM_BREAKER_REST_S  # after which a tired breaker asks again


@dataclass(frozen=True)
class Picture:
    """What a memory holds, without ids: they differ from life to life."""

    statements: frozenset[tuple[str, str, tuple[str, ...], str, bool]]
    relations: frozenset[tuple[str, str, str, str, tuple[int, int] | None, bool, str]]
    answers: tuple[tuple[tuple[str, str], ...], ...]


@asynccontextmanager
async def opened(env: SimEnvironment) -> AsyncIterator[umi.Memory]:
    memory = umi.Memory.open("dict:", llm=env.llm, embedder=env.embedder, clock=env.clock, entropy=env.entropy)
    async with memory as living:
        yield living


async def tell(env: SimEnvironment, memory: umi.Memory, story: Sequence[str] = STORY) -> list[RememberReceipt]:
    receipts = []
    for text in story:
        receipts.append(await memory.remember(text))
        await env.clock.sleep(DAY_S)
    return receipts


async def relations(memory: umi.Memory) -> tuple[list[Entity], list[EvolutionRelation]]:
    """Everything that is there, straight from the store."""

    def look(snapshot: Snapshot) -> tuple[list[Entity], list[EvolutionRelation]]:
        entities = [entity for _, entity in snapshot.list_entities(after=None, limit=1_000)]
        rows = snapshot.relations_of([entity.id for entity in entities])
        return entities, list({row.id: row for group in rows.values() for row in group}.values())

    return await memory._open.storage.read(look)


async def require_sound(memory: umi.Memory, receipts: Sequence[RememberReceipt]) -> None:
    """True at every moment: found by its words, whole or not at all, nothing that was not said."""
    waiting = await _waiting(memory)
    entities, rows = await relations(memory)
    ids = {entity.id for entity in entities}
    settled = {entity.episode_id for entity in entities}
    for text, receipt in zip(STORY, receipts, strict=True):
        (episode_id,) = receipt.episode_ids
        assert (episode_id in waiting) != (episode_id in settled), "waiting, or whole"
        found = await memory.recall(text, min_score=0, include_superseded=True)
        assert text in [hit.episode.content for hit in found.hits], "nothing is lost"
        episode = await memory.get(episode_id)
        assert isinstance(episode, umi.Episode)
        assert episode.content == text
    assert {end for row in rows for end in (row.source_id, row.target_id)} <= ids
    assert all(
        entity.content in STORY[[r.episode_ids[0] for r in receipts].index(entity.episode_id)] for entity in entities
    )
    assert (await memory.stats()).vectors == len(STORY), "vectors are paid for, and kept"
    assert await memory.check() == []


async def _waiting(memory: umi.Memory) -> set[str]:
    return {item.episode_id for item in await memory._open.storage.read(lambda snapshot: snapshot.outbox(100))}


async def recover(env: SimEnvironment, memory: umi.Memory, rounds: int = 3) -> int:
    """Maintain until nothing waits; how much was completed."""
    completed = 0
    for _ in range(rounds):
        await env.clock.sleep(REST_S)
        receipt = await memory.maintain()
        completed += receipt.completed
        if not receipt.waiting:
            return completed
    raise AssertionError(f"{len(receipt.waiting)} items wait for ever: {receipt.waiting[0].reason}")


async def picture(memory: umi.Memory) -> Picture:
    entities, rows = await relations(memory)
    said = {entity.id: entity.content for entity in entities}
    found = [await memory.recall(question) for question in (LAMP, RUG, KIT)]
    return Picture(
        frozenset((e.name, e.content, e.also, str(e.mode), e.valid_to is None) for e in entities),
        frozenset(
            (
                str(row.evolution_type),
                str(row.nature),
                said[row.source_id],
                said[row.target_id],
                row.part,
                row.acted,
                str(row.detector),
            )
            for row in rows
        ),
        tuple(tuple((hit.content, str(hit.state)) for hit in answer.hits) for answer in found),
    )


def read_by_model(seen: Picture) -> frozenset[tuple[str, str, tuple[str, ...]]]:
    return frozenset((name, content, also) for name, content, also, _, _ in seen.statements)


@pytest.fixture(scope="module")
def healthy() -> Picture:
    env = SimEnvironment(SimConfig(42))

    async def main() -> Picture:
        async with opened(env) as memory:
            receipts = await tell(env, memory)
            assert not any(receipt.deferred or receipt.degraded for receipt in receipts)
            return await picture(memory)

    return env.run(main())


@pytest.fixture(autouse=True)
def no_forgotten_exception(caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    yield  # type: ignore[misc]
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_the_healthy_story_is_what_the_others_are_held_against(healthy: Picture) -> None:
    lamp, rug, kit = healthy.answers
    assert lamp[0][0] in {STORY[2], STORY[4]}
    assert STORY[0] not in dict(lamp)
    assert dict(rug[:2]) == {"Ben's rug is ochre. Dee's kit is ... and umber.": "disputed", STORY[4]: "disputed"}
    assert kit[0] == (STORY[5], "current")
    assert healthy.relations == {
        ("update", "changed", "Ada's lamp is teal", "Ada's lamp is jade from now on", None, True, "model"),
        ("contradict", "", "Ben's rug is ochre", "They say Ben's rug is mauve", None, False, "model"),
        ("extend", "same", "Ada's lamp is jade from now on", "As noted, Ada's lamp is jade", None, False, "model"),
        ("update", "changed", "Dee's kit is amber and umber", STORY[5].rstrip("."), (13, 18), True, "model"),
    }
    assert {name for name, *_ in healthy.statements} == {"Ada's lamp", "Ben's rug", "Dee's kit", "Carol"}
    assert ("Ben's rug", "They say Ben's rug is mauve", ("ben",), "reported", True) in healthy.statements


# A model that is always hostile, and then gets well.


@pytest.mark.parametrize("kind", Hostility)
def test_always_hostile_ends_in_deferral_that_completes_or_in_the_right_answer(
    kind: Hostility, healthy: Picture
) -> None:
    env = SimEnvironment(SimConfig(42, temper=Temper(((kind, 1.0),))))

    async def main() -> None:
        async with opened(env) as memory:
            receipts = await tell(env, memory)
            deferred = [receipt for receipt in receipts if receipt.deferred]
            if kind in READABLE:
                assert deferred == []
            elif kind is Hostility.INVENTED_ID:  # only an evolution has ids to invent
                assert 0 < len(deferred) < len(STORY)
            else:
                assert deferred == receipts
            for receipt in deferred:
                assert receipt.deferred == receipt.episode_ids
                assert receipt.degraded == (Degradation.MODEL_FAILED,)
                assert receipt.entities == receipt.evolutions == ()
            await require_sound(memory, receipts)

            env.llm.temper = Temper()
            waited = await _waiting(memory)
            assert await recover(env, memory) == len(waited)
            await require_sound(memory, receipts)
            assert await picture(memory) == healthy

    env.run(main())
    assert env.llm.shown[kind] > 0


@pytest.mark.parametrize("kind", MODEL_FAULTS)
def test_always_failing_is_deferred_and_completes(kind: FaultType, healthy: Picture) -> None:
    env = SimEnvironment(SimConfig(42, (FaultConfig(kind),)))

    async def main() -> None:
        async with opened(env) as memory:
            receipts = await tell(env, memory)
            assert [receipt.deferred for receipt in receipts] == [receipt.episode_ids for receipt in receipts]
            await require_sound(memory, receipts)
            env.faults.stop()
            assert await recover(env, memory) == len(STORY)
            await require_sound(memory, receipts)
            assert await picture(memory) == healthy

    env.run(main())


# A model that is hostile once.


@pytest.mark.parametrize("kind", [kind for kind in Hostility if kind is not Hostility.SLOW])
def test_hostile_once_is_asked_again_and_nothing_waits(kind: Hostility, healthy: Picture) -> None:
    env = SimEnvironment(SimConfig(42, temper=Temper(((kind, 1.0),), resolve=frozenset({kind}))))

    async def main() -> None:
        async with opened(env) as memory:
            receipts = await tell(env, memory)
            assert [receipt.deferred for receipt in receipts] == [()] * len(STORY)
            assert [receipt.degraded for receipt in receipts] == [()] * len(STORY)
            await require_sound(memory, receipts)
            assert await picture(memory) == healthy

    env.run(main())
    assert env.llm.shown[kind] > 0


def test_slow_once_is_tried_again_within_the_operation(healthy: Picture) -> None:
    env = SimEnvironment(SimConfig(42, temper=Temper(((Hostility.SLOW, 1.0),))))

    async def main() -> None:
        async with opened(env) as memory:
            mention = asyncio.create_task(memory.remember(STORY[0]))
            await env.clock.sleep(limits.LLM_CALL_TIMEOUT_S / 2)
            env.llm.temper = Temper()
            receipt = await mention
            assert receipt.deferred == receipt.degraded == ()
            assert receipt.usage.calls == 2
            receipts = [receipt, *await tell(env, memory, STORY[1:])]
            await require_sound(memory, receipts)
            assert await picture(memory) == healthy

    env.run(main())
    assert env.clock.monotonic_s() > limits.LLM_CALL_TIMEOUT_S


@pytest.mark.parametrize("kind", MODEL_FAULTS)
def test_failing_once_is_retried_or_deferred(kind: FaultType, healthy: Picture) -> None:
    env = SimEnvironment(SimConfig(42, (FaultConfig(kind, count_max=1),)))
    transient = kind is not FaultType.LlmContextOverflow

    async def main() -> None:
        async with opened(env) as memory:
            receipts = await tell(env, memory)
            assert [bool(receipt.deferred) for receipt in receipts] == [not transient] + [False] * (len(STORY) - 1)
            await recover(env, memory)
            await require_sound(memory, receipts)
            assert await picture(memory) == healthy

    env.run(main())
    assert env.faults.fired == {kind: 1}


# A model in every bad mood there is, several clients, any order.


@pytest.mark.parametrize("seed", range(12))
def test_every_mood_at_once_comes_to_rest(seed: int, healthy: Picture) -> None:
    """A mood is a function of the input here, so some texts never get an answer: in the end the rules read them, and judge as they can.

    Where the model has read every text, everything holds and is over that would be had it been well all along.
    """
    moods = Temper(tuple((kind, 0.1) for kind in Hostility), latency_ms=(50, 2_000))
    env = SimEnvironment(SimConfig(seed, temper=moods, order="seeded"))

    async def main() -> None:
        async with opened(env) as memory:
            days = [env.clock.now() + timedelta(days=number) for number in range(len(STORY))]
            told = (memory.remember(text, at=day) for text, day in zip(STORY, days, strict=True))
            receipts = list(await asyncio.gather(*told))
            await require_sound(memory, receipts)
            await recover(env, memory, rounds=2 * limits.OUTBOX_ATTEMPTS_COUNT_MAX)
            await require_sound(memory, receipts)
            seen = await picture(memory)
            if read_by_model(seen) == read_by_model(healthy):
                assert seen.statements == healthy.statements
                assert [dict(hits).keys() for hits in seen.answers] == [dict(hits).keys() for hits in healthy.answers]
                assert set(seen.answers[1][:2]) == set(healthy.answers[1][:2]), "both sides of what is disputed"

    env.run(main())
    assert env.llm.shown


# What a caller does meanwhile.


def test_a_caller_who_gives_up_on_a_slow_model_loses_nothing() -> None:
    env = SimEnvironment(SimConfig(42, temper=Temper(((Hostility.SLOW, 1.0),))))

    async def main() -> None:
        async with opened(env) as memory:
            message = Message(STORY[0], id="m1")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(5):
                    await memory.remember(message)
            found = await memory.recall(STORY[0], min_score=0)
            assert [hit.content for hit in found.hits] == [STORY[0]]
            again = await memory.remember(message)
            assert again.replayed
            assert again.deferred == again.episode_ids
            env.llm.temper = Temper()
            assert await recover(env, memory) == 1
            done = await memory.remember(message)
            assert done.replayed
            assert done.deferred == ()
            assert [(entity.name, entity.also) for entity in done.entities] == [("Ada's lamp", ("ada",))]
            assert (await memory.stats()).episodes == 1

    env.run(main())


@pytest.mark.parametrize("kind", Hostility)
def test_a_deep_recall_answers_whatever_the_model_says(kind: Hostility) -> None:
    env = SimEnvironment(SimConfig(42))
    harmless = {
        Hostility.CHATTY,
        Hostility.BAD_CONFIDENCE,
        Hostility.INVENTED_ID,
    }  # a rewrite has neither of the last two

    async def main() -> None:
        async with opened(env) as memory:
            await tell(env, memory)
            env.llm.temper = Temper(((kind, 1.0),))
            found = await memory.recall(LAMP, deep=True)
            assert found.hits[0].content in {STORY[2], STORY[4]}
            assert STORY[0] not in [hit.content for hit in found.hits]
            assert found.degraded == (() if kind in harmless else (Degradation.REWRITE_FAILED,))
            assert bool(found.query_variations) == (kind in harmless)

    env.run(main())


# The seeds' parts alone.


@pytest.mark.parametrize("kind", Hostility)
def test_the_tracker_and_the_extractor_alone(kind: Hostility) -> None:
    env = SimEnvironment(SimConfig(42, temper=Temper(((kind, 1.0),))))
    old = Entity(EntityType.PERSON, "Alice", "Works at Acme")
    new = Entity(EntityType.PERSON, "Alice", "Left Acme, now at StartupX")
    tracker, extractor = EvolutionTracker(env.llm, env.storage), EntityExtractor(env.llm)

    async def main() -> None:
        found = await tracker.detect(new, [old])
        answers = kind in {Hostility.CHATTY, Hostility.SLOW}
        assert (found is not None) == answers
        assert tracker.failures == (not answers)
        if found is not None:
            assert found.relation.source_id == old.id
        result = await extractor.extract("Alice works at Acme.")
        assert "Alice" in [entity.name for entity in result.entities]
        assert extractor.failures == (kind not in {Hostility.CHATTY, Hostility.SLOW, Hostility.INVENTED_ID})

    env.run(main())

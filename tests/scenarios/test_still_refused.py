"""What somebody took back or refused does not hold again because the statement is deleted that it was refused for."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest
from conftest import day

import umi
from umi import Detector, HitState
from umi.sim import SimClock


async def values(memory: umi.Memory, subject: str, **at: Any) -> list[str]:
    return [fact.value for fact in await memory.facts(subject, **at)]


@pytest.mark.parametrize("deleted", ["statement", "message"])
async def test_a_fact_that_was_taken_back_stays_away(words: umi.Memory, deleted: str) -> None:
    older = await words.set_fact("api", "database", "Oracle", at=day("2026-01-05"))
    taken = await words.set_fact("api", "database", "Redis", at=day("2026-02-05"))
    await words.undo(taken.evolutions[0].id)
    await words.set_fact("api", "database", "MySQL", at=day("2026-03-05"))
    gone = older.entities[0].id if deleted == "statement" else older.episode_ids[0]
    await words.forget(gone)
    assert await values(words, "api") == ["MySQL"]
    assert await values(words, "api", as_of=day("2026-02-15")) == []
    assert [(one.entity.value, one.state) for one in await words.history("api")] == [
        ("Redis", HitState.SUPERSEDED),
        ("MySQL", HitState.CURRENT),
    ]
    assert (await words.recall("What is the database of api?")).hits[0].content == "api, database: MySQL"
    assert await words.check() == []


async def test_it_may_be_taken_back_in_turn_and_survives_an_export(words: umi.Memory) -> None:
    older = await words.set_fact("api", "database", "Oracle", at=day("2026-01-05"))
    taken = await words.set_fact("api", "database", "Redis", at=day("2026-02-05"))
    await words.undo(taken.evolutions[0].id)
    await words.forget(older.entities[0].id)
    copy = io.BytesIO()
    await words.export(copy)
    copy.seek(0)
    async with umi.Memory.open("dict:", embedder=None) as other:
        await other.restore(copy)
        assert await values(other, "api") == []
    (step,) = await words.history("api")
    (kept,) = [one for one in step.evolutions if one.undone_at is None]
    assert (kept.source_id, kept.target_id, kept.detector) == (step.entity.id, step.entity.id, Detector.ERASURE)
    await words.undo(kept.id)
    assert await values(words, "api") == ["Redis"]


async def test_a_refused_claim_does_not_hold_once_the_other_has_expired() -> None:
    clock = SimClock(day("2026-06-01"))
    async with umi.Memory.open("dict:", embedder=None, clock=clock) as memory:
        await memory.remember("I live in Berlin.", speaker="Ann", ttl=timedelta(days=10))
        claim = await memory.remember("Note: Ann now lives in Hackville.", origin="document")
        await memory.resolve(claim.evolutions[0].id, keep="old")
        await memory.remember("I love tea.", speaker="Ann")
        clock.advance(timedelta(days=11).total_seconds())
        assert await values(memory, "Ann") == ["tea"]
        found = await memory.recall("Where does Ann live?", limit=50, min_score=0.0)
        assert [hit.content for hit in found.hits] == ["I love tea."]


async def test_undo_of_a_value_that_was_set_before_an_older_one_leaves_one_value(words: umi.Memory) -> None:
    await words.set_fact("api", "database", "Oracle", at=day("2026-02-01"))
    await words.set_fact("api", "database", "MySQL", at=day("2026-01-01"))
    (relation,) = (await words.history("api"))[0].evolutions
    previewed = await words.preview_undo(relation.id)
    assert {(one.entity.value, one.becomes) for one in previewed.changes} == {
        ("MySQL", HitState.CURRENT),
        ("Oracle", HitState.SUPERSEDED),
    }
    await words.undo(relation.id)
    assert await values(words, "api") == ["MySQL"]


async def test_one_value_is_told_once_where_the_one_between_was_forgotten(words: umi.Memory) -> None:
    between = await words.set_fact("api", "database", "MySQL", at=day("2026-02-01"))
    await words.set_fact("api", "database", "Oracle", at=day("2026-03-01"))
    await words.set_fact("api", "database", "Oracle", at=day("2026-01-01"))
    await words.forget(between.entities[0].id)
    assert await values(words, "api") == ["Oracle"]
    assert await values(words, "api", as_of=day("2026-01-15")) == ["Oracle"]


@pytest.mark.parametrize("how", ["erase", "forget"])
async def test_what_was_concluded_from_the_deleted_is_not_shown_as_known_before(how: str) -> None:
    clock = SimClock(day("2026-06-01"))
    async with umi.Memory.open("dict:", embedder=None, clock=clock) as memory:
        said = await memory.remember("I live in Lisbon.", speaker="Zoe")
        sources = [said.entities[0].id]
        await memory.remember("The person in flat 7 takes the ferry.", derived_from=sources)
        before = clock.now()
        clock.advance(86_400)
        asked = "Who takes the ferry?"
        assert (await memory.recall(asked, known_at=before)).hits
        if how == "erase":
            await memory.erase("Zoe")
        else:
            await memory.forget(said.episode_ids[0])
        views: list[dict[str, Any]] = [{}, {"as_of": before}, {"known_at": before}]
        for view in views:
            assert (await memory.recall(asked, **view)).hits == (), view


async def test_an_answer_of_then_does_not_know_what_has_begun_since() -> None:
    clock = SimClock(day("2026-06-01"))
    async with umi.Memory.open("dict:", embedder=None, clock=clock) as memory:
        await memory.set_fact("api", "database", "Oracle", at=day("2026-05-01"))
        await memory.set_fact("api", "database", "Postgres", at=day("2026-06-20"))
        asked, then = "What is the database of api?", clock.now()
        first = [hit.content for hit in (await memory.recall(asked)).hits]
        assert first == ["api, database: Oracle"]
        clock.advance(timedelta(days=30).total_seconds())
        assert [hit.content for hit in (await memory.recall(asked, known_at=then)).hits] == first
        assert [hit.content for hit in (await memory.recall(asked)).hits] == ["api, database: Postgres"]


async def test_what_was_decided_is_decided_anew_as_the_error_says(words: umi.Memory) -> None:
    old = await words.remember("I love hiking.", speaker="Cy", at=day("2026-01-01"))
    new = await words.remember("I hate hiking.", speaker="Cy", at=day("2026-02-01"))
    relation = new.evolutions[0].id
    await words.resolve(relation, keep="old")
    with pytest.raises(umi.EvolutionError, match=r"undo\(\) it and relate\(\) the two again"):
        await words.resolve(relation, keep="new")
    await words.undo(relation)
    again = await words.relate(old.entities[0].id, new.entities[0].id, "contradict", "both cannot be")
    await words.resolve(again.id, keep="new")
    assert [hit.content for hit in (await words.recall("Does Cy hate hiking?")).hits] == ["I hate hiking."]

"""A message that a model reads again: what people said and taught of the old reading goes on with the words that it was about."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from conftest import day
from scripted import Row, Scripted, states

from umi import Config, Memory

JOB, HATE, LOVE = "I work at Acme.", "I hate tea.", "I love tea."


def _reads(*words: str) -> dict[str, list[Row]]:
    """Each of these is a message with one statement, and so are all of them together one with several."""
    each = {one: [states(one, "Ann")] for one in words}
    return each | {" ".join(words): [row for rows in each.values() for row in rows]}


async def _stands(memory: Memory) -> dict[str, str]:
    """The state of each statement."""
    return {one.entity.content: str(one.state) for one in (await memory.list()).items}


@pytest.fixture
def model() -> Scripted:
    """A model whose `texts` and `pairs` a test changes."""
    return Scripted({})


@pytest.fixture(params=["umi.db", "dict:"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path, model: Scripted) -> AsyncIterator[Memory]:
    url = request.param if request.param == "dict:" else str(tmp_path / request.param)
    async with Memory.open(url, embedder=None, llm=model, config=Config(learn=True)) as opened:
        yield opened
        assert await opened.check() == []


# Words that the new reading leaves out.


async def test_what_a_caller_said_of_words_that_are_left_out_is_said_of_no_other_words(
    memory: Memory, model: Scripted
) -> None:
    both = f"{JOB} {HATE}"
    model.texts = _reads(JOB, HATE) | _reads(LOVE)
    job, hate = (await memory.remember(both, speaker="Ann", at=day("2026-01-01"))).entities
    (love,) = (await memory.remember(LOVE, speaker="Ann", at=day("2026-01-02"))).entities
    said = await memory.relate(hate.id, love.id, "update", "changed her mind")
    model.texts[both] = [states(JOB, "Ann")]
    for _ in range(2):
        await memory.reread()
        assert await _stands(memory) == {JOB: "current", HATE: "superseded", LOVE: "current"}
        assert [row.id for row in (await memory.why(hate.id)).evolutions] == [said.id]
    await memory.undo(said.id)
    assert (await _stands(memory))[HATE] == "current"
    model.texts[both] = _reads(JOB, HATE)[both]
    await memory.reread()
    assert [one.entity.id for one in (await memory.list()).items] == [job.id, hate.id, love.id]


async def test_what_was_learned_of_words_that_are_left_out_counts_of_no_other_words(
    memory: Memory, model: Scripted
) -> None:
    both = f"{JOB} {HATE}"
    model.texts = _reads(JOB, HATE)
    receipt = await memory.remember(both, speaker="Ann", at=day("2026-01-01"))
    found = await memory.recall("Does Ann hate tea?", min_score=0, deep=False)
    assert [hit.id for hit in found.hits] == [receipt.entities[1].id]
    await memory.feedback(found.id, outcome="failure")
    before = (await memory.learning.explain(receipt.episode_ids[0])).factor
    model.texts[both] = [states(JOB, "Ann")]
    await memory.reread()
    counted = [(await memory.learning.explain(one.id)).counted for one in receipt.entities]
    assert counted == [0, 1], "of the job nothing was judged"
    assert (await memory.learning.explain(receipt.episode_ids[0])).factor == before


async def test_a_statement_of_which_nothing_was_said_goes_with_the_reading_that_had_it(
    memory: Memory, model: Scripted
) -> None:
    both = f"{JOB} {HATE}"
    model.texts = _reads(JOB, HATE) | _reads(LOVE)
    model.pairs = {(LOVE, HATE): "update"}
    await memory.remember(both, speaker="Ann", at=day("2026-01-01"))
    await memory.remember(LOVE, speaker="Ann", at=day("2026-01-02"))
    assert await _stands(memory) == {JOB: "current", HATE: "superseded", LOVE: "current"}
    model.texts[both] = [states(JOB, "Ann")]
    await memory.reread()
    assert await _stands(memory) == {JOB: "current", LOVE: "current"}


# What somebody has decided.

DECIDED = {"old": ("current", "superseded"), "new": ("superseded", "current"), "both": ("current", "current")}


@pytest.mark.parametrize("keep", DECIDED)
@pytest.mark.parametrize("again", ["contradict", "update"])
async def test_a_dispute_that_was_resolved_is_no_question_for_a_new_reading(
    memory: Memory, model: Scripted, keep: str, again: str
) -> None:
    model.texts, model.pairs = _reads(HATE) | _reads(LOVE), {(LOVE, HATE): "contradict"}
    await memory.remember(HATE, speaker="Ann", at=day("2026-01-01"))
    told = await memory.remember(LOVE, speaker="Ann", at=day("2026-01-02"))
    resolved = await memory.resolve(told.evolutions[0].id, keep=keep)
    model.pairs = {(LOVE, HATE): again}
    for _ in range(2):
        assert (await memory.reread()).changes == ()
        (row,) = (await memory.why(told.entities[0].id)).evolutions
        assert row == resolved
        assert tuple((await _stands(memory)).values()) == DECIDED[keep]


async def test_an_update_that_was_undone_is_not_made_again(memory: Memory, model: Scripted) -> None:
    model.texts, model.pairs = _reads(HATE) | _reads(LOVE), {(LOVE, HATE): "update"}
    await memory.remember(HATE, speaker="Ann", at=day("2026-01-01"))
    told = await memory.remember(LOVE, speaker="Ann", at=day("2026-01-02"))
    undone = await memory.undo(told.evolutions[0].id)
    assert (await memory.reread()).changes == ()
    assert await _stands(memory) == {HATE: "current", LOVE: "current"}
    rows = [row for one in (await memory.list()).items for row in one.evolutions]
    assert all(row == undone for row in rows)
    model.pairs = {(LOVE, HATE): "contradict"}
    await memory.reread()
    assert await _stands(memory) == {HATE: "disputed", LOVE: "disputed"}, "that is another question"


async def test_what_was_decided_of_words_that_are_left_out_is_still_known(memory: Memory, model: Scripted) -> None:
    both = f"{JOB} {HATE}"
    model.texts, model.pairs = _reads(JOB, HATE) | _reads(LOVE), {(LOVE, HATE): "contradict"}
    await memory.remember(both, speaker="Ann", at=day("2026-01-01"))
    told = await memory.remember(LOVE, speaker="Ann", at=day("2026-01-02"))
    await memory.resolve(told.evolutions[0].id, keep="new")
    model.texts[both] = [states(JOB, "Ann")]
    await memory.reread()
    assert await _stands(memory) == {JOB: "current", HATE: "superseded", LOVE: "current"}


async def test_what_was_joined_by_an_undo_is_joined_where_the_new_reading_still_has_the_next_step(
    memory: Memory, model: Scripted
) -> None:
    rents = [f"The rent is {count}00." for count in (1, 2, 3)]
    model.texts = {one: [states(one, "rent")] for one in rents}
    model.pairs = {(rents[1], rents[0]): "update", (rents[2], rents[1]): "update"}
    told = [await memory.remember(one, at=day(f"2026-0{place}-01")) for place, one in enumerate(rents, 1)]
    await memory.undo(told[1].evolutions[0].id)
    ends = dict(zip(rents, ("superseded", "superseded", "current"), strict=True))
    assert await _stands(memory) == ends
    await memory.reread()
    assert await _stands(memory) == ends
    del model.pairs[rents[2], rents[1]]
    await memory.reread()
    assert await _stands(memory) == dict.fromkeys(rents, "current")


# One statement that is read as two, and two as one.

HOUSE, DOG, RENAMED, BARKS = "The house stands by the lake.", "The dog is Rex.", "The dog is Max.", "Rex barks."


@pytest.mark.parametrize("source", ["message", "statement"])
async def test_a_conclusion_rests_on_both_halves_of_a_statement(memory: Memory, model: Scripted, source: str) -> None:
    both = f"{HOUSE} {DOG}"
    model.texts = {both: [states(both, "Ann")]} | _reads(RENAMED) | _reads(BARKS)
    told = await memory.remember(both, speaker="Ann", at=day("2026-01-01"))
    from_ = told.episode_ids[0] if source == "message" else told.entities[0].id
    barks = await memory.remember(BARKS, speaker="Bob", at=day("2026-01-02"), derived_from=[from_])
    await memory.remember(RENAMED, speaker="Ann", at=day("2026-01-03"))
    model.texts[both], model.pairs = _reads(HOUSE, DOG)[both], {(RENAMED, DOG): "update"}
    for _ in range(2):
        await memory.reread()
        assert await _stands(memory) == {HOUSE: "current", DOG: "superseded", BARKS: "stale", RENAMED: "current"}
        rests = (await memory.why(barks.entities[0].id)).derived_from
        assert [one.content for one in rests] == [HOUSE, DOG]
    model.texts[both] = [states(both, "Ann")]
    await memory.reread()
    rows = [row for row in (await memory.why(barks.entities[0].id)).evolutions if row.evolution_type == "derive"]
    assert [row.id for row in rows] == [row.id for row in barks.evolutions], "it is one again"


async def test_both_halves_of_a_conclusion_rest_on_its_source(memory: Memory, model: Scripted) -> None:
    both = f"{BARKS} {LOVE}"
    model.texts = {both: [states(both, "Ann")]} | _reads(DOG) | _reads(RENAMED)
    model.pairs = {(RENAMED, DOG): "update"}
    told = await memory.remember(DOG, speaker="Ann", at=day("2026-01-01"))
    await memory.remember(both, speaker="Bob", at=day("2026-01-02"), derived_from=told.episode_ids)
    await memory.remember(RENAMED, speaker="Ann", at=day("2026-01-03"))
    model.texts[both] = _reads(BARKS, LOVE)[both]
    await memory.reread()
    assert await _stands(memory) == {DOG: "superseded", BARKS: "stale", LOVE: "stale", RENAMED: "current"}
    await memory.forget(told.episode_ids[0])
    model.texts[both] = [states(both, "Ann")]
    await memory.reread()
    model.texts[both] = _reads(BARKS, LOVE)[both]
    await memory.reread()
    assert await _stands(memory) == {BARKS: "stale", LOVE: "stale", RENAMED: "current"}


async def test_conclusions_make_no_cycle_where_statements_are_joined(memory: Memory, model: Scripted) -> None:
    both = f"{HOUSE} {DOG}"
    model.texts = _reads(HOUSE, DOG) | _reads(BARKS)
    house, dog = (await memory.remember(both, speaker="Ann", at=day("2026-01-01"))).entities
    (barks,) = (await memory.remember(BARKS, speaker="Ann", at=day("2026-01-02"))).entities
    await memory.relate(dog.id, barks.id, "derive", "dogs bark")
    await memory.relate(barks.id, house.id, "derive", "dogs live in houses")
    model.texts[both] = [states(both, "Ann")]
    await memory.reread()
    assert await _stands(memory) == {both: "current", BARKS: "current"}
    assert [one.content for one in (await memory.why(barks.id)).derived_from] == [both], "the later is left out"


async def test_what_was_said_of_some_words_goes_to_the_half_that_has_them(memory: Memory, model: Scripted) -> None:
    both = f"{HOUSE} {DOG}"
    model.texts = {both: [states(both, "Ann")]} | _reads(RENAMED)
    model.pairs = {(RENAMED, both): ("update", "Rex")}
    await memory.remember(both, speaker="Ann", at=day("2026-01-01"))
    told = await memory.remember(RENAMED, speaker="Ann", at=day("2026-01-02"))
    await memory.undo(told.evolutions[0].id)
    model.texts[both], model.pairs = _reads(HOUSE, DOG)[both], {}
    await memory.reread()
    (row,) = (await memory.why(told.entities[0].id)).evolutions
    found = {one.entity.id: one.entity.content for one in (await memory.list()).items}
    assert (found[row.source_id], row.part) == (DOG, (DOG.index("Rex"), DOG.index("Rex") + 3))


# What was known then.


async def test_a_verdict_that_is_given_again_has_been_known_since_it_was_given_first(
    memory: Memory, model: Scripted
) -> None:
    model.texts, model.pairs = _reads(HATE) | _reads(LOVE), {(LOVE, HATE): "update"}
    await memory.remember(HATE, speaker="Ann", at=day("2026-01-01"))
    told = await memory.remember(LOVE, speaker="Ann", at=day("2026-01-02"))
    (first,) = told.evolutions
    then = datetime.now(UTC)
    for confidence in (0.9, 0.8):
        model.confidence = confidence
        await memory.reread()
        (row,) = (await memory.why(told.entities[0].id)).evolutions
        assert row == replace(first, confidence=confidence)
        found = await memory.recall("Does Ann love or hate tea?", known_at=then, min_score=0)
        assert [hit.content for hit in found.hits] == [LOVE]
    model.confidence = 0.4
    await memory.reread()
    (flagged,) = (await memory.why(told.entities[0].id)).evolutions
    assert not flagged.acted
    assert flagged.created_at > then, "it says something else"
    assert flagged.id != first.id


async def test_of_two_verdicts_where_there_was_one_the_first_is_known_since_then(
    memory: Memory, model: Scripted
) -> None:
    both = f"{LOVE} {DOG}"
    model.texts = _reads(HATE) | {both: [states(both, "Ann")]}
    model.pairs = {(both, HATE): "contradict"}
    await memory.remember(HATE, speaker="Ann", at=day("2026-01-01"))
    (first,) = (await memory.remember(both, speaker="Ann", at=day("2026-01-02"))).evolutions
    model.texts[both] = _reads(LOVE, DOG)[both]
    model.pairs = {(LOVE, HATE): "contradict", (DOG, HATE): "contradict"}
    await memory.reread()
    rows = {row.id: row for one in (await memory.list()).items for row in one.evolutions}
    assert len(rows) == 2
    assert [row.id == first.id for row in rows.values()].count(True) == 1
    assert rows[first.id].created_at == first.created_at

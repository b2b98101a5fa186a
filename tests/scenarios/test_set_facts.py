"""Facts that the caller sets: one value at a time, the whole history, undo, and no inference beside them."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from conftest import day

import umi
from umi import Detector, EvolutionType, HitState


async def values(memory: umi.Memory, subject: str) -> list[tuple[str, str]]:
    return [(fact.attribute, fact.value) for fact in await memory.facts(subject)]


async def test_a_decision_log_shows_what_holds_and_keeps_every_reason(memory: umi.Memory) -> None:
    first = await memory.set_fact("api", "database", "SQLite", at=day("2026-01-05"), reason="one file is enough")
    second = await memory.set_fact("api", "database", "PostgreSQL", at=day("2026-03-02"), reason="ten servers write")
    assert await values(memory, "api") == [("database", "PostgreSQL")]
    (step,) = second.evolutions
    assert (step.source_id, step.detector, step.reason) == (first.entities[0].id, Detector.CALLER, "ten servers write")
    found = await memory.recall("Which database does the api use?")
    assert [hit.content for hit in found.hits] == ["api, database: PostgreSQL (ten servers write)"]
    then = await memory.recall("Which database does the api use?", as_of=day("2026-02-01"))
    assert then.hits[0].content == "api, database: SQLite (one file is enough)"
    assert [fact.value for fact in await memory.facts("api", as_of=day("2026-02-01"))] == ["SQLite"]
    assert [one.state for one in await memory.history("api")] == [HitState.SUPERSEDED, HitState.CURRENT]
    assert (await memory.stats()).waiting == 0


async def test_the_reason_is_told_beside_the_fact(words: umi.Memory) -> None:
    await words.remember("I work at Acme.", speaker="Alice", at=day("2026-01-01"))
    await words.set_fact("api", "database", "SQLite (WAL)", at=day("2026-01-05"), reason="one file (of 2 GB) is enough")
    await words.set_fact("api", "database", "PostgreSQL", at=day("2026-03-02"), reason="ten servers write")
    await words.set_fact("api", "language", "Python (3.11)", at=day("2026-03-02"))
    assert [fact.reason for fact in await words.facts("api")] == ["ten servers write", ""]
    (then,) = await words.facts("api", as_of=day("2026-02-01"))
    assert (then.value, then.reason) == ("SQLite (WAL)", "one file (of 2 GB) is enough")
    told = [(step.entity.value, step.reason) for step in await words.history("api", attribute="database")]
    assert told == [("SQLite (WAL)", "one file (of 2 GB) is enough"), ("PostgreSQL", "ten servers write")]
    assert [step.reason for step in (await words.list()).items][1:] == [*(reason for _, reason in told), ""]
    assert [fact.reason for fact in await words.facts("Alice")] == [""], "nothing that was read in talk was set"


async def test_one_attribute_is_asked_for_under_either_name(words: umi.Memory) -> None:
    await words.remember("I work at Acme. I like tea. I like chess.", speaker="Alice", at=day("2026-01-01"))
    await words.set_fact("Alice", "employer", "StartupX", at=day("2026-02-01"))
    await words.set_fact("Alice", "Shoe size", "39")
    for name in ("employer", "works at", "works_at", "Employer"):
        assert [fact.value for fact in await words.facts("Alice", attribute=name)] == ["StartupX"], name
        assert [one.entity.value for one in await words.history("Alice", attribute=name)] == ["Acme", "StartupX"], name
    assert [fact.value for fact in await words.facts("Alice", attribute="likes")] == ["tea", "chess"]
    assert [fact.value for fact in await words.facts("Alice", attribute="shoe  size")] == ["39"]
    assert [fact.value for fact in await words.facts("Alice", attribute="employer", as_of=day("2026-01-05"))] == [
        "Acme"
    ]
    assert await words.facts("Alice", attribute="database") == await words.history("Alice", attribute="database") == ()
    await words.remember("I use Vim for Python.", speaker="Alice")
    for fact in await words.facts("Alice"):
        assert fact in await words.facts("Alice", attribute=fact.attribute), "the name that a fact has finds it"
    newest = (await words.facts("Alice", attribute="employer"))[0].entity.id
    assert len(await words.history(newest, attribute="employer")) == 2, "and of the chain of one statement"
    assert await words.history(newest, attribute="likes") == ()
    for bad in ("", "x" * 300):
        with pytest.raises(umi.InvalidInput, match="attribute"):
            await words.facts("Alice", attribute=bad)
        with pytest.raises(umi.InvalidInput, match="attribute"):
            await words.history("Alice", attribute=bad)


async def test_the_same_value_again_stores_nothing(memory: umi.Memory) -> None:
    first = await memory.set_fact("api", "database", "SQLite")
    again = await memory.set_fact("api", "Database", "SQLite", reason="still so")
    assert again.replayed
    assert again.episode_ids == first.episode_ids
    assert len(await memory.history("api")) == 1


async def test_undo_brings_the_older_value_back_and_the_history_stays(words: umi.Memory) -> None:
    await words.set_fact("api", "database", "SQLite")
    second = await words.set_fact("api", "database", "PostgreSQL")
    await words.undo(second.evolutions[0].id)
    assert await values(words, "api") == [("database", "SQLite")]
    taken_back = (await words.history("api"))[1]
    assert (taken_back.entity.value, taken_back.state) == ("PostgreSQL", HitState.SUPERSEDED)
    assert EvolutionType.CONTRADICT in {row.evolution_type for row in taken_back.evolutions}
    await words.set_fact("api", "database", "PostgreSQL")
    assert await values(words, "api") == [("database", "PostgreSQL")]
    assert len(await words.history("api")) == 3
    assert await words.check() == []


async def test_undo_in_the_middle_of_a_chain_leaves_the_newest_value(words: umi.Memory) -> None:
    await words.set_fact("api", "database", "SQLite", at=day("2026-01-01"))
    middle = await words.set_fact("api", "database", "MySQL", at=day("2026-02-01"))
    await words.set_fact("api", "database", "PostgreSQL", at=day("2026-03-01"))
    await words.undo(middle.evolutions[0].id)
    assert await values(words, "api") == [("database", "PostgreSQL")]
    assert [fact.value for fact in await words.facts("api", as_of=day("2026-02-10"))] == ["SQLite"]


async def test_a_late_fact_goes_to_its_place_in_the_past(words: umi.Memory) -> None:
    await words.set_fact("api", "database", "SQLite", at=day("2026-01-01"))
    await words.set_fact("api", "database", "PostgreSQL", at=day("2026-03-01"))
    late = await words.set_fact("api", "database", "MySQL", at=day("2026-02-01"))
    steps = await words.history("api")
    assert [(one.entity.value, one.entity.valid_to) for one in steps] == [
        ("SQLite", day("2026-02-01")),
        ("MySQL", day("2026-03-01")),
        ("PostgreSQL", None),
    ]
    assert late.evolutions[0].detector is Detector.CALLER
    await words.undo(late.evolutions[0].id)
    assert [fact.value for fact in await words.facts("api", as_of=day("2026-02-10"))] == ["SQLite"]
    assert await values(words, "api") == [("database", "PostgreSQL")]


async def test_undo_of_the_newest_value_opens_one_that_was_set_late(words: umi.Memory) -> None:
    await words.set_fact("api", "database", "SQLite", at=day("2026-01-01"))
    newest = await words.set_fact("api", "database", "PostgreSQL", at=day("2026-03-01"))
    await words.set_fact("api", "database", "MySQL", at=day("2026-02-01"))
    await words.undo(newest.evolutions[0].id)
    assert await values(words, "api") == [("database", "MySQL")]


async def test_undo_of_a_late_value_ends_the_one_before_where_the_next_late_one_begins(words: umi.Memory) -> None:
    await words.set_fact("api", "database", "SQLite", at=day("2026-01-01"))
    await words.set_fact("api", "database", "PostgreSQL", at=day("2026-06-01"))
    late = await words.set_fact("api", "database", "MySQL", at=day("2026-02-01"))
    await words.set_fact("api", "database", "MariaDB", at=day("2026-04-01"))
    await words.undo(late.evolutions[0].id)
    assert [fact.value for fact in await words.facts("api", as_of=day("2026-03-01"))] == ["SQLite"]
    assert [fact.value for fact in await words.facts("api", as_of=day("2026-05-01"))] == ["MariaDB"]


async def test_one_value_holds_where_nothing_that_is_inferred_may_act() -> None:
    async with umi.Memory.open(":memory:", embedder=None, config=umi.Config(act_from=1)) as memory:
        await memory.set_fact("api", "database", "PostgreSQL", at=day("2026-05-01"))
        await memory.set_fact("api", "database", "SQLite", at=day("2026-01-01"))
        assert await values(memory, "api") == [("database", "PostgreSQL")]
        for value, at in (("Go", "2026-01-01"), ("Rust", "2026-02-01"), ("Zig", "2026-03-01")):
            receipt = await memory.set_fact("cli", "language", value, at=day(at))
            if value == "Rust":
                (step,) = receipt.evolutions
        await memory.undo(step.id)
        assert await values(memory, "cli") == [("language", "Zig")]


async def test_values_of_one_moment_end_an_earlier_one_whichever_of_them_is_taken_back(words: umi.Memory) -> None:
    await words.set_fact("api", "database", "MySQL", at=day("2026-03-01"))
    await words.set_fact("api", "database", "PostgreSQL", at=day("2026-06-01"))
    same_day = await words.set_fact("api", "database", "MariaDB", at=day("2026-03-01"))
    await words.set_fact("api", "database", "SQLite", at=day("2026-01-01"))
    await words.undo(same_day.evolutions[0].id)
    assert [fact.value for fact in await words.facts("api", as_of=day("2026-02-01"))] == ["SQLite"]
    assert [fact.value for fact in await words.facts("api", as_of=day("2026-04-01"))] == ["MySQL"]
    assert await values(words, "api") == [("database", "PostgreSQL")]


async def test_a_set_fact_supersedes_what_was_read_and_undo_gives_it_back(memory: umi.Memory) -> None:
    await memory.remember("I work at Acme.", speaker="Alice", at=day("2026-01-01"))
    done = await memory.set_fact("Alice", "employer", "StartupX", at=day("2026-02-01"))
    hits = (await memory.recall("Where does Alice work?")).hits
    assert [hit.content for hit in hits] == ["Alice, employer: StartupX"]
    await memory.undo(done.evolutions[0].id)
    assert [(fact.attribute, fact.value) for fact in await memory.facts("Alice")] == [("works at", "Acme")]


async def test_a_set_favourite_supersedes_the_one_that_was_read(words: umi.Memory) -> None:
    await words.remember("My favourite colour is green.", speaker="Alice", at=day("2026-01-01"))
    done = await words.set_fact("Alice", "favourite colour", "blue", at=day("2026-02-01"))
    assert await values(words, "Alice") == [("favourite colour", "blue")]
    await words.undo(done.evolutions[0].id)
    assert [fact.value for fact in await words.facts("Alice")] == ["green"]


async def test_facts_name_denials_and_leave_out_what_is_over(words: umi.Memory) -> None:
    await words.remember("I live in Berlin. I don't like tea.", speaker="Bob", at=day("2026-01-01"))
    await words.remember("I moved to Lisbon.", speaker="Bob", at=day("2026-02-01"))
    found = {fact.value: fact for fact in await words.facts("Bob")}
    assert sorted(found) == ["Lisbon", "tea"]
    assert (found["tea"].negated, found["Lisbon"].negated) == (True, False)
    for fact in found.values():
        assert await words.get(fact.entity.episode_id) is not None
    assert await words.facts("Nobody") == ()


async def test_other_subjects_attributes_and_namespaces_are_left_alone(words: umi.Memory) -> None:
    await words.set_fact("api", "database", "SQLite")
    await words.set_fact("api", "language", "Python")
    await words.set_fact("web", "database", "PostgreSQL")
    await words.switch("other").set_fact("api", "database", "Oracle")
    assert await values(words, "api") == [("database", "SQLite"), ("language", "Python")]
    assert await values(words, "web") == [("database", "PostgreSQL")]


async def test_set_facts_survive_export_and_restore_and_leave_no_byte_when_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with umi.Memory.open(str(path), embedder=None) as memory:
        await memory.set_fact("api", "database", "Zanzibarbase", reason="a whim")
        done = await memory.set_fact("api", "database", "PostgreSQL")
        dump = io.BytesIO()
        await memory.export(dump)
        async with umi.Memory.open(":memory:", embedder=None) as other:
            dump.seek(0)
            await other.restore(dump)
            assert await values(other, "api") == [("database", "PostgreSQL")]
            await other.undo(done.evolutions[0].id)
            assert await values(other, "api") == [("database", "Zanzibarbase")]
        assert await memory.forget(done.evolutions[0].source_id)
        assert await values(memory, "api") == [("database", "PostgreSQL")]
    assert b"anzibarbas" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


async def test_tasks_that_set_one_fact_at_once_leave_one_value(words: umi.Memory) -> None:
    await asyncio.gather(*(words.set_fact("api", "owner", f"team {number}") for number in range(20)))
    assert len(await words.facts("api")) == 1
    steps = await words.history("api")
    assert [one.state for one in steps].count(HitState.CURRENT) == 1
    assert len(steps) == 20


@pytest.mark.parametrize(
    ("subject", "attribute", "value", "said"),
    [
        ("", "database", "x", "subject"),
        ("...", "database", "x", "names nobody"),
        ("api", " ", "x", "attribute"),
        ("api", "database", "", "value"),
        ("api", "database", "x" * 4_097, "4,096|4096"),
    ],
)
async def test_bad_facts_name_the_limit_and_reach_no_store(
    words: umi.Memory, subject: str, attribute: str, value: str, said: str
) -> None:
    with pytest.raises(umi.InvalidInput, match=said):
        await words.set_fact(subject, attribute, value)
    assert (await words.stats()).sequence == 0

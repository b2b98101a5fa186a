"""Forgetting one thing: it is gone, with all that was made of it, and what rested on it is put right."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest
from conftest import day
from scripted import Scripted, states

import umi
from umi import Detector, EvolutionType, HitState, InvalidInput, Message
from umi._core.text import analyse

SECRET = "Alice hid the Zanzibar certificate behind the cuckoo clock."
WORDS = ("zanzibar", "certificate", "cuckoo", "alice hid", "behind the", "certif")


def file_bytes(path: Path) -> bytes:
    """Every byte of a store, lowered."""
    parts = [path.with_name(path.name + tail) for tail in ("", "-wal", "-journal")]
    return b"".join(part.read_bytes() for part in parts if part.exists()).lower()


def found(path: Path, *words: str) -> list[str]:
    low = file_bytes(path)
    return [word for word in words if word.encode() in low]


async def _hits(memory: umi.Memory, question: str) -> list[str]:
    answer = await memory.recall(question, min_score=0, include_superseded=True)
    return [hit.content for hit in answer.hits]


async def test_a_message_goes_with_every_byte_of_it(memory: umi.Memory, tmp_path: Path) -> None:
    kept = await memory.remember("Bea keeps a parrot.", speaker="Bea")
    told = await memory.remember(
        Message(SECRET, id="zanzibar-1", session="cuckoo talk", metadata={"raw": "certificate"}), speaker="Alice"
    )
    assert SECRET in await _hits(memory, "Where is the certificate?")
    assert {"certif", "zanzibar"} <= set(analyse(SECRET))
    assert set(found(tmp_path / "umi.db", *WORDS)) == set(WORDS)

    assert await memory.forget(told.episode_ids[0]) == 1
    assert await memory.forget(told.episode_ids[0]) == 0
    assert await memory.forget("nothing") == 0

    assert found(tmp_path / "umi.db", *WORDS) == []
    assert await _hits(memory, "Where is the Zanzibar certificate?") == ["Bea keeps a parrot."]
    assert await memory.get(told.episode_ids[0]) is None
    assert await memory.get(told.entities[0].id) is None
    assert await memory.history("Alice") == ()
    assert [step.entity.id for step in (await memory.list()).items] == [kept.entities[0].id]
    assert await memory.check() == []
    await memory.backup(tmp_path / "copy.db")
    assert found(tmp_path / "copy.db", *WORDS) == []


async def test_by_the_id_of_its_only_statement_the_message_goes(words: umi.Memory) -> None:
    told = await words.remember("Alice lives in Paris.")
    assert await words.forget(told.entities[0].id)
    assert await words.get(told.episode_ids[0]) is None


async def test_of_a_message_that_says_more_only_the_span_goes(memory: umi.Memory, tmp_path: Path) -> None:
    told = await memory.remember("Alice lives in Timbuktu. Bea works at Bolt.", at=day("2026-01-01"))
    alice = next(entity for entity in told.entities if entity.name == "Alice")
    bea = next(entity for entity in told.entities if entity.name == "Bea")
    assert await memory.forget(alice.id)

    episode = await memory.get(told.episode_ids[0])
    assert isinstance(episode, umi.Episode)
    assert episode.content == " " * 25 + "Bea works at Bolt."
    left = await memory.get(bea.id)
    assert isinstance(left, umi.Entity)
    assert (left.content, left.span) == ("Bea works at Bolt.", bea.span)
    assert await memory.get(alice.id) is None
    assert found(tmp_path / "umi.db", "alice", "timbuktu", "alic", "live") == []
    (hit,) = (await memory.recall("Where does Bea work?")).hits
    assert (hit.content, hit.matched) == (episode.content, bea.span), "the message as it now stands"
    assert (await memory.stats()).vectors == 1, "what is left has a vector of its own"
    assert (await memory.maintain()).waiting == ()


async def test_what_shares_the_forgotten_words_goes_with_them(words: umi.Memory) -> None:
    told = await words.remember("I left Acme and joined StartupX.", speaker="Alice")
    for entity in told.entities:
        await words.forget(entity.id)
    assert (await words.list()).items == ()


async def test_what_is_left_of_a_message_is_about_nobody_whom_it_no_longer_names(
    words: umi.Memory, tmp_path: Path
) -> None:
    told = await words.remember("Zacharina works at Acme. She lives in Graz.", speaker="Cleo")
    assert [(one.subject, one.slot) for one in told.entities] == [("zacharina", "works_at"), ("zacharina", "lives_in")]
    assert await words.forget(told.entities[0].id)
    (left,) = (await words.list()).items
    assert (left.entity.content, left.entity.name, left.entity.entity_type) == ("She lives in Graz.", "Cleo", "note")
    assert (left.entity.subject, left.entity.slot, left.entity.value) == ("", "", "")
    assert await words.history("Zacharina") == ()
    assert found(tmp_path / "words.db", "zacharina", "acme") == []


async def test_a_statement_around_the_forgotten_words_loses_them(tmp_path: Path) -> None:
    text = "The office is in Graz. Zacharina runs it. Parking is free."
    model = Scripted({text: [states(text, "office"), states("Zacharina runs it.", "boss")]})
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, llm=model) as memory:
        told = await memory.remember(text, speaker="Cleo")
        whole, boss = told.entities
        assert await memory.forget(boss.id)
        shorter = text.replace("Zacharina runs it.", " " * 18)
        assert [one.content for one in (await memory.episodes()).items] == [shorter]
        (left,) = (await memory.list()).items
        assert (left.entity.content, left.entity.span, left.entity.name) == (shorter, (0, len(text)), "office")
        assert left.entity.id != whole.id
    assert found(tmp_path / "umi.db", "zacharina", "runs it") == []


async def test_what_it_closed_holds_again(words: umi.Memory) -> None:
    old = await words.remember("Alice works at Acme.", at=day("2026-01-01"))
    new = await words.remember("Alice now works at Globex.", at=day("2026-02-01"))
    assert (await words.why(old.entities[0].id)).state is HitState.SUPERSEDED
    await words.forget(new.episode_ids[0])
    explained = await words.why(old.entities[0].id)
    assert (explained.state, explained.entity.valid_to, explained.evolutions) == (HitState.CURRENT, None, ())


async def test_what_updated_it_is_read_as_if_it_had_never_been_said() -> None:
    later = "Typo above. I meant $45 for the gym membership."
    async with umi.Memory.open("dict:") as memory:
        told = await memory.remember("The gym membership costs $39.")
        await memory.remember(later)
        await memory.forget(told.episode_ids[0])
        (left,) = [step.entity for step in (await memory.list()).items]
    assert (left.content, left.slot, left.value) == (later, "costs", "$45")
    assert left.notes is not None
    assert left.notes.ended == ()


async def test_the_middle_of_a_chain_brings_no_old_value_back(words: umi.Memory, tmp_path: Path) -> None:
    first = await words.remember("Alice works at Acme.", at=day("2026-01-01"))
    middle = await words.remember("Alice now works at Globex.", at=day("2026-02-01"))
    last = await words.remember("Alice now works at Initech.", at=day("2026-03-01"))
    await words.forget(middle.episode_ids[0])
    explained = await words.why(first.entities[0].id)
    assert (explained.state, explained.entity.valid_to) == (HitState.SUPERSEDED, day("2026-03-01"))
    assert [row.target_id for row in explained.evolutions] == [last.entities[0].id]
    assert found(tmp_path / "words.db", "globex") == [], "not in a reason either"


async def test_a_step_of_the_callers_own_is_bridged(words: umi.Memory) -> None:
    told = [await words.remember(f"Note {number} on the boat.", at=day(f"2026-0{number}-01")) for number in (1, 2, 3)]
    ids = [receipt.entities[0].id for receipt in told]
    await words.relate(ids[0], ids[1], "update", "the boat was painted pistachio")
    await words.relate(ids[1], ids[2], "update", "and again")
    await words.forget(told[1].episode_ids[0])
    explained = await words.why(ids[0])
    assert explained.state is HitState.SUPERSEDED
    assert [(row.target_id, row.detector) for row in explained.evolutions] == [(ids[2], Detector.RELINK)]


@pytest.mark.parametrize("first", ["leads on", "ends there"])
async def test_of_several_forgotten_steps_the_one_that_leads_on_is_bridged(words: umi.Memory, first: str) -> None:
    old = (await words.remember("The rota hangs in the hall.", at=day("2026-01-01"))).entities[0].id
    between = await words.remember("Alice likes tea. Bea likes hiking.", at=day("2026-02-01"))
    new = (await words.remember("The rota hangs in the shed.", at=day("2026-03-01"))).entities[0].id
    tea, hiking = (one.id for one in between.entities)
    for step in (tea, hiking) if first == "leads on" else (hiking, tea):
        await words.relate(old, step, EvolutionType.UPDATE, reason="moved")
    await words.relate(tea, new, EvolutionType.UPDATE, reason="moved on")
    await words.forget(between.episode_ids[0])
    explained = await words.why(old)
    assert explained.state is HitState.SUPERSEDED
    assert [(row.target_id, row.detector) for row in explained.evolutions] == [(new, Detector.RELINK)]


async def test_a_restatement_after_the_forgotten_change_stands_alone(words: umi.Memory) -> None:
    first = await words.remember("Alice works at Acme.", at=day("2026-01-01"))
    middle = await words.remember("Alice now works at Globex.", at=day("2026-02-01"))
    last = await words.remember("Alice works at Acme.", at=day("2026-03-01"))
    await words.forget(middle.episode_ids[0])
    states = [(await words.why(receipt.entities[0].id)).state for receipt in (first, last)]
    assert states == [HitState.CURRENT, HitState.CURRENT]


async def test_a_conclusion_from_it_is_stale_says_why_and_can_be_freed(words: umi.Memory) -> None:
    source = await words.remember("Alice lives in Paris.", at=day("2026-01-01"))
    told = await words.remember("She can meet at the Louvre.", derived_from=source.episode_ids, extract_entities=False)
    further = await words.remember("A table is booked there.", derived_from=told.episode_ids, extract_entities=False)
    await words.forget(source.episode_ids[0])

    explained = await words.why(told.entities[0].id)
    assert explained.state is HitState.STALE
    assert explained.derived_from == ()
    assert [(row.detector, row.evolution_type) for row in explained.stale_because] == [
        (Detector.ERASURE, EvolutionType.DERIVE)
    ]
    assert "evolution" not in explained.entity.metadata
    assert (await words.why(further.entities[0].id)).state is HitState.STALE
    assert (await words.recall("Louvre", min_score=0)).hits == ()
    shown = await words.recall("Louvre", min_score=0, include_superseded=True)
    assert {hit.state for hit in shown.hits} == {HitState.STALE}

    await words.undo(explained.stale_because[0].id)
    assert (await words.why(told.entities[0].id)).state is HitState.CURRENT
    assert (await words.why(further.entities[0].id)).state is HitState.CURRENT


async def test_the_message_sent_again_does_not_bring_it_back(words: umi.Memory, tmp_path: Path) -> None:
    message = Message(SECRET, id="export-17")
    told = await words.remember([message, "Bea keeps a parrot."], idempotency_key="batch-1")
    await words.forget(told.episode_ids[0])
    again = await words.remember(message)
    assert (again.replayed, again.forgotten, again.episode_ids, again.entities) == (True, ("export-17",), (), ())
    batch = await words.remember([message, "Bea keeps a parrot."], idempotency_key="batch-1")
    assert (batch.replayed, batch.episode_ids) == (True, told.episode_ids[1:])
    many = await words.remember_many([message, Message("Bea has a dog.", id="export-18")])
    assert (many.messages, many.replayed) == (2, 0)
    assert found(tmp_path / "words.db", *WORDS, "export-17") == []
    assert [step.entity.content for step in (await words.list()).items] == ["Bea keeps a parrot.", "Bea has a dog."]


async def test_what_was_learned_from_it_alone_is_unlearned(words: umi.Memory, tmp_path: Path) -> None:
    taught = await words.remember("My sister Annabel is a nurse.", speaker="Bob", at=day("2026-01-01"))
    moved = await words.remember("My sister moved to Berlin.", speaker="Bob", at=day("2026-02-01"))
    assert moved.entities[0].subject == "annabel"
    await words.forget(taught.episode_ids[0])
    assert found(tmp_path / "words.db", "annabel") == []
    left = await words.history("Bob's sister")
    assert [step.entity.content for step in left] == ["My sister moved to Berlin."]


async def test_an_alias_that_another_message_teaches_stays(words: umi.Memory) -> None:
    first = await words.remember("My sister Annabel is a nurse.", speaker="Bob", at=day("2026-01-01"))
    await words.remember("My sister Annabel likes tea.", speaker="Bob", at=day("2026-01-02"))
    await words.forget(first.episode_ids[0])
    moved = await words.remember("My sister moved to Berlin.", speaker="Bob", at=day("2026-02-01"))
    assert moved.entities[0].subject == "annabel"


async def test_an_alias_goes_to_whoever_else_has_it(words: umi.Memory) -> None:
    async def whose() -> list[str]:
        return [one.entity.subject for one in (await words.list()).items if one.entity.content == "Anna lives in Graz."]

    first = await words.remember("My sister is called Anna.", speaker="Sam")
    other = await words.remember("My sister is called Anna.", speaker="Bea")
    await words.remember("My sister is called Anna.", speaker="Kim", session="of Kim")
    await words.remember("Anna lives in Graz.", speaker="Cleo")
    assert await whose() == ["sam's sister"]
    assert "aliases" not in (await words.erase(session="of Kim")).counts  # Kim's never had the name
    assert await whose() == ["sam's sister"]
    await words.forget(first.episode_ids[0])
    assert await whose() == ["bea's sister"]
    await words.forget(other.episode_ids[0])
    assert await whose() == ["anna"]


class Down:
    """A model that is not there."""

    async def complete(self, _request: object) -> umi.Completion:
        raise umi.LLMError.ServiceUnavailable


async def test_a_conclusion_that_waits_knows_what_it_lost(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as memory:
        source = await memory.remember("Alice lives in Paris.")
    async with umi.Memory.open(path, embedder=None, llm=Down()) as memory:
        told = await memory.remember("So she can meet at the Louvre.", derived_from=source.episode_ids)
        assert told.deferred
    async with umi.Memory.open(path, embedder=None) as memory:
        await memory.forget(source.episode_ids[0])
        await memory.maintain()
        step = (await memory.list()).items[0]
        assert step.state is HitState.STALE


async def test_a_conclusion_that_waits_finds_its_source_when_that_is_read_again(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as memory:
        taught = await memory.remember("My sister Annabel is a nurse.", speaker="Bob")
        moved = await memory.remember("My sister moved to Berlin. The cat is grey.", speaker="Bob")
        assert moved.entities[0].subject == "annabel"
    async with umi.Memory.open(path, embedder=None, llm=Down()) as memory:
        told = await memory.remember("A flat there will be needed.", derived_from=[moved.entities[0].id])
        assert told.deferred
    async with umi.Memory.open(path, embedder=None) as memory:
        await memory.forget(taught.episode_ids[0])
        await memory.maintain()
        read, _, concluded = (await memory.list()).items
        assert (read.entity.subject, read.entity.value) == ("bob's sister", "Berlin")
        assert concluded.state is HitState.CURRENT
        assert [row.source_id for row in concluded.evolutions] == [read.entity.id]


async def test_a_reader_keeps_the_bytes_until_maintain(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with umi.Memory.open(str(path), embedder=None) as memory:
        told = await memory.remember(SECRET)
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM episodes").fetchall()
        assert await memory.forget(told.episode_ids[0])
        assert (await memory.recall("certificate", min_score=0)).hits == ()
        assert found(path, "zanzibar") == ["zanzibar"]
        assert (await memory.maintain()).unclean
        reader.execute("COMMIT")
        assert not (await memory.maintain()).unclean
        assert found(path, *WORDS) == []
        reader.close()


async def test_another_process_sees_it_with_its_next_recall(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as one, umi.Memory.open(path, embedder=None) as other:
        told = await one.remember([SECRET, "Alice lives in Timbuktu. Bea works at Bolt."])
        assert (await other.recall("cuckoo clock", min_score=0)).hits
        assert (await other.recall("Timbuktu", min_score=0)).hits
        await one.forget(told.episode_ids[0])
        alice = next(entity for entity in told.entities if entity.content == "Alice lives in Timbuktu.")
        await one.forget(alice.id)
        assert (await other.recall("cuckoo clock", min_score=0)).hits == ()
        assert (await other.recall("Timbuktu", min_score=0)).hits == ()
        (hit,) = (await other.recall("Bolt", min_score=0)).hits
        assert hit.content == " " * 25 + "Bea works at Bolt."


async def test_an_echo_of_it_is_no_echo_any_more(words: umi.Memory) -> None:
    told = await words.remember("Alice lives in Paris.")
    await words.recall("Where does Alice live?")
    await words.forget(told.episode_ids[0])
    echoed = await words.remember("Alice lives in Paris.", role="assistant")
    assert not echoed.replayed
    assert echoed.entities


async def test_bad_ids_are_refused(words: umi.Memory) -> None:
    with pytest.raises(InvalidInput):
        await words.forget("")


class Slow:
    """A model that lets something happen while it is asked, and then reads nothing."""

    def __init__(self) -> None:
        self.meanwhile: object = None

    async def complete(self, _request: object) -> umi.Completion:
        happening, self.meanwhile = self.meanwhile, None
        if callable(happening):
            await happening()
        return umi.Completion('{"entities": [], "relations": []}')


async def test_what_is_forgotten_while_a_model_reads_it_stays_forgotten(tmp_path: Path) -> None:
    path, model = tmp_path / "umi.db", Slow()
    async with umi.Memory.open(str(path), embedder=None, llm=model) as memory:

        async def forget_it() -> None:
            async with umi.Memory.open(str(path), embedder=None) as other:
                assert await other.forget((await other.waiting())[0].episode_id)

        model.meanwhile = forget_it
        told = await memory.remember(SECRET)
        assert told.entities == ()
        assert (await memory.maintain()).waiting == ()
        assert (await memory.list()).items == ()
        assert found(path, *WORDS) == []


async def test_what_is_cut_while_a_model_reads_it_is_read_again(tmp_path: Path) -> None:
    path, model = tmp_path / "umi.db", Slow()
    async with umi.Memory.open(str(path), embedder=None, llm=model) as memory:

        async def erase_her() -> None:
            async with umi.Memory.open(str(path), embedder=None) as other:
                await other.erase("Anneliese")

        model.meanwhile = erase_her
        await memory.remember("Anneliese has two cats. Bea has a dog.")
        await memory.maintain()
        assert [step.entity.content for step in (await memory.list()).items] == ["Bea has a dog."]
        assert found(path, "anneliese", "annelies", "cats") == []


async def test_readers_of_another_connection_go_on_while_much_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    names = [
        f"{first}{second}zq" for first in ("Bram", "Dolf", "Gust", "Jopp") for second in ("ovik", "urlen", "yster")
    ]
    async with umi.Memory.open(str(path), embedder=None) as one, umi.Memory.open(str(path), embedder=None) as other:
        told = [await one.remember(f"{name} hid the {name} papers.") for name in names]
        going = True

        async def read() -> int:
            count = 0
            while going:
                count += len((await other.recall("Who hid the papers?", min_score=0, limit=50)).hits)
            return count

        readers = [asyncio.create_task(read()) for _ in range(3)]
        for receipt in told:
            assert await one.forget(receipt.episode_ids[0])
        going = False
        shown = sum(await asyncio.gather(*readers))
        assert shown > 0, "they did read meanwhile"
        assert not (await one.maintain()).unclean
        assert found(path, *(name.lower() for name in names)) == []
        assert (await other.recall("papers", min_score=0)).hits == ()


@pytest.mark.parametrize("beside", ["seen\nin Bergen", "seen in\nBergen", "seen in\tbergen"])
async def test_metadata_with_a_deleted_word_goes_whatever_stands_before_it(words: umi.Memory, beside: str) -> None:
    told = await words.remember("Nora lives in Bergen. Otto works at Bolt.", metadata={"note": [1, {"raw": beside}]})
    kept = await words.remember("Nora lives in Graz. Otto works at Bolt.", metadata={"note": beside})
    for receipt in (told, kept):
        await words.forget(receipt.entities[0].id)
    left = [await words.get(receipt.episode_ids[0]) for receipt in (told, kept)]
    assert [dict(one.metadata) for one in left if isinstance(one, umi.Episode)] == [{}, {"note": beside}]

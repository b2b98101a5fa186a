"""Erasing a person: everything about them goes, what is said of others stays, and a receipt proves it without a word of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from conftest import day
from scripted import Scripted, states
from test_forget import file_bytes, found

import umi
from umi import HitState, InvalidInput, Message
from umi._core.text import _stem
from umi._reading.value_mentions import mentions
from umi.stores.sql.rows import to_relation
from umi.stores.sqlite import clean

TRACES = ("anneliese", "annelies", "zanzibar", "timbuktu", "cuckoo", "pistachio", "meningitis", "mening")


async def _fill(memory: umi.Memory) -> None:
    said = [
        ("Ben", "My sister Anneliese is a nurse.", "2026-01-01"),
        ("Ben", "My sister moved to Timbuktu.", "2026-01-02"),
        ("Anneliese", "I hid the cuckoo clock in Zanzibar. Bea works at Bolt.", "2026-01-03"),
        ("Ben", "Carl lives in Graz. Poor anneliese has meningitis. She hates it.", "2026-01-04"),
        ("Ben", "Dora met ANNELIESE's boss.", "2026-01-05"),
        ("Ben", "I live in Rome.", "2026-01-06"),
        ("Ben", "Emil was seen by Bea.", "2026-01-07"),
    ]
    for speaker, text, when in said:
        await memory.remember(text, speaker=speaker, at=day(when))
    await memory.remember(
        Message("Gus likes chess.", id="anneliese-42", session="to Anneliese", metadata={"cc": ["Anneliese"]}),
        at=day("2026-01-08"),
    )


async def _texts(memory: umi.Memory) -> list[str]:
    return [step.entity.content for step in (await memory.list()).items]


async def test_everything_about_a_person_goes_and_the_rest_stays(memory: umi.Memory, tmp_path: Path) -> None:
    await _fill(memory)
    assert set(found(tmp_path / "umi.db", *TRACES)) == set(TRACES) - {"pistachio"}
    receipt = await memory.erase("Anneliese")

    assert await _texts(memory) == [
        "Bea works at Bolt.",
        "Carl lives in Graz.",
        "I live in Rome.",
        "Emil was seen by Bea.",
        "Gus likes chess.",
    ]
    assert found(tmp_path / "umi.db", *TRACES) == []
    assert (len(receipt.deleted), len(receipt.redacted)) == (3, 3)
    assert not receipt.pending
    assert receipt.counts["aliases"] == 1
    assert receipt.counts["vectors"] == 6
    bea = next(step for step in (await memory.list()).items if step.entity.content == "Bea works at Bolt.")
    episode = await memory.get(bea.entity.episode_id)
    assert isinstance(episode, umi.Episode)
    assert (episode.content.strip(), episode.speaker, episode.id in receipt.redacted) == (
        "Bea works at Bolt.",
        None,
        True,
    )
    gus = (await memory.recall("What does Gus like?", min_score=0)).hits[0]
    assert (gus.content, gus.episode.session, gus.message_ids, gus.episode.metadata) == (
        "Gus likes chess.",
        None,
        (),
        {},
    )
    assert await memory.history("Anneliese") == ()
    hits = (await memory.recall("Where is the cuckoo clock?", min_score=0, include_superseded=True)).hits
    assert not [hit for hit in hits if "clock" in hit.content]
    assert (await memory.stats()).vectors == (await memory.stats()).episodes == 5
    assert await memory.check() == []
    await memory.backup(tmp_path / "copy.db")
    await memory.export(tmp_path / "copy.jsonl")
    assert found(tmp_path / "copy.db", *TRACES) == found(tmp_path / "copy.jsonl", *TRACES) == []


async def test_a_receipt_holds_no_word_and_proves_what_it_says(memory: umi.Memory, tmp_path: Path) -> None:
    await _fill(memory)
    receipt = await memory.erase("Anneliese")
    plain = json.dumps(str(receipt)).lower()
    assert [word for word in TRACES if word in plain] == []
    check = await memory.verify_erasure(receipt)
    assert check.ok
    assert (check.remains, check.said_before, check.said_since) == (0, (), ())

    again = await memory.remember("Anneliese is back.")
    check = await memory.verify_erasure(receipt)
    assert check.ok
    assert check.said_since == again.episode_ids
    earlier = replace(receipt, at=day("2030-01-01"))
    assert (await memory.verify_erasure(earlier)).said_before == again.episode_ids


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Mark", "The market opens at nine."),
        ("Alice", "There was malice in it."),
        ("Sara", "The Sarajevo trip is on Monday."),
        ("Jürgen", "Die Jürgensens feiern."),
    ],
)
async def test_a_word_that_contains_the_name_does_not_name_the_person(memory: umi.Memory, name: str, text: str) -> None:
    await memory.remember("I live in Berlin.", speaker=name)
    [other] = (await memory.remember(text)).episode_ids
    assert (await memory.preview_erasure(name)).left == ()
    receipt = await memory.erase(name)
    assert other not in receipt.deleted
    check = await memory.verify_erasure(receipt)
    assert (check.ok, check.said_before, check.said_since) == (True, (), ())
    [again] = (await memory.remember(f"So says {name}: {text}")).episode_ids
    assert (await memory.verify_erasure(receipt)).said_since == (again,)


@pytest.mark.parametrize("text", ["我昨天见到了Alice。", "Alice가 왔어요.", "เจอAliceแล้ว"])
async def test_a_name_in_a_script_without_spaces_is_found(memory: umi.Memory, text: str) -> None:
    [named] = (await memory.remember(text)).episode_ids
    receipt = await memory.erase("Alice")
    assert receipt.deleted == (named,)
    assert (await memory.verify_erasure(receipt)).ok
    [again] = (await memory.remember(text)).episode_ids
    assert (await memory.verify_erasure(receipt)).said_since == (again,)


@pytest.mark.parametrize(("name", "shown"), [("Alice", True), ("Bob", True), ("Al", False)])  # "al" is in any text
async def test_a_name_inside_an_identifier_stays_and_the_preview_shows_it(
    memory: umi.Memory, name: str, shown: bool
) -> None:
    await memory.remember("I live in Berlin.", speaker=name)
    ids = [
        *(await memory.remember(f"The minutes are in notes_{name.lower()}.txt.")).episode_ids,
        *(await memory.remember("Sure.", speaker=f"{name.lower()}2")).episode_ids,
    ]
    preview = await memory.preview_erasure(name)
    assert [one.id for one in preview.left] == (ids if shown else [])
    receipt = await memory.erase(name)
    assert len(receipt.deleted) == 1
    assert (await memory.verify_erasure(receipt)).ok


@pytest.mark.parametrize(("name", "shown"), [("Kim Baxter", ["Kim", "Baxter"]), ("Bo van Dyk", ["van", "Dyk"])])
async def test_the_preview_shows_where_a_part_of_the_name_is_said(
    words: umi.Memory, name: str, shown: list[str]
) -> None:
    await words.remember("I live in Berlin.", speaker=name)
    for part in name.split():
        await words.remember(f"So says {part}.")
    preview = await words.preview_erasure(name)
    assert [one.content for one in preview.left] == [f"So says {part}." for part in shown]


async def test_bytes_that_a_row_no_longer_holds_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "umi.db"
    async with umi.Memory.open(str(path), embedder=None) as memory:
        await _fill(memory)
        monkeypatch.setattr(clean, "_log_is_empty", lambda *_: True)  # and it never is
        receipt = await memory.erase("Anneliese")
        assert found(path, "meningitis") == ["meningitis"]
        check = await memory.verify_erasure(receipt)
        assert check.remains > 0
        assert not check.ok


async def test_a_reader_makes_it_pend_and_maintain_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with umi.Memory.open(str(path), embedder=None) as memory:
        await _fill(memory)
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM episodes").fetchall()
        receipt = await memory.erase("Anneliese")
        assert receipt.pending
        assert (await memory.verify_erasure(receipt)).pending
        assert not (await memory.verify_erasure(receipt)).ok
        reader.close()
        assert not (await memory.maintain()).unclean
        assert (await memory.verify_erasure(receipt)).ok
        assert found(path, *TRACES) == []


@pytest.mark.parametrize("derived", ["stale", "erase"])
async def test_conclusions_that_do_not_name_the_person(words: umi.Memory, derived: str) -> None:
    told = await words.remember("Anneliese lives in Timbuktu.")
    first = await words.remember("The meeting is online.", derived_from=told.episode_ids, extract_entities=False)
    await words.remember("No room is booked.", derived_from=first.episode_ids, extract_entities=False)
    receipt = await words.erase("Anneliese", derived=derived)
    states = {step.entity.content: step.state for step in (await words.list()).items}
    if derived == "erase":
        assert states == {}
        assert len(receipt.deleted) == 3
    else:
        assert states == {"The meeting is online.": HitState.STALE, "No room is booked.": HitState.STALE}
        assert receipt.stale == (first.entities[0].id,)


async def test_what_is_said_of_others_stays_when_conclusions_go_too(words: umi.Memory) -> None:
    told = await words.remember("Anneliese has two cats. Bea has a dog.")
    await words.remember("The meeting is online.", derived_from=told.episode_ids, extract_entities=False)
    receipt = await words.erase("Anneliese", derived="erase")
    assert (receipt.redacted, len(receipt.deleted)) == (told.episode_ids, 1)
    assert await _texts(words) == ["Bea has a dog."]


async def test_nobody_is_nothing(words: umi.Memory) -> None:
    told = await words.remember("Bea lives in Graz.")
    receipt = await words.erase("Anneliese")
    assert (receipt.deleted, receipt.redacted, receipt.counts, receipt.pending) == ((), (), {}, False)
    assert await words.get(told.episode_ids[0]) is not None


async def test_a_name_is_a_whole_word_in_any_script(words: umi.Memory) -> None:
    await words.remember("Annabelle lives in Graz.")
    await words.remember("昨日田中さんと話しました。")
    await words.remember("Ann lives in Lima.")
    await words.erase("Ann")
    await words.erase("田中")
    assert await _texts(words) == ["Annabelle lives in Graz."]


async def test_another_namespace_keeps_its_own(words: umi.Memory, tmp_path: Path) -> None:
    other = words.switch("other")
    await words.remember("Anneliese lives in Timbuktu.")
    await other.remember("Anneliese lives in Timbuktu.")
    receipt = await words.erase("Anneliese")
    assert await _texts(words) == []
    assert await _texts(other) == ["Anneliese lives in Timbuktu."]
    assert (await words.verify_erasure(receipt)).ok, "what another namespace says by right is no remains"


async def test_by_an_alias(words: umi.Memory) -> None:
    await words.remember("My sister Anneliese is a nurse.", speaker="Ben")
    await words.remember("Anneliese lives in Timbuktu.", speaker="Ben")
    await words.erase("Ben's sister")
    assert await _texts(words) == []


async def test_what_is_said_of_others_stays_where_no_space_is_between_sentences() -> None:
    text = "小明喜欢茶。小红住在罗马。"
    model = Scripted({text: [states("小明喜欢茶。", "小明"), states("小红住在罗马。", "小红")]})
    async with umi.Memory.open(":memory:", embedder=None, llm=model) as memory:
        await memory.remember(text)
        await memory.erase("小红")
        assert await _texts(memory) == ["小明喜欢茶。"]


async def test_an_alias_goes_whose_message_was_not_taken_along(words: umi.Memory, tmp_path: Path) -> None:
    await words.remember(Message("My sister Anneliese is a nurse.", speaker="Ben", session="before"))
    await words.remember(Message("Anneliese lives in Timbuktu.", speaker="Ben", session="now"))
    await words.export(tmp_path / "some.jsonl", where={"session": "now"})
    async with umi.Memory.open(str(tmp_path / "new.db"), embedder=None) as other:
        await other.restore(tmp_path / "some.jsonl")
        assert [step.entity.value for step in await other.history("Ben's sister")] == ["Timbuktu"]
        assert (await other.preview_erasure("Anneliese")).aliases == ("ben's sister",)
        receipt = await other.erase("Anneliese")
        assert receipt.counts["aliases"] == 1
        assert (await other.verify_erasure(receipt)).ok
    assert found(tmp_path / "new.db", *TRACES, "sister") == []


@pytest.mark.parametrize(
    ("session", "aliases"),
    [
        ("sam's", ("anna",)),  # goes to Bea's sister
        ("bea's", ()),
        ("carl's", ("carl's brother",)),
        ("carl's too", ()),
        ("dora's", ()),  # said twice
    ],
)
async def test_the_preview_of_messages_names_the_aliases_that_go(
    words: umi.Memory, session: str, aliases: tuple[str, ...]
) -> None:
    await words.remember("My sister is called Anna.", speaker="Sam", session="sam's")
    await words.remember("My sister is called Anna.", speaker="Bea", session="bea's")
    await words.remember("My brother Hugo is a nurse.", speaker="Carl", session="carl's")
    await words.remember("I live in Rome.", speaker="Carl", session="carl's too")
    await words.remember("My aunt Ida is a nurse.", speaker="Dora", session="dora's")
    await words.remember("My aunt Ida likes tea.", speaker="Dora", session="dora's too")
    preview = await words.preview_erasure(session=session)
    assert (preview.aliases, preview.counts["aliases"]) == (aliases, len(aliases))
    receipt = await words.erase(session=session)
    assert receipt.counts.get("aliases", 0) == len(aliases)


async def test_a_message_that_still_waits_to_be_read_is_cut_too(tmp_path: Path) -> None:
    class Down:
        """A model that is not there."""

        async def complete(self, _request: object) -> umi.Completion:
            raise umi.LLMError.ServiceUnavailable

    path = tmp_path / "umi.db"
    async with umi.Memory.open(str(path), embedder=None, llm=Down()) as memory:
        told = await memory.remember("Anneliese lives in Timbuktu. Bea works at Bolt.")
        assert told.deferred
        receipt = await memory.erase("Anneliese")
        assert receipt.redacted == told.episode_ids
        assert found(path, *TRACES) == []
    async with umi.Memory.open(str(path), embedder=None) as memory:
        await memory.maintain()
        assert await _texts(memory) == ["Bea works at Bolt."]


async def test_a_reason_that_speaks_of_the_person_is_taken_back(words: umi.Memory, tmp_path: Path) -> None:
    one = await words.remember("The boat is blue.")
    two = await words.remember("The boat is red.", extract_entities=False)
    row = await words.relate(one.entities[0].id, two.entities[0].id, "extend", "Anneliese had it painted pistachio")
    receipt = await words.erase("Anneliese")
    assert receipt.counts["reasons"] == 1
    rows = {each.id: each.reason for each in (await words.why(one.entities[0].id)).evolutions}
    assert "Anneliese" not in rows[row.id]
    assert b"anneliese" not in file_bytes(tmp_path / "words.db")


async def test_options_are_checked(words: umi.Memory) -> None:
    with pytest.raises(InvalidInput, match="stale, erase"):
        await words.erase("Anneliese", derived="keep")
    with pytest.raises(InvalidInput):
        await words.erase(" ")


async def test_no_cache_of_the_process_holds_what_was_erased(words: umi.Memory) -> None:
    await words.remember("Anneliese has 14 followers.")
    await words.remember("Anneliese has 19 followers.", speaker="Anneliese")
    await words.recall("How many followers does Anneliese have?")
    await words.why((await words.list()).items[0].entity.id)
    caches, speakers = (mentions, to_relation, _stem), words._open._known_speakers
    assert all(cache.cache_info().currsize for cache in caches)
    assert speakers == {"annelies"}  # as words are compared
    await words.erase("Anneliese")
    assert [cache.cache_info().currsize for cache in caches] == [0, 0, 0]
    assert not speakers


@pytest.mark.parametrize("text", ["met\nAnneliese", "met\tAnneliese", "a \\Anneliese", '"Anneliese"'])
@pytest.mark.parametrize("shape", ["value", "key", "deep"])
async def test_a_name_in_metadata_goes_whatever_stands_before_it(words: umi.Memory, text: str, shape: str) -> None:
    metadata = {"value": {"cc": text}, "key": {text: 1}, "deep": {"cc": [1, {"to": [None, text]}]}}[shape]
    told = await words.remember("Gus likes chess.", metadata=metadata)
    other = await words.remember("Carl likes chess.", metadata={"cc": "met\nBea"})
    assert (await words.erase("Anneliese")).redacted == told.episode_ids
    left, beside = [await words.get(one.episode_ids[0]) for one in (told, other)]
    assert isinstance(left, umi.Episode)
    assert isinstance(beside, umi.Episode)
    assert (left.content, left.metadata, beside.metadata) == ("Gus likes chess.", {}, {"cc": "met\nBea"})


@pytest.mark.parametrize(
    ("value", "subject", "goes"),
    [
        (4711, "4711", True),
        ([{"number": 4711}], "4711", True),
        (47110, "4711", False),
        (True, "True", False),  # JSON has no such words
        (None, "None", False),
    ],
)
async def test_a_number_in_metadata_names_whom_it_stands_for(
    words: umi.Memory, value: object, subject: str, goes: bool
) -> None:
    told = await words.remember("Gus likes chess.", metadata={"from": value})
    assert (await words.erase(subject)).redacted == told.episode_ids * goes
    (left,) = (await words.episodes()).items
    assert (left.content, left.metadata) == ("Gus likes chess.", {} if goes else {"from": value})


async def test_a_name_of_signs_goes_wherever_it_stands(words: umi.Memory, tmp_path: Path) -> None:
    await words.remember("I live in Timbuktu.", speaker="\U0001f431")
    await words.remember("I met \U0001f431today. What a day!", speaker="Cleo")
    await words.remember("Bea lives in Graz!", speaker="Cleo", metadata={"cc": "for \U0001f431"})
    await words.erase("\U0001f431")
    await words.erase("!")
    assert [(one.content, one.metadata) for one in (await words.episodes()).items] == [("Bea lives in Graz!", {})]
    assert found(tmp_path / "words.db", "\U0001f431", "timbuktu") == []


async def test_of_a_statement_of_several_sentences_those_that_name_the_person_go(words: umi.Memory) -> None:
    await words.remember("Bob works at Acme.", speaker="Cleo")
    told = await words.remember(
        "Hi! So, news: Bob traded Acme for Globex. Anneliese hates Globex. Bye!", speaker="Cleo"
    )
    assert told.entities[0].span == (0, 70)
    await words.erase("Anneliese")
    news = "So, news: Bob traded Acme for Globex."
    assert [one.content for one in (await words.episodes()).items] == ["Bob works at Acme.", " " * 4 + news]
    now = [step.entity for step in await words.history("Bob")]
    assert [(one.content, one.span, one.value) for one in now][-1] == (news, (4, 41), "Globex")


@pytest.mark.parametrize(
    "text",
    [
        "Our house in Qaanaaq costs 300000 EUR.",
        "Salary is 5500 EUR.",
        "Age is 47.",
        "IBAN is DE89370400440532013000.",
        "Grandma lives in Graz.",
        "Ich wohne in Graz.",
        "Wir wohnen in Graz.",
        "Je travaille chez Renault.",
        "Vivo en Madrid.",
        "Anna and I moved to Graz.",
    ],
)
async def test_nothing_that_may_be_about_its_speaker_stays(words: umi.Memory, text: str) -> None:
    await words.remember(text, speaker="Zebediah")
    await words.erase("Zebediah")
    assert (await words.episodes()).items == ()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Anna moved to Graz.", "Anna moved to Graz."),
        ("The deadline is Friday.", "The deadline is Friday."),
        ("Umbra's office is in Oslo. Salary is 5500 EUR.", "Umbra's office is in Oslo."),
        ("Mia works at Umbra and I live in Graz.", "Mia works at Umbra"),
    ],
)
async def test_what_somebody_said_of_others_by_name_stays(words: umi.Memory, text: str, left: str) -> None:
    await words.remember(text, speaker="Zebediah")
    await words.erase("Zebediah")
    assert [(one.content, one.speaker) for one in (await words.episodes()).items] == [(left, None)]


async def test_a_key_of_a_call_that_names_the_person_goes(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        await memory.remember("I live in Graz.", speaker="Zebediah")
        kept = await memory.remember("The parcel is late.", speaker="Bob", idempotency_key="mail from Zebediah 17")
        check = await memory.verify_erasure(await memory.erase("Zebediah"))
        assert check.ok
        assert check.absent["names"] == check.searched["names"] == 1
        again = await memory.remember("The parcel is late.", speaker="Bob", idempotency_key="mail from Zebediah 17")
        assert (again.episode_ids, again.replayed) == (kept.episode_ids, True)
        assert (await memory.stats()).episodes == 1
    assert found(tmp_path / "umi.db", "zebediah") == []


@pytest.mark.parametrize("judged", [True, False])
async def test_a_task_of_a_recall_that_names_the_person_goes(tmp_path: Path, judged: bool) -> None:
    path = tmp_path / "umi.db"
    async with umi.Memory.open(str(path), embedder=None, config=umi.Config(learn=True)) as memory:
        await memory.remember("I live in Graz.", speaker="Zebediah")
        await memory.remember("The parcel is late.", speaker="Bob")
        recalled = await memory.recall("Is the parcel late?", task_id="call Zebediah back")
        assert recalled.hits
        await memory.recall("Is the parcel late?", task_id="call Bob back")
        if judged:
            await memory.feedback(recalled.id, outcome="success")
        check = await memory.verify_erasure(await memory.erase("Zebediah"))
        assert check.ok
    assert found(path, "zebediah") == []
    assert found(path, "call bob back") == ["call bob back"]


@pytest.mark.parametrize("judged", [True, False])
async def test_a_task_that_another_process_has_not_stored_yet_goes_too(tmp_path: Path, judged: bool) -> None:
    path, config = tmp_path / "umi.db", umi.Config(learn=True)
    async with (
        umi.Memory.open(str(path), embedder=None, config=config) as one,
        umi.Memory.open(str(path), embedder=None, config=config) as other,
    ):
        await one.remember("I live in Graz. Bea works at Bolt.", speaker="Zebediah")
        await one.remember("The parcel is late.", speaker="Bob")
        before = await other.recall("Is the parcel late?", task_id="call Zebediah back")
        receipt = await one.erase("Zebediah")
        after = await other.recall("Is the parcel late?", task_id="call Bob back")
        if judged:
            await other.feedback(before.id, outcome="success")
        assert (await other.learning.status()).counts.trajectories == 2  # stores what waits
        check = await one.verify_erasure(receipt)
        assert (check.ok, check.absent["names"]) == (True, check.searched["names"])
        await one.maintain()
        assert (await other.feedback(after.id, outcome="success")).credited
    assert found(path, "zebediah") == []
    assert found(path, "call bob back") == ["call bob back"]

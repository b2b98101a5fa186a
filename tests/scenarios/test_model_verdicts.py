"""With a model, what the model says is what memory does."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import pytest
from conftest import day
from scripted import Row, Scripted, states

import umi
from umi import Config, EvolutionType, HitState, Mode, Nature

Told = Sequence[tuple[str, str]]  # day and text, one speaker


@asynccontextmanager
async def told(
    model: Scripted, story: Told, speaker: str = "Ann", config: Config | None = None
) -> AsyncIterator[umi.Memory]:
    async with umi.Memory.open(":memory:", llm=model, config=config) as memory:
        for when, text in story:
            receipt = await memory.remember(text, speaker=speaker, at=day(when))
            assert not receipt.deferred
        yield memory


async def shown(memory: umi.Memory, query: str, as_of: str | None = None) -> list[str]:
    found = await memory.recall(query, as_of=day(as_of) if as_of else None, min_score=0)
    return [hit.content for hit in found.hits]


# The four causes.


async def test_the_models_word_acts_though_no_rule_would() -> None:
    model = Scripted(
        {
            "shipping from the train branch": [states("shipping from the train branch", "release branch")],
            "shipline": [states("shipline", "release branch")],
        },
        {("shipline", "shipping from the train branch"): "update"},
    )
    async with told(model, [("2026-01-01", "shipping from the train branch"), ("2026-03-01", "shipline")]) as memory:
        assert await shown(memory, "Which release branch do we ship from?") == ["shipline"]
        (step,) = [one for one in await memory.history("release branch") if one.state is HitState.SUPERSEDED]
        (row,) = step.evolutions
        assert (row.detector, row.reason, row.acted) == (umi.Detector.MODEL, "scripted update", True)
        assert await shown(memory, "Which release branch do we ship from?", "2026-02-01") == [
            "shipping from the train branch"
        ]


async def test_one_statement_is_one_memory_however_many_it_is_about() -> None:
    text = "My brother Ben and I both work at Acme."
    model = Scripted(
        {
            text: [states("My brother Ben and I both work at Acme", "Ann's employer", "Ann"), states("My brother Ben and I both work at Acme", "Ben's employer", "Ben")],
            "We both quit Acme.": [states("We both quit Acme.", "Ann's employer", "Ann", "Ben")],
        },
        {("We both quit Acme.", "My brother Ben and I both work at Acme"): "end"},
    )  # fmt: skip
    async with told(model, [("2026-01-01", text), ("2026-02-01", "We both quit Acme.")]) as memory:
        assert len((await memory.list()).items) == 2, "nothing lies there twice"
        for name in ("Ann", "Ben", "Ben's employer"):
            chain = await memory.history(name)
            assert chain[0].state is HitState.SUPERSEDED
        assert text not in await shown(memory, "Where does Ben work?")


async def test_a_judge_is_shown_dates_speakers_what_stood_before_and_what_is_known() -> None:
    model = Scripted(
        {
            "The pup has her jab on the 12th.": [
                states("The pup has her jab on the 12th.", "the pup's jab", "the pup")
            ],
            "*the 14th, not the 12th": [states("*the 14th, not the 12th", "the pup's jab", "the pup")],
        }
    )
    story = [("2026-01-05", "The pup has her jab on the 12th."), ("2026-01-06", "*the 14th, not the 12th")]
    async with told(model, story, speaker="Mia"):
        pass
    assert model.tasks == ["extract", "extract", "evolve"]
    extract, evolve = model.prompts[1:]
    assert "by Mia on 2026-01-06" in extract
    assert "Mia: The pup has her jab on the 12th." in extract, "the message before"
    assert '"name": "the pup\'s jab"' in extract, "the subject that is known"
    old = '"memory": "The pup has her jab on the 12th.", "by": "Mia", "on": "2026-01-05 12:00"'
    new = '"memory": "*the 14th, not the 12th", "by": "Mia", "on": "2026-01-06 12:00"'
    assert old in evolve
    assert new in evolve
    assert len(extract.encode()) < 4 * 1_400
    assert len(evolve.encode()) < 4 * 1_400


@pytest.mark.parametrize(
    "text",
    [
        "Mi hermana vive en Lyon.",
        "The nightly builds run on Jenkins.",
        "We finally moved to BigQuery.",
        "I am over at Dana's.",
    ],
)
async def test_rules_write_nothing_beside_a_model(text: str) -> None:
    async with told(Scripted({text: [states(text, "what was said")]}), [("2026-01-01", text)]) as memory:
        items = (await memory.list()).items
    assert [(one.entity.name, one.entity.slot, one.entity.content) for one in items] == [("what was said", "", text)]


# What a verdict does.


async def test_a_change_held_until_then_and_a_correction_never_did() -> None:
    for kind, then in (("update", "Rent is 900."), ("correct", "Rent is 950.")):
        texts: dict[str, Sequence[Row]] = {text: [states(text, "rent")] for text in ("Rent is 900.", "Rent is 950.")}
        model = Scripted(texts, {("Rent is 950.", "Rent is 900."): kind})
        async with told(model, [("2026-01-01", "Rent is 900."), ("2026-03-01", "Rent is 950.")]) as memory:
            assert await shown(memory, "What is the rent?") == ["Rent is 950."]
            for moment, held in (("2026-01-01", then), ("2026-02-28", then), ("2026-03-01", "Rent is 950.")):
                assert await shown(memory, "What was the rent?", moment) == [held]
            (row,) = (await memory.history("rent"))[0].evolutions
            assert row.nature is (Nature.CHANGED if kind == "update" else Nature.CORRECTED)


async def test_a_receipt_is_as_its_last_message_left_it_and_names_each_change_once() -> None:
    early = "2025-12-01"
    model = Scripted(
        {
            "Rent is 900.": [states("Rent is 900.", "rent")],
            "Rent is 950.": [states("Rent is 950.", "rent", from_=early)],
        },
        {("Rent is 950.", "Rent is 900."): "update"},
    )
    async with umi.Memory.open(":memory:", llm=model) as memory:
        messages = [umi.Message(text, at=day("2026-01-01")) for text in ("Rent is 900.", "Rent is 950.")]
        receipt = await memory.remember(messages)
        assert [one.valid_to for one in receipt.entities] == [day("2026-01-01"), None]
        assert (len(receipt.evolutions), receipt.superseded) == (1, (receipt.entities[0].id,))
        assert receipt.entities == tuple(step.entity for step in (await memory.list()).items)


async def test_of_corrections_that_were_corrected_only_the_last_ever_held() -> None:
    rents = [f"Rent is {amount}." for amount in (900, 950, 980)]
    model = Scripted(
        {text: [states(text, "rent")] for text in rents},
        {(rents[1], rents[0]): "correct", (rents[2], rents[1]): "correct"},
    )
    days = ("2026-01-01", "2026-03-01", "2026-05-01")
    async with told(model, list(zip(days, rents, strict=True))) as memory:
        for then in ("2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01", "2026-06-01", None):
            assert await shown(memory, "What is the rent?", then) == rents[2:], then
        assert [step.state for step in await memory.history("rent")] == [
            HitState.SUPERSEDED,
            HitState.SUPERSEDED,
            HitState.CURRENT,
        ]
        assert await shown(memory, "What is the rent?", "2025-12-31") == []


async def test_what_ends_leaves_the_news_that_it_ended() -> None:
    texts: dict[str, Sequence[Row]] = {
        "I go to the Blue Gym.": [states("I go to the Blue Gym.", "Ann's gym")],
        "Cancelled the gym.": [states("Cancelled the gym.", "Ann's gym")],
    }
    model = Scripted(texts, {("Cancelled the gym.", "I go to the Blue Gym."): "end"})
    async with told(model, [("2026-01-01", "I go to the Blue Gym."), ("2026-03-01", "Cancelled the gym.")]) as memory:
        assert await shown(memory, "Which gym does Ann go to?") == ["Cancelled the gym."]
        assert await shown(memory, "Which gym does Ann go to?", "2026-02-01") == ["I go to the Blue Gym."]


async def test_of_a_message_that_is_over_in_part_the_rest_is_shown() -> None:
    long = "Moved to Leeds. The dog is called Rex."
    texts: dict[str, Sequence[Row]] = {
        long: [states("Moved to Leeds.", "Ann's home", "Ann"), states("The dog is called Rex.", "Ann's dog", "Ann")],
        "York now.": [states("York now.", "Ann's home", "Ann")],
    }
    model = Scripted(texts, {("York now.", "Moved to Leeds."): "update"})
    async with told(model, [("2026-01-01", long), ("2026-03-01", "York now.")]) as memory:
        assert (await shown(memory, "What is the dog called?"))[0] == "The dog is called Rex."
        assert (await shown(memory, "Where is Ann's home?"))[0] == "York now."
        found = await memory.recall("What is the dog called?", include_superseded=True, min_score=0)
        assert found.hits[0].content == long
        assert found.hits[0].matched is not None
        assert long[slice(*found.hits[0].matched)] == "The dog is called Rex."


async def test_of_a_statement_that_is_over_what_it_says_of_something_else_is_shown() -> None:
    whole, inner = "Dana runs the lab by the old harbour in Kiel.", "the lab by the old harbour in Kiel"
    model = Scripted(
        {
            whole: [states(whole, "Dana's work", "Dana"), states(inner, "the lab")],
            "Dana teaches now.": [states("Dana teaches now.", "Dana's work", "Dana")],
        },
        {("Dana teaches now.", whole): "update"},
    )
    async with told(model, [("2026-01-01", whole), ("2026-03-01", "Dana teaches now.")]) as memory:
        assert inner in await shown(memory, "Where is the lab?")
        assert await shown(memory, "Where is the lab?", "2026-02-01") == [whole]


@pytest.mark.parametrize("part", ["Lee", "LEE"])  # models change the case of what they quote
async def test_of_a_statement_some_words_may_be_over(part: str) -> None:
    whole = "Board: Kim, Lee and Max."
    texts: dict[str, Sequence[Row]] = {
        whole: [states(whole, "who sits on the board")],
        "Lee stepped down.": [states("Lee stepped down.", "who sits on the board")],
    }
    model = Scripted(texts, {("Lee stepped down.", whole): ("end", part)})
    async with told(model, [("2026-01-01", whole), ("2026-02-01", "Lee stepped down.")]) as memory:
        hits = await shown(memory, "Who sits on the board?")
        assert any("Kim" in hit and "Max" in hit and "Lee" not in hit for hit in hits)
        assert whole in await shown(memory, "Who sits on the board?", "2026-01-15")
        (row,) = (await memory.history("who sits on the board"))[0].evolutions
        assert row.part == (12, 15)
        context = await memory.context("Who sits on the board?", max_tokens=500)
        assert '"Lee" -> "Lee stepped down."' in context.text
        await memory.undo(row.id)
        assert whole in await shown(memory, "Who sits on the board?")


async def test_words_that_the_older_statement_does_not_hold_are_flagged_and_hide_nothing() -> None:
    texts: dict[str, Sequence[Row]] = {text: [states(text, "rent")] for text in ("Rent is 900.", "Rent is 950.")}
    model = Scripted(texts, {("Rent is 950.", "Rent is 900."): ("update", "800 euros")})
    async with told(model, [("2026-01-01", "Rent is 900."), ("2026-03-01", "Rent is 950.")]) as memory:
        assert set(await shown(memory, "What is the rent?")) == {"Rent is 900.", "Rent is 950."}


async def test_a_change_within_one_message_is_told() -> None:
    text = "I was at Acme. Now I am at Bolt."
    model = Scripted(
        {text: [states("I was at Acme.", "Ann's job"), states("Now I am at Bolt.", "Ann's job")]},
        {("Now I am at Bolt.", "I was at Acme."): "update"},
    )
    async with told(model, [("2026-01-01", text)]) as memory:
        assert await shown(memory, "Where does Ann work?") == ["Now I am at Bolt."]
    assert model.tasks == ["extract", "evolve"]


async def test_hearsay_against_somebodys_own_word_shows_both() -> None:
    texts: dict[str, Sequence[Row]] = {
        "I work at Acme.": [states("I work at Acme.", "Ann's employer", "Ann")],
        "Bob says Ann left Acme.": [
            states("Bob says Ann left Acme.", "Ann's employer", "Ann", mode="reported", by="Bob")
        ],
    }
    model = Scripted(texts, {("Bob says Ann left Acme.", "I work at Acme."): "contradict"})
    async with told(model, [("2026-01-01", "I work at Acme."), ("2026-02-01", "Bob says Ann left Acme.")]) as memory:
        found = await memory.recall("Where does Ann work?", min_score=0)
        assert {(hit.content, hit.state) for hit in found.hits} == {(text, HitState.DISPUTED) for text in texts}
        (step,) = [one for one in await memory.history("Ann") if one.entity.mode is Mode.REPORTED]
        assert step.entity.said_by == "Bob"


@pytest.mark.parametrize("mode", ["wished", "hypothetical", "asked"])
async def test_a_wish_ends_nothing_even_if_the_model_says_so(mode: str) -> None:
    texts: dict[str, Sequence[Row]] = {
        "I live in Rome.": [states("I live in Rome.", "Ann's home")],
        "If only I lived in Oslo!": [states("If only I lived in Oslo!", "Ann's home", mode=mode)],
    }
    model = Scripted(texts, {("If only I lived in Oslo!", "I live in Rome."): "update"})
    async with told(model, [("2026-01-01", "I live in Rome."), ("2026-02-01", "If only I lived in Oslo!")]) as memory:
        assert (await shown(memory, "Where does Ann live?"))[0] == "I live in Rome."


async def test_there_and_back_again() -> None:
    first, second, third = "Node 18 it is.", "Node 20 now.", "Back on 18."
    texts: dict[str, Sequence[Row]] = {text: [states(text, "node version")] for text in (first, second, third)}
    model = Scripted(texts, {(second, first): "update", (third, second): "update", (third, first): "same"})
    async with told(model, [("2026-01-01", first), ("2026-02-01", second), ("2026-03-01", third)]) as memory:
        assert await shown(memory, "Which node version?") == [third]
        assert await shown(memory, "Which node version?", "2026-01-15") == [first]
        assert await shown(memory, "Which node version?", "2026-02-15") == [second]


async def test_what_says_the_same_goes_with_what_is_closed() -> None:
    first, again, new = "The key is under the mat.", "Yes, under the mat.", "Key is with Jo from today."
    texts: dict[str, Sequence[Row]] = {text: [states(text, "where the key is")] for text in (first, again, new)}
    model = Scripted(texts, {(again, first): "same", (new, again): "update"})
    async with told(model, [("2026-01-01", first), ("2026-01-02", again), ("2026-02-01", new)]) as memory:
        assert await shown(memory, "Where is the key?") == [new]


async def test_what_repeats_two_things_at_once_takes_neither_with_it() -> None:
    wages, flour, rest, new = "Wages 61,000.", "Flour 18,350.", "Rest as before.", "Flour is 16,200, I misread."
    texts: dict[str, Sequence[Row]] = {
        text: [states(text, text.split(" ", maxsplit=1)[0])] for text in (wages, flour, rest, new)
    }
    model = Scripted(
        texts, {(rest, wages): "same", (rest, flour): "same", (new, flour): "correct", (new, rest): "correct"}
    )
    story = [("2026-01-01", wages), ("2026-01-02", flour), ("2026-01-03", rest), ("2026-02-01", new)]
    async with told(model, story) as memory:
        assert wages in await shown(memory, "What are the wages?")
        assert flour not in await shown(memory, "What is the flour?")


async def test_a_late_word_moves_the_border() -> None:
    texts: dict[str, Sequence[Row]] = {
        "I work at Acme.": [states("I work at Acme.", "Ann's job")],
        "I left in February, by the way.": [states("I left in February, by the way.", "Ann's job", from_="2026-02-01")],
    }
    model = Scripted(texts, {("I left in February, by the way.", "I work at Acme."): "end"})
    story = [("2026-01-01", "I work at Acme."), ("2026-07-01", "I left in February, by the way.")]
    async with told(model, story) as memory:
        assert "I work at Acme." in await shown(memory, "Where does Ann work?", "2026-01-20")
        assert "I work at Acme." not in await shown(memory, "Where does Ann work?", "2026-04-01")


@pytest.mark.parametrize(("kind", "stays"), [("topic", False), ("event", True)])  # what happened once is never over
async def test_a_statement_runs_out_when_it_says_so(kind: str, stays: bool) -> None:
    text = "I help out at the bakery until June."
    model = Scripted({text: [states(text, "Ann's job", until="2026-06-01", type=kind)]})
    async with told(model, [("2026-03-01", text)]) as memory:
        assert await shown(memory, "Where does Ann help out?", "2026-04-01") == [text]
        assert datetime.now().year > 2025, "the machine's clock is right"  # noqa: DTZ005
        for now in ("2026-06-02", None):
            assert await shown(memory, "Where does Ann help out?", now) == [text] * stays


async def test_who_wants_a_person_to_confirm_sets_act_from_to_one() -> None:
    texts: dict[str, Sequence[Row]] = {text: [states(text, "rent")] for text in ("Rent is 900.", "Rent is 950.")}
    model = Scripted(texts, {("Rent is 950.", "Rent is 900."): "update"})
    model.confidence = 1.0
    story = [("2026-01-01", "Rent is 900."), ("2026-03-01", "Rent is 950.")]
    async with told(model, story, config=Config(act_from=1.0)) as memory:
        assert set(await shown(memory, "What is the rent?")) == set(texts), "flagged, and nothing hidden"
        (row,) = (await memory.history("rent"))[0].evolutions
        assert not row.acted
        await memory.resolve(row.id, keep="new")
        assert await shown(memory, "What is the rent?") == ["Rent is 950."]
        await memory.undo(row.id)
        assert set(await shown(memory, "What is the rent?")) == set(texts)


async def test_a_hit_names_what_it_is_newer_than_until_somebody_has_settled_it() -> None:
    texts: dict[str, Sequence[Row]] = {text: [states(text, "rent")] for text in ("Rent is 900.", "Rent is 950.")}
    model = Scripted(texts, {("Rent is 950.", "Rent is 900."): "update"})
    story = [("2026-01-01", "Rent is 900."), ("2026-03-01", "Rent is 950.")]
    async with told(model, story, config=Config(act_from=1.0)) as memory:
        newer, older = (await memory.recall("What is the rent?", min_score=0)).hits
        assert (newer.content, newer.newer_than, older.newer_than) == ("Rent is 950.", (older.id,), ())
        (row,) = (await memory.history("rent"))[0].evolutions
        await memory.resolve(row.id, keep="both")
        assert {hit.newer_than for hit in (await memory.recall("What is the rent?", min_score=0)).hits} == {()}


async def test_a_wish_ends_nothing_and_what_else_was_said_does() -> None:
    home, car, wish, sold = "I live in Berlin.", "I drive a Saab.", "I wish I lived in Rome.", "The Saab is sold."
    talk = f"{wish} {sold}"
    read = [states(wish, "Ann's home", mode="wished"), states(sold, "Ann's car")]
    texts = {home: [states(home, "Ann's home")], car: [states(car, "Ann's car")], talk: read}
    model = Scripted(dict(texts), {(wish, home): "update", (sold, car): "end"})
    async with told(model, [("2026-01-01", home), ("2026-02-01", car), ("2026-03-01", talk)]) as memory:
        steps = (await memory.list()).items
        assert [one.entity.content for one in steps if one.state is not HitState.CURRENT] == [car]


async def test_below_the_bound_a_verdict_is_flagged() -> None:
    texts: dict[str, Sequence[Row]] = {text: [states(text, "rent")] for text in ("Rent is 900.", "Rent is 950.")}
    model = Scripted(texts, {("Rent is 950.", "Rent is 900."): "update"})
    model.confidence = 0.5
    async with told(model, [("2026-01-01", "Rent is 900."), ("2026-03-01", "Rent is 950.")]) as memory:
        (row,) = (await memory.history("rent"))[0].evolutions
        assert (row.evolution_type, row.acted) == (EvolutionType.UPDATE, False)
        assert (await shown(memory, "What is the rent?"))[0] == "Rent is 950.", "the newer one first"


@pytest.mark.parametrize(("keep", "then"), [("new", 950), ("old", 900), ("both", 900)])
async def test_a_flagged_correction_acts_once_it_is_confirmed(keep: str, then: int) -> None:
    texts: dict[str, Sequence[Row]] = {text: [states(text, "rent")] for text in ("Rent is 900.", "Rent is 950.")}
    model = Scripted(texts, {("Rent is 950.", "Rent is 900."): "correct"})
    model.confidence = 0.5
    async with told(model, [("2026-01-01", "Rent is 900."), ("2026-03-01", "Rent is 950.")]) as memory:
        (row,) = (await memory.history("rent"))[0].evolutions
        settled = await memory.resolve(row.id, keep=keep)
        assert (row.acted, settled.acted, settled.resolved) == (False, keep == "new", keep)
        assert await shown(memory, "What was the rent?", "2026-02-01") == [f"Rent is {then}."]


@pytest.mark.parametrize(
    ("old", "new", "name", "query"),
    [
        ("Wir wohnen in der Lindenstraße 4.", "Seit gestern wohnen wir am Markt 9.", "Anns Wohnung", "Wo wohnt Ann?"),
        ("El ensayo es los martes a las siete.", "Ahora ensayamos los jueves.", "ensayo del coro", "¿Cuándo es el ensayo?"),
        ("会議は月曜日です。", "会議は水曜日に変わりました。", "会議の曜日", "会議は何曜日ですか"),
        ("办公室在三楼。", "办公室搬到五楼了。", "办公室的位置", "办公室在几楼"),
    ],
    ids=["German", "Spanish", "Japanese", "Chinese"],
)  # fmt: skip
async def test_other_languages_act_as_english_does(old: str, new: str, name: str, query: str) -> None:
    model = Scripted({old: [states(old, name)], new: [states(new, name)]}, {(new, old): "update"})
    async with told(model, [("2026-01-01", old), ("2026-02-01", new)]) as memory:
        assert await shown(memory, query) == [new]
        assert await shown(memory, query, "2026-01-15") == [old]


# What a model need not be asked, and what is asked again.


async def test_thanks_need_no_model_and_an_answer_does() -> None:
    model = Scripted({"ok": [states("ok", "the deploy may go out")]})
    async with umi.Memory.open(":memory:", llm=model) as memory:
        first = await memory.remember("ok thx")
        assert (first.usage.calls, first.entities[0].mode) == (0, Mode.UNSTATED)
        await memory.remember("Shall I let the deploy go out?", role="assistant")
        second = await memory.remember("ok")
        assert second.usage.calls == 1
        assert second.entities[0].name == "the deploy may go out"


async def test_read_again_with_a_model_what_was_read_without(tmp_path: object) -> None:
    path = f"{tmp_path}/umi.db"
    story = [("2026-01-01", "shipping from the train branch"), ("2026-03-01", "shipline")]
    async with umi.Memory.open(path) as memory:
        for when, text in story:
            await memory.remember(text, speaker="Ann", at=day(when))
        concluded = await memory.remember("So hotfixes wait.", derived_from=[(await memory.list()).items[0].entity.id])
        assert len(await shown(memory, "Which release branch do we ship from?")) > 1
        with pytest.raises(umi.LLMError, match="takes a model"):
            await memory.reread()
    model = Scripted(
        {text: [states(text, "release branch")] for _, text in story}
        | {"So hotfixes wait.": [states("So hotfixes wait.", "hotfixes")]},
        {("shipline", "shipping from the train branch"): "update"},
    )
    async with umi.Memory.open(path, llm=model) as memory:
        seen: list[tuple[int, int]] = []
        receipt = await memory.reread(progress=lambda done, left: seen.append((done, left)))
        assert (receipt.completed, receipt.changes_count, receipt.waiting) == (3, 1, ())
        assert seen[-1] == (3, 0)
        assert (await shown(memory, "Which release branch do we ship from?"))[0] == "shipline"
        (why,) = [one for one in (await memory.list()).items if one.entity.episode_id == concluded.episode_ids[0]]
        assert why.state is HitState.STALE, "what a caller concluded from it is still known"
        await memory.undo(receipt.changes[0].id)
        assert "shipping from the train branch" in await shown(memory, "Which release branch do we ship from?")
        assert await memory.check() == []


@pytest.mark.parametrize(
    ("begins", "ends"), [("2026-02-01", "2026-02-01T00:00+00:00"), ("2025-12-01", "2026-01-01T12:00+00:00")]
)
async def test_what_was_replaced_ends_when_the_new_reading_begins(tmp_path: object, begins: str, ends: str) -> None:
    old, new = "We ship from train.", "Since February we have shipped from shipline."
    path = f"{tmp_path}/umi.db"
    async with umi.Memory.open(path) as memory:
        first = await memory.remember(old, speaker="Ann", at=day("2026-01-01"), extract_entities=False)
        second = await memory.remember(new, speaker="Ann", at=day("2026-03-01"), extract_entities=False)
        await memory.relate(first.entities[0].id, second.entities[0].id, type="update", reason="the branch changed")
    model = Scripted(
        {old: [states(old, "release branch")], new: [states(new, "release branch", from_=begins)]},
        {(new, old): "update"},
    )
    async with umi.Memory.open(path, llm=model) as memory:
        assert (await memory.reread()).changes == (), "the caller had said so before"
        ended = {one.entity.content: one.entity.valid_to for one in await memory.history("release branch")}
        assert ended == {old: datetime.fromisoformat(ends), new: None}
        assert await memory.check() == []


async def test_a_set_fact_is_asked_of_no_model_and_is_not_read_again(tmp_path: object) -> None:
    model = Scripted({"hello": [states("hello", "greeting")]}, {})
    async with umi.Memory.open(f"{tmp_path}/umi.db", llm=model) as memory:
        receipt = await memory.set_fact("api", "database", "SQLite")
        assert (receipt.usage.calls, receipt.deferred) == (0, ())
        await memory.remember("hello", speaker="Ann")
        assert (await memory.reread()).completed == 1
        assert [(fact.attribute, fact.value) for fact in await memory.facts("api")] == [("database", "SQLite")]


async def test_reading_later_returns_at_once_and_reads_in_order(tmp_path: object) -> None:
    texts: dict[str, Sequence[Row]] = {f"Rent is {n}00.": [states(f"Rent is {n}00.", "rent")] for n in range(1, 5)}
    pairs: dict[tuple[str, str], str | tuple[str, str]] = {
        (f"Rent is {n + 1}00.", f"Rent is {n}00."): "update" for n in range(1, 4)
    }
    model = Scripted(texts, pairs)
    async with umi.Memory.open(f"{tmp_path}/umi.db", llm=model) as memory:
        for number, text in enumerate(texts, 1):
            receipt = await memory.remember(text, at=day(f"2026-0{number}-01"), read="later")
            assert (receipt.deferred, receipt.entities) == (receipt.episode_ids, ())
            assert text in await shown(memory, text), "found by its words already"
        done = await memory.work(idle_s=0)
        assert done.waiting == ()
        assert await shown(memory, "What is the rent?") == ["Rent is 400."]
        read = [prompt for prompt, task in zip(model.prompts, model.tasks, strict=True) if task == "extract"]
        assert [next(text for text in texts if f"<data>{text}</data>" in prompt) for prompt in read] == list(texts)


async def test_the_end_of_a_long_chain_is_found_and_a_very_long_one_does_no_harm() -> None:
    for count in (40, 400):
        async with umi.Memory.open("dict:", embedder=None) as memory:
            receipts = await memory.remember([f"Reading {number} of the meter." for number in range(count)])
            ids = [entity.id for entity in receipts.entities]
            for old, new in itertools.pairwise(ids):
                await memory.relate(old, new, "update", "read anew")
            found = await memory.recall("Reading 3 of the meter", min_score=0, limit=3)
            assert [hit.content for hit in found.hits] == [f"Reading {count - 1} of the meter."]

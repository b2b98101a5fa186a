"""The look-up leg: which questions ask for one fact of one subject."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import umi
from umi._retrieval.slot_lookup import read_question


@pytest.mark.parametrize(
    ("query", "subject", "slots"),
    [
        ("Where does Alice work?", "alice", ("works_at",)),
        ("where is Alice currently working", "alice", ("works_at",)),
        ("Who does Alice work for now?", "alice", ("works_at",)),
        ("Where does Bob live these days?", "bob", ("lives_in", "location")),
        ("Where do I live?", "user", ("lives_in", "location")),
        ("How old is Tom?", "tom", ("age",)),
        ("How much does the Pro plan cost?", "pro plan", ("costs",)),
        ("What's the price of the Pro plan?", "pro plan", ("costs",)),
        ("What is the status of ticket 42?", "ticket 42", ("status",)),
        ("What is Ravi's email address?", "ravi", ("email",)),
        ("What's my wifi password?", "user", ("attr:wifi password",)),
        ("What is Carol's favourite colour?", "carol", ("favourite_colour",)),
        ("What does Carol prefer, tea or coffee?", "carol", ("prefers:drink",)),
        ("What does Alice do for a living?", "alice", ("role", "works_at")),
        ("Who is Anna married to?", "anna", ("married_to",)),
    ],
)
def test_questions_for_one_fact(query: str, subject: str, slots: tuple[str, ...]) -> None:
    found = read_question(query)
    assert found is not None
    assert (found.subject, found.slots, found.month) == (subject, slots, 0)


@pytest.mark.parametrize(
    ("query", "subject", "month"),
    [
        ("I need the assignee of INFRA-909 for the report.", "infra-909", 0),
        ("For the docs, give me the value of the log level of the mail gateway.", "log level of the mail gateway", 0),
        ("For the tax return I need the amount for the choir fee as of May.", "choir fee", 5),
        ("I need Yara's employer as it stood in February.", "yara", 2),
        ("Who employed Wen in April?", "wen", 4),
        ("What was February's price of the choir fee?", "choir fee", 2),
        ("I'm reconstructing my CV: where was I employed in March?", "user", 3),
    ],
)
def test_what_the_answer_is_wanted_for_is_not_asked_of(query: str, subject: str, month: int) -> None:
    found = read_question(query)
    assert found is not None
    assert (found.subject, found.month) == (subject, month)


@pytest.mark.parametrize(
    "query",
    [
        "Who works at Acme?",
        "Where did we see the lighthouse?",
        "What does Alice like?",
        "What did Alice say about where Bob works?",
        "How much fun was the trip?",
        "Why does Alice live in Berlin?",
        "What are Alice's cats called?",
        "x" * 10_000,
        "what is " * 1_000,
    ],
)
def test_other_questions_are_left_to_the_other_legs(query: str) -> None:
    assert read_question(query) is None


TOLD = (
    (
        "The dentist appointment for kid {number} is on {number} May.",
        "When is the dentist appointment for kid {number}?",
    ),
    ("I paid {number}00 dollars for the {team} subscription.", "How much is the {team} subscription?"),
    (
        "I've booked a session with the {team} consultant on {number} May to improve my skills, but I'm kinda worried.",
        "When is my session with the {team} consultant scheduled?",
    ),
)


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("The dentist moved my appointment to Friday.", "When is the dentist appointment?"),
        ("I changed the oil of the car on Sunday.", "When is the oil change of the car?"),
    ],
)
async def test_what_names_all_that_is_asked_of_is_shown_in_whatever_order(said: str, asked: str) -> None:
    async with umi.Memory.open("dict:") as memory:
        await memory.remember([said, "I like long walks.", "The weather is awful today."])
        found = await memory.recall(asked)
    assert found.hits[0].content == said


@pytest.mark.parametrize(
    ("month", "held"),
    [
        ("May", "Bob moved to Lisbon."),  # of this year, though it has only begun
        ("April", "Bob moved to Berlin."),
        ("March", "Bob moved to Berlin."),
        ("February", "Bob lives in Paris."),
        ("December", "Bob lives in Paris."),
        ("June", "Bob lives in Paris."),
    ],
)
async def test_a_month_is_the_last_that_began_before_the_newest_statement(month: str, held: str) -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        await memory.remember("Bob lives in Paris.", at="2025-06-30T23:59:59Z")
        await memory.remember("Bob moved to Berlin.", at="2026-03-31T23:59:59Z")
        await memory.remember("Bob moved to Lisbon.", at="2026-05-01T00:00:00Z")
        assert (await memory.recall(f"Where did Bob live in {month}?")).hits[0].content == held


async def test_an_hour_later_is_no_day_of_anything() -> None:
    async with umi.Memory.open("dict:") as memory:
        await memory.remember("The flea market is on 21 June.")
        await memory.remember("The flea market starts an hour later, same day.")
        await memory.remember("Sorry, wrong day: the flea market is on 6 July.")
        found = await memory.recall("When is the flea market?")
    shown = {hit.content: hit.state for hit in found.hits}
    assert next(iter(shown)) == "Sorry, wrong day: the flea market is on 6 July."
    assert shown["The flea market starts an hour later, same day."] is umi.HitState.CURRENT


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("The garden party is on 5 November.", "2026-11-05"),
        ("The museum visit is scheduled for August 20.", "2026-08-20"),
        ("The book club is on 3 January.", "2026-01-03"),
    ],
)
async def test_an_event_that_is_told_of_is_still_to_come(said: str, day: str) -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        (entity,) = (await memory.remember(said, at=datetime(2026, 1, 15, tzinfo=UTC))).entities
    assert (entity.slot, entity.value) == ("scheduled_at", day)


@pytest.mark.parametrize(
    ("said", "subject", "value"),
    [
        ("Our moped: 900 euros.", "moped", "900 euros"),
        ("The neighbours' fence: 900 euros.", "neighbours' fence", "900 euros"),
        ("Offsite moved to 29 February.", "offsite", "2028-02-29"),  # next year has no such day
        ("Sold today, our moped: 900 euros.", "moped", "900 euros"),
        ("Day job: Alpha Beta Gamma Delta.", "sam", "Alpha Beta Gamma Delta"),
        ("Day job: Alpha Beta Gamma Delta Epsilon Zeta.", "sam", "Alpha Beta Gamma Delta Epsilon Zeta"),
    ],
)
async def test_a_note_names_a_thing_and_its_value(said: str, subject: str, value: str) -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        done = await memory.remember(said, speaker="Sam", at=datetime(2028, 6, 20, tzinfo=UTC))
    assert [(one.subject, one.value) for one in done.entities if one.slot] == [(subject, value)]


@pytest.mark.parametrize("said", ["The wrong price: 900 euros.", "Those students live in Graz and I teach them."])
async def test_a_note_of_nothing_that_is_named_states_nothing(said: str) -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        done = await memory.remember(said, speaker="Sam")
    assert [one for one in done.entities if one.slot] == []


async def test_what_is_kept_a_secret_is_no_favourite() -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        await memory.remember("My favourite band is Portishead.")
        await memory.remember("My favourite band is a bit of a secret, my students don't know it.")
        found = await memory.recall("What's my favourite band?")
    assert found.hits[0].content == "My favourite band is Portishead."


async def test_a_sum_or_a_day_that_somebody_told_is_never_hidden_however_it_was_told() -> None:
    given = [
        (said.format(number=3 + 7 * place, team=team), asked.format(number=3 + 7 * place, team=team))
        for said, asked in TOLD
        for place, team in enumerate(("design", "billing", "legal"))
    ]
    async with umi.Memory.open("dict:") as memory:
        await memory.remember_many([umi.Message(said) for said, _ in given])
        for said, asked in given:
            assert said in [hit.content for hit in (await memory.recall(asked)).hits]

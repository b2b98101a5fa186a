"""Sentences on both sides of a condition of the reader: what it reads here it must not read there, and the other way round."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from reading import FRIDAY, claims, entities, read

import umi
from umi._reading.extract import EntityExtractor
from umi._reading.grammar import predicates

Claims = list[tuple[str, str, str]]

READ: dict[str, Claims] = {
    "I can speak Spanish.": [("sam", "speaks", "Spanish")],
    "I can't speak Spanish.": [],
    "My new job is at Globex.": [("sam", "works_at", "Globex")],
    "My new role is head of sales.": [("sam", "role", "head of sales")],
    "My favourite cafe is at Lisbon station.": [],
    "My laptop moved to closed.": [("sam's laptop", "status", "closed")],
    "Ticket 42 moved to review.": [],
    "I adopted two dogs.": [("sam", "has_pet", "two dogs")],
    "I have bought three bikes.": [("sam", "owns", "three bikes")],
    "Bob and his family moved to Porto.": [("bob's family", "lives_in", "Porto"), ("bob", "lives_in", "Porto")],
    "My car and Alice moved to Porto.": [("alice", "lives_in", "Porto")],
    "Alice is coming in June. She lives in Porto.": [("alice", "lives_in", "Porto")],
    "July lives in Porto.": [],
    "My wife moved to Paris.": [("sam's wife", "lives_in", "Paris")],
    "My manager changed to Bob.": [("sam", "attr:manager", "Bob")],
    "I prefer dark roast.": [("sam", "prefers:roast", "dark roast")],
    "I have been using Ibotta for a while now.": [("sam", "uses", "Ibotta")],
    "I use Miro for sketches.": [("sam", "uses_for:sketches", "Miro")],
    "Alice majors in physics.": [("alice", "studies", "physics")],
    "My manager is Mrs. Novak.": [("sam", "attr:manager", "Mrs. Novak")],
    "I work for J. P. Morgan.": [("sam", "works_at", "J. P. Morgan")],
    "My favourite author is J. R. R. Tolkien.": [("sam", "favourite_author", "J. R. R. Tolkien")],
    "I work at Blue Harbor Inc. My brother lives in Graz.": [
        ("sam", "works_at", "Blue Harbor Inc"),
        ("sam's brother", "lives_in", "Graz"),
    ],
    '"I work for Siemens", said Tom.': [],
    "'I live in Rome', says the postcard.": [],
    "I live in the girls' old house in Rome, and 'my boss' is Tom.": [],
    '"We moved to Rome," Tom wrote. I live in Graz.': [("sam", "lives_in", "Graz")],
    "Ticket 42 is open but ticket 43 is on hold.": [
        ("ticket 42", "status", "open"),
        ("ticket 43", "status", "on hold"),
    ],
    "Ticket 42 is open source.": [],
    "The site is up and running.": [("site", "status", "up and running")],
    "The site is up and runs.": [("site", "status", "up")],
    "We closed ticket # 42.": [("ticket 42", "status", "closed")],
    "We closed issue Alpha #.": [("issue alpha", "status", "closed")],
    "The Pro plan is $20, tax included.": [("pro plan", "costs", "$20")],
    "The Pro plan is $20 fee.": [],
    "My wifi password is hunter2.": [("sam", "attr:wifi password", "hunter2")],
    "My password is hunter2.": [("sam", "attr:password", "hunter2")],
    "My parcel locker is B12.": [],
    "My son is twelve.": [],
    "My son just turned twelve.": [("sam's son", "age", "12")],
    "My son is twelve years old.": [("sam's son", "age", "12")],
    "My son is thirteen.": [("sam's son", "age", "13")],
    "My son is 12.": [("sam's son", "age", "12")],
    "Ana Bea Cora Dora Ella lives in Rome.": [("ana bea cora dora ella", "lives_in", "Rome")],
    "Ana Bea Cora Dora Ella Fay lives in Rome.": [],
    "Acme has 999999999999999 employees.": [("acme", "count:employee", "999999999999999")],
    "Acme has 9999999999999999 employees.": [],
    "I drink coffee.": [("sam", "drinks", "coffee")],
    "I drink coffee these days.": [("sam", "prefers:drink", "coffee")],
    "I drink coffee instead of tea.": [("sam", "prefers:drink", "coffee")],
    "I had bought three bikes.": [],
    "The price of the choir is $20.": [("choir", "costs", "$20")],
    "The door of the garage is closed.": [("door of the garage", "status", "closed")],
    "Hi Bob, the lid of the Blue Box is open.": [("lid of the blue box", "status", "open")],
    "The north town hall door is closed.": [("north town hall door", "status", "closed")],
    "The north town hall side door is closed.": [],
    "The door about budgets is closed.": [("door about budgets", "status", "closed")],
    "The meeting about budgets is on Friday.": [("meeting about budgets", "scheduled_at", "2026-11-27")],
    "One of Alice's cats is called Miso.": [("alice", "called", "Miso")],
    "One of alice's cats is called Miso.": [],
    "Tom's 30 now.": [("tom", "age", "30")],
    "My cats are new. They live in Graz.": [("sam's cats", "lives_in", "Graz")],
    "My cats are new. The Pro plan is new. They live in Graz.": [],
    "My cats are new. My dogs are old. They live in Graz.": [],
    "The phone number of Acme is 12345.": [("acme", "phone", "12345")],
    "The number of outcomes is 5.": [],
    "I retired from Acme to write.": [("sam", "works_at", "not Acme")],
    "I moved from Rome to Graz.": [("sam", "lives_in", "Graz")],
    "Hi. Hello. The Pro plan is new. It costs $20.": [("pro plan", "costs", "$20")],
    "The Pro plan is new. Hello. It costs $20.": [],
    "Hi. Hi. Hi. Alice is new. Hello. Hi. She lives in Graz.": [("alice", "lives_in", "Graz")],
    "Alice is new. Hello. Hi. Wow. She lives in Graz.": [],
    "Alice, Bob moved to Porto.": [("bob", "lives_in", "Porto")],
    "Alice or Bob moved to Porto.": [],
    "My brother works at Acme because I live in Graz.": [
        ("sam's brother", "works_at", "Acme"),
        ("sam", "lives_in", "Graz"),
    ],
    "I live in Room 9b.": [],
    "I live in Graz, Styria": [("sam", "lives_in", "Graz, Styria")],
    "Acme is located in Lisbon.": [("acme", "location", "Lisbon")],
    "Acme located in Lisbon.": [],
    "Your Apollo project is on hold.": [],
    "Project Apollo is on hold.": [("apollo", "status", "on hold")],
    "I live in Graz, Styria since May.": [("sam", "lives_in", "Graz, Styria")],
    "I live in Graz, Styria mostly in winter.": [("sam", "lives_in", "Graz")],
    "Alice have a dog.": [],
    "Alice has a dog.": [("alice", "has_pet", "dog")],
    "Alice work at Acme.": [],
    "My car is a red Honda Civic wagon.": [("sam's car", "is_a", "red Honda Civic wagon")],
    "My car is a big red Honda Civic wagon.": [],
    "My dog is a bit of a mess.": [],
    "Pro plan costs $20.": [("pro plan", "costs", "$20")],
    "pro plan costs $20.": [],
    "The Pro plan is $20 e-mail included.": [],
    "I have never adopted a dog.": [],
    "I was bought a bike.": [],
}


@pytest.mark.parametrize("text", READ)
def test_reads(text: str) -> None:
    assert claims(text) == READ[text]


SUPPOSED = {
    "When my mum is crazy about chess, we can visit.": [],
    "When Nora works at Acme, she can help.": [],
    "When I am fond of chess, we can visit. I live in Graz.": [("lives_in", "Graz")],
    "When I was bored, I took up chess.": [("hobby", "chess")],
}


@pytest.mark.parametrize("text", SUPPOSED)
def test_what_a_sentence_opens_with_as_a_condition_is_not_stated(text: str) -> None:
    assert [(one.slot, one.value) for one in entities(text) if one.slot] == SUPPOSED[text]


DENIED = {
    "The Basic plan does not sell for $20.": [],
    "The Basic plan does not sell for $20, it costs $30.": [("costs", "$30")],
    "Nora did not move to New York.": [],
    "Nora didn't move to New York, she has a friend there.": [],
    "Nora did not move to San Marino but to New York.": [("lives_in", "New York")],
    "I did not know Nora Berg lives in New York.": [("lives_in", "New York")],
}


@pytest.mark.parametrize("text", DENIED)
def test_what_somebody_does_not_do_is_not_stated(text: str) -> None:
    assert [(one.slot, one.value) for one in entities(text) if one.slot] == DENIED[text]


SINCE = {
    "I adopted two dogs in 2024.": datetime(2024, 1, 1, tzinfo=UTC),
    "I have bought a Honda in March.": FRIDAY,  # bought by now; March is when nothing more is said
    "I got a dog last year.": datetime(2025, 1, 1, tzinfo=UTC),
}


@pytest.mark.parametrize("text", SINCE)
def test_holds_since(text: str) -> None:
    (entity,) = entities(text)
    assert entity.valid_from == SINCE[text]


def test_joined_and_left_is_one_statement() -> None:
    (statement,) = read("I joined StartupX in March and left Acme in May.")
    assert (statement.slot, statement.value, statement.ended) == ("works_at", "StartupX", ("Acme",))
    assert [date.start.month for date in statement.dates] == [3, 5]


async def test_without_a_moment_dates_resolve_against_1970() -> None:
    (meeting,) = (await EntityExtractor().extract("The meeting is tomorrow.")).entities
    assert (meeting.slot, meeting.value) == ("scheduled_at", "1970-01-02")


def test_no_rule_is_surer_than_sure() -> None:
    sure = [(word, rule.slot, rule.confidence) for word in predicates._TABLE for rule in predicates.rules_for(word)]
    assert sure
    assert [one for one in sure if not 0.5 <= one[2] <= 0.95] == []


OF_ANOTHER_TOWN = (
    "> Nora moved to Graz.",
    "> Nora lives in Graz.\n\n> So they say.",
    "> Nora lives in Graz.\n\nNice!",
    "'My home is in Graz', says a postcard by Nora.",
    "No, Nora does not live in Graz.",
)


@pytest.mark.parametrize("text", OF_ANOTHER_TOWN)
async def test_a_quotation_and_a_denial_put_nothing_in_place_of_what_is_known(text: str) -> None:
    async with umi.Memory.open(":memory:") as memory:
        await memory.remember("Nora lives in Lisbon.", at=FRIDAY)
        done = await memory.remember(text, at=FRIDAY + timedelta(days=7))
        assert done.evolutions == ()
        found = await memory.recall("Where does Nora live?")
    assert [found.hits[0].content, found.hits[0].state] == ["Nora lives in Lisbon.", umi.HitState.CURRENT]


NO_REQUEST = (
    ("I want to go rowing in the old boat.", "It forced me to let go of the old boat."),
    ("I really know my way around rye bread.", "I really do not know my way around sourdough bread."),
    ("You could install the server version of Fedora.", "Or install the server version, and then remove the desktop."),
)


@pytest.mark.parametrize(("before", "after"), NO_REQUEST)
async def test_what_asks_nobody_to_forget_hides_nothing(before: str, after: str) -> None:
    async with umi.Memory.open(":memory:") as memory:
        await memory.remember(before, speaker="Sam", at=FRIDAY)
        done = await memory.remember(after, speaker="Sam", at=FRIDAY + timedelta(days=7))
        assert [one.reason for one in done.evolutions if one.acted] == []
        await memory.remember("Please forget it.", speaker="Sam", at=FRIDAY + timedelta(days=8))
        asked = await memory.remember(f"Please forget this: {before}", speaker="Sam", at=FRIDAY + timedelta(days=9))
        assert [one.reason for one in asked.evolutions if one.acted] == ["asked to forget it"]


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        ("I prefer solo activities.", "I prefer land-based activities.", umi.HitState.CURRENT),
        ("I prefer solo activities.", "I now prefer land-based activities.", umi.HitState.SUPERSEDED),
        ("I prefer tea.", "I prefer coffee.", umi.HitState.SUPERSEDED),
    ],
)
async def test_of_two_preferences_one_takes_the_others_place_where_its_kind_is_known(
    before: str, after: str, state: umi.HitState
) -> None:
    async with umi.Memory.open("dict:") as memory:
        await memory.remember(before, at=FRIDAY)
        await memory.remember(after, at=FRIDAY + timedelta(days=7))
        states = {step.entity.content: step.state for step in (await memory.list()).items}
    assert states == {before: state, after: umi.HitState.CURRENT}

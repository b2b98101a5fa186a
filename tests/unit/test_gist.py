"""The gist of short messages: whose fact, which value, what becomes of what was known; and what has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from umi._reading.short_messages import classifier
from umi._reading.short_messages.lexical_cues import asks_to_forget
from umi._reading.short_messages.question_reader import read as read_question
from umi._reading.short_messages.reader import read
from umi.limits import EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
from umi.ports.text_reader import Interpretation, Judged, OpenText
from umi.providers.local import IDENTITY, LocalEmbedder
from umi.types import Entity, EntityType

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
ME = ("user", "user")


def facts(text: str, *known: tuple[str, str, str]) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """(subject, slot, value, ended) of each; a value that is over begins with "not "."""

    def opened(subject: str, slots: Sequence[str]) -> Sequence[Entity]:
        made = [Entity(EntityType.NOTE, one[0], "", subject=one[0], slot=one[1], value=one[2]) for one in known]
        return [one for slot in slots for one in made if (one.subject, one.slot) == (subject, slot)]

    found = read(text, ME, MARCH, opened, READER)
    return [
        (one.subject, one.slot, f"{'not ' if one.negated else ''}{one.value}", one.ended)
        for one in found
        if one.source or min(one.confidence, one.acting) >= EVOLUTION_SUPERSEDE_CONFIDENCE_MIN
    ]


READER = LocalEmbedder().reader


@pytest.mark.parametrize(
    ("text", "subject", "slot", "value"),
    [
        ("My paycheck comes from Nordlicht.", "user", "works_at", "Nordlicht"),
        ("I'm an analyst over at Nordlicht.", "user", "works_at", "Nordlicht"),
        ("Home for me is Ghent.", "user", "lives_in", "Ghent"),
        ("Priya's flat is in Ghent.", "priya", "lives_in", "Ghent"),
        ("For the gym membership I'm paying $39.", "gym membership", "costs", "$39"),
        ("Save the date: the offsite, 12 June.", "offsite", "scheduled_at", "2026-06-12"),
        ("Noor is taking care of PAY-482.", "pay-482", "attr:assignee", "Noor"),
        ("Noor calls the shots in the data team.", "data team", "attr:lead", "Noor"),
        ("We run with the port of the billing API at 8080.", "port of the billing api", "attr:value", "8080"),
        ("If anybody asks, teal is my favourite colour.", "user", "favourite_colour", "teal"),
        ("Priya can hold a conversation in Korean.", "priya", "speaks", "Korean"),
        ("We rely on Redis in the website.", "website", "uses", "Redis"),
        ("Priya told me that Noor works at Nordlicht.", "noor", "works_at", "Nordlicht"),
        ("Unlike the phone plan, the gym membership costs $45.", "gym membership", "costs", "$45"),
    ],
)
def test_what_is_stated(text: str, subject: str, slot: str, value: str) -> None:
    assert facts(text) == [(subject, slot, value, ())]


@pytest.mark.parametrize(
    ("text", "known", "value", "ended"),
    [
        ("So I handed in my badge at Nordlicht. Halden & Pike is paying me now!", ("user", "works_at", "Nordlicht"), "Halden & Pike", True),
        ("Oops, autocomplete. I never worked at Nordlicht, it's Emberline.", ("user", "works_at", "Nordlicht"), "Emberline", True),
        ("Heard from Priya: not at Nordlicht any longer, works for Emberline now.", ("priya", "works_at", "Nordlicht"), "Emberline", True),
        ("The gym membership got more expensive, $45 instead of $39.", ("gym membership", "costs", "$39"), "$45", True),
        ("Typo above. I meant $45 for the gym membership.", ("gym membership", "costs", "$39"), "$45", True),
        ("Not Noor! PAY-482 is Quinn's, always has been.", ("pay-482", "attr:assignee", "Noor"), "Quinn", True),
        ("Noor made way for Quinn at the top of the data team.", ("data team", "attr:lead", "Noor"), "Quinn", True),
        ("I've gone off teal. My new favourite colour is coral.", ("user", "favourite_colour", "teal"), "coral", True),
        ("They called off the offsite, so the day is free again.", ("offsite", "scheduled_at", "2026-06-12"), "not 2026-06-12", True),
        ("PAY-482 is up for grabs again.", ("pay-482", "attr:assignee", "Noor"), "not Noor", True),
        ("As of today I have no home: lease is over, van is packed.", ("user", "lives_in", "Ghent"), "not Ghent", True),
        ("Please drop the bit about Noor having PAY-482.", ("pay-482", "attr:assignee", "Noor"), "not Noor", True),
        ("Don't keep that I work at Nordlicht.", ("user", "works_at", "Nordlicht"), "not Nordlicht", True),
        ("That's how we have the port of the billing API configured: not 8080, 9090.", ("port of the billing api", "attr:value", "8080"), "9090", True),
        ("Please put my town from Graz to Lyon, the van came.", ("user", "lives_in", "Ghent"), "Lyon", True),
        ("Priya went from Nordlicht to Emberline.", ("priya", "works_at", "Nordlicht"), "Emberline", True),
        ("I cycle to work at Nordlicht when it's dry.", ("user", "works_at", "Nordlicht"), "Nordlicht", False),
        ("I've had a flat in Ghent for years.", ("user", "lives_in", "Ghent"), "Ghent", False),
        ("Every evening I take the tram home to Ghent.", ("user", "lives_in", "Ghent"), "Ghent", False),
        ("The $39 for the gym membership gets debited on the first.", ("gym membership", "costs", "$39"), "$39", False),
    ],
)  # fmt: skip
def test_what_becomes_of_what_is_known(text: str, known: tuple[str, str, str], value: str, ended: bool) -> None:
    assert facts(text, known) == [(known[0], known[1], value, (known[2],) if ended else ())]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("I was wrong about Priya: the employer is Emberline.", ("user", "works_at", "Nordlicht")),
        ("I got a parcel from Emberline today.", ("user", "works_at", "Nordlicht")),
        ("Thanks, Jon! I'm so happy with my new job.", ("user", "works_at", "Nordlicht")),
        ("I almost moved to Osaka last week.", ("user", "lives_in", "Ghent")),
        ("Priya's parents live in Osaka now.", ("priya", "lives_in", "Ghent")),
        ("Would $45 be fair for the gym membership now?", ("gym membership", "costs", "$39")),
        ("I had $45 in my pocket when I signed up for the gym membership today.", ("gym membership", "costs", "$39")),
        ("Quinn opened PAY-482 back then, as the reporter.", ("pay-482", "attr:assignee", "Noor")),
        ("Quinn joined the data team as a volunteer.", ("data team", "attr:lead", "Noor")),
        ("I just can't stop gardening now.", ("user", "hobby", "gardening")),
        (
            "The pull request to remove the port of the billing API was closed without merging.",
            ("port of the billing api", "attr:value", "8080"),
        ),
        (
            "Priya looked at a flat elsewhere last week but didn't take it and is staying put.",
            ("priya", "lives_in", "Ghent"),
        ),
        (
            "We looked at a house in another town but decided against it, so we're staying where we are.",
            ("user", "lives_in", "Ghent"),
        ),
        ("The status of PAY-482 is in progress, same as yesterday.", ("pay-482", "attr:assignee", "Noor")),
        ("Wow, Jon! Your passion is great, so keep leading the choir.", ("choir", "attr:lead", "Noor")),
        ("Yeah Osaka, I'm here for you!", ("user", "lives_in", "Ghent")),
        ("The couple upstairs are moving to Osaka, so I inherit their sofa.", ("user", "lives_in", "Ghent")),
        ("Some guy from the third floor just moved to Osaka, I heard.", ("user", "lives_in", "Ghent")),
        ("The car wash is $45 now.", ("gym membership", "costs", "$39")),
    ],
)
def test_what_resembles_a_change_ends_nothing(text: str, known: tuple[str, str, str]) -> None:
    assert [one for one in facts(text, known) if one[3]] == []


def test_questions_are_judged_with_the_vectors_that_their_head_was_trained_with() -> None:
    assert IDENTITY.digest == classifier.EMBEDDER


@dataclass(frozen=True)
class ShortSighted:
    """A reader that says nothing of the words from a character on."""

    text: OpenText
    sees: int

    def judge(self, take: Interpretation) -> Judged:
        judged = self.text.judge(take)
        return replace(judged, roles=[one for one in judged.roles if one[1] <= self.sees])

    def read(self, text: str, before: str = "") -> ShortSighted:
        assert READER is not None
        return replace(self, text=READER.read(text, before))


@pytest.mark.parametrize(("sees", "value"), [(38, ["$39"]), (32, [])])
def test_words_of_which_a_reader_says_nothing_are_no_value(sees: int, value: list[str]) -> None:
    assert READER is not None
    text = "For the gym membership I'm paying $39."
    found = read(text, ME, MARCH, reader=ShortSighted(READER.read(text), sees))
    assert [one.value for one in found] == value


def test_hearsay_names_its_source_and_ends_nothing() -> None:
    (one,) = read("According to Uma my employer is Emberline.", ME, MARCH)
    assert (one.slot, one.value, one.source, one.ended) == ("works_at", "Emberline", "uma", ())


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Clear your memory of the gym membership, where it says $39.", True),
        ("I'd rather you didn't keep my town.", True),
        ("Forget what I said about the salary.", True),
        ("I used soap and water to wipe down the uppers.", False),
        ("Took a short trip last week to Rome to clear my mind a little.", False),
        ("I prefer not to have any smart devices in my home.", False),
        ("I want to add sentences, like the 20 I added, but I'm not sure if it's enough.", False),
        ("The sky was so clear and filled with stars.", False),
        ("The game was called Counter-Strike.", False),
        ("The pull request to remove the port of the billing API was closed.", False),
    ],
)
def test_only_who_asks_to_forget_is_taken_to_ask(text: str, asked: bool) -> None:
    assert asks_to_forget(text) is asked


def test_a_long_message_has_no_gist() -> None:
    assert facts("I work at Nordlicht. " * 30) == []
    assert facts("I work at Nordlicht. It rains. It pours. It snows. It thaws.") == []


@pytest.mark.parametrize(
    ("question", "subject", "slot", "month"),
    [
        ("I need to fill in a form: name of my employer?", "", "works_at", 0),
        ("What's the name of the place where Priya works?", "priya", "works_at", 0),
        ("Whom do I ping about PAY-482?", "pay-482", "attr:assignee", 0),
        ("When does the book club take place?", "book club", "scheduled_at", 0),
        ("In March, what was the port of the billing API set to?", "port of the billing api", "attr:value", 3),
        ("I'm doing the budget. What do I put down for the choir fee?", "choir fee", "costs", 0),
        ("Whose name goes at the top of the choir in the org chart?", "choir", "attr:lead", 0),
        ("I need the assignee of PAY-482 for the report.", "pay-482", "attr:assignee", 0),
        ("Who led the choir back in May?", "choir", "attr:lead", 5),
    ],
)
def test_questions_for_one_fact(question: str, subject: str, slot: str, month: int) -> None:
    asked = read_question(question)
    assert asked is not None
    assert (asked.subject, asked.slots[0], asked.month, asked.exact) == (subject, slot, month, True)


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Before I page anyone: what does the port of the billing API stand at?", "port of the billing api"),
        ("Whos on the slow search atm", "slow search"),
        ("When does the book club Bruno runs start?", "book club"),
        ("Back in May, what did the choir fee stand at?", "choir fee"),
        ("Back in May, when did the party take place?", "party"),
        ("I forgot the figure for the choir fee, what was the latest?", "choir fee"),
    ],
)
def test_a_thing_ends_where_its_name_does(question: str, subject: str) -> None:
    asked = read_question(question)
    assert asked is not None
    assert asked.subject == subject


@pytest.mark.parametrize(
    "verb", ["starts", "finishes", "carries", "pays", "started", "raised", "carried", "played", "stopped"]
)
def test_a_thing_ends_at_a_verb_in_any_form(verb: str) -> None:
    asked = read_question(f"On which day is it that the book club {verb} songs?")
    assert asked is not None
    assert asked.subject == "book club"


@pytest.mark.parametrize("question", ["Who plays the cello?", "When did we visit the museum?"])
def test_a_question_that_asks_for_more_is_not_exact(question: str) -> None:
    asked = read_question(question)
    assert asked is None or not asked.exact

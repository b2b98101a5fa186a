"""Text to entities: verbatim spans, notes for the rest, aliases, bounds, and a model that may fail."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from reading import FRIDAY, entities, said

from umi._reading.extract import EntityExtractor, extract_rules
from umi.errors import LLMError
from umi.limits import ENTITIES_PER_MESSAGE_COUNT_MAX, SHORT_MESSAGE_CHARACTERS_MAX
from umi.types import Completion, CompletionRequest, Entity, EntityType, Relation


def nobody(_alias: str) -> str | None:
    return None


def test_every_entity_is_a_verbatim_span_of_its_episode() -> None:
    text = "Hi there! I left Acme and joined StartupX.\nMy sister Anna lives in Rome, and I have two cats. Bye 😀"
    episode = said(text, arrival=7)
    found = extract_rules(episode, nobody).result.entities
    assert [entity.content for entity in found] == [
        "Hi there!",
        "I left Acme and joined StartupX.",
        "My sister Anna lives in Rome",
        "I have two cats.",
        "Bye 😀",
    ]
    for entity in found:
        assert entity.span is not None
        assert entity.content == text[slice(*entity.span)]
        assert (entity.episode_id, entity.at, entity.arrival) == (episode.id, episode.at, 7)
        assert (entity.recorded_at, entity.valid_from) == (episode.recorded_at, episode.at)
        assert entity.valid_to is None


def test_names_are_as_written_and_subjects_are_keys() -> None:
    dr, me = entities("Dr. Lee lives in Boston. I live in Oslo.", speaker="Sam Roe")
    assert (dr.name, dr.subject) == ("Dr. Lee", "lee")
    assert (me.name, me.subject) == ("Sam Roe", "sam roe")
    (user,) = entities("I live in Oslo.", speaker=None)
    assert (user.name, user.subject) == ("user", "user")


def test_what_fills_no_slot_is_one_note_per_run() -> None:
    found = entities("What a day. So tired! Alice works at Acme. Bye now. See you.")
    assert [(entity.entity_type, entity.content) for entity in found] == [
        (EntityType.NOTE, "What a day. So tired!"),
        (EntityType.PERSON, "Alice works at Acme."),
        (EntityType.NOTE, "Bye now. See you."),
    ]
    assert (found[0].name, found[0].slot, found[0].subject) == ("Sam", "", "")


WHY = "Why is it that {} are at my gate?"


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("How are you?", False),
        ("Hi there, dear Bob! How are you?", False),
        ("Hi there, Bob!", True),
        ("Hi there, my dear Bob! How are you?", True),
        ("So tired. How are you?", True),
        (WHY.format("g" * (SHORT_MESSAGE_CHARACTERS_MAX - len(WHY) + 2)), False),
        (WHY.format("g" * (SHORT_MESSAGE_CHARACTERS_MAX - len(WHY) + 3)), True),
    ],
)
def test_beside_a_statement_short_questions_and_greetings_are_no_note(before: str, *, kept: bool) -> None:
    found = entities(f"{before} Alice works at Acme.")
    assert [one.content for one in found] == [before] * kept + ["Alice works at Acme."]


@pytest.mark.parametrize("text", ["x", "?", "😀", "東京に住んでいます。", "\x01", "a" * 1_000_000, ". " * 1_000, "—"])
def test_every_text_yields_an_entity(text: str) -> None:
    found = entities(text)
    assert len(found) >= 1
    assert "".join(entity.content for entity in found).strip() != ""


@pytest.mark.parametrize(
    "text", ["What a day. So tired!\n", " What a day. So tired!", " \t What a day. So tired! \n\n"]
)
def test_a_note_begins_and_ends_with_its_words(text: str) -> None:
    assert [one.content for one in entities(text)] == ["What a day. So tired!"]


def test_a_message_holds_no_more_entities_than_allowed_and_none_of_its_words_is_lost() -> None:
    names = [f"{chr(65 + number // 20)}a{chr(97 + number % 20)}a" for number in range(400)]
    text = " ".join(f"{name} lives in Paris. What a day {number}!" for number, name in enumerate(names))
    found = entities(text)
    assert sum(bool(entity.slot) for entity in found) >= 50
    assert len(found) <= ENTITIES_PER_MESSAGE_COUNT_MAX
    assert found[-1].entity_type is EntityType.NOTE
    covered = " ".join(entity.content for entity in found)
    assert all(f"{name} " in covered for name in names)


def test_dates_are_kept_as_iso_intervals() -> None:
    (entity,) = entities("The launch is scheduled for 5 May 2027.")
    assert entity.notes.dates == ("2027-05-05T00:00:00+00:00/2027-05-06T00:00:00+00:00",)
    (note,) = entities("What a party yesterday!")
    assert note.notes.dates == ("2026-11-19T00:00:00+00:00/2026-11-20T00:00:00+00:00",)
    assert entities("No date here.")[0].metadata == {}


def test_since_a_past_date_is_when_it_began_to_hold() -> None:
    (entity,) = entities("I've been working at Acme since March.")
    assert entity.valid_from is not None
    assert f"{entity.valid_from:%Y-%m-%d}" == "2026-03-01"
    assert entity.at == FRIDAY


def test_aliases_are_taught_and_used() -> None:
    extracted = extract_rules(said("My name is Samantha. My sister Anna lives in Rome."), nobody)
    assert extracted.aliases == (("samantha", "sam"), ("sam's sister", "anna"))
    known = dict(extracted.aliases)
    (later,) = extract_rules(said("My sister moved to Milan.", arrival=1), known.get).result.entities
    assert later.subject == "anna"
    (hers,) = extract_rules(said("Samantha works at Acme.", arrival=2, speaker="Bob"), known.get).result.entities
    assert hers.subject == "sam"


def test_links_between_subjects_are_relations() -> None:
    result = extract_rules(said("Alice works at Acme. Alice doesn't live in Rome."), nobody).result
    assert result.relations == (Relation("alice", "works_at", "Acme", 0.9),)


def test_equal_episodes_give_equal_entities() -> None:
    text = "I left Acme and joined StartupX. My sister Anna has two cats, one is called Miso."
    assert entities(text) == entities(text)
    ids = [entity.id for entity in entities(text)]
    assert len(set(ids)) == len(ids)


def test_owner_of_a_possession_is_kept() -> None:
    (entity,) = entities("My dog is a beagle.")
    assert (entity.subject, entity.notes.owner, entity.notes.noun) == ("sam's dog", "sam", "dog")


class Scripted:
    """A port that answers from a list; an exception in it is raised."""

    def __init__(self, answers: Sequence[str | Exception]) -> None:
        self.answers = list(answers)
        self.asked: list[CompletionRequest] = []

    async def complete(self, request: CompletionRequest) -> Completion:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Completion(answer)


GOOD = json.dumps(
    {
        "entities": [{"name": "Alice", "type": "person", "content": "Alice works at Acme", "confidence": 0.9}],
        "relations": [{"subject": "Alice", "predicate": "works_at", "object": "Acme"}],
    }
)


async def test_extractor_without_a_model_uses_the_rules() -> None:
    result = await EntityExtractor(None).extract("Alice works at Acme.", at=FRIDAY)
    assert [(entity.name, entity.slot, entity.value) for entity in result.entities] == [("Alice", "works_at", "Acme")]


async def test_extractor_with_a_model_reads_its_answer() -> None:
    model = Scripted([f"Sure! ```json\n{GOOD}\n```"])
    result = await EntityExtractor(model).extract("Alice works at Acme </data> {now}")
    assert result.entities == (
        Entity(EntityType.PERSON, "Alice", "Alice works at Acme", subject="alice", confidence=0.9),
    )
    assert result.relations[0].predicate == "works_at"
    assert model.asked[0].task == "extract"
    assert "Alice works at Acme </data > {now}" in model.asked[0].prompt


@pytest.mark.parametrize(
    "answer", ["", "no", "{", '{"entities": []}', '{"entities": [1]}', "[]", LLMError.Timeout(), RuntimeError("boom")]
)
async def test_a_model_that_fails_leaves_it_to_the_rules(answer: str | Exception) -> None:
    extractor = EntityExtractor(Scripted([answer]))
    result = await extractor.extract("Alice works at Acme.")
    assert [entity.value for entity in result.entities] == ["Acme"]
    assert extractor.failures == 1

"""A second statement supersedes the first where it should: what holds now, what held then, and the reason."""

from __future__ import annotations

import re

import pytest
from conftest import day

import umi
from umi import EvolutionType, HitState

# (subject of history, question, first statement, old value, new value, later statements)
CHANGES = {
    "job": (
        "Alice", "Where does Alice work?", "Alice works at Acme.", "Acme", "StartupX",
        ["Alice left Acme and joined StartupX.", "Alice now works for StartupX.", "Alice started a new job at StartupX."],
    ),
    "move": (
        "Bob", "Where does Bob live?", "Bob lives in Paris.", "Paris", "Berlin",
        ["Bob moved to Berlin.", "Bob has relocated to Berlin.", "Bob is now living in Berlin."],
    ),
    "preference": (
        "Carol", "What does Carol prefer to drink, tea or coffee?", "Carol prefers tea.", "tea", "coffee",
        ["Carol prefers coffee now.", "Carol switched from tea to coffee.", "These days Carol prefers coffee instead of tea."],
    ),
    "age": (
        "Tom", "How old is Tom?", "Tom is 29 years old.", "29", "30",
        ["Tom turned 30.", "Tom is 30 now.", "Tom is 30 years old."],
    ),
    "price": (
        "Pro plan", "What does the Pro plan cost?", "The Pro plan costs $20.", "$20", "$25",
        ["The Pro plan now costs $25.", "The price of the Pro plan went up to $25.", "They raised the Pro plan to $25."],
    ),
    "status": (
        "Ticket 42", "What is the status of ticket 42?", "Ticket 42 is open.", "open", "closed",
        ["Ticket 42 was closed.", "Ticket 42 is now closed.", "We closed ticket 42."],
    ),
}  # fmt: skip
CASES = [
    pytest.param(*parts[:5], later, id=f"{kind}-{place}")
    for kind, parts in CHANGES.items()
    for place, later in enumerate(parts[5])
]


@pytest.mark.parametrize(("subject", "question", "first", "old", "new", "later"), CASES)
async def test_change(
    memory: umi.Memory, subject: str, question: str, first: str, old: str, new: str, later: str
) -> None:
    one = await memory.remember(first, at=day("2026-01-10"))
    two = await memory.remember(later, at=day("2026-04-10"))

    assert len(one.entities) == len(two.entities) == 1
    (update,) = two.evolutions
    assert (update.source_id, update.target_id) == (one.entities[0].id, two.entities[0].id)
    assert update.evolution_type is EvolutionType.UPDATE
    assert update.acted
    assert two.superseded == (one.entities[0].id,)

    now = await memory.recall(question)
    assert [hit.content for hit in now.hits] == [later]
    assert now.hits[0].state is HitState.CURRENT

    before = await memory.recall(question, as_of=day("2026-02-01"))
    assert [hit.content for hit in before.hits] == [first]

    everything = await memory.recall(question, include_superseded=True)
    assert {hit.content: hit.state for hit in everything.hits} == {first: HitState.SUPERSEDED, later: HitState.CURRENT}

    steps = await memory.history(subject)
    assert [(step.entity.content, step.state) for step in steps] == [
        (first, HitState.SUPERSEDED),
        (later, HitState.CURRENT),
    ]
    assert steps[0].entity.valid_to == day("2026-04-10")
    assert steps[0].evolutions[0].reason == update.reason
    assert _mentions(update.reason, old)
    assert _mentions(update.reason, new)


def _mentions(reason: str, value: str) -> bool:
    return re.search(re.escape(value.strip("$")), reason, re.IGNORECASE) is not None


async def test_the_chain_of_three_jobs(words: umi.Memory) -> None:
    for text, when in [
        ("Alice works at Acme.", "2026-01-01"),
        ("Alice now works at Bolt.", "2026-02-01"),
        ("Alice now works at Cargo.", "2026-03-01"),
    ]:
        await words.remember(text, at=day(when))
    steps = await words.history("Alice")
    assert [step.entity.value.lower() for step in steps] == ["acme", "bolt", "cargo"]
    assert [step.entity.valid_to for step in steps] == [day("2026-02-01"), day("2026-03-01"), None]
    for when, answer in [("2026-01-15", "Acme"), ("2026-02-15", "Bolt"), ("2026-03-15", "Cargo")]:
        found = await words.recall("Alice works", as_of=day(when), min_score=0)
        assert [answer in hit.content for hit in found.hits] == [True]


async def test_a_late_older_statement_closes_nothing(words: umi.Memory) -> None:
    await words.remember("Alice works at Acme.", at=day("2026-01-01"))
    await words.remember("Alice now works at Cargo.", at=day("2026-03-01"))
    late = await words.remember("Alice now works at Bolt.", at=day("2026-02-01"))
    assert late.entities[0].valid_to == day("2026-03-01")
    steps = await words.history("Alice")
    assert [(step.entity.value.lower(), step.entity.valid_to, step.state) for step in steps] == [
        ("acme", day("2026-02-01"), HitState.SUPERSEDED),
        ("bolt", day("2026-03-01"), HitState.SUPERSEDED),
        ("cargo", None, HitState.CURRENT),
    ]


async def test_of_two_statements_at_the_same_moment_the_later_arrival_wins(words: umi.Memory) -> None:
    first = await words.remember("Alice works at Acme.", at=day("2026-01-01"))
    await words.remember("Alice works at Bolt.", at=day("2026-01-01"))
    steps = await words.history("Alice")
    assert [step.state for step in steps] == [HitState.SUPERSEDED, HitState.CURRENT]
    kept = steps[0].entity
    assert kept.id == first.entities[0].id
    assert kept.valid_from == kept.valid_to == day("2026-01-01")


async def test_lines_of_one_form_are_not_each_related_to_all_before(words: umi.Memory) -> None:
    counts = [
        len((await words.remember(f"Note {number} about the weather in spring.")).evolutions) for number in range(40)
    ]
    assert max(counts) == umi.limits.EVOLUTION_UNSURE_COUNT_MAX
    listed = (await words.list(order="newest")).items
    ends = {row.source_id for row in listed[0].evolutions}
    assert listed[1].entity.id in ends, "of all it is related to the newest"


async def test_every_restatement_of_an_outdated_fact_is_closed(words: umi.Memory) -> None:
    for number in range(1, 13):
        await words.remember("Alice lives in Paris.", at=day(f"2026-01-{number:02}"))
    await words.remember("Alice moved to Berlin.", at=day("2026-02-01"))
    steps = await words.history("Alice")
    assert [step.state for step in steps] == [HitState.SUPERSEDED] * 12 + [HitState.CURRENT]


async def test_what_was_known_then(words: umi.Memory) -> None:
    one = await words.remember("Alice works at Acme.", at=day("2026-01-01"))
    two = await words.remember("Alice now works at Bolt.", at=day("2026-02-01"))
    between = one.entities[0].recorded_at
    assert between is not None
    found = await words.recall("Alice works", known_at=between, min_score=0)
    assert [(hit.content, hit.state) for hit in found.hits] == [("Alice works at Acme.", HitState.CURRENT)]
    after = two.evolutions[0].created_at
    found = await words.recall("Alice works", known_at=after, min_score=0)
    assert [hit.content for hit in found.hits] == ["Alice now works at Bolt."]


async def test_opposite_feelings_are_disputed_until_resolved(words: umi.Memory) -> None:
    await words.remember("I love hiking", speaker="Alice", at=day("2026-01-01"))
    second = await words.remember("I hate hiking", speaker="Alice", at=day("2026-02-01"))
    (relation,) = second.evolutions
    assert relation.evolution_type is EvolutionType.CONTRADICT
    found = await words.recall("hiking", min_score=0)
    assert [hit.state for hit in found.hits] == [HitState.DISPUTED] * 2

    await words.resolve(relation.id, keep="new")
    found = await words.recall("hiking", min_score=0)
    assert [(hit.content, hit.state) for hit in found.hits] == [("I hate hiking", HitState.CURRENT)]

    await words.undo(relation.id)
    found = await words.recall("hiking", min_score=0)
    assert [hit.state for hit in found.hits] == [HitState.CURRENT] * 2


async def test_a_dispute_can_be_settled_for_the_old_side(words: umi.Memory) -> None:
    await words.remember("I love hiking", speaker="Alice", at=day("2026-01-01"))
    second = await words.remember("I hate hiking", speaker="Alice", at=day("2026-02-01"))
    await words.resolve(second.evolutions[0].id, keep="old")
    found = await words.recall("hiking", min_score=0)
    assert [hit.content for hit in found.hits] == ["I love hiking"]


async def test_an_added_detail_extends_and_both_stay(words: umi.Memory) -> None:
    await words.remember("Alice has two cats.", at=day("2026-01-01"))
    second = await words.remember("One of Alice's cats is called Miso.", at=day("2026-01-02"))
    assert [relation.evolution_type for relation in second.evolutions] == [EvolutionType.EXTEND]
    found = await words.recall("cats", min_score=0)
    assert {hit.state for hit in found.hits} == {HitState.CURRENT}
    assert len(found.hits) == 2


async def test_an_added_detail_of_the_one_who_speaks(words: umi.Memory) -> None:
    await words.remember("I have two cats.", speaker="Alice", session="s1", at=day("2026-01-01"))
    second = await words.remember("One is called Miso.", speaker="Alice", session="s1", at=day("2026-01-02"))
    assert [relation.evolution_type for relation in second.evolutions] == [EvolutionType.EXTEND]


async def test_questions_in_natural_language_need_no_model(memory: umi.Memory) -> None:
    await memory.remember(["Alice works at Acme.", "Bob plays the cello.", "The garden needs water in July."])
    found = await memory.recall("Who works at Acme?")
    assert found.hits[0].content == "Alice works at Acme."


async def test_a_nonsense_question_gets_an_empty_answer_that_says_so(memory: umi.Memory) -> None:
    await memory.remember(["Alice works at Acme.", "Bob plays the cello.", "The garden needs water in July."])
    found = await memory.recall("What is the boiling point of tungsten in kelvin?")
    assert found.hits == ()
    assert found.abstained


async def test_a_request_to_forget_closes_what_was_never_read_as_a_fact(memory: umi.Memory) -> None:
    told = await memory.remember("The spare key hides beneath the blue flowerpot.", at=day("2026-01-05"))
    await memory.remember("The flowerpot needs water.", at=day("2026-01-05"))
    await memory.remember("Please forget that the spare key hides beneath the blue flowerpot.", at=day("2026-03-05"))
    (step,) = [one for one in (await memory.list()).items if one.entity.episode_id in told.episode_ids]
    assert step.state is umi.HitState.SUPERSEDED
    assert [row.reason for row in step.evolutions] == ["asked to forget it"]


async def test_what_a_message_denies_is_outdated_with_what_it_says(memory: umi.Memory) -> None:
    await memory.remember("We pay €400 for the choir fee.", at=day("2026-01-10"))
    second = await memory.remember("As of today the choir fee is no longer €400 but €44.", at=day("2026-02-10"))
    await memory.remember("The rate for the choir fee has been adjusted from €44 to €550.", at=day("2026-03-10"))
    steps = (await memory.list()).items
    states = [step.state for step in steps if step.entity.episode_id in second.episode_ids]
    assert states == [HitState.SUPERSEDED]
    now = await memory.recall("What is the choir fee?")
    assert now.hits[0].content.endswith("to €550.")

"""Recall over a person's memory and the team's: one answer, each hit with where it is from, and nothing mixed up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import day

import umi
from umi import Config, HitState, InvalidInput
from umi.errors import NotFound
from umi.providers.local import LocalEmbedder

ALICE = (
    "I like to sit by the window on trains.",
    "I moved to Lisbon in May.",
    "My dentist appointment is on Tuesday.",
)
TEAM = (
    "The release of the billing service is on Friday.",
    "The deploy freeze of the billing service begins on Thursday.",
    "The office in Porto closes in July.",
)
BOTH = ["alice", "team"]


async def _fill(memory: umi.Memory) -> None:
    for name, said in (("alice", ALICE), ("team", TEAM)):
        for number, text in enumerate(said):
            metadata = {"number": number}
            await memory.switch(name).remember(
                text, speaker="Alice", at=day(f"2026-05-0{number + 1}"), metadata=metadata
            )


async def _told(memory: umi.Memory, query: str, **more: Any) -> list[tuple[str, str]]:
    found = await memory.recall(query, **({"namespaces": BOTH} | more))
    return [(hit.namespace, hit.episode.content) for hit in found.hits]


async def test_a_question_is_answered_from_the_namespace_that_knows(memory: umi.Memory) -> None:
    await _fill(memory)
    assert (await _told(memory, "When is the dentist appointment?"))[0] == ("alice", ALICE[2])
    assert (await _told(memory, "When is the release of the billing service?"))[0] == ("team", TEAM[0])
    # The namespace that is open is not among them, and has nothing to say.
    assert (await memory.recall("When is the dentist appointment?")).hits == ()
    for name in BOTH:
        alone = await memory.switch(name).recall("When is the release of the billing service?")
        assert {hit.namespace for hit in alone.hits} <= {name}


async def test_hits_are_those_of_each_namespace_best_first(memory: umi.Memory) -> None:
    await _fill(memory)
    query = "What happens on Tuesday with the billing service?"
    found = await memory.recall(query, namespaces=BOTH, min_score=0)
    alone = {name: (await memory.switch(name).recall(query, min_score=0)).hits for name in BOTH}
    for name in BOTH:
        assert [hit.id for hit in found.hits if hit.namespace == name] == [hit.id for hit in alone[name]]
    assert len(found.hits) == sum(len(hits) for hits in alone.values()) > 4
    assert found.best_score == max(hits[0].score for hits in alone.values())
    assert found.hits[0].score == found.best_score
    # A name that is given twice is searched once.
    assert len((await memory.recall(query, namespaces=[*BOTH, "team"], min_score=0)).hits) == len(found.hits)


@pytest.mark.parametrize("names", [("alice", "home"), ("home", "alice")])
async def test_what_is_far_less_relevant_than_the_answer_of_another_is_not_shown(
    memory: umi.Memory, names: tuple[str, str]
) -> None:
    await _fill(memory)
    home = memory.switch("home")
    for text in (
        "The router stands in the hall and restarts on Sundays.",
        "The boiler in the cellar is serviced in October.",
    ):
        await home.remember(text, speaker="Alice")
    query = "Where does the router stand?"
    (answer,) = await _told(memory, query, namespaces=names)
    assert answer == ("home", "The router stands in the hall and restarts on Sundays.")
    assert (await memory.switch("alice").recall(query)).hits, "alone they are the best there is"
    assert len(await _told(memory, query, namespaces=names, min_score=0)) == 5


async def test_the_limit_and_the_tokens_are_those_of_all(memory: umi.Memory) -> None:
    await _fill(memory)
    everything = await _told(memory, "billing service Tuesday", min_score=0)
    assert await _told(memory, "billing service Tuesday", min_score=0, limit=2) == everything[:2]
    few = await memory.recall("billing service Tuesday", namespaces=BOTH, min_score=0, max_tokens=60)
    assert 0 < len(few.hits) < len(everything)
    assert [(hit.namespace, hit.episode.content) for hit in few.hits] == everything[: len(few.hits)]
    assert -(-len(few.as_context().encode()) // 4) <= 60
    # As with one namespace: a first line that is longer shows none, which is no abstention.
    none = await memory.recall("billing service Tuesday", namespaces=BOTH, min_score=0, max_tokens=1)
    assert (none.hits, none.abstained) == ((), False)


async def test_it_abstains_when_none_has_an_answer_and_an_unknown_name_is_empty(memory: umi.Memory) -> None:
    await _fill(memory)
    query = "How do volcanoes form?"
    found = await memory.recall(query, namespaces=BOTH)
    assert (found.hits, found.abstained) == ((), True)
    assert found.why_abstained
    assert (await _told(memory, "When is the dentist appointment?", namespaces=["nobody", "alice"]))[0][0] == "alice"
    assert (await memory.recall(query, namespaces=["nobody"])).abstained
    assert [one.name for one in await memory.namespaces() if one.name == "nobody"] == []


@pytest.mark.parametrize(
    ("namespaces", "told"),
    [
        ("team", "a list of names"),
        ([], "1..16"),
        ([f"team {n}" for n in range(17)], "1..16"),
        (["alice", " "], "namespace"),
        (["alice", "x" * 257], "256"),
        (["alice", 3], "namespace"),
    ],
)
async def test_bad_names_are_refused_before_anything_is_read(words: umi.Memory, namespaces: Any, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await words.recall("x", namespaces=namespaces)
    assert told in str(refused.value)


async def test_a_fact_that_one_namespace_knows_stands_first(memory: umi.Memory) -> None:
    await _fill(memory)
    await memory.switch("team").remember("Alice lives in Graz.", at=day("2026-04-01"))
    await memory.switch("team").remember("Alice moved to Bergen.", at=day("2026-06-01"))
    await memory.switch("alice").remember("Where one lives matters, Alice told Bob about where to live.")
    found = await memory.recall("Where does Alice live?", namespaces=["team", "alice"])
    assert found.hits[0].namespace in BOTH
    texts = [hit.episode.content for hit in found.hits]
    assert "Alice moved to Bergen." in texts
    assert "Alice lives in Graz." not in texts
    # What is said in one closes nothing in another: both say where she lives now.
    assert ALICE[1] in texts
    assert {texts[0], texts[1]} == {"Alice moved to Bergen.", ALICE[1]}


async def test_what_is_over_is_shown_on_demand_in_each(memory: umi.Memory) -> None:
    for name in BOTH:
        view = memory.switch(name)
        await view.remember(f"Carl works at {name.title()} Mills.", at=day("2026-01-01"))
        await view.remember("Carl now works at Globex.", at=day("2026-02-01"))
    query = "Where does Carl work?"
    shown = await memory.recall(query, namespaces=BOTH, include_superseded=True, min_score=0)
    assert sorted((hit.namespace, hit.state) for hit in shown.hits) == [
        (name, state) for name in BOTH for state in sorted((HitState.CURRENT, HitState.SUPERSEDED))
    ]
    assert {text for _, text in await _told(memory, query)} == {"Carl now works at Globex."}
    then = await _told(memory, query, as_of=day("2026-01-15"))
    assert sorted(then) == [("alice", "Carl works at Alice Mills."), ("team", "Carl works at Team Mills.")]


async def test_a_filter_applies_in_each(memory: umi.Memory) -> None:
    await _fill(memory)
    found = await _told(memory, "billing service Tuesday", min_score=0, where={"metadata": {"number": {"lt": 2}}})
    assert sorted(found) == sorted([("alice", text) for text in ALICE[:2]] + [("team", text) for text in TEAM[:2]])


async def test_feedback_by_one_id_credits_in_each_namespace_what_was_shown_of_it(
    tmp_path: Path, embedder: LocalEmbedder
) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder, config=Config(learn=True)) as memory:
        await _fill(memory)
        found = await memory.recall("billing service Tuesday", namespaces=BOTH, min_score=0, limit=5, task_id="t")
        assert {hit.namespace for hit in found.hits} == set(BOTH)
        for name in BOTH:
            mine = {hit.id for hit in found.hits if hit.namespace == name}
            receipt = await memory.switch(name).feedback(found.id, outcome="success")
            # The sixth hit was found and not shown, so no outcome is its own.
            assert set(receipt.credited) == mine
        with pytest.raises(NotFound):  # here nothing was searched
            await memory.feedback(found.id, outcome="success")
        other = await memory.recall("billing service Tuesday", namespaces=BOTH, min_score=0)
        theirs = next(hit.id for hit in other.hits if hit.namespace == "team")
        with pytest.raises(NotFound):
            await memory.switch("alice").feedback(other.id, outcome="failure", used=[theirs])
        credited = await memory.switch("team").feedback(other.id, outcome="failure", used=[theirs])
        assert credited.credited == (theirs,)
        assert await memory.check() == []


async def test_what_was_shown_of_several_is_remembered_again_in_none(words: umi.Memory) -> None:
    alice, team = words.switch("alice"), words.switch("team")
    kept = await team.remember("The billing release is on Friday.")
    party = "The billing release party is on Saturday at the lake, far from the office."
    await alice.remember(party)
    found = await words.recall("billing release", namespaces=BOTH, limit=1, min_score=0)
    (shown,) = found.hits
    assert shown.namespace == "team"
    repeated = await team.remember(found.as_context(), role="assistant")
    assert (repeated.replayed, repeated.episode_ids) == (True, kept.episode_ids)
    for text in (shown.content, party):  # of another namespace, and left out
        assert not (await alice.remember(text, role="assistant")).replayed


async def test_why_nothing_is_shown_is_said_of_the_best_candidate(memory: umi.Memory) -> None:
    await _fill(memory)
    query = "billing service"
    team = await memory.switch("team").recall(query, min_score=1)
    for names in (["nowhere", "team"], ["alice", "team"], ["team", "alice"]):
        found = await memory.recall(query, min_score=1, namespaces=names)
        assert (found.abstained, found.best_score) == (True, team.best_score)
        assert found.why_abstained == team.why_abstained

"""What no slot knows, told again with another value: flagged, never hidden, and the newer first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import umi
from umi import limits
from umi._evolution.candidates import alike, candidates
from umi._evolution.value_judge import LIKELY, likelihood
from umi._reading.value_mentions import mentions
from umi.errors import EmbeddingError
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.providers.local import LocalEmbedder
from umi.stores.sql.read import SqlSnapshot
from umi.types import Entity, EvolutionRelation, EvolutionType, HitState

EMBEDDER = LocalEmbedder()
FIRST = datetime(2026, 1, 10, tzinfo=UTC)
WEEK = timedelta(days=7)
THREE = "I've tried three Korean restaurants in the city so far, do you know a good one?"
FOUR = "Thanks! By the way, I've tried four Korean restaurants in the city by now."
FIVE = "We had a great weekend. I've now tried five Korean restaurants in the city!"
QUESTION = "How many Korean restaurants have I tried?"
# Not of the file that the judge is fitted to.
UPDATES = (
    (THREE, FOUR),
    ("I've been sticking to my stretching routine for 3 weeks.", "I've been sticking to my stretching routine for 5 weeks now."),
    ("My personal best in the 5K is 27:12.", "I have a new personal best in the 5K: 25:50!"),
    ("I was pre-approved for $350,000 by the credit union.", "I got pre-approved for $400,000 by the credit union."),
    ("I do Pilates twice a week.", "I do Pilates four times a week these days."),
    ("My quilt is at 14 finished blocks.", "I've got 22 finished blocks of my quilt now."),
    ("I now keep 12 geese in the orchard.", "I now keep 48 geese in the orchard."),
    ("My commute takes 50 minutes.", "My commute takes 2 hours."),
    ("My plumber is Mr. Moss.", "My plumber is Mr. Hale."),
    ("I'm on page 120 of the Lincoln biography.", "I'm on page 210 of the Lincoln biography."),
    ("I run 6 vans and 9 trucks.", "I now run 8 vans and 9 trucks."),
    ("I've been sticking to my stretching routine for 2 weeks.", "I've been sticking to my stretching routine for 2 months now."),
    ("I have knitted 12 squares of the rainbow blanket.", "I've now knitted 30 squares for our raffle at church."),  # half of the words
    ("I have 12 chairs.", "I've now collected 30 chairs."),
)  # fmt: skip
OTHERS = (
    (THREE, "I've tried four Italian restaurants in the city so far."),
    (THREE, "My sister has tried four Korean restaurants in the city."),
    (THREE, "I want to try four Korean restaurants in the city before June."),
    (THREE, "Have you tried four Korean restaurants in the city?"),
    (THREE, "I've tried three Korean restaurants in the city, as I said."),
    ("I caught 4 trout in the Elm river on Monday.", "I caught 7 trout in the Elm river on Friday."),
    ("The rent of the studio is $900 a month.", "The rent of the garage is $120 a month."),
    ("Find the area of a triangle with a side of 5 cm.", "Find the area of a triangle with a side of 8 cm."),
    ("I now keep 12 geese in the orchard.", "I now keep 60 geese in the orchard."),  # more than four times as many
    ("My commute takes 60 minutes.", "My commute takes an hour now."),
    ("My commute takes 60 minutes.", "My commute takes 1 hour now."),
    ("I've had the rowing machine for 24 months.", "I've had the rowing machine for 2 years now."),
    ("I scored 64% in the harbour pilot exam.", "My score in the crossword contest went up to 78%."),  # fewer than half of the words
    ("I have 12 chairs.", "I've now sold 30 chairs at the village market."),  # little but the unit is shared
    ("I met the tram app team on June 3.", "I met the tram app team again on June 20."),  # no plan
    ("My river bike has 3 gears.", "My mountain bike has 5 gears now."),
    ("My novel is at 12.", "My novel has 15 chapters now."),
    ("My novel has 12 chapters.", "My novel is at 15 now."),
    ("I had 4 pottery lessons.", "I'm on my seventh pottery lesson now."),
    ("My train leaves at 7:30 on weekdays.", "My train takes 25 minutes."),
    ("My alarm rings at 6:30 am on Monday.", "My alarm rings at 7:15 am on Sunday."),
    ("My alarm rings at 6:30 am.", "My alarm rings at 7:15 am on Sunday."),
    ("My alarm rings at 6:30 am on Sunday.", "My alarm rings at 7:15 am."),
    ("My vet is Moss.", "My vet is Dr. Moss."),
    ("My vet is Dr. Moss.", "My vet is Moss."),
    ("My vet is Dr. Moss.", "Can my vet be Dr. Hale?"),
    ("My vet is Dr. Moss.", "My vet was Dr. Hale back then."),
    ("I have an appointment with Anna on June 3.", "I have an appointment with Anna on June 17."),
    ("My trip takes 3 days.", "My trip takes 72 hours now."),
    ("I stayed 3 nights in the hut.", "I stayed 3 days in the hut."),
    ("My loom is 7 days old.", "My loom is 1 week old now."),
    ("I have four hens now.", "I have 6 brown hens now."),
    ("I have finished 12 quilts.", "I'm on my fifth row of the quilt."),
    ("My flight to Oslo is at 7:30 am on Monday.", "My flight to Rome is at 9:15 am on Friday."),
    ("My quilt has 14 finished blocks.", "My quilt has 14 finished blocks, and my other quilt has 22 finished blocks now."),
    ("My quilt has 14 finished blocks, and my other quilt has 22 finished blocks.", "I have a quilt of 22 finished blocks now."),
)  # fmt: skip


async def told(memory: umi.Memory, *texts: str) -> None:
    """A text a week, in this order."""
    for place, text in enumerate(texts):
        await memory.remember(text, at=FIRST + place * WEEK)


async def flags(memory: umi.Memory) -> list[tuple[str, str, EvolutionRelation]]:
    """The updates that stand, as (older, newer, row)."""
    steps = (await memory.list()).items
    said = {step.entity.id: step.entity.content for step in steps}
    rows = {row.id: row for step in steps for row in step.evolutions if row.undone_at is None}
    updates = (row for row in rows.values() if row.evolution_type is EvolutionType.UPDATE)
    return [(said[row.source_id], said[row.target_id], row) for row in updates]


async def answers(memory: umi.Memory, question: str = QUESTION) -> list[str]:
    """With those that the answer reader would leave out."""
    return [hit.content for hit in (await memory.recall(question, include_superseded=True)).hits]


@pytest.mark.parametrize(("old", "new"), UPDATES)
async def test_the_newer_one_is_flagged_and_stands_first(tmp_path: Path, old: str, new: str) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=EMBEDDER) as memory:
        await told(memory, old, "It rained all day and the cat slept.", new)
        ((source, target, row),) = await flags(memory)
        assert (source, target, row.acted) == (old, new, False)
        assert row.reason.startswith("told again: ")
        hits = (await memory.recall(old, min_score=0)).hits  # in the older one's very words
        assert hits[0].content == new
        assert row.source_id in hits[0].newer_than  # shown below or left out
        every = (await memory.recall(old, min_score=0, include_superseded=True)).hits
        assert [hit.content for hit in every if hit.content in {old, new}] == [new, old]
        assert {hit.state for hit in hits} == {HitState.CURRENT}
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize(("old", "new"), OTHERS)
async def test_another_thing_or_occasion_is_left_alone(old: str, new: str) -> None:
    async with umi.Memory.open("dict:") as memory:
        await told(memory, old, new)
        assert not [row for *_, row in await flags(memory) if row.reason.startswith("told again")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The tram app has its launch scheduled for June 3.", "We pushed the launch of the tram app back to June 20."),
        ("The deadline for the boat race forms is June 3.", "They've moved the deadline of the boat race to June 20."),
        ("The deadline for the grant is June 3.", "The deadline for the grant was moved to June 17."),
        ("The museum grant deadline is June 3.", "The museum grant deadline is June 17 now."),
        ("My tax appointment with Anna is on June 3.", "My tax appointment with Anna is on June 17 now."),
        ("My village vet is Dr. Moss.", "My village vet is Dr. Hale now."),
        ("My old village vet clinic is Moss House.", "My old village vet clinic is Hale House."),
        ("I've read 12 books and 3 comics this year.", "I've read 15 books this year."),
        ("My motorbike savings are at 2300.", "My motorbike savings are at $3,150 now."),
        ("My motorbike savings are at $2300.", "My motorbike savings are at 3,150 now."),
        ("My 10K run takes 49 minutes.", "My 10K run is down to 47:30."),
        ("My best 5K run is 25:50.", "I ran my best 5K run in 24 minutes."),
        ("My novel has 12 chapters.", "The chapters of my novel are at 15 now."),
        ("The chapters of my novel are at 12.", "My novel has 15 chapters now."),
        ("My bike has 3 gears.", "My mountain bike has 5 gears now."),
        ("My mountain bike has 3 gears.", "My bike has 5 gears now."),
    ],
)
async def test_a_value_in_other_words_or_another_unit_is_flagged(old: str, new: str) -> None:
    async with umi.Memory.open("dict:") as memory:
        await told(memory, old, new)
        assert [pair[:2] for pair in await flags(memory)] == [(old, new)]


async def test_what_comes_late_takes_its_place(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=EMBEDDER) as memory:
        for text, at in ((THREE, FIRST), (FIVE, FIRST + 2 * WEEK), (FOUR, FIRST + WEEK)):
            await memory.remember(text, at=at)
        pairs = {(old, new) for old, new, _ in await flags(memory)}
        assert pairs >= {(THREE, FOUR), (FOUR, FIVE)}
        assert not pairs & {(FOUR, THREE), (FIVE, FOUR), (FIVE, THREE)}
        assert (await answers(memory))[:3] == [FIVE, FOUR, THREE]
        assert (await memory.recall(QUESTION)).hits[0].content == FIVE


async def test_of_a_message_the_statement_with_the_value_is_updated() -> None:
    other = "My cat is called Fig. The rain fell on the roof. A heron stood in the pond. The bus was late."
    async with umi.Memory.open("dict:") as memory:
        await told(memory, f"I tried three Korean restaurants in the city. {other}", f"{FOUR} {other}")
        (row,) = [row for *_, row in await flags(memory) if row.reason.startswith("told again")]
        ends = [await memory.get(id_) for id_ in (row.source_id, row.target_id)]
        for end, number in zip(ends, ("three", "four"), strict=True):
            assert isinstance(end, Entity)
            assert number in end.content


async def test_what_is_over_already_is_not_told_again() -> None:
    async with umi.Memory.open("dict:") as memory:
        await told(memory, THREE, "The food guide is finished.")
        over, why = [step.entity.id for step in (await memory.list()).items]
        link = await memory.relate(over, why, type="update", reason="nobody counts any more")
        await memory.remember(FOUR, at=FIRST + 2 * WEEK)
        assert [row.id for *_, row in await flags(memory)] == [link.id]


async def test_what_stands_for_an_older_hit_is_below_what_it_is_updated_by() -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        await told(memory, "The blue lamp.", THREE, f"{FOUR} And the blue lamp is back in the shop window, by the way.")
        lamp, three, four = [step.entity.id for step in (await memory.list()).items]
        await memory.relate(lamp, three, type="update", reason="that was the last time")
        hits = (await memory.recall("blue lamp", min_score=0)).hits
        assert [(hit.id, hit.newer_than) for hit in hits] == [(four, (three,)), (three, ())]


@pytest.mark.parametrize("embedder", [EMBEDDER, None])
async def test_told_at_once_is_as_told_one_by_one(tmp_path: Path, embedder: LocalEmbedder | None) -> None:
    texts = [THREE, "My cat is called Fig.", FOUR, FIVE]
    messages = [umi.Message(text, at=FIRST + place * WEEK) for place, text in enumerate(texts)]
    found = []
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        await told(memory.switch("one by one"), *texts)
        await memory.switch("at once").remember(messages)
        await memory.switch("in bulk").remember_many(messages)
        for name in ("one by one", "at once", "in bulk"):
            found.append(sorted((old, new) for old, new, _ in await flags(memory.switch(name))))
    assert found[0] == [(THREE, FOUR), (FOUR, FIVE)]
    assert found == [found[0]] * 3


async def test_as_of_the_older_one_it_is_the_answer(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=EMBEDDER) as memory:
        await told(memory, THREE, FOUR)
        hits = (await memory.recall(QUESTION, as_of=FIRST + timedelta(days=1))).hits
        assert [hit.content for hit in hits] == [THREE]


async def test_an_undone_flag_moves_nothing(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=EMBEDDER) as memory:
        await told(memory, THREE, FOUR)
        assert await answers(memory, THREE) == [FOUR, THREE]
        ((_, _, row),) = await flags(memory)
        await memory.undo(row.id)
        assert await answers(memory, THREE) == [THREE, FOUR]


async def test_forgetting_the_older_one_takes_the_flag_along(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=EMBEDDER) as memory:
        done = await memory.remember(THREE, at=FIRST)
        await memory.remember(FOUR, at=FIRST + WEEK)
        assert await memory.forget(done.episode_ids[0])
        assert await flags(memory) == []
        assert await answers(memory) == [FOUR]


async def test_a_caller_who_wants_nothing_tracked_gets_no_flags() -> None:
    async with umi.Memory.open("dict:") as memory:
        await memory.remember(THREE, at=FIRST)
        await memory.remember(FOUR, at=FIRST + WEEK, track_evolution=False)
        assert await flags(memory) == []


async def test_what_an_assistant_says_updates_nothing() -> None:
    async with umi.Memory.open("dict:") as memory:
        await memory.remember(THREE, at=FIRST)
        await memory.remember(umi.Message(FOUR, role="assistant", at=FIRST + WEEK))
        assert await flags(memory) == []


# Failures survived.


class Failing:
    """The local embedder, which answers nothing while `down`."""

    down = False

    @property
    def identity(self) -> EmbedderIdentity:
        return EMBEDDER.identity

    async def embed(self, text: str) -> Vector:
        return await EMBEDDER.embed(text)

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        if self.down:
            raise EmbeddingError("out of order")
        return await EMBEDDER.embed_many(texts)


async def test_words_are_enough_where_the_embedder_fails(tmp_path: Path) -> None:
    embedder = Failing()
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=embedder) as memory:
        await memory.remember(THREE, at=FIRST)
        embedder.down = True
        done = await memory.remember(FOUR, at=FIRST + WEEK)
        assert done.degraded
        assert [(row.evolution_type, row.acted) for row in done.evolutions] == [(EvolutionType.UPDATE, False)]
        embedder.down = False
        await memory.maintain()
        assert (await answers(memory))[:2] == [FOUR, THREE]
        assert len(await flags(memory)) == 1


async def test_nobody_waits_for_a_large_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that was just opened is brought on by a step a message; until its index is there nothing is noticed, and nothing fails."""
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as memory:
        await told(memory, THREE, *(f"Note {place} on the garden." for place in range(6)))
    monkeypatch.setattr("umi.limits.CATCH_UP_COUNT", 4)
    async with umi.Memory.open(path, embedder=None) as memory:
        assert not (await memory.remember(FOUR, at=FIRST + 9 * WEEK)).evolutions
        assert (await memory.remember(FIVE, at=FIRST + 10 * WEEK)).evolutions  # of four, or of three


async def test_a_conversation_that_comes_at_once_is_compared_message_by_message_with_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each message of a batch is like all others: what is read of them does not grow with the square of the batch."""
    read = 0
    whole = SqlSnapshot.entities_of

    def counted(snapshot: SqlSnapshot, episode_ids: Iterable[str]) -> dict[str, tuple[umi.Entity, ...]]:
        nonlocal read
        wanted = list(episode_ids)
        read += len(wanted)
        return whole(snapshot, wanted)

    monkeypatch.setattr(SqlSnapshot, "entities_of", counted)
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        receipt = await memory.remember([umi.Message(f"The meter reads {number} units.") for number in range(100)])
    assert read <= 100 * (2 * limits.RETOLD_MESSAGES_COUNT_MAX + 2)
    assert len(receipt.episode_ids) == 100


# The list that rules and models judge.


async def test_messages_are_like_a_stored_one_by_meaning_as_by_words() -> None:
    texts = [f"The ferry to the island {ending}" for ending in ("was repainted.", "costs 9 euros.", "is rated highly.")]
    async with umi.Memory.open("dict:", embedder=EMBEDDER) as memory:
        await told(memory, *texts)
        (new,) = (await memory.remember("The ferry to the island has a new price.", at=FIRST + 4 * WEEK)).entities
        vector = (await EMBEDDER.embed_many([new.content]))[0][0]
        stored, given = await memory._engine.storage.read(
            lambda snapshot: [alike(snapshot, new, one).others for one in (None, vector)]
        )
    assert [one.content for one in stored] == [one.content for one in given]
    assert [one.content for one in stored] == [texts[1], texts[0], texts[2]]


async def test_what_is_told_again_is_offered_among_much_that_resembles(tmp_path: Path) -> None:
    talk = [f"Korean food in the city is great, I read about a restaurant at number {place}." for place in range(40)]
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=EMBEDDER) as memory:
        await told(memory, "I've tried three Korean restaurants.", *talk)
        done = await memory.remember(FOUR, at=FIRST + 60 * WEEK)
        storage = memory._engine.storage  # the list is no part of the facade

        def offered(entity: Entity) -> list[str]:
            return [old.content for old in found[entity.id]]

        found = {
            one.id: await storage.read(lambda snapshot, one=one: candidates(snapshot, one)) for one in done.entities
        }
    assert all(offered(one)[0] == "I've tried three Korean restaurants." for one in done.entities)
    assert all(len(offered(one)) == 10 for one in done.entities)


def test_the_judge_is_sure_of_nothing_it_cannot_compare() -> None:
    old, new = mentions("I've tried three Korean restaurants."), mentions("I own three grey cats.")
    assert max(likelihood(one, other) for one in old for other in new) == 0.0
    assert np.isclose(LIKELY, 0.5)

"""What counts as shown: the text of a context, one order over several namespaces; and other processes know of a recall a second later."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from teaching import CORD, GREEN, LEARN, QUESTION, two_ways

from umi import Memory
from umi.errors import NotFound
from umi.limits import TRAJECTORIES_FLUSH_S, TRAJECTORY_SHOWN_COUNT_MAX


async def evidence(memory: Memory, content: str) -> float:
    """How much is known of the memory with this text."""
    found = await memory.recall(QUESTION, min_score=0, explain=True)
    lessons = [hit.lesson for hit in found.hits if hit.content == content]
    return sum(sum(pair) for lesson in lessons if lesson is not None for pair in lesson.evidence.values())


async def test_a_context_credits_what_its_text_shows() -> None:
    async with Memory.open("dict:", embedder=None, config=LEARN) as memory:
        await two_ways(memory)
        await memory.remember(
            "The label printer can be restarted by anybody who holds a badge of the second floor and asks at the desk."
        )
        whole = await memory.context(QUESTION, max_tokens=1_000, profile=False, changes=False)
        small = await memory.context(QUESTION, max_tokens=whole.tokens - 1, profile=False, changes=False)
        assert small.recall is not None
        assert len(small.recall.hits) > len(small.items) > 0
        receipt = await memory.feedback(small.recall.id, outcome="failure")
        assert set(receipt.credited) == {item.id for item in small.items}
        left_out = next(hit for hit in small.recall.hits if hit.id not in receipt.credited)
        assert await evidence(memory, left_out.content) == 0


async def test_the_place_of_a_hit_is_that_among_all_namespaces(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), namespace="alice", embedder=None, config=LEARN) as alice:
        await alice.remember(GREEN)
        team = alice.switch("team")
        await team.remember(CORD)
        found = await alice.recall(QUESTION, min_score=0, namespaces=["alice", "team"])
        assert [hit.namespace for hit in found.hits] == ["alice", "team"]
        await alice.feedback(found.id, outcome="success")
        await team.feedback(found.id, outcome="success")
        assert await evidence(alice, GREEN) == pytest.approx(1.0)
        assert await evidence(team, CORD) == pytest.approx(1 / 2)  # 1 / (1 + place)


async def test_another_process_takes_feedback_on_a_recall_of_a_second_ago(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with (
        Memory.open(path, embedder=None, config=LEARN) as one,
        Memory.open(path, embedder=None, config=LEARN) as two,
    ):
        await two_ways(one)
        found = await one.recall(QUESTION, min_score=0)
        with pytest.raises(NotFound):
            await two.feedback(found.id, outcome="failure")
        await asyncio.sleep(TRAJECTORIES_FLUSH_S + 0.5)
        assert len((await two.feedback(found.id, outcome="failure")).credited) == len(found.hits)
        assert (await one.feedback(found.id, outcome="failure")).replayed


async def test_a_backup_holds_what_recalls_showed(tmp_path: Path) -> None:
    async with Memory.open(str(tmp_path / "umi.db"), embedder=None, config=LEARN) as memory:
        await two_ways(memory)
        found = await memory.recall(QUESTION, min_score=0)
        await memory.backup(tmp_path / "copy.db")
    async with Memory.open(str(tmp_path / "copy.db"), embedder=None, config=LEARN) as copy:
        assert (await copy.feedback(found.id, outcome="success")).credited


async def test_a_hit_too_far_down_is_named_with_the_bound() -> None:
    async with Memory.open("dict:", embedder=None, config=LEARN) as memory:
        for number in range(TRAJECTORY_SHOWN_COUNT_MAX + 2):
            await memory.remember(f"To restart the label printer, press key {number}.")
        found = await memory.recall(QUESTION, min_score=0, limit=100)
        with pytest.raises(NotFound, match=f"first {TRAJECTORY_SHOWN_COUNT_MAX} hits"):
            await memory.feedback(found.id, outcome="success", used=[found.hits[-1].id])


async def test_feedback_on_a_recall_of_an_erased_namespace_does_not_bring_it_back(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with (
        Memory.open(path, embedder=None, config=LEARN) as one,
        Memory.open(path, embedder=None, config=LEARN) as other,
    ):
        await two_ways(one)
        found = await other.recall(QUESTION)
        await one.erase_namespace()
        with pytest.raises(NotFound, match="no recall"):
            await other.feedback(found.id, outcome="success")
        assert await one.namespaces() == []


async def test_a_recall_goes_with_the_last_of_its_hits_also_while_it_waits_to_be_stored() -> None:
    async with Memory.open("dict:", embedder=None, config=LEARN) as memory:
        await memory.remember("Alice keeps the safe behind the painting.")
        kept = await memory.remember("The painting hangs in the hall.")
        both = await memory.recall("Where is the painting?", min_score=0)
        alone = await memory.recall("Where does Alice keep the safe?", limit=1)
        assert (len(both.hits), len(alone.hits)) == (2, 1)
        await memory.erase("Alice")
        assert (await memory.learning.status()).counts.trajectories == 1
        assert (await memory.feedback(both.id, outcome="success")).credited == (kept.entities[0].id,)
        with pytest.raises(NotFound, match="no recall"):
            await memory.feedback(alone.id, outcome="success")

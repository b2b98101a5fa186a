"""What is said in the same words is told apart where it is not the same: after it was deleted, of somebody else, in another place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from teaching import Provider, judged

import umi
import umi.blocking
from umi import IntelligenceLoader, Message


async def test_what_recall_showed_and_was_forgotten_is_no_repetition(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        text = "The launch party is in the old lighthouse."
        kept = await memory.remember(text, speaker="Nora")
        assert (await memory.recall("Where is the launch party?")).hits
        echoed = await memory.remember(Message(text, role="assistant"))
        assert echoed.episode_ids == kept.episode_ids
        assert (await memory.recall("Where is the launch party?")).hits
        await memory.forget(kept.episode_ids[0])
        again = await memory.remember(Message(text, role="assistant"))
        assert again.episode_ids != kept.episode_ids
        assert [one.content for one in (await memory.episodes()).items] == [text]


async def test_words_that_were_cut_out_of_a_message_are_no_repetition_of_it() -> None:
    async with umi.Memory.open("dict:", embedder=None) as memory:
        text = "Alice lives in Berlin. Alice works at Acme."
        kept = await memory.remember(text)
        assert (await memory.recall("Where does Alice live?", min_score=0)).hits
        await memory.forget(next(one.id for one in kept.entities if one.value == "Berlin"))
        again = await memory.remember(Message(text, role="assistant"))
        assert again.episode_ids != kept.episode_ids
        assert [one.content.strip() for one in (await memory.episodes()).items] == ["Alice works at Acme.", text]


@pytest.mark.parametrize("shown", ["recall", "context"])
async def test_words_that_another_memory_cut_out_are_no_repetition(tmp_path: Path, shown: str) -> None:
    url, text = str(tmp_path / "umi.db"), "Alice lives in Berlin. Alice works at Acme."
    async with umi.Memory.open(url, embedder=None) as memory, umi.Memory.open(url, embedder=None) as other:
        kept = await memory.remember(text)
        for cut in (False, True):
            if cut:
                await other.forget(next(one.id for one in kept.entities if one.value == "Berlin"))
            else:
                line = text
                if shown == "context":
                    packed = await memory.context("Where does Alice live?", max_tokens=200, profile=False)
                    line = packed.items[0].line
                else:
                    assert (await memory.recall("Where does Alice live?", min_score=0)).hits
            again = await memory.remember(Message(line, role="assistant"))
            assert again.replayed is not cut
            assert (again.episode_ids == kept.episode_ids) is not cut
        assert line in [one.content for one in (await memory.episodes()).items]


class Twice:
    """A model that reads one phrase of two people."""

    async def complete(self, request: umi.CompletionRequest) -> umi.Completion:
        if request.task != "extract":
            return umi.Completion(json.dumps({"relations": []}))
        read = {"type": "preference", "mode": "asserted", "by": None, "from": None, "until": None, "confidence": 0.9}
        said = [{"content": "likes tea", "name": name, "also": [name], **read} for name in ("Alice", "Bob")]
        return umi.Completion(json.dumps({"entities": said, "relations": []}))


async def test_the_same_words_about_two_people_are_two_statements() -> None:
    async with umi.Memory.open("dict:", embedder=None, llm=Twice()) as memory:
        receipt = await memory.remember("Alice likes tea, and so Bob likes tea.")
    assert [(one.name, one.span) for one in receipt.entities] == [("Alice", (6, 15)), ("Bob", (28, 37))]


async def test_a_recall_over_several_namespaces_keeps_its_task_in_each(tmp_path: Path) -> None:
    provider = Provider()
    loader = IntelligenceLoader([provider])
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, intelligence=loader) as memory:
        for name in ("alice", "team"):
            await memory.switch(name).remember(f"The printer of {name} restarts by its green button.")
        found = await memory.recall(
            "How does the printer restart?", namespaces=["alice", "team"], min_score=0, task_id="T-1"
        )
        assert [hit.namespace for hit in found.hits] in (["alice", "team"], ["team", "alice"])
        provider.signals = [judged(0, task_id="T-1")]
        for hit in found.hits:
            mine = memory.switch(hit.namespace or "")
            assert (await mine.learning.run()).new == 1
            lesson = await mine.learning.explain(hit.id)
            assert [(row.id, row.matched) for row in lesson.signals] == [("s0", "task")]


@pytest.mark.parametrize("derived", ["stale", "erase"])
def test_without_await_an_erasure_does_with_conclusions_what_is_said(tmp_path: Path, derived: Any) -> None:
    with umi.blocking.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        said = memory.remember("I live in Graz.", speaker="Nora")
        memory.remember("Somebody here is from Styria.", derived_from=said.episode_ids)
        memory.erase("Nora", derived=derived)
        left = [one.content for one in memory.episodes().items]
        assert left == ([] if derived == "erase" else ["Somebody here is from Styria."])

"""The memory in real runs of CrewAI: what it keeps and finds, whose memories they are, what happens when it fails."""

from __future__ import annotations

import copy
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from adapter_kit import ANSWERS, run_example
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from pydantic import PrivateAttr

import umi
import umi.blocking
from umi.adapters.crewai import UmiMemory


class Script(BaseLLM):
    """A model that uses tools as it is written, then gives its answer, and keeps what it was asked."""

    _asked: list[str] = PrivateAttr(default_factory=list)
    _steps: list[str] = PrivateAttr(default_factory=list)
    _answer: str = PrivateAttr(default="Noted.")

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        self._asked.append("\n".join(str(one["content"]) for one in messages))
        return self._steps.pop(0) if self._steps else f"Thought: I can answer.\nFinal Answer: {self._answer}"


def use(tool: str, **given: Any) -> str:
    return f"Thought: I need a tool.\nAction: {tool}\nAction Input: {json.dumps(given)}"


def crew_of(memory: Any, model: Script, said: str, user: str = "alice", **options: Any) -> Crew:
    helper = Agent(role="Helper", goal="Help the user.", backstory="You are brief.", llm=model)
    task = Task(description=said, expected_output="A short answer.", agent=helper)
    return Crew(agents=[helper], tasks=[task], memory=UmiMemory(memory, user=user, **options))


def run(
    memory: umi.blocking.Memory, said: str, *steps: str, user: str = "alice", answer: str = "Noted.", **options: Any
) -> str:
    """What the model was shown in a run of a crew of one."""
    model = Script(model="script")
    model._steps, model._answer = list(steps), answer
    assert str(crew_of(memory, model, said, user, **options).kickoff()) == answer
    return "\n".join(model._asked)


def contents(memory: umi.blocking.Memory, user: str = "alice") -> list[tuple[str, str]]:
    return [(one.content, one.role) for one in memory.switch(user).episodes().items]


def test_the_example_is_told_then_a_change_and_then_knows_it(tmp_path: Path) -> None:
    lines = run_example("crewai", tmp_path)
    assert [one for one in lines if one in ANSWERS] == ANSWERS


def test_a_run_keeps_what_was_asked_and_answered_and_a_later_one_is_shown_what_holds() -> None:
    with umi.blocking.Memory.open(":memory:") as memory:
        run(memory, "I work at Acme.")
        assert ("I work at Acme.", "user") in contents(memory)
        run(memory, "I left Acme and joined StartupX.")
        shown = run(memory, "Where do I work?").partition("Relevant memories:")[2]
        assert "StartupX" in shown
        assert "I work at Acme." not in shown
        asked = [text for text, role in contents(memory) if role == "user"]
        assert sorted(asked) == ["I left Acme and joined StartupX.", "I work at Acme.", "Where do I work?"]


def test_two_users_do_not_see_each_other_and_what_is_found_can_be_forgotten() -> None:
    with umi.blocking.Memory.open(":memory:") as memory:
        alice, bob = UmiMemory(memory, user="alice"), UmiMemory(memory, user="bob")
        alice.remember("Alice lives in Lisbon.")
        assert bob.recall("Where does Alice live?") == []
        assert "Lisbon" not in run(memory, "Where does Alice live?", user="bob")
        bob.reset()
        found = alice.recall("Where does Alice live?")
        assert [one.record.content for one in found] == ["Alice lives in Lisbon."]
        assert alice.forget(record_ids=[found[0].record.id]) == 1
        assert alice.recall("Where does Alice live?") == []
        assert alice.recall("") == []


def test_a_run_goes_on_where_the_memory_fails(caplog: pytest.LogCaptureFixture) -> None:
    with umi.blocking.Memory.open(":memory:", embedder=None) as memory:
        pass
    with caplog.at_level(logging.WARNING, logger="umi"):
        run(memory, "I work at Acme.")
        run(memory, "Hi.", use("search_memory", queries=["Hi."]), use("save_to_memory", contents=["a", "b"]))
        assert UmiMemory(memory, user="alice").remember("Hi.") is None  # what was not kept is not said to be
    assert "without an answer from memory: Closed" in caplog.text
    assert "without remembering this turn: Closed" in caplog.text
    with pytest.raises(umi.errors.Closed):
        UmiMemory(memory, user="alice").reset()


def test_the_crews_tools_keep_notes_and_find_them() -> None:
    with umi.blocking.Memory.open(":memory:") as memory:
        run(memory, "Note what I like.", use("save_to_memory", contents=["I like green tea."]))
        assert ("I like green tea.", "assistant") in contents(memory)
        shown = run(memory, "Make me a drink.", use("search_memory", queries=["Which tea do I like?"]))
        assert "I like green tea." in shown.partition("Observation:")[2]


def test_what_the_agent_was_told_by_its_memory_is_not_remembered_again() -> None:
    with umi.blocking.Memory.open(":memory:") as memory:
        memory.switch("alice").remember("I live in Lisbon.")
        shown = run(memory, "Where do I live?", answer="I live in Lisbon.")
        assert "I live in Lisbon." in shown.partition("Relevant memories:")[2]
        assert [text for text, _ in contents(memory)] == ["I live in Lisbon.", "Where do I live?"]
        run(memory, "What do you think?", answer="It is a fine city.")
        assert contents(memory)[-1] == ("It is a fine city.", "assistant")  # without the model's thoughts


def test_what_is_recalled_is_within_its_budget() -> None:
    with umi.blocking.Memory.open(":memory:") as memory:
        for number in range(30):
            memory.switch("alice").remember(f"Note {number}: the garden has {number} roses and a bench.")
        found = UmiMemory(memory, user="alice", max_tokens=200).recall("How many roses?", limit=50)
        assert 100 < sum(len(one.record.content) for one in found) <= 200 * 4


def test_what_cannot_be_kept_or_asked_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with umi.blocking.Memory.open(":memory:", embedder=None) as memory:
        mine = UmiMemory(memory, user="alice")
        with caplog.at_level(logging.WARNING, logger="umi"):
            assert mine.remember("x" * 1_000_001) is None
        assert "the limit is 1,000,000" in caplog.text
        mine.remember_many(["", "half a\0 character \ud800"])
        assert contents(memory) == [("half a character ?", "assistant")]
        assert mine.extract_memories("") == []
        assert mine.forget(record_ids=["nothing"]) == 0
        for call in (mine.list_records, mine.list_scopes, mine.info, mine.tree):
            with pytest.raises(umi.errors.InvalidInput, match="no scopes"):
                call()


def test_a_copy_of_a_crew_has_the_same_memory() -> None:
    with umi.blocking.Memory.open(":memory:", embedder=None) as memory:
        copied = copy.deepcopy(UmiMemory(memory, user="alice"))
        copied.remember("I like green tea.")
        assert contents(memory) == [("I like green tea.", "assistant")]
        copied.close()
        assert len(contents(memory)) == 1


async def test_a_memory_of_an_event_loop_serves_a_crew_in_a_thread() -> None:
    async with umi.Memory.open(":memory:") as memory:
        await memory.switch("alice").remember("I live in Lisbon.")
        model = Script(model="script")
        assert str(await crew_of(memory, model, "Where do I live?").kickoff_async()) == "Noted."
        assert "I live in Lisbon." in model._asked[0]

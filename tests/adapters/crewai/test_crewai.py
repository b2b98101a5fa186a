"""The memory in real runs of CrewAI: what it keeps and finds, whose memories they are, what happens when it fails."""

from __future__ import annotations

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
    """A model that gives one answer, and keeps what it was asked."""

    _asked: list[str] = PrivateAttr(default_factory=list)

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        self._asked.append("\n".join(str(one["content"]) for one in messages))
        return "Thought: I can answer.\nFinal Answer: Noted."


def run(memory: umi.blocking.Memory, said: str, *, user: str = "alice") -> str:
    """What the model was shown in a run of a crew of one."""
    model = Script(model="script")
    helper = Agent(role="Helper", goal="Help the user.", backstory="You are brief.", llm=model)
    task = Task(description=said, expected_output="A short answer.", agent=helper)
    assert str(Crew(agents=[helper], tasks=[task], memory=UmiMemory(memory, user=user)).kickoff()) == "Noted."
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
        UmiMemory(memory, user="alice").remember("Hi.")
    assert "without an answer from memory: Closed" in caplog.text
    assert "without remembering this turn: Closed" in caplog.text
    with pytest.raises(umi.errors.Closed):
        UmiMemory(memory, user="alice").reset()

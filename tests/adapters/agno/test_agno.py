"""The tools in real runs of Agno: what they keep and find, whose memories they are, what happens when things fail."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from adapter_kit import ANSWERS, run_example
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse

import umi
import umi.blocking
from umi.adapters.agno import UmiTools


class Script(Model):
    """A model that says what is written, and keeps what it was asked."""

    def __init__(self, *steps: Any) -> None:
        super().__init__(id="script")
        self.steps = list(steps)
        self.messages: list[Message] = []
        self.tools: Any = None

    def invoke(self, messages: list[Message], tools: Any = None, **_: Any) -> ModelResponse:
        self.messages, self.tools = list(messages), tools
        step = self.steps.pop(0)
        if isinstance(step, str):
            return ModelResponse(role="assistant", content=step)
        return ModelResponse(role="assistant", tool_calls=[step])

    async def ainvoke(self, *args: Any, **options: Any) -> ModelResponse:
        return self.invoke(*args, **options)

    def invoke_stream(self, *args: Any, **options: Any) -> Any:
        yield self.invoke(*args, **options)

    async def ainvoke_stream(self, *args: Any, **options: Any) -> Any:
        yield self.invoke(*args, **options)

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response

    def results(self) -> list[str]:
        """What the tools answered, as the model was shown it last."""
        return [str(one.content) for one in self.messages if one.role == "tool"]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call-{name}-{len(str(arguments))}", "type": "function", "function": function}


def agent_of(memory: Any, script: Script, **options: Any) -> Agent:
    return Agent(model=script, tools=[UmiTools(memory)], telemetry=False, **options)


async def contents(memory: umi.Memory, user: str = "alice") -> list[tuple[str, str, str]]:
    page = await memory.switch(user).episodes()
    return [(one.content, one.role, str(one.origin)) for one in page.items]


def test_told_changed_and_known_right_by_the_runner(tmp_path: Path) -> None:
    assert run_example("agno", tmp_path) == ANSWERS


async def test_what_the_agent_notes_is_kept_once_and_says_what_it_replaces() -> None:
    script = Script(
        call("remember", text="I work at Acme."), "Noted.", call("remember", text="I left Acme."), "Noted.", "Bye."
    )
    async with umi.Memory.open(":memory:") as memory:
        agent = agent_of(memory, script, db=InMemoryDb(), add_history_to_context=True)
        await agent.arun("I work at Acme.", user_id="alice", session_id="s1")
        assert script.results() == ["Kept."]
        await agent.arun("I left Acme.", user_id="alice", session_id="s1")
        assert script.results()[-1].startswith("Kept. It replaces what was known:")
        # The session's history goes in again, and is not remembered again.
        await agent.arun("Thanks, bye.", user_id="alice", session_id="s1")
        assert [one[0] for one in await contents(memory)] == ["I work at Acme.", "I left Acme."]
        assert {one.session for one in (await memory.switch("alice").episodes()).items} == {"s1"}


async def test_the_model_is_told_what_the_tools_are_for() -> None:
    script = Script("Hello.")
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        await agent_of(memory, script).arun("Hi.", user_id="alice")
    about = {one["function"]["name"]: one["function"] for one in script.tools}
    assert sorted(about) == ["recall", "remember"]
    assert "later conversations" in about["remember"]["description"]
    assert "earlier conversations" in about["recall"]["description"]
    # The run's own context is not for the model to give.
    assert list(about["remember"]["parameters"]["properties"]) == ["text"]
    assert list(about["recall"]["parameters"]["properties"]) == ["question"]


async def test_what_the_agent_was_told_by_its_memory_is_not_remembered_again() -> None:
    question = call("recall", question="Where do I live?")
    script = Script(question, call("remember", text="I live in Lisbon."), "In Lisbon.")
    async with umi.Memory.open(":memory:") as memory:
        await memory.switch("alice").remember("I live in Lisbon.")
        await agent_of(memory, script).arun("Where do I live?", user_id="alice")
        assert "I live in Lisbon." in script.results()[0]
        assert [text for text, *_ in await contents(memory)] == ["I live in Lisbon."]


async def test_what_is_recalled_is_within_its_budget() -> None:
    script = Script(call("recall", question="How many roses?"), "Many.")
    async with umi.Memory.open(":memory:") as memory:
        for number in range(40):
            await memory.switch("alice").remember(f"Note {number}: the garden has {number} roses and a long bench.")
        await agent_of(memory, script).arun("How many roses?", user_id="alice")
        assert 200 < len(script.results()[0]) <= 800 * 4


async def test_two_users_of_one_agent_do_not_see_each_other() -> None:
    question = call("recall", question="Where do I live?")
    script = Script(call("remember", text="I live in Lisbon."), "Noted.", question, "?", question, "Lisbon.")
    async with umi.Memory.open(":memory:") as memory:
        agent = agent_of(memory, script)
        await agent.arun("I live in Lisbon.", user_id="alice")
        await agent.arun("Where do I live?", user_id="bob")
        assert script.results() == ["Nothing is known about that."]
        await agent.arun("Where do I live?", user_id="alice")
        assert "Lisbon" in script.results()[0]


async def test_without_a_user_nothing_is_kept_or_found_and_the_model_is_told_why() -> None:
    script = Script(call("remember", text="I live in Lisbon."), call("recall", question="Where do I live?"), "Hello.")
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        done = await agent_of(memory, script).arun("I live in Lisbon.")
        assert done.content == "Hello."
        assert all("user_id" in one for one in script.results())
        assert len(script.results()) == 2
        assert (await memory.episodes()).items == ()


async def test_a_user_that_is_given_to_the_tools_counts() -> None:
    script = Script(call("remember", text="I live in Lisbon."), "Noted.")
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        await Agent(model=script, tools=[UmiTools(memory, user="team")], telemetry=False).arun("x", user_id="alice")
        assert [text for text, *_ in await contents(memory, "team")] == ["I live in Lisbon."]
        assert await contents(memory) == []


async def test_a_run_goes_on_where_the_memory_fails(caplog: pytest.LogCaptureFixture) -> None:
    script = Script(call("recall", question="x"), call("remember", text="x"), "Hello.")
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        agent = agent_of(memory, script)
    with caplog.at_level(logging.WARNING, logger="umi"):
        done = await agent.arun("Hi.", user_id="alice")
    assert done.content == "Hello."
    assert [("not available" in one) for one in script.results()] == [True, True]
    assert "without an answer from memory: Closed" in caplog.text
    assert "without a note: Closed" in caplog.text


@pytest.mark.parametrize("text", ["", "x" * 1_000_001, "half a character \ud800"])
async def test_what_cannot_be_kept_is_no_reason_to_stop(text: str) -> None:
    script = Script(call("remember", text=text), call("recall", question=text), "Hello.")
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        done = await agent_of(memory, script).arun("Hi.", user_id="alice")
        assert done.content == "Hello."


def test_a_blocking_memory_serves_run() -> None:
    script = Script(
        call("remember", text="I live in Lisbon."), "Noted.", call("recall", question="Where do I live?"), "Lisbon."
    )
    with umi.blocking.Memory.open(":memory:") as memory:
        agent = agent_of(memory, script)
        agent.run("I live in Lisbon.", user_id="alice")
        agent.run("Where do I live?", user_id="alice")
        assert "Lisbon" in script.results()[0]

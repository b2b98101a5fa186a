"""The context provider in real runs of Agent Framework: what the model is told, what is remembered, what happens when things fail."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from adapter_kit import ANSWERS, run_example
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)

import umi
import umi.blocking
from umi.adapters.agent_framework import UmiProvider


class Script(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """A model that says what is written, and keeps what it was asked."""

    def __init__(self, *steps: Any) -> None:
        super().__init__()
        self.steps = list(steps)
        self.instructions: list[str] = []
        self.messages: list[Message] = []
        self.tools: dict[str, Any] = {}

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Any:
        self.instructions.append(str(options.get("instructions") or ""))
        self.messages = list(messages)
        self.tools = {one.name: one.parameters() for one in options.get("tools") or ()}
        step = self.steps.pop(0)
        if stream:
            return self._build_response_stream(self._pieces(step))
        return self._whole(step)

    async def _whole(self, step: Any) -> ChatResponse:
        return ChatResponse(messages=[Message("assistant", [step])])

    async def _pieces(self, text: str) -> AsyncIterator[ChatResponseUpdate]:
        for piece in (text[:2], text[2:]):
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(piece)])


def call(name: str, **arguments: Any) -> Content:
    return Content.from_function_call(f"call-{name}", name, arguments=arguments)


def agent_of(memory: Any, script: Script, user: str = "alice", tools: Sequence[Any] = (), **options: Any) -> Agent[Any]:
    return Agent(script, "Be brief.", tools=list(tools), context_providers=[UmiProvider(memory, user=user, **options)])


async def contents(memory: umi.Memory, user: str = "alice") -> list[tuple[str, str, str]]:
    page = await memory.switch(user).episodes()
    return [(one.content, one.role, str(one.origin)) for one in page.items]


@tool
def weather(city: str) -> str:
    """The weather."""
    return f"It rains in {city}."


@tool
def broken(city: str) -> str:
    """Fails."""
    raise ValueError(city)


def test_told_changed_and_known_right_by_the_runner(tmp_path: Path) -> None:
    assert run_example("agent_framework", tmp_path) == ANSWERS


async def test_a_run_is_remembered_once_with_who_said_what() -> None:
    script = Script(call("weather", city="Lisbon"), "Take an umbrella.", "Bye.")
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        agent = agent_of(memory, script, tools=[weather])
        session = agent.create_session()
        await agent.run("I live in Lisbon. Do I need an umbrella?", session=session)
        # The session's history goes in again, and is not remembered again.
        await agent.run("Thanks, bye.", session=session)
        assert len(script.messages) > 4
        assert await contents(memory) == [
            ("I live in Lisbon. Do I need an umbrella?", "user", "user"),
            ("It rains in Lisbon.", "tool", "tool"),
            ("Take an umbrella.", "assistant", "assistant"),
            ("Thanks, bye.", "user", "user"),
            ("Bye.", "assistant", "assistant"),
        ]
        assert {one.session for one in (await memory.switch("alice").episodes()).items} == {session.session_id}


async def test_a_streamed_run_is_remembered_too() -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        agent = agent_of(memory, Script("Hello."))
        stream = agent.run("Hi.", stream=True)
        assert "".join([one.text async for one in stream]) == "Hello."
        assert [text for text, *_ in await contents(memory)] == ["Hi.", "Hello."]


async def test_a_tool_that_failed_is_not_remembered() -> None:
    script = Script(call("broken", city="Lisbon"), "I do not know.")
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        await agent_of(memory, script, tools=[broken]).run("Do I need an umbrella?")
        assert [role for _, role, _ in await contents(memory)] == ["user", "assistant"]


async def test_what_the_agent_was_told_by_its_memory_is_not_remembered_again() -> None:
    script = Script(call("recall", question="Where do I live?"), "I live in Lisbon.")
    async with umi.Memory.open(":memory:") as memory:
        await memory.switch("alice").remember("I live in Lisbon.")
        await agent_of(memory, script).run("Where do I live?")
        answers = [part.result for one in script.messages for part in one.contents if part.type == "function_result"]
        assert "I live in Lisbon." in str(answers)
        assert [text for text, *_ in await contents(memory)] == ["I live in Lisbon.", "Where do I live?"]


async def test_tools_keep_what_the_model_gives_them() -> None:
    script = Script(call("remember", text="I like green tea."), "Done.")
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        agent = agent_of(memory, script)
        session = agent.create_session()
        await agent.run("Note that I like green tea.", session=session)
        assert ("I like green tea.", "assistant", "assistant") in await contents(memory)
        episodes = (await memory.switch("alice").episodes()).items
        assert [one.session for one in episodes] == [session.session_id] * 3
        assert {name: list(one["properties"]) for name, one in script.tools.items()} == {
            "remember": ["text"],
            "recall": ["question"],
        }


async def test_what_is_known_is_in_the_instructions_within_its_budget_and_in_no_history() -> None:
    async with umi.Memory.open(":memory:") as memory:
        for number in range(30):
            await memory.switch("alice").remember(f"Note {number}: the garden has {number} roses and a bench.")
        script = Script("Many.", "Bye.")
        agent = agent_of(memory, script, max_tokens=200)
        session = agent.create_session()
        await agent.run("How many roses?", session=session)
        known = script.instructions[0].removeprefix("Be brief.").strip()
        assert known.startswith("<memory>")
        assert "roses" in known
        assert len(known) <= 200 * 4
        await agent.run("Thanks.", session=session)
        assert not any("<memory>" in one.text for one in script.messages)


async def test_two_users_do_not_see_each_other() -> None:
    script = Script("Noted.", "?", "Lisbon.")
    async with umi.Memory.open(":memory:") as memory:
        await agent_of(memory, script).run("I live in Lisbon.")
        await agent_of(memory, script, "bob").run("Where do I live?")
        await agent_of(memory, script).run("Where do I live?")
        assert "Lisbon" not in script.instructions[1]
        assert "Lisbon" in script.instructions[2]


async def test_a_run_goes_on_where_the_memory_fails(caplog: pytest.LogCaptureFixture) -> None:
    script = Script(call("recall", question="x"), call("remember", text="x"), "Hello.")
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        agent = agent_of(memory, script)
    with caplog.at_level(logging.WARNING, logger="umi"):
        done = await agent.run("Hi.")
    assert done.text == "Hello."
    answers = [str(part.result) for one in script.messages for part in one.contents if part.type == "function_result"]
    assert [("not available" in one) for one in answers] == [True, True]
    assert "without what is known: Closed" in caplog.text
    assert "without remembering this turn: Closed" in caplog.text


async def test_what_has_no_text_and_what_no_store_takes_are_no_reason_to_stop() -> None:
    script = Script("Hello.", "Hello again.")
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        agent = agent_of(memory, script)
        image = Content.from_data(b"\x89PNG", media_type="image/png")
        await agent.run(Message("user", [image]))
        await agent.run("half a\0 character \ud800")
        assert [text for text, *_ in await contents(memory)] == ["Hello.", "half a character ?", "Hello again."]


async def test_a_blocking_memory_serves_any_event_loop() -> None:
    with umi.blocking.Memory.open(":memory:", embedder=None) as memory:
        await agent_of(memory, Script("Hello.")).run("Hi.")
        assert len(memory.switch("alice").episodes().items) == 2

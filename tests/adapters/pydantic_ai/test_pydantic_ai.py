"""The capability in real runs of PydanticAI: what is known in each request, what is remembered of a run, what happens when things fail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from adapter_kit import ANSWERS, run_example
from pydantic import BaseModel
from pydantic_ai import Agent, ImageUrl
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import umi
import umi.blocking
from umi.adapters.pydantic_ai import UmiMemory


class Script:
    """A model that says what is written, and keeps what it was asked."""

    def __init__(self, *steps: list[Any]) -> None:
        self.steps = list(steps)
        self.instructions: list[str] = []
        self.messages: list[ModelMessage] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.instructions.append(info.instructions or "")
        self.messages = messages
        return ModelResponse(parts=self.steps.pop(0))


def agent_of(memory: Any, script: Callable[..., Any], user: Any = "alice", **options: Any) -> Agent[Any, Any]:
    kept = {one: options.pop(one) for one in ("max_tokens", "counter") if one in options}
    return Agent(FunctionModel(script), capabilities=[UmiMemory(memory, user, **kept)], **options)


async def contents(memory: umi.Memory, user: str = "alice") -> list[tuple[str, str, str]]:
    page = await memory.switch(user).episodes()
    return [(one.content, one.role, str(one.origin)) for one in page.items]


def test_told_changed_and_known_right_by_the_runner(tmp_path: Path) -> None:
    assert run_example("pydantic_ai", tmp_path) == ANSWERS


async def test_a_run_is_remembered_once_with_who_said_what() -> None:
    script = Script(
        [ToolCallPart("weather", {"city": "Lisbon"})],
        [TextPart("Take an umbrella.")],
        [TextPart("Bye.")],
    )
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        agent = agent_of(memory, script)

        @agent.tool_plain
        def weather(city: str) -> dict[str, str]:
            return {"rain": city}

        first = await agent.run(["I live in Lisbon.", ImageUrl("https://x/y.png"), "Do I need an umbrella?"])
        # The history goes in again, and is not remembered again.
        second = await agent.run("Thanks, bye.", message_history=first.all_messages())
        assert await contents(memory) == [
            ("I live in Lisbon.\nDo I need an umbrella?", "user", "user"),
            ('{"rain":"Lisbon"}', "tool", "tool"),
            ("Take an umbrella.", "assistant", "assistant"),
            ("Thanks, bye.", "user", "user"),
            ("Bye.", "assistant", "assistant"),
        ]
        sessions = {one.session for one in (await memory.switch("alice").episodes()).items}
        assert sessions == {second.conversation_id}


async def test_a_streamed_run_is_remembered_too() -> None:
    async def stream(_messages: list[ModelMessage], _info: AgentInfo) -> Any:
        yield "Hel"
        yield "lo."

    async with umi.Memory.open(":memory:", embedder=None) as memory:
        agent = Agent(FunctionModel(stream_function=stream), capabilities=[UmiMemory(memory, "alice")])
        async with agent.run_stream("Hi.") as result:
            assert await result.get_output() == "Hello."
        assert [text for text, *_ in await contents(memory)] == ["Hi.", "Hello."]


async def test_the_form_of_an_answer_and_tools_that_failed_are_not_remembered() -> None:
    class City(BaseModel):
        name: str

    script = Script(
        [ToolCallPart("weather", {"town": "Lisbon"})],  # refused: the argument has another name
        [ToolCallPart("final_result", {"name": "Lisbon"})],
    )
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        agent = agent_of(memory, script, output_type=City)

        @agent.tool_plain
        def weather(city: str) -> str:
            return city

        done = await agent.run("Where do I live?")
        assert done.output == City(name="Lisbon")
        assert await contents(memory) == [("Where do I live?", "user", "user")]


async def test_what_the_agent_was_told_by_its_memory_is_not_remembered_again() -> None:
    script = Script([ToolCallPart("recall", {"question": "Where do I live?"})], [TextPart("I live in Lisbon.")])
    async with umi.Memory.open(":memory:") as memory:
        await memory.switch("alice").remember("I live in Lisbon.")
        await agent_of(memory, script).run("Where do I live?")
        assert "I live in Lisbon." in str(script.messages[-1])
        assert [text for text, *_ in await contents(memory)] == ["I live in Lisbon.", "Where do I live?"]


async def test_tools_keep_what_the_model_gives_them() -> None:
    script = Script([ToolCallPart("remember", {"text": "I like green tea."})], [TextPart("Done.")])
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        await agent_of(memory, script).run("Note that I like green tea.")
        assert ("I like green tea.", "assistant", "assistant") in await contents(memory)
        assert len(await contents(memory)) == 3


async def test_what_is_known_is_in_each_request_within_its_budget_and_in_no_message() -> None:
    async with umi.Memory.open(":memory:") as memory:
        for number in range(30):
            await memory.switch("alice").remember(f"Note {number}: the garden has {number} roses and a bench.")
        script = Script([TextPart("Many.")])
        agent = agent_of(memory, script, instructions="Be brief.", max_tokens=200)
        done = await agent.run("How many roses?")
        known = script.instructions[0].removeprefix("Be brief.").strip()
        assert known.startswith("<memory>")
        assert "roses" in known
        assert len(known) <= 200 * 4
        assert not any("<memory>" in str(part) for message in done.all_messages() for part in message.parts)


async def test_two_users_of_one_agent_do_not_see_each_other() -> None:
    script = Script([TextPart("Noted.")], [TextPart("?")], [TextPart("Lisbon.")])
    async with umi.Memory.open(":memory:") as memory:
        agent = agent_of(memory, script, lambda ctx: ctx.deps, deps_type=str)
        await agent.run("I live in Lisbon.", deps="alice")
        await agent.run("Where do I live?", deps="bob")
        await agent.run("Where do I live?", deps="alice")
        assert "Lisbon" not in script.instructions[1]
        assert "Lisbon" in script.instructions[2]


async def test_a_run_goes_on_where_the_memory_fails(caplog: pytest.LogCaptureFixture) -> None:
    script = Script(
        [ToolCallPart("recall", {"question": "x"})], [ToolCallPart("remember", {"text": "x"})], [TextPart("Hello.")]
    )
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        agent = agent_of(memory, script)
    with caplog.at_level(logging.WARNING, logger="umi"):
        done = await agent.run("Hi.")
    assert done.output == "Hello."
    assert str(script.messages).count("not available") == 2
    assert "without what is known: Closed" in caplog.text
    assert "without remembering this turn: Closed" in caplog.text


def test_a_blocking_memory_serves_run_sync() -> None:
    with umi.blocking.Memory.open(":memory:", embedder=None) as memory:
        agent = agent_of(memory, Script([TextPart("Hello.")], [TextPart("Bye.")]))
        assert agent.run_sync("Hi.").output == "Hello."
        assert agent.run_sync("Bye.").output == "Bye."
        assert len(memory.switch("alice").episodes().items) == 4

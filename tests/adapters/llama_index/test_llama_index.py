"""The memory block in LlamaIndex's own memory, agents and chat engines, and what happens when things fail."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from adapter_kit import ANSWERS, run_example
from llama_index.core.agent import FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from llama_index.core.tools import FunctionTool
from llama_index.core.utils import get_tokenizer

import umi
import umi.blocking
from umi.adapters.llama_index import UmiMemoryBlock


class Script:
    """What the model says, and what it was asked."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.asked: list[Sequence[ChatMessage]] = []

    def __call__(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self.asked.append(messages)
        return ChatMessage(role="assistant", content=self.steps.pop(0))


def memory_of(memory: Any, user: str = "alice", session: str = "s", limit: int = 30_000, **options: Any) -> Memory:
    block = UmiMemoryBlock(memory, user=user, **options)
    return Memory.from_defaults(session_id=session, token_limit=limit, token_flush_size=10, memory_blocks=[block])


def agent_of(script: Script, *tools: Any) -> FunctionAgent:
    return FunctionAgent(llm=MockFunctionCallingLLM(response_generator=script), tools=list(tools), streaming=False)


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


async def contents(memory: umi.Memory, namespace: str = "alice") -> list[tuple[str, str, str]]:
    page = await memory.switch(namespace).episodes()
    return [(one.content, one.role, str(one.origin)) for one in page.items]


def test_told_changed_and_known_right_by_the_runner(tmp_path: Path) -> None:
    assert run_example("llama_index", tmp_path) == ANSWERS


async def test_a_conversation_is_remembered_once_with_who_said_what() -> None:
    def weather(city: str) -> str:
        """The weather."""
        return f"It rains in {city}."

    call = ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"city": "Lisbon"})
    script = Script([call], "Take an umbrella.", "Bye.")
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        chat, agent = memory_of(memory), agent_of(script, FunctionTool.from_defaults(weather))
        await agent.run("I live in Lisbon. Do I need an umbrella?", memory=chat)
        await agent.run("Thanks, bye.", memory=chat)
        assert await contents(memory) == [
            ("I live in Lisbon. Do I need an umbrella?", "user", "user"),
            ("It rains in Lisbon.", "tool", "tool"),
            ("Take an umbrella.", "assistant", "assistant"),
            ("Thanks, bye.", "user", "user"),
            ("Bye.", "assistant", "assistant"),
        ]


async def test_what_leaves_the_short_term_memory_is_remembered_once_and_so_is_what_is_said_again() -> None:
    said = [user(f"Turn {number}: the garden has many roses and a bench.") for number in range(8)]
    said += [user("I moved to Rome."), user("I moved to Oslo."), *said[:8], user("I moved to Rome.")]
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        chat = memory_of(memory, limit=60)
        for number, message in enumerate(said):
            await chat.aput(message)
            if number % 3:  # it is asked for after some turns only
                await chat.aget()
        assert len(await chat.aget()) < len(said) / 2
        assert [text for text, *_ in await contents(memory)] == [one.content for one in said]


async def test_the_question_that_is_also_the_input_is_remembered_once() -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        chat = memory_of(memory)
        await chat.aput(user("I like tea."))
        for _ in range(2):
            await chat.aget(input="I like tea.")
        assert [text for text, *_ in await contents(memory)] == ["I like tea."]
        await chat.aget(input="I like rice.")
        await chat.aput(user("I like rice."))
        await chat.aget()
        assert [text for text, *_ in await contents(memory)] == ["I like tea.", "I like rice."]


async def test_what_is_known_is_in_front_of_the_model_within_its_budget_and_is_not_remembered() -> None:
    async with umi.Memory.open(":memory:") as memory:
        for number in range(30):
            await memory.switch("alice").remember(f"Note {number}: the garden has {number} roses and a bench.")
        script = Script("Many.")
        await agent_of(script).run("How many roses?", memory=memory_of(memory, max_tokens=200))
        known = script.asked[0][0]
        assert known.role == "system"
        assert "roses and a bench" in str(known.content)
        text = str(known.content).removeprefix("<memory>\n<umi>\n").removesuffix("\n</umi>\n</memory>")
        assert 100 < len(get_tokenizer()(text)) <= 200
        assert len(await contents(memory)) == 32
        # The whole of LlamaIndex's budget is smaller: the block is packed again, into what is left.
        small = str((await memory_of(memory, limit=200, session="s2").aget(input="How many roses?"))[0].content)
        assert 100 < len(get_tokenizer()(small)) <= 200 + 20
        assert small.count("</memory>") == 2


async def test_two_users_do_not_see_each_other() -> None:
    script = Script("Noted.", "?", "Lisbon.")
    async with umi.Memory.open(":memory:") as memory:
        agent = agent_of(script)
        await agent.run("I live in Lisbon.", memory=memory_of(memory))
        await agent.run("Where do I live?", memory=memory_of(memory, user="bob"))
        await agent.run("Where do I live?", memory=memory_of(memory, session="s2"))
        assert "Lisbon" not in str(script.asked[1])
        assert "Lisbon" in str(script.asked[2])


async def test_a_run_goes_on_where_the_memory_fails(caplog: pytest.LogCaptureFixture) -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        chat = memory_of(memory)
    with caplog.at_level(logging.WARNING, logger="umi"):
        assert str(await agent_of(Script("Hello.")).run("Hi.", memory=chat)) == "Hello."
    assert "without what is known: Closed" in caplog.text
    assert "without remembering this turn: Closed" in caplog.text


def test_a_blocking_memory_serves_a_chat_engine() -> None:
    with umi.blocking.Memory.open(":memory:", embedder=None) as memory:
        engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory_of(memory))
        engine.chat("I like tea.")
        engine.chat("I like rice.")
        texts = [one.content for one in memory.switch("alice").episodes().items]
        assert texts[::2] == ["I like tea.", "I like rice."]

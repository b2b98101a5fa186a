"""The memory in real runs of AutoGen's AssistantAgent, the contract that its ListMemory keeps, and what happens when things fail."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from adapter_kit import ANSWERS, run_example
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken, Image
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import SystemMessage, UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient

import umi
import umi.blocking
from umi.adapters.autogen import UmiMemory

TEXT = MemoryMimeType.TEXT
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="  # a PNG


def text(content: str, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=content, mime_type=TEXT, metadata=metadata or None)


def agent_of(model: ReplayChatCompletionClient, memory: UmiMemory) -> AssistantAgent:
    return AssistantAgent("helper", model_client=model, memory=[memory], system_message="Be brief.")


def told(model: ReplayChatCompletionClient, number: int = -1) -> str:
    """The system messages of a request."""
    messages = model.create_calls[number]["messages"]
    return "\n".join(str(one.content) for one in messages if isinstance(one, SystemMessage))


async def contents(memory: umi.Memory, user: str = "alice") -> list[tuple[str, str, str]]:
    page = await memory.switch(user).episodes()
    return [(one.content, one.role, str(one.origin)) for one in page.items]


def test_told_changed_and_known_right_by_the_runner(tmp_path: Path) -> None:
    assert run_example("autogen", tmp_path) == ANSWERS


async def test_what_is_added_is_remembered_once_with_who_said_it() -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        mine = UmiMemory(memory, user="alice")
        await mine.add(text("I live in Lisbon."))
        await mine.add(text("It rains in Lisbon.", role="tool"))
        await mine.add(text("Take an umbrella.", role="assistant"), CancellationToken())
        await mine.add(MemoryContent(content={"city": "Lisbon"}, mime_type=MemoryMimeType.JSON))
        assert await contents(memory) == [
            ("I live in Lisbon.", "user", "user"),
            ("It rains in Lisbon.", "tool", "tool"),
            ("Take an umbrella.", "assistant", "assistant"),
            ('{"city": "Lisbon"}', "user", "user"),
        ]


async def test_runs_add_nothing_by_themselves_and_what_was_told_is_not_remembered_again() -> None:
    model = ReplayChatCompletionClient(["I live in Lisbon."])
    async with umi.Memory.open(":memory:") as memory:
        mine = UmiMemory(memory, user="alice")
        await mine.add(text("I live in Lisbon."))
        done = await agent_of(model, mine).run(task="Where do I live?")
        assert "I live in Lisbon." in told(model)
        await mine.add(text(done.messages[-1].to_text(), role="assistant"))
        for found in (await mine.query("Where do I live?")).results:
            await mine.add(text(str(found.content), role="assistant"))
        assert [one for one, *_ in await contents(memory)] == ["I live in Lisbon."]


async def test_a_query_finds_what_holds_with_its_metadata() -> None:
    async with umi.Memory.open(":memory:") as memory:
        mine = UmiMemory(memory, user="alice")
        await mine.add(text("I work at Acme.", source="form"))
        await mine.add(text("I left Acme and joined StartupX."))
        await mine.add(text("My cat is called Tom.", source="chat"))
        found = (await mine.query("Where do I work?")).results
        assert "StartupX" in str(found[0].content)
        assert "I work at Acme." not in [one.content for one in found]
        cat = (await mine.query(text("What is my cat called?"))).results[0]
        assert cat.content == "My cat is called Tom."
        assert cat.metadata is not None
        assert cat.metadata["source"] == "chat"
        ids = {one.content: one.id for one in (await memory.switch("alice").episodes()).items}
        assert cat.metadata["id"] == ids["My cat is called Tom."]
        assert (await mine.query("")).results == []


async def test_it_keeps_the_contract_of_list_memory() -> None:
    async with umi.Memory.open(":memory:") as memory:
        for one in (ListMemory(), UmiMemory(memory, user="alice")):
            context = UnboundedChatCompletionContext()
            await context.add_message(UserMessage(content="What do I like?", source="user"))
            assert (await one.update_context(context)).memories.results == []
            assert len(await context.get_messages()) == 1
            await one.add(text("I like pizza."))
            assert "I like pizza." in [found.content for found in (await one.query("What do I like?")).results]
            assert len((await one.update_context(context)).memories.results) == 1
            messages = await context.get_messages()
            assert isinstance(messages[-1], SystemMessage)
            assert "I like pizza." in messages[-1].content
            await one.clear()
            assert (await one.query("What do I like?")).results == []
            await one.close()


async def test_what_is_known_is_within_its_budget() -> None:
    model = ReplayChatCompletionClient(["Many."])
    async with umi.Memory.open(":memory:") as memory:
        mine = UmiMemory(memory, user="alice", max_tokens=200)
        for number in range(30):
            await mine.add(text(f"Note {number}: the garden has {number} roses and a bench."))
        await agent_of(model, mine).run(task="How many roses?")
        known = told(model).removeprefix("Be brief.").strip()
        assert known.startswith("<memory>")
        assert "roses" in known
        assert len(known) <= 200 * 4


async def test_two_users_do_not_see_each_other() -> None:
    model = ReplayChatCompletionClient(["?", "Lisbon."])
    async with umi.Memory.open(":memory:") as memory:
        alice, bob = UmiMemory(memory, user="alice"), UmiMemory(memory, user="bob")
        await alice.add(text("I live in Lisbon."))
        await agent_of(model, bob).run(task="Where do I live?")
        assert "Lisbon" not in told(model)
        assert (await bob.query("Where do I live?")).results == []
        await bob.clear()
        await agent_of(model, alice).run(task="Where do I live?")
        assert "Lisbon" in told(model)


async def test_a_run_goes_on_where_the_memory_fails(caplog: pytest.LogCaptureFixture) -> None:
    model = ReplayChatCompletionClient(["Hello."])
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        mine = UmiMemory(memory, user="alice")
    with caplog.at_level(logging.WARNING, logger="umi"):
        done = await agent_of(model, mine).run(task="Hi.")
        assert done.messages[-1].to_text() == "Hello."
        assert (await mine.query("Hi.")).results == []
        await mine.add(text("Hi."))
    assert "without what is known: Closed" in caplog.text
    assert "without an answer from memory: Closed" in caplog.text
    assert "without remembering this turn: Closed" in caplog.text
    with pytest.raises(umi.errors.Closed):
        await mine.clear()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (MemoryContent(content=b"\x00\x01", mime_type=MemoryMimeType.BINARY), "it is no text"),
        (MemoryContent(content=Image.from_base64(PIXEL), mime_type=MemoryMimeType.IMAGE), "it is no text"),
        (text("Hi.", role="r" * 300), "role"),
        (text("Hi.", about=object()), "metadata"),
        (text("x" * 2_000_000), "the limit is 1,000,000"),
    ],
)
async def test_what_cannot_be_kept_is_said_and_is_no_reason_to_stop(
    content: MemoryContent, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        mine = UmiMemory(memory, user="alice")
        with caplog.at_level(logging.WARNING, logger="umi"):
            await mine.add(content)
        assert reason in caplog.text
        assert await contents(memory) == []


async def test_a_blocking_memory_serves_any_event_loop() -> None:
    model = ReplayChatCompletionClient(["Hello."])
    with umi.blocking.Memory.open(":memory:") as memory:
        mine = UmiMemory(memory, user="alice")
        await mine.add(text("I live in Lisbon."))
        await agent_of(model, mine).run(task="Where do I live?")
        assert "Lisbon" in told(model)
        await mine.clear()
        assert memory.switch("alice").episodes().items == ()

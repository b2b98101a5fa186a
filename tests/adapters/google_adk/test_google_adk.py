"""The memory service in real runs of Google's Agent Development Kit, and what happens when things fail."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from adapter_kit import ANSWERS, run_example
from google.adk.agents import Agent
from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import load_memory, preload_memory
from google.genai import types
from pydantic import Field

import umi
import umi.blocking
from umi.adapters.google_adk import UmiMemoryService

HELPER: dict[str, Any] = {"app_name": "helper", "user_id": "alice"}


class Script(BaseLlm):
    """A model that says what is written, and keeps what it was asked."""

    model: str = "scripted"
    steps: list[types.Part]
    asked: list[str] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append("\n".join(part.model_dump_json() for one in llm_request.contents for part in one.parts or []))
        yield LlmResponse(content=types.Content(role="model", parts=[self.steps.pop(0)]))


def call(name: str, **arguments: str) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=arguments))


def text(said: str) -> types.Part:
    return types.Part(text=said)


async def keep(callback_context: Any) -> None:
    await callback_context.add_session_to_memory()


def runner_of(memory: Any, script: Script, *tools: Callable[..., Any], **options: Any) -> Runner:
    agent = Agent(name="helper", model=script, tools=list(tools), after_agent_callback=keep)
    service = UmiMemoryService(memory, **options)
    sessions = InMemorySessionService()
    return Runner(
        agent=agent, app_name="helper", session_service=sessions, memory_service=service, auto_create_session=True
    )


async def said(runner: Runner, user: str, message: str, session: str = "s1") -> str:
    new = types.UserContent(message)
    events = [one async for one in runner.run_async(user_id=user, session_id=session, new_message=new)]
    return "".join(part.text or "" for part in events[-1].content.parts)


async def contents(memory: umi.Memory, namespace: str = "helper/alice") -> list[tuple[str, str, str]]:
    page = await memory.switch(namespace).episodes()
    return [(one.content, one.role, str(one.origin)) for one in page.items]


def test_told_changed_and_known_right_by_the_runner(tmp_path: Path) -> None:
    assert run_example("google_adk", tmp_path) == ANSWERS


async def test_a_run_is_remembered_once_with_who_said_what() -> None:
    def weather(city: str) -> dict[str, str]:
        return {"sky": f"It rains in {city}."}

    script = Script(steps=[call("weather", city="Lisbon"), text("Take an umbrella."), text("Bye.")])
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        runner = runner_of(memory, script, weather)
        await said(runner, "alice", "I live in Lisbon. Do I need an umbrella?")
        await said(runner, "alice", "Thanks, bye.")  # its session is added again, as a whole
        assert await contents(memory) == [
            ("I live in Lisbon. Do I need an umbrella?", "user", "user"),
            ('{"sky": "It rains in Lisbon."}', "tool", "tool"),
            ("Take an umbrella.", "assistant", "assistant"),
            ("Thanks, bye.", "user", "user"),
            ("Bye.", "assistant", "assistant"),
        ]
        first = (await memory.switch("helper/alice").episodes()).items[0]
        assert (first.session, first.metadata) == ("s1", {"author": "user"})


async def test_what_the_agent_was_told_by_its_memory_is_not_remembered_again() -> None:
    script = Script(steps=[call("load_memory", query="Where do I live?"), text("I live in Lisbon.")])
    async with umi.Memory.open(":memory:") as memory:
        await memory.switch("helper/alice").remember("I live in Lisbon.")
        await said(runner_of(memory, script, load_memory), "alice", "Where do I live?")
        assert "I live in Lisbon." in script.asked[-1]
        assert [one for one, *_ in await contents(memory)] == ["I live in Lisbon.", "Where do I live?"]


async def test_a_search_finds_what_holds_now_within_its_budget() -> None:
    async with umi.Memory.open(":memory:") as memory:
        service = UmiMemoryService(memory, max_tokens=100)
        events = [
            Event(author="user", content=types.UserContent(f"Note {number}: the garden has {number} roses."))
            for number in range(30)
        ]
        moved = ["I work at Acme.", "I left Acme and joined StartupX."]
        events += [Event(author="user", content=types.UserContent(one)) for one in moved]
        await service.add_events_to_memory(**HELPER, session_id="s1", events=events)
        found = (await service.search_memory(**HELPER, query="How many roses does the garden have?")).memories
        assert found
        assert sum(len(one.content.parts[0].text) for one in found) <= 100 * 4
        work, *others = (await service.search_memory(**HELPER, query="Where do I work?")).memories
        assert "Acme." not in str([one.content for one in others])
        assert work.content == types.Content(role="user", parts=[text("I left Acme and joined StartupX.")])
        assert (work.author, work.timestamp is not None) == ("user", True)
        assert (await service.search_memory(**HELPER, query=" ")).memories == []


async def test_events_come_once_by_whichever_way() -> None:
    events = [Event(author="user", content=types.UserContent(one)) for one in ("I like tea.", "I like rice.", "\0")]
    events.append(Event(author="helper", content=types.Content(parts=[types.Part(text="Hm, tea.", thought=True)])))
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        service = UmiMemoryService(memory)
        await service.add_events_to_memory(**HELPER, events=events[:1])
        session = Session(id="s1", **HELPER, events=events)
        for _ in range(2):
            await service.add_session_to_memory(session)
        await service.add_events_to_memory(**HELPER, events=events, custom_metadata={"ttl": 3})
        assert [one for one, *_ in await contents(memory)] == ["I like tea.", "I like rice."]


async def test_notes_are_kept_with_their_author_and_time() -> None:
    def note(said: str, **about: Any) -> MemoryEntry:
        return MemoryEntry(content=types.Content(parts=[text(said)]), **about)

    async with umi.Memory.open(":memory:", embedder=None) as memory:
        service = UmiMemoryService(memory)
        notes = [
            note("I like tea.", author="user", timestamp="2026-05-01T10:00:00Z", custom_metadata={"a": 1}),
            note("I like rice.", timestamp="in spring"),
        ]
        await service.add_memory(**HELPER, memories=notes, custom_metadata={"a": 2, "b": 3})
        first, second = (await memory.switch("helper/alice").episodes()).items
        assert (first.role, first.metadata, first.at.isoformat()) == (
            "user",
            {"a": 1, "b": 3, "author": "user"},
            "2026-05-01T10:00:00+00:00",
        )
        assert (second.role, second.speaker) == ("assistant", "user")


async def test_what_was_deleted_stays_away() -> None:
    events = [Event(author="user", content=types.UserContent("I live in Lisbon."))]
    async with umi.Memory.open(":memory:") as memory:
        service = UmiMemoryService(memory)
        session = Session(id="s1", **HELPER, events=events)
        await service.add_session_to_memory(session)
        (found,) = (await service.search_memory(**HELPER, query="Where do I live?")).memories
        await service.delete_memory(**HELPER)  # of nothing
        await service.delete_memory(**HELPER, memory_id=found.id)
        await service.add_session_to_memory(session)
        assert (await service.search_memory(**HELPER, query="Where do I live?")).memories == []


async def test_neither_users_nor_applications_see_each_other() -> None:
    steps = [text("Noted."), text("?"), text("Lisbon.")]
    script = Script(steps=steps)
    async with umi.Memory.open(":memory:") as memory:
        runner = runner_of(memory, script, preload_memory)
        await said(runner, "alice", "I live in Lisbon.")
        await said(runner, "bob", "Where do I live?", session="s2")
        await said(runner, "alice", "Where do I live?", session="s3")
        assert "Lisbon" not in script.asked[1]
        assert "Lisbon" in script.asked[2]
        service = UmiMemoryService(memory)
        for other in ({"app_name": "other", "user_id": "alice"}, {"app_name": "helper/alice", "user_id": "alice"}):
            assert (await service.search_memory(**other, query="Where do I live?")).memories == []


async def test_users_without_an_id_share_no_memory() -> None:
    async with umi.Memory.open(":memory:") as memory:
        service = UmiMemoryService(memory)
        nobody: dict[str, Any] = {"app_name": "helper", "user_id": " "}
        for call_without in (
            lambda: service.add_session_to_memory(Session(id="s1", **nobody)),
            lambda: service.add_events_to_memory(events=[], **nobody),
            lambda: service.add_memory(memories=[], **nobody),
            lambda: service.search_memory(query="Where do I live?", **nobody),
            lambda: service.delete_memory(memory_id="x", **nobody),
        ):
            with pytest.raises(umi.InvalidInput, match="user_id must be a text that is not blank"):
                await call_without()
        assert await memory.namespaces() == []


async def test_a_run_goes_on_where_the_memory_fails(caplog: pytest.LogCaptureFixture) -> None:
    script = Script(steps=[call("load_memory", query="x"), text("Hello.")])
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        runner = runner_of(memory, script, load_memory, preload_memory)
    with caplog.at_level(logging.WARNING, logger="umi"):
        assert await said(runner, "alice", "Hi.") == "Hello."
    assert "without an answer from memory: Closed" in caplog.text
    assert "without remembering this session: Closed" in caplog.text
    with pytest.raises(umi.UmiError):
        await runner.memory_service.delete_memory(**HELPER, memory_id="x")


def test_a_blocking_memory_serves_run() -> None:
    with umi.blocking.Memory.open(":memory:", embedder=None) as memory:
        runner = runner_of(memory, Script(steps=[text("Hello.")]))
        events = list(runner.run(user_id="alice", session_id="s1", new_message=types.UserContent("Hi.")))
        assert events[-1].content.parts[0].text == "Hello."
        assert len(memory.switch("helper/alice").episodes().items) == 2

"""What an adapter adds to a call: its time beside that of the calls of Umi that it makes, in an environment of `make adapters`.

build/adapters/openai_agents/bin/python lab/tools/adapter_cost.py openai_agents
"""

from __future__ import annotations

import asyncio
import functools
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import umi

CALLS = 200
LIMIT_MS = 1.0
LIBRARY = ("remember", "remember_many", "recall", "context", "episodes", "list", "forget", "relate", "resolve")
inside_s = 0.0


def watch(name: str) -> None:
    """Add the time inside a method of the library to `inside_s`."""
    method = getattr(umi.Memory, name)

    @functools.wraps(method)
    async def timed(*args: Any, **kwargs: Any) -> Any:
        global inside_s  # noqa: PLW0603 - one number for all methods
        began = time.perf_counter()
        try:
            return await method(*args, **kwargs)
        finally:
            inside_s += time.perf_counter() - began

    setattr(umi.Memory, name, timed)


Calls = dict[str, Callable[[int], Awaitable[Any]]]


def langgraph(memory: umi.Memory) -> Calls:
    """Items with text."""
    from umi.adapters.langgraph import UmiStore

    store, mine = UmiStore(memory), ("alice", "memories")
    return {
        "aput": lambda number: store.aput(mine, f"k{number}", {"content": f"I own {number} roses."}),
        "aget": lambda number: store.aget(mine, f"k{number}"),
        "asearch": lambda _: store.asearch(mine, query="roses", limit=5),
    }


def openai_agents(memory: umi.Memory) -> Calls:
    """A session's items."""
    from agents.run import CallModelData, ModelInputData

    from umi.adapters.openai_agents import UmiSession, add_context

    session, hook = UmiSession(memory, "s", user="alice"), add_context(memory, user="alice")
    asked: Any = {"role": "user", "content": "How many roses?"}
    data: Any = CallModelData(ModelInputData(input=[asked], instructions=None), agent=None, context=None)  # type: ignore[arg-type]
    return {
        "add_items": lambda number: session.add_items([{"role": "user", "content": f"I own {number} roses."}]),
        "get_items": lambda _: session.get_items(limit=10),
        "add_context": lambda _: hook(data),
    }


def pydantic_ai(memory: umi.Memory) -> Calls:
    """Runs of an agent, with and without the capability."""
    from types import SimpleNamespace

    from pydantic_ai.messages import ModelRequest, UserPromptPart

    from umi.adapters.pydantic_ai import UmiMemory

    capability = UmiMemory(memory, "alice")
    context: Any = SimpleNamespace(prompt="How many roses?", conversation_id="s")
    known = capability.get_instructions()

    def after(number: int) -> Awaitable[Any]:
        request = ModelRequest(parts=[UserPromptPart(f"I own {number} roses.")])
        result: Any = SimpleNamespace(new_messages=lambda: [request])
        return capability.after_run(context, result=result)

    return {"after_run": after, "instructions": lambda _: known(context)}


def claude(memory: umi.Memory) -> Calls:
    """Files."""
    from umi.adapters.claude import AsyncUmiMemoryTool

    tool, path = AsyncUmiMemoryTool(memory, namespace="alice"), "/memories/notes/"
    return {
        "create": lambda number: tool.call(
            {"command": "create", "path": f"{path}{number}", "file_text": f"I own {number} roses."}
        ),
        "view": lambda number: tool.call({"command": "view", "path": f"{path}{number}"}),
    }


def google_adk(memory: umi.Memory) -> Calls:
    """Events of a session."""
    from google.adk.events import Event
    from google.genai import types

    from umi.adapters.google_adk import UmiMemoryService

    service, mine = UmiMemoryService(memory), {"app_name": "helper", "user_id": "alice"}

    def add(number: int) -> Awaitable[Any]:
        event = Event(author="user", content=types.UserContent(f"I own {number} roses."))
        return service.add_events_to_memory(**mine, session_id="s", events=[event])

    return {"add_events": add, "search_memory": lambda _: service.search_memory(**mine, query="How many roses?")}


def llama_index(memory: umi.Memory) -> Calls:
    """Messages of a conversation."""
    from llama_index.core.llms import ChatMessage

    from umi.adapters.llama_index import UmiMemoryBlock

    block = UmiMemoryBlock(memory, user="alice")
    question = [ChatMessage(role="user", content="How many roses?")]
    return {
        "aput": lambda number: block.aput(
            [ChatMessage(role="user", content=f"I own {number} roses.")], from_short_term_memory=True, session_id="s"
        ),
        "aget": lambda _: block.aget(question, session_id="s"),
    }


def agent_framework(memory: umi.Memory) -> Calls:
    """What a run asks of its context provider."""
    from types import SimpleNamespace

    from agent_framework import Message, SessionContext

    from umi.adapters.agent_framework import UmiProvider

    provider, session = UmiProvider(memory, user="alice"), SimpleNamespace(session_id="s")

    def context(text: str) -> dict[str, Any]:
        given = SessionContext(input_messages=[Message("user", [text])])
        return {"agent": None, "session": session, "context": given, "state": {}}

    return {
        "after_run": lambda number: provider.after_run(**context(f"I own {number} roses.")),
        "before_run": lambda _: provider.before_run(**context("How many roses?")),
    }


def autogen(memory: umi.Memory) -> Calls:
    """Contents, and a conversation."""
    from autogen_core.memory import MemoryContent
    from autogen_core.model_context import UnboundedChatCompletionContext
    from autogen_core.models import UserMessage

    from umi.adapters.autogen import UmiMemory

    mine = UmiMemory(memory, user="alice")

    def update(_: int) -> Awaitable[Any]:
        asked = UserMessage(content="How many roses?", source="user")
        return mine.update_context(UnboundedChatCompletionContext(initial_messages=[asked]))

    return {
        "add": lambda number: mine.add(MemoryContent(content=f"I own {number} roses.", mime_type="text/plain")),
        "update_context": update,
        "query": lambda _: mine.query("How many roses?"),
    }


def crewai(memory: umi.Memory) -> Calls:
    """What a task asks, in a thread."""
    from umi.adapters.crewai import UmiMemory

    mine = UmiMemory(memory, user="alice")

    def keep(number: int) -> Any:
        said = f"Task: I own {number} roses.\nAgent: Helper\nExpected result: An answer.\nResult: Noted."
        return mine.remember_many(mine.extract_memories(said))

    return {
        "remember_many": lambda number: asyncio.to_thread(keep, number),
        "recall": lambda _: asyncio.to_thread(mine.recall, "How many roses?", limit=5),
    }


def agno(memory: umi.Memory) -> Calls:
    """Tools, as Agno calls them."""
    from agno.run.base import RunContext

    from umi.adapters.agno import UmiTools

    tools, context = UmiTools(memory).async_functions, RunContext(run_id="r", session_id="s", user_id="alice")
    remember: Any = tools["remember"].entrypoint
    recall: Any = tools["recall"].entrypoint
    return {
        "remember": lambda number: remember(context, f"I own {number} roses."),
        "recall": lambda _: recall(context, "How many roses?"),
    }


async def measure(adapter: Callable[[umi.Memory], Calls]) -> bool:
    """Print the median times in milliseconds, beside and inside Umi. False where an adapter takes too long."""
    global inside_s
    within = True
    async with umi.Memory.open(":memory:") as memory:
        for name, call in adapter(memory).items():
            beside, inside = [], []
            for number in range(CALLS):
                inside_s, began = 0.0, time.perf_counter()
                await call(number)
                inside.append(inside_s * 1_000)
                beside.append((time.perf_counter() - began) * 1_000 - inside[-1])
            median = statistics.median(beside)
            within &= median <= LIMIT_MS
            print(f"{adapter.__name__:15} {name:15} adapter {median:6.3f} ms   Umi {statistics.median(inside):7.2f} ms")
    return within


if __name__ == "__main__":
    for one in LIBRARY:
        watch(one)
    sys.exit(0 if asyncio.run(measure(globals()[sys.argv[1]])) else 1)

"""The tools in a real agent loop, langmem's tools on the store, and what a missing user or a failing memory does."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langmem import create_manage_memory_tool, create_search_memory_tool

import umi
from umi.adapters.langgraph import UmiStore, make_tools

ALICE: dict[str, Any] = {"configurable": {"user_id": "alice", "thread_id": "t1"}}


def call(graph: Any, config: dict[str, Any], name: str, **arguments: str) -> Any:
    """One run of a graph whose model asks for a tool; its last message."""
    asked = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1"}])
    return graph.ainvoke({"messages": [asked]}, config)


def graph_of(tools: list[Any], store: UmiStore | None = None) -> Any:
    return StateGraph(MessagesState).add_node("tools", ToolNode(tools)).add_edge(START, "tools").compile(store=store)


async def told(graph: Any, config: dict[str, Any], name: str, **arguments: str) -> str:
    done = await call(graph, config, name, **arguments)
    assert isinstance(done["messages"][-1], ToolMessage)
    return str(done["messages"][-1].content)


async def test_told_changed_and_known_right_by_tools() -> None:
    async with umi.Memory.open(":memory:") as memory:
        graph = graph_of(make_tools(memory))
        assert await told(graph, ALICE, "remember", text="I work at Acme.") == "Kept."
        changed = await told(graph, ALICE, "remember", text="I left Acme and joined StartupX.")
        assert changed == "Kept. It replaces what was known: works at: Acme -> StartupX; said 'Acme' is over"
        answer = await told(graph, ALICE, "recall", question="Where do I work?")
        assert "StartupX" in answer
        assert "I work at Acme." not in answer
        bob = {"configurable": {"user_id": "bob"}}
        assert await told(graph, bob, "recall", question="Where do I work?") == "Nothing is known about that."
        episode = memory.switch("langgraph/alice")
        assert [one.session for one in (await episode.episodes()).items] == ["t1", "t1"]


async def test_what_recall_returned_is_not_remembered_again() -> None:
    async with umi.Memory.open(":memory:") as memory:
        graph = graph_of(make_tools(memory))
        await told(graph, ALICE, "remember", text="I live in Lisbon.")
        answer = await told(graph, ALICE, "recall", question="Where do I live?")
        await told(graph, ALICE, "remember", text=answer)
        assert len((await memory.switch("langgraph/alice").episodes()).items) == 1


async def test_tools_and_the_store_share_the_namespace() -> None:
    async with umi.Memory.open(":memory:") as memory:
        store = UmiStore(memory)
        await store.aput(("alice",), "k", {"content": "The dentist is on Tuesday."})
        assert "Tuesday" in await told(graph_of(make_tools(memory)), ALICE, "recall", question="When is the dentist?")
        await told(graph_of(make_tools(memory)), ALICE, "remember", text="The plumber is on Friday.")
        assert [item.key for item in await store.asearch(("alice",))] == ["k"]  # a note has no key, and is no item


@pytest.mark.parametrize("configurable", [{}, {"user_id": None}, {"user_id": ""}, {"user_id": " "}])
async def test_a_run_that_does_not_say_whose_memory_it_is_fails(configurable: dict[str, Any]) -> None:
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        with pytest.raises(umi.InvalidInput, match="'user_id'"):
            await make_tools(memory)[0].ainvoke({"text": "I like tea."}, {"configurable": configurable})
        assert await memory.namespaces() == []


async def test_a_memory_that_fails_is_told_to_the_model_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with umi.Memory.open(":memory:") as memory:
        graph = graph_of(make_tools(memory))
    with caplog.at_level(logging.WARNING, logger="umi"):
        assert "not available" in await told(graph, ALICE, "recall", question="Where do I live?")
        assert "not available" in await told(graph, ALICE, "remember", text="I live in Lisbon.")
    assert [record.levelname for record in caplog.records if record.name == "umi"] == ["WARNING", "WARNING"]


async def test_tools_called_from_threads() -> None:
    async with umi.Memory.open(":memory:") as memory:
        remember, recall = make_tools(memory)
        await asyncio.to_thread(remember.invoke, {"text": "I live in Lisbon."}, ALICE)
        assert "Lisbon" in await asyncio.to_thread(recall.invoke, {"question": "Where do I live?"}, ALICE)


async def test_langmem_works_on_the_store() -> None:
    async with umi.Memory.open(":memory:") as memory:
        store = UmiStore(memory)
        where = ("memories", "{langgraph_user_id}")
        tools = [create_manage_memory_tool(namespace=where), create_search_memory_tool(namespace=where)]
        graph = graph_of(tools, store)
        config = {"configurable": {"langgraph_user_id": "alice"}}
        made = await told(graph, config, "manage_memory", content="User works at Acme.", action="create")
        key = made.rsplit(" ", maxsplit=1)[-1]
        await told(graph, config, "manage_memory", content="User works at StartupX.", action="update", id=key)
        found = await told(graph, config, "search_memory", query="Where does the user work?")
        assert "StartupX" in found
        assert "Acme" not in found
        await told(graph, config, "manage_memory", action="delete", id=key)
        assert await told(graph, config, "search_memory", query="Where does the user work?") == "[]"

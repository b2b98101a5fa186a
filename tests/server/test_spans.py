"""Spans by the GenAI conventions for memory, read back from the SDK: what was done, how much, and nobody's words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from test_statuses import EPISODES, RECALL, serving

import umi

OPERATIONS = {"upsert_memory", "search_memory", "update_memory"}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class TopicEmbedder:
    """Every text has the same vector: enough for a leg of its own."""

    identity = umi.EmbedderIdentity("topics", 4, "0")

    async def embed(self, text: str) -> Any:
        return np.ones(4, dtype=np.float32)

    async def embed_many(self, texts: Sequence[str]) -> list[Any]:
        return [np.ones((1, 4), dtype=np.float32) for _ in texts]


EXPORTER = InMemorySpanExporter()


@pytest.fixture(autouse=True, scope="module")
def _provider() -> None:
    """One provider for the process: OpenTelemetry takes no second."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    EXPORTER.clear()


def finished(*names: str) -> list[Any]:
    """Umi's own spans in the order of their end; only those of these names where some are given."""
    own: list[Any] = [one for one in EXPORTER.get_finished_spans() if one.instrumentation_scope.name == "umi"]
    return [one for one in own if not names or one.name in names]


def children(of: Any) -> set[str]:
    return {one.name for one in finished() if one.parent is not None and one.parent.span_id == of.context.span_id}


def nobody_is_named() -> None:
    """No span has words, names or what an error quotes; also none that a library makes."""
    for one in EXPORTER.get_finished_spans():
        for word in ("Oslo", "alice", "Berta", "nothing-of-mine"):
            assert word not in one.to_json(), one.name


async def test_each_operation_has_a_span_below_the_callers(tmp_path: Path) -> None:
    async with (
        umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory,
        serving(memory, otel=True) as client,
    ):
        await client.post(EPISODES, json={"content": "I live in Oslo.", "speaker": "alice"})
        await client.post(RECALL, json={"query": "Where does alice live?"}, headers={"traceparent": PARENT})
        await client.post(RECALL, json={"query": " "})
    told, found, refused = finished(*OPERATIONS)
    assert [told.name, found.name, refused.name] == ["upsert_memory", "search_memory", "search_memory"]
    assert told.attributes["gen_ai.memory.record.count"] == 1
    assert [event.attributes["umi.reason"] for event in told.events] == ["no_embedder"]
    assert f"{found.context.trace_id:032x}" == PARENT.split("-")[1]
    assert f"{found.parent.span_id:016x}" == PARENT.split("-")[2]
    assert refused.attributes["error.type"] == "400"
    for span in (told, found, refused):
        assert span.attributes["gen_ai.memory.store.id"] not in {"", "alice"}
    nobody_is_named()


async def test_paths_of_mem0_name_nobody_either(tmp_path: Path) -> None:
    async with (
        umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory,
        serving(memory, otel=True, mem0=True) as client,
    ):
        assert (await client.get("/memories", params={"user_id": "alice"})).status_code == 200
    assert EXPORTER.get_finished_spans()
    nobody_is_named()


async def test_stages_are_below_their_operation_also_on_the_threads_of_the_store(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=TopicEmbedder()) as memory, serving(memory, otel=True) as client:
        told = await client.post(EPISODES, json={"content": "I live in Oslo.", "speaker": "alice"})
        assert told.status_code == 201
        assert (await client.post(RECALL, json={"query": "Where does alice live?"})).json()["hits"]
        many = {"messages": [{"content": f"I like tea number {index}."} for index in range(5)]}
        await asyncio.gather(*(client.post(EPISODES, json=many) for _ in range(3)))
    kept, found = finished(*OPERATIONS)[:2]
    assert {"embed", "store write"} <= children(kept)
    assert {"embed", "store read"} <= children(found)
    mine = {one.name for one in finished() if one.context.trace_id == found.context.trace_id}
    assert {"index", "search", "rank", "look up facts"} <= mine
    written = {one.name for one in finished() if one.context.trace_id == kept.context.trace_id}
    assert {"admit", "write", "read statements", "judge"} <= written
    roots = [one.name for one in finished() if one.parent is None]
    assert set(roots) <= OPERATIONS, "a stage is never a trace of its own"
    by_id = {one.context.span_id: one for one in finished()}
    for one in finished():
        if one.parent is not None:
            outer = by_id[one.parent.span_id]
            assert outer.context.trace_id == one.context.trace_id
            assert outer.start_time <= one.start_time <= one.end_time <= outer.end_time


async def test_a_failing_embedder_is_an_event_and_a_model_call_a_stage(tmp_path: Path) -> None:
    class Broken(TopicEmbedder):
        async def embed(self, text: str) -> Any:
            raise OSError("no Oslo today")

    class Model:
        async def complete(self, request: umi.CompletionRequest) -> umi.Completion:
            return umi.Completion(json.dumps({"entities": [], "relations": []}))

    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=Broken(), llm=Model()) as memory, serving(memory, otel=True) as client:
        await client.post(EPISODES, json={"content": "I live in Oslo with my aunt Berta.", "speaker": "alice"})
        assert (await client.post(RECALL, json={"query": "Where does alice live?"})).json()["degraded"]
    kept, found = finished(*OPERATIONS)[:2]
    assert "embedding_failed" in [event.attributes["umi.reason"] for event in found.events]
    assert "model" in {one.name for one in finished() if one.context.trace_id == kept.context.trace_id}
    nobody_is_named()


async def test_an_mcp_tool_is_below_the_context_of_its_client(tmp_path: Path) -> None:
    meta, trace_id = {"traceparent": PARENT}, PARENT.split("-")[1]
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    said = {"name": "remember", "arguments": {"text": "I live in Oslo.", "speaker": "alice"}}
    asked = {"name": "recall", "arguments": {"question": "Where does alice live?"}}
    wrong = {"name": "undo", "arguments": {"relation_id": "nothing-of-mine"}}
    headers = {"Accept": "application/json, text/event-stream", "traceparent": PARENT}
    async with (
        umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory,
        serving(memory, otel=True) as client,
    ):
        assert (await client.post("/mcp/alice", json=body | {"params": said}, headers=headers)).status_code == 200
        del headers["traceparent"]
        await client.post("/mcp/alice", json=body | {"params": asked | {"_meta": meta}}, headers=headers)
        await client.post("/mcp/alice", json=body | {"params": wrong}, headers=headers)
    told, found, refused = finished(*OPERATIONS)
    assert [told.name, found.name, refused.name] == ["upsert_memory", "search_memory", "update_memory"]
    assert f"{told.context.trace_id:032x}" == f"{found.context.trace_id:032x}" == trace_id
    assert refused.attributes["error.type"] == "not_found"
    nobody_is_named()
    assert "store read" in {one.name for one in finished() if one.context.trace_id == found.context.trace_id}


async def test_switched_off_nothing_is_imported_or_observed(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory, serving(memory) as client:
        service = client._transport.app._service  # type: ignore[attr-defined]
        assert service.spans is None
        await client.post(EPISODES, json={"content": "I live in Oslo.", "speaker": "alice"})
        assert umi.observe_stages(None) is None
    assert finished() == []

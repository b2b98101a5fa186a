"""Both adapters against a server of ours on loopback that speaks their wire formats."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import anthropic.types
import openai.types.chat
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter
from serving import ADAPTERS, QUICK_S, serving

from umi._reading.model.contracts import EVOLVE, EXTRACT, REWRITE, SCHEMAS, VERDICT_SCHEMA, read_extraction
from umi._reading.model.prompts import build_extraction_prompt
from umi.bench.model_server import ModelServer
from umi.errors import EmbedderUnavailable, LLMError
from umi.ports import LLMProvider
from umi.providers.dialect import Shape
from umi.sim import SimLLM
from umi.sim.service import CHAT, MESSAGES, TEMPLATE_TOKENS, Hang, WireResponse, refused
from umi.types import CompletionRequest, Usage

PROMPT = build_extraction_prompt("Alice left Acme.", "Alice", "2026-01-01")
QUESTION = CompletionRequest(PROMPT, EXTRACT, schema=SCHEMAS[EXTRACT])


@pytest.fixture(params=sorted(ADAPTERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with serving(SimLLM(42)) as server:
        yield server


@pytest.fixture
async def llm(kind: str, server: ModelServer) -> AsyncIterator[Any]:
    model: Any = ADAPTERS[kind](server)
    yield model
    await model.close()


def last_body(server: ModelServer) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(server.service.requests[-1].body)
    return body


async def test_the_answer_is_the_models_and_usage_is_counted(llm: LLMProvider) -> None:
    direct = await SimLLM(42).complete(QUESTION)
    answer = await llm.complete(QUESTION)
    assert answer.content == direct.content
    assert answer.usage == Usage(1, direct.usage.input_tokens + TEMPLATE_TOKENS, direct.usage.output_tokens)
    assert [entity.name for entity in read_extraction(answer.content)[0]] == ["Alice", "Acme"]


@pytest.mark.parametrize("schema", [*SCHEMAS.values(), VERDICT_SCHEMA], ids=[*SCHEMAS, "verdict"])
async def test_payloads_are_what_the_sdks_types_say(llm: Any, kind: str, server: ModelServer, schema: Any) -> None:
    types = {
        "openai": (CompletionCreateParamsNonStreaming, CHAT),
        "anthropic": (MessageCreateParamsNonStreaming, MESSAGES),
    }
    wanted, path = types[kind]
    for shape in Shape:
        llm.dialect = replace(llm.dialect, shape=shape)
        await llm.complete(CompletionRequest(PROMPT, EXTRACT, schema=schema))
        request = server.service.requests[-1]
        assert request.path == path
        TypeAdapter(wanted).validate_json(request.body, strict=True)
        response = await server.service.answer(request)
        answered = openai.types.chat.ChatCompletion if kind == "openai" else anthropic.types.Message
        answered.model_validate_json(response.body, strict=True)


async def test_a_schema_where_the_server_has_it_tools_or_words_elsewhere(kind: str) -> None:
    for shapes, learned, requests in (
        ({"schema"}, Shape.SCHEMA, 1),
        ({"tool"}, Shape.TOOL, 2),
        (set(), Shape.WORDS, 3),
    ):
        async with serving(SimLLM(42), shapes=frozenset(shapes)) as server:
            llm: Any = ADAPTERS[kind](server)
            for _ in range(2):
                answer = await llm.complete(QUESTION)
                assert [entity.name for entity in read_extraction(answer.content)[0]] == ["Alice", "Acme"]
            assert llm.dialect.shape is learned
            assert len(server.service.requests) == requests + 1  # learned once, remembered
            await llm.close()


async def test_what_one_call_learns_all_know(kind: str) -> None:
    async with serving(SimLLM(42), shapes=frozenset()) as server:
        llm: Any = ADAPTERS[kind](server)
        await asyncio.gather(*(llm.complete(QUESTION) for _ in range(8)))
        asked = len(server.service.requests)
        await llm.complete(QUESTION)
        assert len(server.service.requests) == asked + 1
        await llm.close()


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ("temperature does not support 0.0 with this model", "temperature"),
        ("use max_completion_tokens, max_tokens is unsupported", "max_tokens"),
    ],
)
async def test_older_parameters_are_left_out_when_refused(server: ModelServer, said: str, gone: str) -> None:
    llm: Any = ADAPTERS["openai"](server)
    server.service.faults = [refused(400, said)]
    await llm.complete(QUESTION)
    assert gone in json.loads(server.service.requests[0].body)
    assert gone not in last_body(server)
    await llm.close()


OVERFLOW = "This model's maximum context length is 8192 tokens"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (refused(429, "slow down"), LLMError.RateLimit),
        (refused(429, "insufficient_quota: check your billing"), LLMError.NotConfigured),
        (refused(402, "payment required"), LLMError.NotConfigured),
        (refused(401, "bad key"), LLMError.NotConfigured),
        (refused(403, "not yours"), LLMError.NotConfigured),
        (refused(403, "your input was flagged"), LLMError.InvalidResponse),
        (refused(404, "no such model"), LLMError.NotConfigured),
        (refused(400, OVERFLOW), LLMError.ContextOverflow),
        (refused(413, "too large"), LLMError.ContextOverflow),
        (refused(400, "odd characters"), LLMError.InvalidResponse),
        (refused(408, "too slow"), LLMError.Timeout),
        (refused(504, "too slow"), LLMError.Timeout),
        (refused(500, "oops"), LLMError.ServiceUnavailable),
        (refused(503, "busy"), LLMError.ServiceUnavailable),
        (refused(529, "overloaded"), LLMError.ServiceUnavailable),
        (WireResponse(200, b"<html>a proxy</html>", {"content-type": "text/html"}), LLMError.ServiceUnavailable),
        (WireResponse(200, b'{"choices": [', {"content-type": "application/json"}), LLMError.ServiceUnavailable),
        (WireResponse(200, b"[]", {"content-type": "application/json"}), LLMError.ServiceUnavailable),
        (WireResponse(200, b"{}", {"content-type": "application/json"}), LLMError.ServiceUnavailable),
        (WireResponse(200, b'{"choices": ["x"], "content": "x"}'), LLMError.ServiceUnavailable),
        (WireResponse(200, b'{"choices": [{"message": "x"}]}'), LLMError.ServiceUnavailable),
        (WireResponse(500, b"\xff\x00", {"content-type": "text/plain"}), LLMError.ServiceUnavailable),
    ],
    ids=lambda value: f"{value.status} {value.body[:60]!r}" if isinstance(value, WireResponse) else value.__name__,
)
async def test_whatever_a_server_answers_is_typed(
    llm: LLMProvider, server: ModelServer, fault: WireResponse, error: type[LLMError]
) -> None:
    server.service.always = fault
    with pytest.raises(LLMError) as caught:
        await llm.complete(QUESTION)
    assert type(caught.value) is error
    assert len(server.service.requests) == 1  # the SDK's own retries are off


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after_ms": "1500"}, 1.5),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-1"}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_read_in_all_its_forms(
    llm: LLMProvider, server: ModelServer, headers: dict[str, str], seconds: float | None, status: int
) -> None:
    server.service.always = refused(status, "slow down", **headers)
    with pytest.raises((LLMError.RateLimit, LLMError.ServiceUnavailable)) as caught:
        await llm.complete(QUESTION)
    assert caught.value.retry_after_s == seconds


async def test_a_hang_ends_with_the_calls_timeout(kind: str, server: ModelServer) -> None:
    llm: Any = ADAPTERS[kind](server, 0.3)
    server.service.always = Hang()
    with pytest.raises(LLMError.Timeout):
        await asyncio.wait_for(llm.complete(QUESTION), QUICK_S)
    await llm.close()


async def test_nobody_there_is_said_with_the_address(kind: str, server: ModelServer) -> None:
    llm: Any = ADAPTERS[kind](server)
    await server.__aexit__(None, None, None)
    with pytest.raises(LLMError.ServiceUnavailable, match=f"127.0.0.1:{server.port}"):
        await llm.complete(QUESTION)
    await llm.close()


async def test_a_password_in_the_address_is_told_nowhere(server: ModelServer) -> None:
    from umi._engine.model_names import open_embedding, open_llm

    name = f"{server.url.replace('://', '://ada:s3cret@')}/v1#sim-model"
    llm: Any = open_llm(name)
    embedder: Any = open_embedding(name)
    with pytest.raises(EmbedderUnavailable) as missing:  # this server has no embeddings
        await embedder.embed("Alice works at Acme.")
    said = [await llm.visit(), str(missing.value)]
    server.service.always = refused(404, "no such model")
    for _ in range(2):
        with pytest.raises(LLMError) as caught:
            await llm.complete(QUESTION)
        said.append(str(caught.value))
        await server.__aexit__(None, None, None)
    assert all("ada@127.0.0.1" in one and "s3cret" not in one for one in said), said
    await llm.close()
    await embedder.close()


async def test_an_empty_answer_and_a_refusal_are_billed_all_the_same(server: ModelServer) -> None:
    llm: Any = ADAPTERS["openai"](server)
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    for message in (
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": None, "refusal": "I can't"},
    ):
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
        body["choices"] = [{"index": 0, "finish_reason": "stop", "message": message}]
        server.service.always = WireResponse(200, json.dumps(body).encode())
        answer = await llm.complete(QUESTION)
        assert answer.content == message.get("refusal", "")
        assert answer.usage == Usage(1, 11, 3)
    await llm.close()


@pytest.mark.parametrize(
    "message",
    [
        {
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "text", "text": '{"a":'},
                {"type": "text", "text": " 1}"},
            ]
        },
        {
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "extract", "arguments": {"a": 1}}}],
        },
    ],
    ids=["parts", "arguments"],
)
async def test_an_answer_in_parts_or_read_already_is_its_text(server: ModelServer, message: dict[str, Any]) -> None:
    llm: Any = ADAPTERS["openai"](server)
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    body["choices"] = [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}]
    server.service.always = WireResponse(200, json.dumps(body).encode())
    assert (await llm.complete(QUESTION)).content == '{"a": 1}'
    await llm.close()


async def test_a_list_of_models_that_is_none_is_said(server: ModelServer) -> None:
    from umi._engine.model_names import open_embedding, open_llm

    server.service.always = WireResponse(200, b'["x"]', {"content-type": "application/json"})
    llm: Any = open_llm(f"{server.url}/v1")
    with pytest.raises(LLMError.ServiceUnavailable, match="answered no list of models"):
        await llm.complete(QUESTION)
    await llm.close()
    embedder: Any = open_embedding(f"{server.url}/v1")
    with pytest.raises(EmbedderUnavailable, match="answered no list of models"):
        await embedder.embed("Alice works at Acme.")
    await embedder.close()


async def test_visiting_costs_no_tokens(llm: Any, server: ModelServer) -> None:
    assert server.url in await llm.visit()
    assert sum(server.service.count.calls.values()) == 0
    server.service.always = refused(401, "bad key")
    with pytest.raises(LLMError.NotConfigured, match="key"):
        await llm.visit()


async def test_a_model_that_the_server_does_not_list_is_said(server: ModelServer) -> None:
    from umi._engine.model_names import open_llm

    llm: Any = open_llm(f"{server.url}/v1#another-model")
    with pytest.raises(LLMError.NotConfigured, match="another-model"):
        await llm.visit()
    await llm.close()


async def test_without_a_model_the_first_listed_one_is_asked(server: ModelServer) -> None:
    from umi._engine.model_names import open_llm

    llm: Any = open_llm(f"{server.url}/v1")
    await llm.complete(CompletionRequest("Rewrite.", REWRITE, schema=SCHEMAS[REWRITE]))
    assert last_body(server)["model"] == "sim-model"
    await llm.close()


async def test_a_second_attempt_is_not_the_first_again(server: ModelServer) -> None:
    llm: Any = ADAPTERS["openai"](server)
    temperatures = []
    for attempt in (0, 1):
        await llm.complete(CompletionRequest(PROMPT, EVOLVE, attempt))
        temperatures.append(last_body(server)["temperature"])
    assert temperatures == [0.0, 0.5]
    await llm.close()

"""A model server: HTTP requests in the formats of OpenAI and Anthropic in, HTTP responses out.

Any `LLMProvider` and any embedder may answer, such as SimLLM and SimEmbedder. So the real adapters can be run against
models whose answers are known, over a simulated network (`umi.sim.transport`) or a real socket
(`umi.bench.model_server`). Faults are those of real servers: a status with message and headers, or no response at all.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from umi._reading.model.contracts import EVOLVE, SCHEMAS, VERDICT_SCHEMA
from umi.errors import EmbeddingError, LLMError, UmiError
from umi.ports import EmbeddingProvider, LLMProvider
from umi.types import Completion, CompletionRequest

# The paths that are served: OpenAI's, and Anthropic's messages.
CHAT: Final = "/v1/chat/completions"
MESSAGES: Final = "/v1/messages"
EMBEDDINGS: Final = "/v1/embeddings"
MODELS: Final = "/v1/models"
MODEL_NAME: Final = "sim-model"
TEMPLATE_TOKENS: Final = 7  # added to each prompt's tokens, see `ModelService._complete`
_CREATED: Final = 1_577_880_000  # a fixed time of creation, 1 January 2020, 12:00 UTC


@dataclass(frozen=True, slots=True)
class WireRequest:
    """An HTTP request."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class WireResponse:
    """An HTTP response."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})


class Hang:
    """In place of a response: none ever comes."""


Fault = WireResponse | Hang


def refused(status: int, said: str, **headers: str) -> WireResponse:
    """An error response in the shape that both protocols share; `headers` use `_` for `-`."""
    body = {"type": "error", "error": {"type": "error", "message": said}}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return WireResponse(status, json.dumps(body).encode(), {"content-type": "application/json", **names})


@dataclass(slots=True)
class Count:
    """What a service answered: requests that reached a model or embedder by task, and their tokens."""

    calls: Counter[str] = field(default_factory=Counter)
    input_tokens: Counter[str] = field(default_factory=Counter)
    output_tokens: Counter[str] = field(default_factory=Counter)


class ModelService:
    """Answers HTTP requests.

    Args:
        llm: Answers prompts.
        embedder: Answers requests for embeddings; None refuses them.
        shapes: The ways in which it can enforce a schema, any of "schema" and "tool". Others are refused, as real
            servers do.
    """

    def __init__(
        self,
        llm: LLMProvider,
        embedder: EmbeddingProvider | None = None,
        shapes: frozenset[str] = frozenset({"schema", "tool"}),
    ) -> None:
        self._llm = llm
        self._embedder = embedder
        self._shapes = shapes
        self._asked: Counter[str] = Counter()
        self.faults: list[Fault | None] = []  # for the next requests, one each; None answers normally
        self.always: Fault | None = None  # for all requests after those
        self.only: str = ""  # the path that faults apply to; empty for all
        self.requests: list[WireRequest] = []
        self.count = Count()

    async def answer(self, request: WireRequest) -> WireResponse:
        """The response to a request. One that hangs has to be cancelled by the caller."""
        self.requests.append(request)
        fault = self._fault(request.path)
        if isinstance(fault, Hang):
            await asyncio.Event().wait()
        if isinstance(fault, WireResponse):
            return fault
        if request.path.startswith(MODELS):
            return self._list(request.path)
        body = json.loads(request.body)
        if request.path == EMBEDDINGS and self._embedder is not None:
            return await self._embed(self._embedder, body)
        if request.path in {CHAT, MESSAGES}:
            return await self._complete(request.path, body)
        return refused(404, f"no such path: {request.path}")

    def _fault(self, path: str) -> Fault | None:
        if self.only and path != self.only:
            return None
        return self.faults.pop(0) if self.faults else self.always

    async def _complete(self, path: str, body: dict[str, Any]) -> WireResponse:
        shape, schema = _wanted(body)
        # As a server that does not know the option; the adapter then asks in another way.
        if shape != "words" and shape not in self._shapes:
            return refused(400, f"{'response_format' if shape == 'schema' else 'tools'} is not supported by this model")
        prompt = body["messages"][-1]["content"]
        task = _task(schema)
        digest = hashlib.sha256(prompt.encode()).hexdigest()
        # HTTP carries no attempt number; the same prompt again is the next attempt.
        attempt, self._asked[digest] = self._asked[digest], self._asked[digest] + 1
        try:
            completion = await self._llm.complete(CompletionRequest(prompt, task, attempt, schema))
        except LLMError as error:
            return _failed(error)
        spent = completion.usage
        # As with a real chat template, the bill differs from what a client would compute from the prompt.
        completion = replace(completion, usage=replace(spent, input_tokens=spent.input_tokens + TEMPLATE_TOKENS))
        self.count.calls[task] += 1
        self.count.input_tokens[task] += completion.usage.input_tokens
        self.count.output_tokens[task] += completion.usage.output_tokens
        written = _anthropic(completion, shape) if path == MESSAGES else _openai(completion, shape)
        return WireResponse(200, json.dumps(written).encode())

    async def _embed(self, embedder: EmbeddingProvider, body: dict[str, Any]) -> WireResponse:
        try:
            vectors = [await embedder.embed(text) for text in body["input"]]
        except EmbeddingError as error:
            return refused(503, str(error))
        self.count.calls["embed"] += 1
        rows = [
            {"object": "embedding", "index": place, "embedding": [float(one) for one in vector]}
            for place, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": sum(len(text) for text in body["input"]) // 4, "total_tokens": 0}
        answer = {"object": "list", "data": rows, "model": body["model"], "usage": usage}
        return WireResponse(200, json.dumps(answer).encode())

    def _list(self, path: str) -> WireResponse:
        mine = {"id": MODEL_NAME, "object": "model", "created": _CREATED, "owned_by": "umi", "type": "model"}
        mine |= {"display_name": "Simulated", "created_at": "2020-01-01T12:00:00Z"}
        answer: dict[str, Any] = {"object": "list", "data": [mine]} if path == MODELS else mine
        return WireResponse(200, json.dumps(answer).encode())


def _wanted(body: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """How the answer shall be held to a schema ("schema", "tool" or "words"), and the schema."""
    for options, inner in (("response_format", "json_schema"), ("output_config", "format")):
        if options in body:
            return "schema", body[options][inner]["schema"]
    for tool in body.get("tools", ()):
        return "tool", tool["input_schema"] if "input_schema" in tool else tool["function"]["parameters"]
    return "words", None


def _task(schema: Mapping[str, Any] | None) -> str:
    """The task that uses this schema; HTTP requests do not name it."""
    # The tracker's single verdict has a schema of its own.
    if schema == VERDICT_SCHEMA:
        return EVOLVE
    return next((task for task, known in SCHEMAS.items() if known == schema), "")


def _failed(error: UmiError) -> WireResponse:
    if isinstance(error, LLMError.RateLimit):
        seconds = {} if error.retry_after_s is None else {"retry_after": f"{error.retry_after_s:g}"}
        return refused(429, str(error), **seconds)
    if isinstance(error, LLMError.ContextOverflow):
        return refused(400, f"maximum context length exceeded: {error}")
    if isinstance(error, LLMError.InvalidResponse):
        return refused(422, str(error))
    return refused(504 if isinstance(error, LLMError.Timeout) else 503, str(error))


def _openai(completion: Completion, shape: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": completion.content, "refusal": None}
    if shape == "tool":
        called = {"name": "answer", "arguments": completion.content}
        message |= {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": called}]}
    sent, got = completion.usage.input_tokens, completion.usage.output_tokens
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": _CREATED,
        "model": MODEL_NAME,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got},
    }


def _anthropic(completion: Completion, shape: str) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": completion.content, "citations": None}
    if shape == "tool":
        with suppress(ValueError):  # a model that should call a tool may answer with text instead
            block = {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": json.loads(completion.content)}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL_NAME,
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": completion.usage.input_tokens, "output_tokens": completion.usage.output_tokens},
    }

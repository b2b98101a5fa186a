"""What the tests of adapters share: a service on loopback behind each adapter, and a model that is always right."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import umi
from umi._engine.model_names import open_llm
from umi.bench.model_server import ModelServer
from umi.ports import LLMProvider
from umi.providers.anthropic_llm import AnthropicLLM
from umi.sim.service import ModelService
from umi.types import Completion, CompletionRequest, Usage

QUICK_S = 2.0  # of one call


def openai_at(server: ModelServer, timeout_s: float = QUICK_S) -> LLMProvider:
    """The OpenAI-compatible adapter, named as a user names it."""
    return open_llm(f"{server.url}/v1#sim-model", timeout_s)


def anthropic_at(server: ModelServer, timeout_s: float = QUICK_S) -> LLMProvider:
    return AnthropicLLM("sim-model", "a-key", server.url, timeout_s)


ADAPTERS: dict[str, Callable[..., LLMProvider]] = {"openai": openai_at, "anthropic": anthropic_at}


def serving(llm: LLMProvider, **options: object) -> AbstractAsyncContextManager[ModelServer]:
    return ModelServer(ModelService(llm, **options))  # type: ignore[arg-type]


class Perfect:
    """Reads every text as one statement about the person it begins with, and relates as its table says.

    Args:
        kinds: By a word of the new text: how it relates to the newest memory about the same person.
    """

    def __init__(self, kinds: dict[str, str]) -> None:
        self.kinds = kinds
        self.named: list[tuple[str, str, str]] = []
        self.prompts: list[str] = []

    async def complete(self, request: CompletionRequest) -> Completion:
        self.prompts.append(request.prompt)
        answer = {"extract": self._extract, "evolve": self._evolve, "rewrite": self._rewrite}[request.task](
            request.prompt
        )
        content = json.dumps(answer)
        return Completion(content, Usage(1, len(request.prompt) // 4, len(content) // 4))

    def _extract(self, prompt: str) -> object:
        text = re.findall(r"<data>(.*?)</data>", prompt, re.DOTALL)[-1]
        entity = {"name": text.split()[0], "type": "person", "content": text, "confidence": 0.9}
        return {"entities": [entity], "relations": []}

    def _rewrite(self, prompt: str) -> object:
        return {"queries": [re.findall(r"<data>(.*?)</data>", prompt, re.DOTALL)[-1].lower()]}

    def _evolve(self, prompt: str) -> object:
        blocks = re.findall(r"<data>\n(.*?)\n</data>", prompt, re.DOTALL)
        _, new, old = ([json.loads(line) for line in block.splitlines() if line[0] == "{"] for block in blocks)
        rows = []
        for one in new:
            kind = next((kind for word, kind in self.kinds.items() if word in one["memory"]), None)
            same = [row for row in old if row["about"] == one["about"]]
            if kind and same:
                self.named.append((same[-1]["id"], one["id"], kind))
                relation = {"new_id": one["id"], "related_id": same[-1]["id"], "type": kind}
                rows.append({**relation, "reason": "scripted", "confidence": 0.9})
        return {"relations": rows}


@asynccontextmanager
async def told(llm: LLMProvider, kind: str = "openai", **options: Any) -> AsyncIterator[tuple[umi.Memory, ModelServer]]:
    """A memory whose model is behind an adapter and a server."""
    async with serving(llm) as server:
        model: Any = ADAPTERS[kind](server, options.pop("timeout_s", QUICK_S))
        try:
            url = options.pop("url", ":memory:")
            async with umi.Memory.open(url, llm=model, **{"embedder": None, **options}) as memory:
                yield memory, server
        finally:
            await model.close()

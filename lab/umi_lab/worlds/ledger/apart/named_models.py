"""The step in which models are named: which server, model and key a name means, and what is refused. Nothing is sent, and no SDK is needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import umi
from umi.errors import UmiError
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_OPENAI, _ANTHROPIC, _OTHERS = "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "UMI_LLM_API_KEY"
_VARIABLES: Final = (_OPENAI, _ANTHROPIC, _OTHERS, "OPENAI_BASE_URL", "OLLAMA_HOST")
_NO_KEY: Final = "none"


@dataclass(frozen=True, slots=True)
class _Server:
    """As the adapter's settings of a server."""

    name: str
    model: str
    base_url: str | None
    api_key: str
    call_timeout_s: float


@dataclass(frozen=True, slots=True)
class _OpenAI:
    server: _Server


class _Anthropic:
    def __init__(self, model: str, api_key: str, *, call_timeout_s: float) -> None:
        self.told = (model, api_key, call_timeout_s)


class NamedModels(Journal):
    """Names models."""

    async def _models(self, step: Step) -> None:
        given = step.arguments
        keys = dict(zip((_OPENAI, _ANTHROPIC, _OTHERS), given["keys"], strict=True))
        variables = {name: f"key of {name}" if is_set else None for name, is_set in keys.items()}
        variables |= {"OPENAI_BASE_URL": given["base"], "OLLAMA_HOST": given["host"]}
        with _adapters(), _environment(variables):
            for choice in given["asked"]:
                same(f"what {choice!r} names with {given}", _named(choice), _meant(choice, variables))


def _named(choice: Any) -> Any:
    """What the product takes a name for, as plain values."""
    try:
        found = umi.open_llm(choice)
    except UmiError as refused:
        told = [name for name in (_OPENAI, _ANTHROPIC) if name in str(refused)]
        return type(refused).__name__, told
    return _told(found)


def _told(found: Any) -> Any:
    if isinstance(found, _OpenAI):
        server = found.server
        return "openai", server.name, server.model, server.base_url, server.api_key
    if isinstance(found, _Anthropic):
        return "anthropic", *found.told[:2]
    return {tier: _told(model) for tier, model in found.models.items()}


def _meant(choice: Any, variables: dict[str, str | None]) -> Any:
    """What a name means (docs/models.md)."""
    if isinstance(choice, dict):
        if not choice or "huge" in choice:
            return "InvalidInput", []
        found = {tier: _meant(choice[tier], variables) for tier in ("fast", "balanced", "strong") if tier in choice}
        wrong = next((one for one in found.values() if one[0] == "InvalidInput"), None)
        return wrong or (next(iter(found.values())) if len(found) == 1 else found)
    kind, _, rest = choice.partition(":")
    if not rest or kind not in ("openai", "anthropic", "ollama", "http", "https"):
        return "InvalidInput", []
    if kind == "anthropic":
        key = variables[_ANTHROPIC]
        return ("anthropic", rest, key) if key else ("LLMNotConfigured", [_ANTHROPIC])
    if kind == "openai":
        key = variables[_OPENAI] or (_NO_KEY if variables["OPENAI_BASE_URL"] else None)
        return ("openai", choice, rest, None, key) if key else ("LLMNotConfigured", [_OPENAI])
    if kind == "ollama":
        host = variables["OLLAMA_HOST"] or "http://localhost:11434"
        host = host if "://" in host else f"http://{host}"
        return "openai", choice, rest, f"{host.rstrip('/')}/v1", _NO_KEY
    url, _, model = choice.partition("#")
    return "openai", choice, model, url, variables[_OTHERS] or _NO_KEY


@contextmanager
def _adapters() -> Iterator[None]:
    """Let adapters stand in the place of those that need an SDK."""
    openai, client, anthropic = (ModuleType(name) for name in ("openai_llm", "openai_client", "anthropic_llm"))
    vars(openai)["OpenAILLM"], vars(anthropic)["AnthropicLLM"] = _OpenAI, _Anthropic
    vars(client).update(Server=_Server, OPENAI_KEY=_OPENAI, OTHERS_KEY=_OTHERS, NO_KEY=_NO_KEY)
    made = {"openai_llm": openai, "openai_client": client, "anthropic_llm": anthropic}
    placed = {f"umi.providers.{name}": module for name, module in made.items()}
    before = {name: sys.modules.get(name) for name in placed}
    sys.modules.update(placed)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


@contextmanager
def _environment(variables: dict[str, str | None]) -> Iterator[None]:
    """Let these variables, and of all that adapters read no others, be set."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    _set(variables)
    try:
        yield
    finally:
        _set(before)


def _set(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value

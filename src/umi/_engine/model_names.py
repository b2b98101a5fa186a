"""From a name ("openai:gpt-5-mini", "http://localhost:8080/v1", "local") to the model or embedder behind it.

Each SDK is an optional extra. It is imported only here, and only when it is named.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from umi.addresses import without_password
from umi.errors import EmbedderUnavailable, InvalidInput, LLMError
from umi.limits import LLM_CALL_TIMEOUT_S
from umi.ports import EmbeddingProvider, LLMProvider
from umi.types.routing_rows import TIERS

if TYPE_CHECKING:
    from umi.providers.openai_client import Server

Named = str | LLMProvider  # a name, or the caller's own object
LLMChoice = Named | Mapping[str, Named]
"""A model by name, an object with `complete`, or several of these by tier: `Memory.open(llm=)`."""

OLLAMA_URL: Final = "http://localhost:11434"
_LLMS: Final = (
    "'openai:MODEL', 'anthropic:MODEL', 'ollama:MODEL', 'http://HOST:PORT/v1#MODEL', an object with complete(), "
    "or {'fast': ..., 'balanced': ..., 'strong': ...}"
)
_EMBEDDERS: Final = "'local', None, 'openai:MODEL', 'ollama:MODEL', 'fastembed:MODEL', 'http://HOST:PORT/v1#MODEL' or an object with embed()"


def open_llm(choice: LLMChoice, call_timeout_s: float = LLM_CALL_TIMEOUT_S) -> LLMProvider:
    """The model of that name; the caller's own object unchanged; several models by tier as one.

    Raises:
        InvalidInput: For a name of no known form.
        LLMError.NotConfigured: When its extra is not installed or its key is not set; the message says what to do.
    """
    if isinstance(choice, Mapping):
        return _tiers(choice, call_timeout_s)
    if not isinstance(choice, str):
        if not callable(getattr(choice, "complete", None)):
            raise InvalidInput(f"llm must be one of {_LLMS}; got {type(choice).__name__}")
        return choice
    kind, _, model = choice.partition(":")
    try:
        if kind == "anthropic" and model:
            from umi.providers.anthropic_llm import AnthropicLLM  # noqa: PLC0415 - an extra

            key = _key("ANTHROPIC_API_KEY", choice)
            return AnthropicLLM(model, key, call_timeout_s=call_timeout_s)
        _require_known(choice, "llm", _LLMS)
        from umi.providers.openai_llm import OpenAILLM  # noqa: PLC0415 - an extra

        return OpenAILLM(_server(choice, call_timeout_s))
    except ModuleNotFoundError as error:
        extra = "anthropic" if kind == "anthropic" else "openai"
        raise LLMError.NotConfigured(_missing(choice, extra, error)) from error


def open_embedding(name: str, call_timeout_s: float = LLM_CALL_TIMEOUT_S) -> EmbeddingProvider:
    """The embedder of that name.

    Raises:
        InvalidInput: For a name of no known form.
        EmbedderUnavailable: When its extra, its wheel or its key is missing; the message says what to do.
    """
    kind, _, model = name.partition(":")
    try:
        if name == "local":
            from umi.providers.local import LocalEmbedder  # noqa: PLC0415 - onnxruntime is imported only when it is used

            return LocalEmbedder()
        if kind == "fastembed" and model:
            from umi.providers.fastembed_embedder import FastembedEmbedder  # noqa: PLC0415 - an extra

            return FastembedEmbedder(model)
        _require_known(name, "embedder", _EMBEDDERS)
        from umi.providers.openai_embedder import OpenAIEmbedder  # noqa: PLC0415 - an extra

        return OpenAIEmbedder(_server(name, call_timeout_s))
    except ModuleNotFoundError as error:
        raise EmbedderUnavailable(_missing(name, "fastembed" if kind == "fastembed" else "openai", error)) from error
    except LLMError.NotConfigured as error:
        raise EmbedderUnavailable(str(error)) from error


def _require_known(name: str, what: str, choices: str) -> None:
    """Refuse a name of no known form before the extra that it would need is looked for."""
    kind, _, model = name.partition(":")
    if not model or (kind not in {"openai", "ollama", "http", "https"}):
        raise InvalidInput(f"{what} {without_password(name)!r:.80} is not known; give {choices}")


def _server(name: str, call_timeout_s: float) -> Server:
    kind, _, model = name.partition(":")
    from umi.providers.openai_client import NO_KEY, OPENAI_KEY, OTHERS_KEY, Server  # noqa: PLC0415 - an extra

    if kind == "openai":
        # With OPENAI_BASE_URL set, requests go to another server, which may need no key.
        key = os.environ.get(OPENAI_KEY) or (NO_KEY if os.environ.get("OPENAI_BASE_URL") else _key(OPENAI_KEY, name))
        return Server(name, model, None, key, call_timeout_s)
    if kind == "ollama":
        host = os.environ.get("OLLAMA_HOST") or OLLAMA_URL
        url = host if "://" in host else f"http://{host}"
        _require_address(url)
        return Server(name, model, f"{url.rstrip('/')}/v1", NO_KEY, call_timeout_s)
    # Other servers get their own key: OpenAI's key is never sent to another address.
    url, _, model = name.partition("#")
    _require_address(url)
    return Server(without_password(name), model, url, os.environ.get(OTHERS_KEY) or NO_KEY, call_timeout_s)


def _require_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_address = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, a bracket that is not closed
        is_address = False
    if not is_address:
        raise InvalidInput(f"{without_password(url)!r:.80} is no address of a server; write it as http://HOST:PORT/v1")


def _tiers(choice: Mapping[str, Named], call_timeout_s: float) -> LLMProvider:
    from umi.providers.tiers import TieredLLM  # noqa: PLC0415 - only where tiers are used

    unknown = sorted(set(choice) - set(TIERS))
    if unknown or not choice:
        raise InvalidInput(f"llm tiers are {', '.join(TIERS)}; got {', '.join(map(repr, unknown)) or 'none'}")
    if len(choice) == 1:
        return open_llm(next(iter(choice.values())), call_timeout_s)  # one model needs no routing
    return TieredLLM({tier: open_llm(choice[tier], call_timeout_s) for tier in TIERS if tier in choice})


def _key(variable: str, name: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        raise LLMError.NotConfigured(f"{name} needs a key; set the environment variable {variable}")
    return key


def _missing(name: str, extra: str, error: ModuleNotFoundError) -> str:
    named = without_password(name)
    return f"{named} needs an extra that is not installed ({error.name}); run: pip install 'umi-memory[{extra}]'"

"""Shared client code for servers that speak OpenAI's protocol.

These are OpenAI itself, OpenRouter, Ollama, vLLM, llama.cpp, LM Studio and many others.

The SDK's own retries are off: retries, jitter, deadlines and budgets are applied where the ports are called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import openai

from umi.addresses import without_password
from umi.errors import LLMError
from umi.providers.http import Refusal

if TYPE_CHECKING:
    import httpx2

OPENAI_KEY: Final = "OPENAI_API_KEY"
OTHERS_KEY: Final = "UMI_LLM_API_KEY"
NO_KEY: Final = "none"  # the SDK requires a key; local servers ignore it


@dataclass(frozen=True, slots=True)
class Server:
    """Address and settings of a model server.

    Args:
        name: Name of the model in messages, such as "openai:gpt-5-mini".
        model: The server's name of it; empty means the first model that the server lists.
        base_url: Its address; None is OpenAI's, or what OPENAI_BASE_URL says.
        api_key: Its key.
        call_timeout_s: Seconds that a call may take.
    """

    name: str
    model: str
    base_url: str | None
    api_key: str
    call_timeout_s: float

    def client(self, transport: httpx2.AsyncBaseTransport | None = None) -> openai.AsyncOpenAI:
        """Create the SDK's client; `transport` replaces the network, as simulations do."""
        # None: the SDK makes its own.
        http_client = None if transport is None else openai.DefaultAsyncHttpxClient(transport=transport)
        return openai.AsyncOpenAI(
            api_key=self.api_key,
            base_url=self.base_url,
            timeout=self.call_timeout_s,
            max_retries=0,
            http_client=http_client,
        )


def refusal(error: openai.APIStatusError) -> Refusal:
    """The error response behind an exception of the SDK."""
    return Refusal(error.status_code, f"{error.message} {error.code or ''}".strip(), error.response.headers)


def unreachable(server: Server, client: openai.AsyncOpenAI, error: openai.APIConnectionError) -> str:
    """A message that there was no connection, with the address."""
    # The SDK's own message is only "Connection error."; the cause says more.
    cause = error.__cause__ or error
    return f"{server.name} cannot be reached at {_address(client)} ({cause or type(cause).__name__}); is it running?"


async def first_model(server: Server, client: openai.AsyncOpenAI) -> str:
    """The model to use: the configured one, else the first that the server lists.

    Raises:
        LLMError.NotConfigured: When none is configured and the server lists none.
        LLMError.ServiceUnavailable: When what it answers is no list.
    """
    if server.model:
        return server.model
    try:
        listed = [model.id for model in (await client.models.list()).data or ()]
    except AttributeError as error:  # the SDK does not validate responses
        raise LLMError.ServiceUnavailable(f"{server.name} answered no list of models: {error}") from error
    if not listed:
        raise LLMError.NotConfigured(f"{server.name} lists no model; name one, as in {server.name}#MODEL")
    return listed[0]


async def visit(server: Server, client: openai.AsyncOpenAI) -> str:
    """Check that the server is reachable and has the model, by listing its models, which costs nothing.

    Returns:
        A message that says so.

    Raises:
        LLMError: When it cannot be reached, refuses the key, or does not have the model.
    """
    try:
        listed = [model.id for model in (await client.models.list()).data or ()]
    except openai.APITimeoutError as error:
        raise LLMError.Timeout(f"{server.name} did not answer within {server.call_timeout_s:g} s") from error
    except openai.APIConnectionError as error:
        raise LLMError.ServiceUnavailable(unreachable(server, client, error)) from error
    except openai.APIStatusError as error:
        raise refusal(error).as_llm_error(server.name, 0) from error
    except (openai.OpenAIError, ValueError, AttributeError) as error:
        # Something answers at this address, but it is no such server.
        raise LLMError.ServiceUnavailable(f"{server.name} answered no list of models: {error}") from error
    # Ollama lists models with their tag, and "latest" may be left out in a request.
    wanted = {server.model, f"{server.model}:latest"}
    if server.model and listed and not wanted & set(listed):
        raise LLMError.NotConfigured(f"{server.name} is not among the {len(listed)} models at {_address(client)}")
    return f"{server.name} at {_address(client)}, {len(listed)} models"


def _address(client: openai.AsyncOpenAI) -> str:
    return without_password(str(client.base_url))

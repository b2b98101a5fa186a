"""A language model behind OpenAI's chat completions protocol.

Answers are held to the task's JSON schema where the server supports it, else to a tool's arguments, else only to the
prompt's words. What the server supports is learned from its refusals and kept for the life of the client. The prompt
always describes the form in words and every answer is parsed and checked, so a server may ignore the schema.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import openai
from openai.types.chat import ChatCompletion, ChatCompletionMessage, ChatCompletionMessageFunctionToolCall

from umi.errors import LLMError
from umi.limits import LLM_ANSWER_TOKENS_MAX
from umi.providers import openai_client
from umi.providers.dialect import Dialect, Shape, converse
from umi.providers.openai_client import Server
from umi.types import Completion, CompletionRequest, Usage

if TYPE_CHECKING:
    import httpx2


class OpenAILLM:
    """A model at a server. Satisfies `umi.ports.LLMProvider`.

    Args:
        server: Address, key and model.
        transport: Replaces the network, as simulations do.
    """

    def __init__(self, server: Server, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._server = server
        self._client = server.client(transport)
        self._model = ""
        self.dialect = Dialect(bound="max_tokens")

    async def complete(self, request: CompletionRequest) -> Completion:
        """Send one request, or a few while the server's dialect is learned.

        Raises:
            LLMError: Whatever went wrong; the message of `NotConfigured` says what to set.
        """
        try:
            self._model = self._model or await openai_client.first_model(self._server, self._client)
            answer = await self._converse(request)
        except openai.APITimeoutError as error:
            raise LLMError.Timeout(f"{self._server.name} did not answer in time") from error
        except openai.APIConnectionError as error:
            message = openai_client.unreachable(self._server, self._client, error)
            raise LLMError.ServiceUnavailable(message) from error
        except openai.APIStatusError as error:
            # About 4 bytes a token, rounded up; only used to report a prompt that was too long.
            tokens = -(-len(request.prompt.encode()) // 4)
            raise openai_client.refusal(error).as_llm_error(self._server.name, tokens) from error
        except (openai.OpenAIError, ValueError) as error:  # a successful status with an unreadable body
            raise LLMError.ServiceUnavailable(f"{self._server.name} answered no completion: {error}") from error
        return self._read(answer)

    async def visit(self) -> str:
        """Check that the server is reachable and has the model. Costs no tokens.

        Returns:
            A message that says so.

        Raises:
            LLMError: When it cannot be reached, or does not have the model.
        """
        return await openai_client.visit(self._server, self._client)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _converse(self, request: CompletionRequest) -> object:
        async def ask(dialect: Dialect) -> object:
            return await self._client.chat.completions.create(**self._arguments(request, dialect))

        def said(error: openai.APIStatusError) -> tuple[int, str]:
            refusal = openai_client.refusal(error)
            return refusal.status, refusal.said

        return await converse(self, self._server.name, ask, openai.APIStatusError, said)

    def _arguments(self, request: CompletionRequest, dialect: Dialect) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "user", "content": request.prompt}],
        }
        if dialect.temperature:
            # Deterministic at first. After an answer that broke the contract a repetition must be able to differ.
            arguments["temperature"] = 0.0 if request.attempt == 0 else 0.5
        if dialect.bound:
            arguments[dialect.bound] = LLM_ANSWER_TOKENS_MAX
        if request.schema is None:
            return arguments
        name = request.task or "answer"
        if dialect.shape is Shape.SCHEMA:
            # Strict mode requires closed objects with all properties required, as `contracts` builds them.
            described = {"name": name, "schema": dict(request.schema), "strict": True}
            arguments["response_format"] = {"type": "json_schema", "json_schema": described}
        elif dialect.shape is Shape.TOOL:
            tool = {"name": name, "description": "Give the answer.", "parameters": dict(request.schema)}
            arguments["tools"] = [{"type": "function", "function": tool}]
            arguments["tool_choice"] = {"type": "function", "function": {"name": name}}
        return arguments

    def _read(self, answer: object) -> Completion:
        try:
            if isinstance(answer, ChatCompletion) and answer.choices:
                spent = answer.usage
                usage = Usage(1, spent.prompt_tokens or 0, spent.completion_tokens or 0) if spent else Usage(1)
                return Completion(_said(answer.choices[0].message), usage)
        except (AttributeError, TypeError):  # the SDK does not validate responses
            pass
        raise LLMError.ServiceUnavailable(f"{self._server.name} answered no completion: {answer!r:.200}")


def _said(message: ChatCompletionMessage | None) -> str:
    """The answer's text: arguments of a tool call, else the content, else a refusal; empty when there is none."""
    if message is None:
        return ""
    for call in message.tool_calls or ():
        if isinstance(call, ChatCompletionMessageFunctionToolCall):
            return _text(call.function.arguments)
    return _text(message.content) or message.refusal or ""


def _text(given: object) -> str:
    """What should be a text. Some servers answer a list of parts, of which thoughts are none, or arguments that are read already."""
    if isinstance(given, list):
        texts = [part.get("text") for part in given if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    if isinstance(given, dict):
        return json.dumps(given, ensure_ascii=False)
    return given if isinstance(given, str) else ""

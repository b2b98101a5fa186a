"""A language model behind Anthropic's Messages API.

As in `umi.providers.openai_llm`, answers are held to a JSON schema where the model supports it, else to a tool's
arguments, else to the prompt's words; what is supported is learned once per client.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anthropic
from anthropic.types import Message, TextBlock, ToolUseBlock

from umi.errors import LLMError
from umi.limits import LLM_ANSWER_TOKENS_MAX
from umi.providers.dialect import Dialect, Shape, converse
from umi.providers.http import Refusal
from umi.types import Completion, CompletionRequest, Usage

if TYPE_CHECKING:
    import httpx2


class AnthropicLLM:
    """A model of Anthropic. Satisfies `umi.ports.LLMProvider`.

    Args:
        model: Anthropic's name of it.
        api_key: The key.
        base_url: Address of another server with the same API; None is Anthropic's, or what ANTHROPIC_BASE_URL says.
        call_timeout_s: Seconds that a call may take.
        transport: Replaces the network, as simulations do.
    """

    def __init__(
        self,
        model: str,
        api_key: str,
        base_url: str | None = None,
        call_timeout_s: float = 20.0,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._model = model
        self._name = f"anthropic:{model}"
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            timeout=call_timeout_s,
            max_retries=0,  # retries, deadlines and budgets are applied by the caller
            http_client=None if transport is None else anthropic.DefaultAsyncHttpxClient(transport=transport),
        )
        self.dialect = Dialect(temperature=False)  # no temperature is sent to this API

    async def complete(self, request: CompletionRequest) -> Completion:
        """Send one request, or a few while it is learned what the model supports.

        Raises:
            LLMError: Whatever went wrong; the message of `NotConfigured` says what to set.
        """
        try:
            answer = await self._converse(request)
        except (anthropic.AnthropicError, ValueError) as error:
            # About 4 bytes a token, rounded up; only used to report a prompt that was too long.
            raise self._error(error, -(-len(request.prompt.encode()) // 4)) from error
        # The SDK does not validate responses; a proxy may answer anything.
        if not isinstance(answer, Message) or not isinstance(answer.content, list):
            raise LLMError.ServiceUnavailable(f"{self._name} answered no message: {answer!r:.200}")
        return Completion(_said(answer), _usage(answer))

    async def visit(self) -> str:
        """Check that the server is reachable and has the model. Costs no tokens.

        Returns:
            A message that says so.

        Raises:
            LLMError: When it cannot be reached, or does not have the model.
        """
        try:
            model = await self._client.models.retrieve(self._model)
        except (anthropic.AnthropicError, ValueError) as error:
            raise self._error(error, 0) from error
        return f"{self._name} at {self._client.base_url}, {model.display_name or model.id}"

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _converse(self, request: CompletionRequest) -> object:
        async def ask(dialect: Dialect) -> object:
            return await self._client.messages.create(**self._arguments(request, dialect))

        def said(error: anthropic.APIStatusError) -> tuple[int, str]:
            return error.status_code, error.message

        return await converse(self, self._name, ask, anthropic.APIStatusError, said)

    def _arguments(self, request: CompletionRequest, dialect: Dialect) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self._model,
            "max_tokens": LLM_ANSWER_TOKENS_MAX,  # required by this API
            "messages": [{"role": "user", "content": request.prompt}],
        }
        if request.schema is None:
            return arguments
        if dialect.shape is Shape.SCHEMA:
            arguments["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
        elif dialect.shape is Shape.TOOL:
            name = request.task or "answer"
            tool = {"name": name, "description": "Give the answer.", "input_schema": dict(request.schema)}
            arguments["tools"] = [tool]
            arguments["tool_choice"] = {"type": "tool", "name": name}
        return arguments

    def _error(self, error: Exception, tokens: int) -> LLMError:
        if isinstance(error, anthropic.APITimeoutError):
            return LLMError.Timeout(f"{self._name} did not answer in time")
        if isinstance(error, anthropic.APIConnectionError):
            return LLMError.ServiceUnavailable(
                f"{self._name} cannot be reached at {self._client.base_url} ({error.__cause__ or error})"
            )
        if isinstance(error, anthropic.APIStatusError):
            said = f"{error.message} {error.type or ''}".strip()
            return Refusal(error.status_code, said, error.response.headers).as_llm_error(self._name, tokens)
        return LLMError.ServiceUnavailable(f"{self._name} answered no message: {error}")


def _said(answer: Message) -> str:
    """The answer's text: the arguments of a tool call, or the text blocks. Empty when there are none."""
    for block in answer.content:
        if isinstance(block, ToolUseBlock):
            return json.dumps(block.input, ensure_ascii=False)
    return "".join(block.text for block in answer.content if isinstance(block, TextBlock))


def _usage(answer: Message) -> Usage:
    spent = answer.usage
    if spent is None:  # the SDK does not validate responses
        return Usage(1)
    # Tokens written to or read from the prompt cache are input too, but not part of `input_tokens`.
    cached = (spent.cache_creation_input_tokens or 0) + (spent.cache_read_input_tokens or 0)
    return Usage(1, (spent.input_tokens or 0) + cached, spent.output_tokens or 0)

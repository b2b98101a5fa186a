"""A language model behind Anthropic's Messages API.

As with umi.providers.openai_llm: a JSON schema where the model takes one, else a tool's arguments, else words, learned once per client.
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
    """One of Anthropic's models. Satisfies `umi.ports.LLMProvider`.

    Args:
        model: Its name there.
        api_key: The key.
        base_url: Another address than Anthropic's; None is theirs, or what ANTHROPIC_BASE_URL says.
        call_timeout_s: How long it may take to answer.
        transport: Replaces the network.
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
            max_retries=0,
            http_client=None if transport is None else anthropic.DefaultAsyncHttpxClient(transport=transport),
        )
        self.dialect = Dialect(temperature=False)  # the API sets none

    async def complete(self, request: CompletionRequest) -> Completion:
        """One request, or a few of them while it is learned what the model takes.

        Raises:
            LLMError: Whatever went wrong; `NotConfigured` says what to set.
        """
        try:
            answer = await self._converse(request)
        except (anthropic.AnthropicError, ValueError) as error:
            raise self._error(error, -(-len(request.prompt.encode()) // 4)) from error
        if not isinstance(answer, Message) or not isinstance(answer.content, list):
            raise LLMError.ServiceUnavailable(f"{self._name} answered no message: {answer!r:.200}")
        return Completion(_said(answer), _usage(answer))

    async def visit(self) -> str:
        """In words, that the server is there and knows the model. Costs no tokens.

        Raises:
            LLMError: When it is not, or does not.
        """
        try:
            model = await self._client.models.retrieve(self._model)
        except (anthropic.AnthropicError, ValueError) as error:
            raise self._error(error, 0) from error
        return f"{self._name} at {self._client.base_url}, {model.display_name or model.id}"

    async def close(self) -> None:
        """Let go of the connections."""
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
            "max_tokens": LLM_ANSWER_TOKENS_MAX,
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
    """The answer's text: what a tool was given, or what was said, be it a refusal. Empty when there is none."""
    for block in answer.content:
        if isinstance(block, ToolUseBlock):
            return json.dumps(block.input, ensure_ascii=False)
    return "".join(block.text for block in answer.content if isinstance(block, TextBlock))


def _usage(answer: Message) -> Usage:
    spent = answer.usage
    if spent is None:  # the SDK builds what it is sent without checking it
        return Usage(1)
    cached = (spent.cache_creation_input_tokens or 0) + (spent.cache_read_input_tokens or 0)
    return Usage(1, (spent.input_tokens or 0) + cached, spent.output_tokens or 0)

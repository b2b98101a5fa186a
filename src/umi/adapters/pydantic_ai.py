"""Umi for PydanticAI: a capability that puts what is known on the prompt into the instructions, offers tools, and remembers each run.

    agent = Agent("MODEL", capabilities=[UmiMemory(memory, lambda ctx: ctx.deps.user)])
    await agent.run("Where do I work?", deps=Deps(user="alice"))

After a run, what it added to the conversation is remembered in the user's namespace: the prompt, the answer, and what tools returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from umi.adapters._shared import CONTEXT_TOKENS, RECALL, REMEMBER, TOOL_NAMES, AgentMemory, AnyMemory, Caller, missing
from umi.types import Message

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import TextPart, ToolReturnPart, UserPromptPart
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import RunContext, Tool, ToolDefinition
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise missing("pydantic-ai", error) from error


class UmiMemory(AbstractCapability[Any]):
    """A memory of what users say, over all conversations.

    A run that raises is not remembered, nor is what only a structured output says. Where the memory fails, the run goes on without it.

    Args:
        memory: A `umi.Memory` that was opened in the event loop of the runs, or a `umi.blocking.Memory` for any, such as `run_sync`.
        user: Whose memories they are: a namespace, or what gives it for a run, such as `lambda ctx: ctx.deps.user`.
        max_tokens: Of what is put into the instructions, at most.
        counter: Counts tokens as the model does; see `Memory.context`.
    """

    def __init__(
        self,
        memory: AnyMemory,
        user: str | Callable[[RunContext[Any]], str],
        *,
        max_tokens: int = CONTEXT_TOKENS,
        counter: Callable[[str], int] | None = None,
    ) -> None:
        super().__init__()
        self._memory = memory
        self._user = user
        self._max_tokens = max_tokens
        self._counter = counter
        self._caller = Caller(memory)
        self._output_tools: set[str] = set()

    def get_instructions(self) -> Callable[[RunContext[Any]], Any]:
        """What is known on the prompt, for each request to the model. It is in no message, so no history keeps it."""
        return self._known

    def get_toolset(self) -> FunctionToolset[Any]:
        """The tools `remember` and `recall`."""

        async def remember(ctx: RunContext[Any], text: str) -> str:
            return await self._caller.wait(lambda: self._mine(ctx).remember(text))

        async def recall(ctx: RunContext[Any], question: str) -> str:
            return await self._caller.wait(lambda: self._mine(ctx).recall(question))

        return FunctionToolset([Tool(remember, description=REMEMBER), Tool(recall, description=RECALL)])

    async def prepare_output_tools(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the framework passes it by name
        tool_defs: list[ToolDefinition],
    ) -> list[ToolDefinition]:
        """Learn which tools are only the form of an answer. Changes nothing."""
        self._output_tools.update(tool.name for tool in tool_defs)
        return tool_defs

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Remember what the run added to the conversation. The result is as it was."""
        parts = [part for message in result.new_messages() for part in message.parts]
        said = [message for part in parts if (message := self._said(part)) is not None]
        await self._caller.wait(lambda: self._mine(ctx).keep(said))
        return result

    async def _known(self, ctx: RunContext[Any]) -> str | None:
        asked = _text(ctx.prompt)
        mine, tokens, counter = self._mine(ctx), self._max_tokens, self._counter
        return await self._caller.wait(lambda: mine.known(asked, max_tokens=tokens, counter=counter)) or None

    def _mine(self, ctx: RunContext[Any]) -> AgentMemory:
        user = self._user if isinstance(self._user, str) else self._user(ctx)
        return AgentMemory(self._memory, user, ctx.conversation_id)

    def _said(self, part: Any) -> Message | None:
        """What a part of a message says that is worth remembering."""
        if isinstance(part, UserPromptPart):
            return Message(_text(part.content), role="user", at=part.timestamp)
        if isinstance(part, TextPart):
            return Message(part.content, role="assistant")
        silent = TOOL_NAMES | self._output_tools
        if isinstance(part, ToolReturnPart) and part.outcome == "success" and part.tool_name not in silent:
            return Message(part.model_response_str(), role="tool", origin="tool")
        return None


def _text(content: str | Iterable[Any] | None) -> str:
    """The text of a prompt: a text, or several parts of which some have one."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = [part if isinstance(part, str) else getattr(part, "content", None) for part in content]
    return "\n".join(text for text in texts if isinstance(text, str))

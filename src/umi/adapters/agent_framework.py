"""Umi for Microsoft's Agent Framework: a context provider that knows the user, offers tools, and remembers each run.

agent = Agent(client, "Be brief.", context_providers=[UmiProvider(memory, user="alice")])
"""

# basedpyright takes the framework's name for that of this file.
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportCallIssue=false

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from umi.adapters._shared import CONTEXT_TOKENS, RECALL, REMEMBER, TOOL_NAMES, AgentMemory, AnyMemory, Caller, missing
from umi.types import Message

try:
    from agent_framework import ContextProvider, FunctionInvocationContext, tool
except ImportError as error:
    raise missing("agent-framework", error) from error


class UmiProvider(ContextProvider):
    """A `ContextProvider`. What is known on the user's message stands in the instructions, and in no history.

    Where the memory fails the run goes on without it.

    Args:
        memory: A `umi.Memory` that was opened in the event loop of the runs, or a `umi.blocking.Memory` for any.
        user: Whose memories they are: the namespace.
        max_tokens: Of what is put into the instructions, at most.
        counter: Counts tokens as the model does; see `Memory.context`.
        source_id: As the framework's providers take it.
    """

    def __init__(
        self,
        memory: AnyMemory,
        *,
        user: str,
        max_tokens: int = CONTEXT_TOKENS,
        counter: Callable[[str], int] | None = None,
        source_id: str = "umi",
    ) -> None:
        super().__init__(source_id)
        self._mine: Callable[[Any], AgentMemory] = lambda session: AgentMemory(
            memory, user, None if session is None else session.session_id
        )
        self._caller = Caller(memory)
        self._max_tokens = max_tokens
        self._counter = counter
        self._tools = self._make_tools()

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:
        """Put what is known into the instructions, and offer `remember` and `recall`."""
        del agent, state
        mine, counter = self._mine(session), self._counter
        asked = next((one.text for one in reversed(context.input_messages) if one.role == "user"), "")
        known = await self._caller.wait(lambda: mine.known(asked, max_tokens=self._max_tokens, counter=counter))
        if known:
            context.extend_instructions(self.source_id, known)
        context.extend_tools(self.source_id, self._tools)

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:
        """Remember what was said in the run."""
        del agent, state
        said = [*context.input_messages, *(context.response.messages if context.response else ())]
        mine = self._mine(session)
        await self._caller.wait(lambda: mine.keep(_said(said)))

    def _make_tools(self) -> list[Any]:
        """The two tools; the framework gives them the session of a run."""

        async def remember(text: str, ctx: FunctionInvocationContext) -> str:
            return await self._caller.wait(lambda: self._mine(ctx.session).remember(text))

        async def recall(question: str, ctx: FunctionInvocationContext) -> str:
            return await self._caller.wait(lambda: self._mine(ctx.session).recall(question))

        offered = ((remember, REMEMBER), (recall, RECALL))
        return [tool(one, description=text) for one, text in offered]


def _said(messages: Iterable[Any]) -> list[Message]:
    """What messages say that is worth remembering: words of the user, the agent and other tools than those of the memory."""
    own: set[str] = set()
    found = []
    for message in messages:
        if message.role in {"user", "assistant"}:
            found.append(Message(message.text, role=message.role))
        for part in message.contents:
            if part.type == "function_call" and part.name in TOOL_NAMES:
                own.add(part.call_id)
            elif part.type == "function_result" and part.call_id not in own and not part.exception:
                found.append(Message(str(part.result), role="tool", origin="tool"))
    return found

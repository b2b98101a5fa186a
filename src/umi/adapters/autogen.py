"""Umi for AutoGen: a memory of an agent. AutoGen is in maintenance; its successor is Microsoft's Agent Framework.

    agent = AssistantAgent("helper", model_client=model, memory=[UmiMemory(memory, user="alice")])

AutoGen asks a memory before the model answers, and leaves adding to the program: `await memory.add(MemoryContent(...))`.
"""

from __future__ import annotations

import json
from typing import Any, Final

from umi.adapters._shared import CONTEXT_TOKENS, AgentMemory, AnyMemory, Caller, awaitable, cut, going_on, log, missing
from umi.types import Message

try:
    from autogen_core import CancellationToken
    from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import SystemMessage, UserMessage
except ImportError as error:
    raise missing("autogen", error) from error

_TEXT: Final = MemoryMimeType.TEXT
_TYPE: Final = "mime_type"  # in the metadata of a message that is JSON


class UmiMemory(Memory):
    """A `Memory` of AutoGen. Where it fails the agent answers without it; only `clear` raises.

    What is known becomes a system message of the conversation, as `ListMemory` does it, and stays there while the agent lives.

    Args:
        memory: A `umi.Memory` that was opened in the event loop of the agent, or a `umi.blocking.Memory` for any.
        user: Whose memories they are: the namespace.
        max_tokens: Of what is put in front of the model, and of what a query finds, at most.
    """

    def __init__(self, memory: AnyMemory, *, user: str, max_tokens: int = CONTEXT_TOKENS) -> None:
        self._view: Any = lambda: awaitable(memory.switch(user))
        self._mine = AgentMemory(memory, user)
        self._caller = Caller(memory)
        self._max_tokens = max_tokens

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Put what is known on the user's last message into the conversation, as a system message."""
        messages = await model_context.get_messages()
        users = (one.content for one in reversed(messages) if isinstance(one, UserMessage))
        asked = next((text for content in users if (text := _text(content))), "")
        known = await self._caller.wait(lambda: self._mine.known(asked, max_tokens=self._max_tokens))
        if known:
            await model_context.add_message(SystemMessage(content=known))
        found = [MemoryContent(content=known, mime_type=_TEXT)] if known else []
        return UpdateContextResult(memories=MemoryQueryResult(results=found))

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **_: Any,
    ) -> MemoryQueryResult:
        """What was said and answers a question, best first, as far as it holds now."""
        del cancellation_token  # a recall is short
        asked = cut(query if isinstance(query, str) else _text(query.content))
        hits: Any = ()
        if asked:
            with going_on("an answer from memory"):
                receipt = await self._caller.wait(lambda: self._view().recall(asked, max_tokens=self._max_tokens))
                hits = receipt.hits
        return MemoryQueryResult(results=[_found(hit) for hit in hits])

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Remember what the user said; "role" in `metadata` may name another: "assistant", "tool". Images and bytes are left out."""
        del cancellation_token  # half a message is never kept
        text, metadata = _text(content.content), dict(content.metadata or {})
        if not text:
            log.warning("the agent goes on without a memory of the type %s: it is no text", content.mime_type)
            return
        role = str(metadata.pop("role", "user"))
        if isinstance(content.content, dict):
            metadata[_TYPE] = MemoryMimeType.JSON.value
        message = Message(text, role=role, metadata=metadata)
        await self._caller.wait(lambda: self._mine.keep([message]))

    async def clear(self) -> None:
        """Forget all of the user.

        Raises:
            StoreError: When the store fails: nothing is forgotten.
        """
        await self._caller.wait(lambda: self._view().erase_namespace())

    async def close(self) -> None:
        """Does nothing: whoever opened the memory closes it."""


def _found(hit: Any) -> MemoryContent:
    metadata = {**hit.episode.metadata, "id": hit.episode.id, "score": hit.score}
    type_ = MemoryMimeType(metadata.pop(_TYPE, _TEXT))
    content = json.loads(hit.content) if type_ is MemoryMimeType.JSON else hit.content
    return MemoryContent(content=content, mime_type=type_, metadata=metadata)


def _text(content: Any) -> str:
    """A text as it is, JSON as text; of a list the texts."""
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False, default=str)
    parts = content if isinstance(content, list) else [content]
    return "\n".join(part for part in parts if isinstance(part, str))

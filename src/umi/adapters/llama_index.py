"""Umi for LlamaIndex: a memory block that remembers a conversation and puts what is known on the question in front of the model.

    memory = Memory.from_defaults(session_id="thread-1", memory_blocks=[UmiMemoryBlock(umi_memory, user="alice")])
    await agent.run("Where do I work?", memory=memory)

LlamaIndex gives a block what leaves its short-term memory, and shows it the conversation whenever it asks what is known. Both are
remembered, once: so what the user says is known in the next conversation though this one is short.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from umi.adapters._shared import CONTEXT_TOKENS, AgentMemory, AnyMemory, Caller, missing
from umi.types import Message

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.utils import get_tokenizer
except ImportError as error:
    raise missing("llama-index", error) from error

_SAID: Final = frozenset({"user", "assistant", "tool"})  # roles whose words are remembered


class UmiMemoryBlock(BaseMemoryBlock[str]):
    """A block of `llama_index.core.memory.Memory`.

    An answer is remembered when the block sees it: when the agent asks for the conversation after it, as its workflows do, or with
    the next turn. Where the memory fails the conversation goes on without it.

    Args:
        memory: A `umi.Memory` that was opened in the event loop of the agent, or a `umi.blocking.Memory` for any, such as chat engines
            without `await`.
        user: Whose memories they are: the namespace.
        max_tokens: Of what is put in front of the model, at most.
        counter: Counts the tokens of a text. Default: as LlamaIndex does by its tokenizer.
        options: Of `BaseMemoryBlock`; `priority=1` lets LlamaIndex shorten the block where its own budget is full.
    """

    _mine: Callable[[str | None], AgentMemory] = PrivateAttr()
    _caller: Caller = PrivateAttr()
    _max_tokens: int = PrivateAttr()
    _counter: Callable[[str], int] = PrivateAttr()
    _left: dict[str, Counter[str]] = PrivateAttr(default_factory=dict)
    _last: tuple[str, str] = PrivateAttr(default=("", ""))

    def __init__(
        self,
        memory: AnyMemory,
        *,
        user: str,
        max_tokens: int = CONTEXT_TOKENS,
        counter: Callable[[str], int] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**{"name": "umi", "priority": 1, **options})
        self._mine = lambda session: AgentMemory(memory, user, session)
        self._caller = Caller(memory)
        self._max_tokens = max_tokens
        self._counter = counter or _tokens_of(get_tokenizer())

    async def aput(
        self, messages: list[ChatMessage], from_short_term_memory: bool = False, session_id: str | None = None
    ) -> None:
        """Remember what is put, and what leaves the short-term memory."""
        if from_short_term_memory and session_id is not None:
            if self.accept_short_term_memory:
                counts = self._left.setdefault(session_id, Counter())
                await self._keep(session_id, _said(messages, session_id, counts))
            return
        await self._keep(session_id, _said(messages, None, Counter()))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """What is known, in fewer tokens; None where nothing fits."""
        known, asked = self._last
        left = self._counter(content) - tokens_to_truncate
        return await self._known(None, asked, left) or None if content == known and left > 0 else None

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        session = block_kwargs.get("session_id")
        given = list(messages or [])
        # A question may be at the end of the conversation and come as the input too.
        if len(given) > 1 and _same(given[-1], given[-2]):
            given.pop()
        asked = next((_text(one) for one in reversed(given) if _role(one) == "user"), "")
        known = await self._known(session, asked, self._max_tokens)
        self._last = known, asked
        if session is not None and self.accept_short_term_memory:
            await self._keep(session, _said(given, session, Counter(self._left.get(session, ()))))
        return known

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self._keep(None, _said(messages, None, Counter()))

    async def _known(self, session: str | None, asked: str, max_tokens: int) -> str:
        mine, counter = self._mine(session), self._counter
        return await self._caller.wait(lambda: mine.known(asked, max_tokens=max_tokens, counter=counter))

    async def _keep(self, session: str | None, said: Sequence[Message]) -> None:
        mine = self._mine(session)
        await self._caller.wait(lambda: mine.keep(said))


def _tokens_of(tokenizer: Callable[[str], Sequence[Any]]) -> Callable[[str], int]:
    return lambda text: len(tokenizer(text))


def _said(messages: Sequence[ChatMessage], session: str | None, counts: Counter[str]) -> list[Message]:
    """What messages say that is worth remembering. In a session each gets an id, so that what is shown again is not remembered again.

    Args:
        messages: A part of a conversation.
        session: The conversation.
        counts: How often each text was said before this part; counted on.
    """
    said = []
    for one in messages:
        role, text = _role(one), _text(one)
        if role not in _SAID or not text.strip():
            continue
        key = hashlib.sha256(f"{session}\0{role}\0{text}".encode("utf-8", "replace")).hexdigest()[:32]
        id_ = None if session is None else f"{key}-{counts[key]}"
        counts[key] += 1
        said.append(Message(text, role=role, origin="tool" if role == "tool" else None, id=id_))
    return said


def _same(one: ChatMessage, other: ChatMessage) -> bool:
    return (_role(one), _text(one)) == (_role(other), _text(other))


def _role(message: ChatMessage) -> str:
    return str(getattr(message.role, "value", message.role))


def _text(message: ChatMessage) -> str:
    return message.content or ""

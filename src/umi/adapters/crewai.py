"""Umi for CrewAI: its unified memory.

    crew = Crew(agents=[agent], tasks=[task], memory=UmiMemory(memory, user="alice"))

CrewAI asks it with each task and offers it to agents as tools. After a task, its description is remembered as what the user said, and its
result as what the agent said, both word for word: no model extracts anything, and no vectors are made by CrewAI.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC
from functools import partial
from typing import Any, Final

from umi.adapters._shared import CONTEXT_TOKENS, USER, AgentMemory, AnyMemory, Caller, awaitable, cut, going_on, missing
from umi.errors import InvalidInput
from umi.types import Message

try:
    from crewai.memory.types import MemoryMatch, MemoryRecord
    from crewai.memory.unified_memory import Memory
    from pydantic import PrivateAttr
except ImportError as error:
    raise missing("crewai", error) from error

# What CrewAI says of a task that was done.
_DONE: Final = re.compile(
    r"(?:Task|Input): (?P<asked>.*?)\nAgent: [^\n]*\n(?:Expected result: .*?\n)?Result: (?P<result>.*)", re.DOTALL
)
_ANSWER: Final = "Final Answer:"


class _Said(str):
    """A text with who said it, on its way through CrewAI."""

    __slots__ = ("role",)
    role: str


class _NoStore:
    """Stands for the store of CrewAI's memory, which lists, updates and counts records by scope."""

    def __getattr__(self, name: str) -> Any:
        raise InvalidInput(f"a Umi memory has no scopes to list or update, so no {name}: use recall, remember, forget")


class UmiMemory(Memory):
    """A `Memory` of CrewAI. Where it fails the crew goes on without it; only `forget` and `reset` raise.

    Scopes, categories and importance are not looked at: what holds is found by what was said.

    Args:
        memory: A `umi.blocking.Memory` for any use, or a `umi.Memory` for `kickoff_async`, which runs in a thread.
        user: Whose memories they are: the namespace.
        max_tokens: Of what a recall finds, at most.

    Raises:
        InvalidInput: From calls that list, update or count records by scope, which Umi has not.
    """

    _view: Any = PrivateAttr()
    _mine: AgentMemory = PrivateAttr()
    _caller: Caller = PrivateAttr()
    _max_tokens: int = PrivateAttr()
    _storage: Any = PrivateAttr(default_factory=_NoStore)

    def __init__(self, memory: AnyMemory, *, user: str, max_tokens: int = CONTEXT_TOKENS) -> None:
        super().__init__()
        self._view = lambda: awaitable(memory.switch(user))
        self._mine = AgentMemory(memory, user)
        self._caller = Caller(memory)
        self._max_tokens = max_tokens

    def model_post_init(self, context: Any, /) -> None:
        """Open no store of CrewAI's."""

    def remember(self, content: str, *_: Any, **options: Any) -> MemoryRecord | None:
        """Keep a note of an agent, about the user. None where the memory fails."""
        del options
        kept = self._keep([content])
        return MemoryRecord(content=content) if kept else None

    def remember_many(self, contents: list[str], *_: Any, **__: Any) -> list[MemoryRecord]:
        """Keep what was said in a task, or notes of an agent about the user."""
        self._keep(contents)
        return []

    def extract_memories(self, content: str) -> list[str]:
        """What CrewAI says of a task that was done, as two messages: what was asked, and the result."""
        done = _DONE.fullmatch(content)
        if done is None:
            return [content] if content.strip() else []
        answer = done["result"].rpartition(_ANSWER)[2].strip()  # without the thoughts before it
        return [_said(done["asked"], "user"), _said(answer, "assistant")]

    def recall(self, query: str, *_: Any, limit: int = 10, **__: Any) -> list[MemoryMatch]:
        """What was said and answers a query, best first, as far as it holds now."""
        asked = cut(query)
        hits: Iterable[Any] = ()
        if asked:
            with going_on("an answer from memory"):
                work = partial(self._view().recall, asked, limit=limit, max_tokens=self._max_tokens)
                hits = self._caller.block(work).hits
        return [MemoryMatch(record=_record(hit), score=hit.score) for hit in hits]

    def forget(self, *_: Any, record_ids: list[str] | None = None, **__: Any) -> int:
        """Forget records that a recall found, by their ids; their number. Without ids nothing.

        Raises:
            StoreError: When the store fails: they are still there.
        """
        return sum(self._caller.block(partial(self._view().forget, id_)) for id_ in record_ids or ())

    def reset(self, scope: str | None = None) -> None:
        """Forget all of the user.

        Raises:
            StoreError: When the store fails: nothing is forgotten.
        """
        del scope
        self._caller.block(lambda: self._view().erase_namespace())

    def reset_all(self) -> None:
        """As `reset`."""
        self.reset()

    def close(self) -> None:
        """Does nothing: whoever opened the memory closes it."""

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> UmiMemory:
        """A crew that is copied has the same memory."""
        return self

    def _keep(self, contents: list[str]) -> bool:
        said = [_message(one) for one in contents]
        return self._caller.block(lambda: self._mine.keep(said))


def _said(text: str, role: str) -> _Said:
    said = _Said(text)
    said.role = role
    return said


def _message(text: str) -> Message:
    if isinstance(text, _Said):
        return Message(str(text), role=text.role)
    return Message(text, role="assistant", speaker=USER)


def _record(hit: Any) -> MemoryRecord:
    at = hit.episode.at.astimezone(UTC).replace(tzinfo=None)  # CrewAI's times have no zone
    return MemoryRecord(id=hit.episode.id, content=hit.content, created_at=at, last_accessed=at)

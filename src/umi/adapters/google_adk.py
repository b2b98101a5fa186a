"""Umi for Google's Agent Development Kit: a memory service, which the kit's own tools `load_memory` and `preload_memory` ask.

    runner = Runner(agent=agent, app_name="helper", session_service=sessions, memory_service=UmiMemoryService(memory))

What is remembered is up to the agent, as with each memory service: `after_agent_callback` may call `add_session_to_memory`. The memories of
a user of an application are in the namespace `namespace_of(app_name, user_id)`, which is "helper/alice".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from umi.adapters._shared import (
    CONTEXT_TOKENS,
    TOOL_NAMES,
    USER,
    AnyMemory,
    Caller,
    awaitable,
    checked,
    clean,
    cut,
    going_on,
    missing,
    namespace_of,
)
from umi.errors import IdempotencyConflict
from umi.types import Hit, Message

try:
    from google.adk.events import Event
    from google.adk.memory import BaseMemoryService
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions import Session
    from google.genai import types
except ImportError as error:
    raise missing("google-adk", error) from error

__all__ = ["UmiMemoryService", "namespace_of"]

_AUTHOR: Final = "author"
_SILENT: Final = TOOL_NAMES | {"load_memory", "preload_memory"}  # tools whose answers say nothing new


class UmiMemoryService(BaseMemoryService):
    """A memory service of the kit. An event is remembered once, however often its session is added.

    Where the memory fails, the run goes on: a search finds nothing and what was to be added is not kept, with a warning; only
    `delete_memory` raises. Every method raises `InvalidInput` for a user without an id: such users would share a memory.

    Args:
        memory: A `umi.Memory` that was opened in the event loop of the runs, or a `umi.blocking.Memory` for any, such as `Runner.run`.
        max_tokens: Of what a search finds, at most.
    """

    def __init__(self, memory: AnyMemory, *, max_tokens: int = CONTEXT_TOKENS) -> None:
        self._memory = memory
        self._max_tokens = max_tokens
        self._caller = Caller(memory)

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember what was said in a session and is not remembered yet."""
        said = [message for event in session.events if (message := _said(event, session.id)) is not None]
        await self._keep(_namespace(session.app_name, session.user_id), said)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,  # noqa: ARG002 - an event is the same message by whichever way it comes
    ) -> None:
        """Remember what was said in some events. `custom_metadata` is not looked at."""
        said = [message for event in events if (message := _said(event, session_id)) is not None]
        await self._keep(_namespace(app_name, user_id), said)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Keep notes. One without an author is the agent's, about the user. Metadata is kept with it, and no search returns it."""
        notes = [_note(entry, {**(custom_metadata or {}), **entry.custom_metadata}) for entry in memories]
        await self._keep(_namespace(app_name, user_id), notes)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """What was said and answers a query, best first, as far as it holds now."""
        asked, view = cut(query), self._view(_namespace(app_name, user_id))
        found: Sequence[Hit] = ()
        if asked:
            with going_on("an answer from memory"):
                receipt = await self._caller.wait(lambda: view().recall(asked, max_tokens=self._max_tokens))
                found = receipt.hits
        return SearchMemoryResponse(memories=[_entry(hit) for hit in found])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget what a search found, by its id; adding its session again does not bring it back.

        Raises:
            StoreError: When the store fails: it is still there.
        """
        view = self._view(_namespace(app_name, user_id))
        if memory_id:
            await self._caller.wait(lambda: view().forget(memory_id))

    async def _keep(self, namespace: str, messages: Iterable[Message]) -> None:
        said, view = [one for one in messages if one.content.strip()], self._view(namespace)
        if said:
            with going_on("remembering this session"):
                await self._caller.wait(lambda: _remember(view(), said))

    def _view(self, namespace: str) -> Any:
        return lambda: awaitable(self._memory.switch(namespace))


def _namespace(app_name: str, user_id: str) -> str:
    return namespace_of(app_name, checked(user_id, "user_id"))


async def _remember(view: Any, messages: Sequence[Message]) -> None:
    try:
        await view.remember_many(messages)
    except (
        IdempotencyConflict
    ):  # an event that came before without its session, or was edited: it stays as it was first
        for message in messages:
            with suppress(IdempotencyConflict):
                await view.remember(message)


def _said(event: Event, session: str | None) -> Message | None:
    """What an event says that is worth remembering: words of the user and the agents, and answers of tools."""
    parts = (event.content.parts if event.content else None) or []
    at, metadata = datetime.fromtimestamp(event.timestamp, UTC), {_AUTHOR: event.author}
    message = partial(Message, at=at, session=session, id=event.id or None, metadata=metadata)
    if text := _text(parts):
        return message(text, role="user" if event.author == "user" else "assistant")
    answers = [part.function_response for part in parts if part.function_response]
    told = [json.dumps(one.response, ensure_ascii=False, default=str) for one in answers if one.name not in _SILENT]
    return message(clean("\n".join(told)), role="tool", origin="tool") if told else None


def _note(entry: MemoryEntry, metadata: dict[str, Any]) -> Message:
    at = None
    with suppress(ValueError):  # any text is allowed; a time without a zone is local, as the kit writes it
        at = datetime.fromisoformat(entry.timestamp or "").astimezone()
    metadata |= {_AUTHOR: entry.author} if entry.author else {}
    role, speaker = ("user", None) if entry.author == "user" else ("assistant", USER)
    text = _text(entry.content.parts or [])
    return Message(text, role=role, speaker=speaker, at=at, id=entry.id, metadata=metadata)


def _entry(hit: Hit) -> MemoryEntry:
    role = "user" if hit.episode.role == "user" else "model"
    return MemoryEntry(
        id=hit.episode.id,
        content=types.Content(role=role, parts=[types.Part(text=hit.content)]),
        author=hit.episode.metadata.get(_AUTHOR),
        timestamp=hit.episode.at.isoformat(),
    )


def _text(parts: Iterable[Any]) -> str:
    return clean("\n".join(part.text for part in parts if part.text and not part.thought))

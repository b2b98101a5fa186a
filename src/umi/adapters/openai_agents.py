"""Umi for the OpenAI Agents SDK: a session that remembers, what is known on the question in front of each model call, and tools.

    session = UmiSession(memory, "thread-1", user="alice")
    config = RunConfig(call_model_input_filter=add_context(memory, user="alice"))
    agent = Agent("helper", tools=make_tools(memory, user="alice"))
    await Runner.run(agent, "Where do I work?", session=session, run_config=config)

The session keeps every item as it is, in a namespace of its own. What the user and the agent say, and what tools answer, is also
remembered in the user's namespace, where later conversations find it; what leaves the session is forgotten there too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final

from umi._compat.messages import pages
from umi.adapters._shared import (
    CONTEXT_TOKENS,
    RECALL,
    REMEMBER,
    TOOL_NAMES,
    AgentMemory,
    AnyMemory,
    Caller,
    awaitable,
    checked,
    going_on,
    missing,
    namespace_of,
)
from umi.limits import LIST_LIMIT_DEFAULT, REMEMBER_MESSAGES_COUNT_MAX
from umi.types import Message

try:
    from agents import FunctionTool, function_tool
    from agents.items import TResponseInputItem
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise missing("openai-agents", error) from error

_ROOT: Final = "openai_agents"  # of the namespaces that hold the items of sessions
_ITEM: Final = "item"
_ITEM_BYTES_MAX: Final = 48 * 1024  # a larger item stands in the message itself, since metadata is bounded


class UmiSession(SessionABC):
    """A session whose conversation is remembered.

    `get_items`, `add_items`, `pop_item` and `clear_session` are exact. Where the memory fails, the conversation goes on: what
    cannot be read is left out and what cannot be written is not kept, with a warning; only `clear_session` raises.

    Args:
        memory: A `umi.Memory` that was opened in the event loop of the runs, or a `umi.blocking.Memory` for any, such as `run_sync`.
        session_id: The conversation.
        user: Whose memories they are: the namespace in which later conversations find them.
        session_settings: As the SDK's sessions take them.

    Raises:
        TypeError: For settings that the SDK does not know.
        InvalidInput: For a user or a conversation that is no text, is blank, or whose ids are together too long for a namespace.
    """

    def __init__(
        self,
        memory: AnyMemory,
        session_id: str,
        *,
        user: str,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or {})
        self._memory = memory
        self._mine = AgentMemory(memory, user, session_id)
        self._user = user
        self._log_name = namespace_of(_ROOT, user, checked(session_id, "session_id"))
        memory.switch(self._log_name)  # refuses one that is too long
        self._caller = Caller(memory)
        self._own_calls: set[str] = set()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items of the conversation, oldest first; with a limit the last ones."""
        wanted = resolve_session_limit(limit, self.session_settings)
        with going_on("the conversation so far"):
            return await self._caller.wait(lambda: self._last(wanted))
        return []

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep items, and remember what was said in them."""
        with going_on("keeping this turn"):
            await self._caller.wait(lambda: self._add([dict(item) for item in items]))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item away, and forget what was said in it."""
        with going_on("taking the last item back"):
            return await self._caller.wait(self._pop)
        return None

    async def clear_session(self) -> None:
        """Take all items away, and forget what was said in them.

        Raises:
            StoreError: When the store fails: what was to go is still there.
        """
        await self._caller.wait(self._clear)

    async def _last(self, limit: int | None) -> list[Any]:
        if limit == 0:
            return []
        found: list[Any] = []
        read, bound = self._log.episodes, None if limit is None or limit < 0 else limit
        async for episode in pages(read, limit=min(bound or LIST_LIMIT_DEFAULT, LIST_LIMIT_DEFAULT), order="newest"):
            found.append(_item(episode))
            if len(found) == bound:
                break
        return found[::-1]

    async def _add(self, items: list[dict[str, Any]]) -> None:
        for first in range(0, len(items), REMEMBER_MESSAGES_COUNT_MAX):
            chunk = items[first : first + REMEMBER_MESSAGES_COUNT_MAX]
            logged = await self._log.remember(
                [_logged(item) for item in chunk], extract_entities=False, track_evolution=False
            )
            said = [self._said(item) for item in chunk]
            ids = zip(said, logged.episode_ids, strict=True)
            await self._mine.keep([replace(message, id=id_) for message, id_ in ids if message is not None])

    async def _pop(self) -> Any:
        while True:
            page = await self._log.episodes(limit=1, order="newest")
            if not page.items:
                return None
            last = page.items[0]
            if await self._log.forget(last.id):  # else another task took it
                await self._memories.forget(last.id)
                return _item(last)

    async def _clear(self) -> None:
        ids = [episode.id async for episode in pages(self._log.episodes, limit=LIST_LIMIT_DEFAULT)]
        for id_ in ids:
            await self._memories.forget(id_)
        await self._log.erase_namespace()

    def _said(self, item: dict[str, Any]) -> Message | None:
        """What an item says that is worth remembering: words of the user, the agent and other tools than those of the memory."""
        kind, role = item.get("type", "message"), item.get("role")
        if kind == "function_call" and item.get("name") in TOOL_NAMES:
            self._own_calls.add(str(item.get("call_id")))
        if kind == "function_call_output" and str(item.get("call_id")) not in self._own_calls:
            return Message(_text(item.get("output")), role="tool", origin="tool")
        if kind == "message" and role in {"user", "assistant"}:
            return Message(_text(item.get("content")), role=role)
        return None

    @property
    def _log(self) -> Any:
        return awaitable(self._memory.switch(self._log_name))

    @property
    def _memories(self) -> Any:
        return awaitable(self._memory.switch(self._user))


def _logged(item: dict[str, Any]) -> Message:
    """An item as a message of the log, whose text is only a title: nobody searches there."""
    written = json.dumps(item, ensure_ascii=True)
    title = " ".join(str(item[name]) for name in ("type", "role", "name") if item.get(name)) or "item"
    if len(written) > _ITEM_BYTES_MAX:
        return Message(written)
    # As text, so that it comes back with the same order and types.
    return Message(title[:_ITEM_BYTES_MAX], metadata={_ITEM: {"json": written}})


def _item(episode: Any) -> Any:
    return json.loads(episode.metadata[_ITEM]["json"] if _ITEM in episode.metadata else episode.content)


def _text(content: Any) -> str:
    """The text of an item's content: a text, or a list of parts of which some have one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def add_context(
    memory: AnyMemory, *, user: str, max_tokens: int = CONTEXT_TOKENS, counter: Callable[[str], int] | None = None
) -> Callable[[CallModelData[Any]], Coroutine[Any, Any, ModelInputData]]:
    """A `call_model_input_filter` for `RunConfig`: puts what is known on the user's last message behind the instructions.

    It is in no item, so no session keeps it. Where the memory fails, the model is called without it.

    Args:
        memory: As for `UmiSession`.
        user: Whose memories they are.
        max_tokens: Of what is put there, at most.
        counter: Counts tokens as the model does; see `Memory.context`.
    """
    mine, caller = AgentMemory(memory, user), Caller(memory)

    async def filtered(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        items: list[Any] = list(given.input)
        asked = next((_text(item.get("content")) for item in reversed(items) if item.get("role") == "user"), "")
        known = await caller.wait(lambda: mine.known(asked, max_tokens=max_tokens, counter=counter))
        instructions = "\n\n".join(part for part in (given.instructions, known) if part)
        return ModelInputData(input=given.input, instructions=instructions or None)

    return filtered


def make_tools(memory: AnyMemory, *, user: str, session_id: str | None = None) -> list[FunctionTool]:
    """The tools `remember` and `recall` for an `Agent`. An agent whose memory fails is told so, and goes on.

    Args:
        memory: As for `UmiSession`.
        user: Whose memories they are.
        session_id: The conversation that notes belong to.
    """
    mine, caller = AgentMemory(memory, user, session_id), Caller(memory)

    async def remember(text: str) -> str:
        return await caller.wait(lambda: mine.remember(text))

    async def recall(question: str) -> str:
        return await caller.wait(lambda: mine.recall(question))

    return [
        function_tool(remember, name_override="remember", description_override=REMEMBER),
        function_tool(recall, name_override="recall", description_override=RECALL),
    ]

"""`AsyncMemory`, as mem0's library has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

from umi import LLMChoice
from umi._compat.mem0.records import Addition, Correction, Listing, Search, Unchanged, checked_metadata
from umi.adapters.mem0 import calls
from umi.adapters.mem0.opening import OnStore, Place
from umi.errors import InvalidInput, NotFound
from umi.ports import EmbeddingProvider

_PROCEDURAL: Final = "procedural_memory"
_KEEP: Final = Unchanged.UNCHANGED


class AsyncMemory(OnStore):
    """mem0's `AsyncMemory` on a store of Umi. Use it in one event loop, and leave it with `async with` or `await close()`.

    A memory is a message, word for word: nothing is rewritten, no model and no key is needed. What a later message changes is no longer found.

    Args:
        config: mem0's configuration; only what stands under "umi" does something: {"umi": {"url": ..., "llm": ..., "embedder": ...}}.
        url: Where memories are kept, as `umi.Memory.open` takes it; as the next two.
        llm: A model that reads and relates what is said; None leaves it to Umi's rules.
        embedder: What makes vectors.

    Raises:
        InvalidInput: For a configuration that is none.
    """

    def __init__(
        self,
        config: object = None,
        *,
        url: str = "umi.db",
        llm: LLMChoice | None = None,
        embedder: str | EmbeddingProvider | None = "local",
    ) -> None:
        super().__init__(Place(url, llm, embedder).with_config(config))

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """A memory with a configuration.

        Raises:
            InvalidInput: For one that is none.
        """
        return cls(config_dict)

    async def add(
        self,
        messages: str | Mapping[str, Any] | list[dict[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
        llm: Any = None,
    ) -> dict[str, Any]:
        """Keep messages, all of them or none; instructions to a model (role "system") are left out.

        Args:
            messages: A text, a message with role and content, or a list of messages.
            user_id: Whose memory it is. One of the three ids is required; the first that is given owns it, the others narrow searches.
            agent_id: The same for an agent, who is the speaker of the assistant's messages.
            run_id: The same for a conversation.
            metadata: Kept with each, at most 64 KiB.
            timestamp: When it was said: seconds since 1970, ISO 8601 or a datetime. Default: now.
            expiration_date: From the day after this (YYYY-MM-DD) on it is hidden.
            infer: False keeps each message as one note, which changes nothing that is known.
            memory_type: None, or "procedural_memory", which is kept in the metadata.
            prompt: Does nothing, as `llm`.
            llm: Does nothing: the memory's own model is used, if it has one.

        Returns:
            {"results": [{"id", "memory", "event": "ADD"}, ...]}, with infer=False also "actor_id" and "role". Beside it, where there are
            such: "changes" that were noticed, what "degraded" the answer, and arguments "ignored".

        Raises:
            InvalidInput: When no owner is named, or an argument is outside its limits; nothing is stored.
            StoreError: When the store fails; nothing is stored.
        """
        if memory_type not in {None, _PROCEDURAL}:
            raise InvalidInput(f"memory_type must be {_PROCEDURAL!r} or left out, got {memory_type!r:.40}")
        notes = checked_metadata(metadata) | ({"memory_type": memory_type} if memory_type else {})
        body = Addition(
            messages=messages,
            user_id=calls.owner_id(user_id),
            agent_id=calls.owner_id(agent_id),
            run_id=calls.owner_id(run_id),
            metadata=notes,
            infer=infer,
            timestamp=calls.moment(timestamp),
            expiration_date=calls.end(expiration_date),
        )
        made = await (await self._memories()).add(body)
        given = {"prompt": prompt, "llm": llm}
        return calls.added(made, [name for name, one in given.items() if one is not None], with_roles=not infer)

    async def get(self, memory_id: str) -> dict[str, Any] | None:
        """A memory as it stands now, or None for an unknown id.

        Raises:
            StoreError: When it cannot be read.
        """
        try:
            return calls.item(await (await self._memories()).get(memory_id), "score")
        except NotFound:
            return None

    async def get_all(
        self,
        /,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The newest memories that a filter admits.

        Args:
            filters: At least one of user_id, agent_id and run_id, and conditions on metadata, as in `search`.
            top_k: At most this many.
            show_expired: Also those whose expiration_date is over.
            kwargs: user_id, agent_id, run_id and limit, as older versions of mem0 took them. Others are named in "ignored".

        Returns:
            {"results": [{"id", "memory", "hash", "metadata", "created_at", "updated_at", ...}, ...]}

        Raises:
            InvalidInput: For a filter that names no owner, or an argument outside its limits.
            StoreError: When it cannot be read.
        """
        wanted = calls.count_of(top_k, kwargs)
        body = Listing(filters=calls.filters_of(filters, kwargs), show_expired=show_expired)
        results: list[dict[str, Any]] = []
        async for record in (await self._memories()).listed(body):
            if len(results) == wanted:
                break
            results.append(calls.item(record))
        return {"results": results} | calls.beside((), _others(kwargs))

    async def search(
        self,
        /,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The memories that answer a question, best first; none when nothing is relevant.

        Args:
            query: A question or keywords.
            top_k: At most this many, 0..1,000.
            filters: At least one of user_id, agent_id and run_id, and conditions on metadata: a value, {"gte": 2} and the other operators
                of mem0, "AND", "OR", "NOT".
            threshold: Least score, 0..1; None takes Umi's calibrated one.
            rerank: Does nothing: Umi always looks twice at what it found.
            explain: Show "score_details" with each.
            reference_date: Does nothing.
            show_expired: Also those whose expiration_date is over.
            kwargs: As `get_all`.

        Returns:
            {"results": [{"id", "memory", "score", "state", ...}, ...]}

        Raises:
            InvalidInput: For a filter that names no owner, or an argument outside its limits.
            StoreError: When it cannot be read.
        """
        wanted = calls.count_of(top_k, kwargs)
        given = {"rerank": rerank or None, "reference_date": reference_date}
        ignored = [*(name for name, value in given.items() if value is not None), *_others(kwargs)]
        chosen = calls.filters_of(filters, kwargs)
        body = Search(
            query=query,
            filters=chosen,
            top_k=max(wanted, 1),
            threshold=threshold,
            show_expired=show_expired,
            explain=explain,
        )
        made = await (await self._memories()).search(body)
        extra = ("score", "state", "score_details")
        return calls.found(made, [calls.item(one, *extra) for one in made.records[:wanted]], ignored)

    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _KEEP,
        data: str | None = None,
    ) -> dict[str, Any]:
        """Correct a memory: its older version stays in its history, and holds no longer.

        Args:
            memory_id: Its id.
            text: What it says now. `data` is its older name.
            metadata: These keys are set, others stay.
            expiration_date: The last day on which it is shown; None takes it away.
            data: The older name of `text`.

        Returns:
            {"message": ...}

        Raises:
            InvalidInput: When nothing is to be changed, or an argument is outside its limits.
            NotFound: For an unknown id; it is a ValueError.
            StoreError: When the store fails; nothing is changed.
        """
        words = data if text is None else text
        if words is None and metadata is None and expiration_date is _KEEP:
            raise InvalidInput("give a text, metadata or an expiration_date to change")
        memories = await self._memories()
        kept = (await memories.get(memory_id))["metadata"] or {}
        body = Correction(
            text=words,
            metadata=None if metadata is None else kept | checked_metadata(metadata),
            expiration_date=calls.day(expiration_date),
        )
        await memories.update(memory_id, body)
        return {"message": "Memory updated successfully!"}

    async def delete(self, memory_id: str) -> dict[str, Any]:
        """Forget a memory with all its versions.

        Raises:
            NotFound: For an unknown id; it is a ValueError.
            StoreError: When the store fails.
        """
        await (await self._memories()).delete(memory_id)
        return {"message": "Memory deleted successfully!"}

    async def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, Any]:
        """Forget the memories that have all of these ids.

        Raises:
            InvalidInput: When none is given.
            StoreError: When the store fails.
        """
        ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        await (await self._memories()).delete_all({name: calls.owner_id(one) for name, one in ids.items()})
        return {"message": "Memories deleted successfully!"}

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """The versions of a memory, oldest first; none for an unknown id, and for one that was deleted.

        Raises:
            StoreError: When it cannot be read.
        """
        try:
            return calls.steps(await (await self._memories()).history(memory_id))
        except NotFound:
            return []

    async def reset(self) -> None:
        """Erase all memories of this API. What else is in the store stays.

        Raises:
            StoreError: When the store fails.
        """
        await (await self._memories()).reset()


def _others(kwargs: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in kwargs if name not in {*calls.OWNERS, "limit"})

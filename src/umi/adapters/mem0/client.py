"""`AsyncMemoryClient`, as the client of mem0's platform, on a store of your own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from umi import LLMChoice, limits
from umi._compat.mem0.owners import ANY, KINDS, Owner
from umi._compat.mem0.records import Addition, Correction, Listing, Search, Unchanged, ids_of
from umi.adapters.mem0 import calls
from umi.adapters.mem0.opening import OnStore, Place, as_mapping
from umi.errors import InvalidInput
from umi.ports import EmbeddingProvider

_OWNERS: Final = tuple(f"{kind}_id" for kind in KINDS)
_TOP_K_DEFAULT: Final = 10
_ADD: Final = frozenset({*_OWNERS, "filters", "metadata", "infer", "timestamp", "expiration_date"})
_SEARCH: Final = frozenset(
    {*_OWNERS, "filters", "metadata", "top_k", "limit", "threshold", "fields", "show_expired", "latest_only"}
)
_LIST: Final = frozenset({*_OWNERS, "filters", "page", "page_size", "start_date", "end_date", "show_expired", "fields"})
_UPDATE: Final = frozenset({"text", "metadata", "timestamp", "expiration_date"})


class AsyncMemoryClient(OnStore):
    """mem0's `AsyncMemoryClient` on a store of Umi; no key and no network. Leave it with `async with` or `await close()`.

    Every method takes arguments by name, or as mem0's typed options. Those that do nothing here are named in "ignored" of the answer.

    Args:
        api_key: Does nothing: the store is yours.
        host: Must be left out.
        url: Where memories are kept, as `umi.Memory.open` takes it; as the next two.
        llm: A model that reads and relates what is said; None leaves it to Umi's rules.
        embedder: What makes vectors.

    Raises:
        InvalidInput: When a host is given: to reach a server, keep mem0's own client and run `umi serve --mem0`.
    """

    def __init__(
        self,
        api_key: str | None = None,  # noqa: ARG002 - as mem0's
        host: str | None = None,
        *,
        url: str = "umi.db",
        llm: LLMChoice | None = None,
        embedder: str | EmbeddingProvider | None = "local",
    ) -> None:
        if host is not None:
            raise InvalidInput(
                f"host is {host!r:.80}, and this client keeps memories in a file (url=): to reach a server keep mem0's own client, "
                "and run `umi serve --mem0`"
            )
        super().__init__(Place(url, llm, embedder))

    async def add(
        self, /, messages: str | Mapping[str, Any] | list[dict[str, Any]], options: object = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Keep messages, all of them or none.

        Args:
            messages: A text, a message with role and content, or a list of messages.
            options: user_id, agent_id, app_id, run_id (or in filters), metadata, infer, timestamp, expiration_date.
            kwargs: The same by name.

        Returns:
            {"results": [{"id", "memory", "event": "ADD"}, ...], "status": "SUCCEEDED", "event_id"}

        Raises:
            InvalidInput: When no owner is named, or an argument is outside its limits; nothing is stored.
            StoreError: When the store fails; nothing is stored.
        """
        given = {**as_mapping(options, "options"), **kwargs}
        body = Addition(
            messages=messages,
            metadata=given.get("metadata"),
            infer=given.get("infer") is not False,
            timestamp=calls.moment(given.get("timestamp")),
            expiration_date=calls.end(given.get("expiration_date")),
            **{name: calls.owner_id(one) for name, one in ids_of(given).items()},
        )
        made = await (await self._memories()).add(body)
        answer = calls.added(made, _unknown(given, _ADD))
        event_id = made.results[0]["id"] if made.results else "none"
        return answer | {"status": "SUCCEEDED", "event_id": event_id}

    async def search(self, /, query: str, options: object = None, **kwargs: Any) -> dict[str, Any]:
        """The memories that answer a question, best first; none when nothing is relevant.

        Args:
            query: A question or keywords.
            options: filters, metadata, top_k (10), threshold, fields, show_expired, latest_only.
            kwargs: The same by name; also user_id, agent_id, app_id and run_id, as older versions of mem0 took them.

        Returns:
            {"results": [{"id", "memory", "score", "state", ...}, ...]}

        Raises:
            InvalidInput: For a filter that names no owner, or an argument outside its limits.
            StoreError: When it cannot be read.
        """
        given = {**as_mapping(options, "options"), **kwargs}
        chosen = calls.filters_of(given.get("filters"), given)
        wanted = calls.count_of(given.get("top_k", _TOP_K_DEFAULT), given)
        body = Search(
            query=query,
            filters=chosen | ({"metadata": given["metadata"]} if given.get("metadata") else {}),
            top_k=max(wanted, 1),
            threshold=given.get("threshold"),
            fields=given.get("fields"),
            show_expired=bool(given.get("show_expired")),
            latest_only=given.get("latest_only") is not False,
        )
        made = await (await self._memories()).search(body)
        return calls.found(made, made.records[:wanted], _unknown(given, _SEARCH))

    async def get_all(self, /, options: object = None, **kwargs: Any) -> dict[str, Any]:
        """One page of memories, the newest first.

        Args:
            options: filters, page (1), page_size (100), start_date, end_date, show_expired, fields.
            kwargs: The same by name; also user_id, agent_id, app_id and run_id, as older versions of mem0 took them.

        Returns:
            {"count", "next", "previous", "results": [...]}; `next` and `previous` are "?page=2&page_size=100" or None.

        Raises:
            InvalidInput: For a filter that names no owner, or an argument outside its limits.
            StoreError: When it cannot be read.
        """
        given = {**as_mapping(options, "options"), **kwargs}
        page, size = given.get("page", 1), given.get("page_size", limits.LIST_LIMIT_DEFAULT)
        body = Listing(
            filters=calls.filters_of(given.get("filters"), given),
            start_date=given.get("start_date"),
            end_date=given.get("end_date"),
            show_expired=bool(given.get("show_expired")),
            fields=given.get("fields"),
        )
        count, found = await (await self._memories()).page(body, page, size)
        following = f"?page={page + 1}&page_size={size}" if page * size < count else None
        previous = f"?page={page - 1}&page_size={size}" if page > 1 else None
        answer = {"count": count, "next": following, "previous": previous, "results": found}
        return answer | calls.beside((), _unknown(given, _LIST))

    async def get(self, memory_id: str) -> dict[str, Any]:
        """A memory as it stands now.

        Raises:
            NotFound: For an unknown id.
            StoreError: When it cannot be read.
        """
        return await (await self._memories()).get(memory_id)

    async def update(self, /, memory_id: str, options: object = None, **kwargs: Any) -> dict[str, Any]:
        """Correct a memory: its older version stays in its history, and holds no longer.

        Args:
            memory_id: Its id.
            options: text, metadata, timestamp, expiration_date; what is not given stays.
            kwargs: The same by name.

        Raises:
            InvalidInput: When nothing is to be changed, or an argument is outside its limits.
            NotFound: For an unknown id.
            StoreError: When the store fails; nothing is changed.
        """
        given = {**as_mapping(options, "options"), **kwargs}
        if all(given.get(name) is None and name not in {"expiration_date"} & set(given) for name in _UPDATE):
            raise InvalidInput("give a text, metadata, a timestamp or an expiration_date to change")
        body = Correction(
            text=given.get("text"),
            metadata=given.get("metadata"),
            timestamp=calls.moment(given.get("timestamp")),
            expiration_date=calls.day(given.get("expiration_date", Unchanged.UNCHANGED)),
        )
        made = await (await self._memories()).update(memory_id, body)
        return made | calls.beside((), _unknown(given, _UPDATE))

    async def delete(self, memory_id: str, delete_linked: bool = False) -> dict[str, Any]:
        """Forget a memory with all its versions; with `delete_linked` also the older ones that it replaced.

        Raises:
            NotFound: For an unknown id.
            StoreError: When the store fails.
        """
        await (await self._memories()).delete(memory_id, linked=delete_linked)
        return {"message": "Memory deleted successfully!"}

    async def delete_all(self, /, options: object = None, **kwargs: Any) -> dict[str, Any]:
        """Forget the memories that have all of these ids: user_id, agent_id, app_id, run_id; "*" is any, and all four "*" are everything.

        Raises:
            InvalidInput: When none is given.
            StoreError: When the store fails.
        """
        given = {**as_mapping(options, "options"), **kwargs}
        ids = {name: calls.owner_id(one) for name, one in ids_of(given).items()}
        memories = await self._memories()
        if all(one == ANY for one in ids.values()):
            await memories.reset()
        else:
            await memories.delete_all(ids)
        return {"message": "Memories deleted successfully!"}

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """The versions of a memory, oldest first.

        Raises:
            NotFound: For an unknown id.
            StoreError: When it cannot be read.
        """
        return await (await self._memories()).history(memory_id)

    async def users(self) -> dict[str, Any]:
        """Whose memories there are.

        Raises:
            StoreError: When it cannot be read.
        """
        found = await (await self._memories()).owners()
        return {"count": len(found), "next": None, "previous": None, "results": found}

    async def delete_users(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
    ) -> dict[str, Any]:
        """Erase an owner with all memories, the first that is given; without any, all owners.

        Raises:
            NotFound: For an unknown owner.
            StoreError: When the store fails.
        """
        memories = await self._memories()
        ids = {"user": user_id, "agent": agent_id, "app": app_id, "run": run_id}
        named = [Owner(kind, str(name)) for kind, name in ids.items() if name is not None][:1]
        for owner in named:
            await memories.erase_owner(owner)
        if named:
            return {"message": "Entity deleted successfully."}
        await memories.reset()
        return {"message": "All users, agents, apps and runs deleted."}

    async def reset(self) -> dict[str, Any]:
        """Erase all memories of this API. What else is in the store stays.

        Raises:
            StoreError: When the store fails.
        """
        await (await self._memories()).reset()
        return {"message": "Client reset successful. All users and memories deleted."}

    async def batch_update(self, memories: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Correct several memories, one after the other: each has memory_id, and what `update` takes.

        Raises:
            InvalidInput, NotFound, StoreError: As `update`, at the first that fails; those before are changed.
        """
        given = _each(memories)
        for one in given:
            await self.update(str(one.pop("memory_id", "")), **one)
        return {"message": f"Successfully updated {len(given)} memories"}

    async def batch_delete(self, memories: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Forget several memories, one after the other: each has memory_id.

        Raises:
            InvalidInput: For what is no list of mappings.
            NotFound, StoreError: As `delete`, at the first that fails; those before are forgotten.
        """
        given = _each(memories)
        for one in given:
            await self.delete(str(one.get("memory_id", "")))
        return {"message": f"Successfully deleted {len(given)} memories"}


def _each(memories: object) -> list[dict[str, Any]]:
    if isinstance(memories, str | Mapping) or not isinstance(memories, Iterable):
        raise InvalidInput(f"memories must be a list of mappings with memory_id, got {memories!r:.80}")
    return [dict(as_mapping(one, "each of memories")) for one in memories]


def _unknown(given: Mapping[str, Any], known: frozenset[str]) -> list[str]:
    return sorted(name for name, value in given.items() if name not in known and value is not None)

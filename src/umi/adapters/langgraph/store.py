"""The store: items as messages in namespaces of Umi."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from umi._compat.messages import pages
from umi.adapters._shared import (
    AnyMemory,
    Caller,
    awaitable,
    missing,
    namespace_of,
    parts_of,
)
from umi.adapters._versions import newest, write
from umi.adapters.langgraph.values import KEY, label, lines_of, matches, of_key, passes
from umi.errors import InvalidInput
from umi.limits import LIST_LIMIT_DEFAULT, RECALL_LIMIT_MAX, RECALL_NAMESPACES_COUNT_MAX
from umi.types import Episode, Message

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
    )
except ImportError as error:
    raise missing("langgraph", error) from error

ROOT: Final = "langgraph"  # of the names of Umi's namespaces; LangGraph keeps this label from being used below it
_UNINDEXED: Final = "unindexed"
_ITEM: Final = "item"
_VALUE_BYTES_MAX: Final = 48 * 1024  # a larger value stands in the message itself, since metadata is bounded
_SPARE_HITS: Final = 20  # older versions of items may be among the hits
_SECONDS: Final = 60.0

Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Version:
    """A message as a version of an item."""

    namespace: Namespace
    episode: Episode

    @property
    def key(self) -> str:
        return self.episode.metadata[_ITEM]["key"]

    @property
    def value(self) -> dict[str, Any]:
        item = self.episode.metadata[_ITEM]
        return item["value"] if "value" in item else json.loads(self.episode.content)

    @property
    def minutes(self) -> float | None:
        return self.episode.metadata[_ITEM].get("ttl")

    @property
    def created_at(self) -> datetime:
        first = self.episode.metadata[_ITEM].get("created_at")
        return self.episode.at if first is None else datetime.fromisoformat(first)

    def item(self) -> Item:
        return Item(
            value=self.value,
            key=self.key,
            namespace=self.namespace,
            created_at=self.created_at,
            updated_at=self.episode.at,
        )

    def found(self, score: float | None) -> SearchItem:
        return SearchItem(self.namespace, self.key, self.value, self.created_at, self.episode.at, score)


class UmiStore(BaseStore):
    """A LangGraph store whose items are messages in Umi.

    Beside `batch` and `abatch` all calls of `BaseStore` work: get, put, search, delete, list_namespaces and their twins. Items are
    listed the newest first. They must fit JSON, a value at most 1,000,000 bytes of it, the labels of a namespace 240 bytes together.

    Args:
        memory: A `umi.Memory` for graphs that run in its event loop; a `umi.blocking.Memory` for both kinds of calls anywhere.
        fields: Paths of what is searched in a value, where `put` names none. Default: all of it.
        ttl: Default minutes to live, and whether reading prolongs them, as LangGraph's own stores take it.

    Raises:
        InvalidInput: From any call, for what is outside Umi's limits; `StoreError` when the store fails. Nothing is half-written.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: AnyMemory,
        *,
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
    ) -> None:
        self.ttl_config = ttl
        self._fields = tuple(fields)
        self._memory = awaitable(memory)
        self._caller = Caller(memory)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations; reads see what was there before the writes, and of writes to one key the last counts."""
        return self._caller.block(lambda: self._batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`."""
        return await self._caller.wait(lambda: self._batch(list(ops)))

    async def _batch(self, ops: list[Op]) -> list[Result]:
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            if isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
            results.append(None if isinstance(op, PutOp) else await self._read(op))
        deleted = [op for op in puts.values() if op.value is None]
        for op in deleted:
            await self._space(op.namespace).forget(where=of_key(op.key))
        groups: dict[tuple[Namespace, float | None, bool], list[PutOp]] = {}
        for op in puts.values():
            if op.value is not None:
                groups.setdefault((op.namespace, op.ttl, op.index is not False), []).append(op)
        for (namespace, minutes, indexed), group in groups.items():
            await self._put(namespace, minutes, group, indexed=indexed)
        return results

    async def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            version = await self._newest(op.namespace, op.key)
            await self._prolong([version] if version and op.refresh_ttl else [])
            return version.item() if version else None
        if isinstance(op, SearchOp):
            found = await (self._recall(op) if op.query else self._list(op))
            await self._prolong([version for version, _ in found] if op.refresh_ttl else [])
            return [version.found(score) for version, score in found]
        if isinstance(op, ListNamespacesOp):
            return await self._list_namespaces(op)
        raise InvalidInput(f"unknown operation {type(op).__name__}")

    # Reading.

    async def _newest(self, namespace: Namespace, key: str) -> _Version | None:
        found = await newest(self._space(namespace), of_key(key))
        return None if found is None else _Version(namespace, found)

    async def _items(self, namespace: Namespace) -> AsyncIterator[_Version]:
        """The items of one namespace, each in its newest version, the newest first."""
        seen: set[str] = set()
        where = {"metadata": {KEY: {"exists": True}}}
        read = self._space(namespace).episodes
        async for episode in pages(read, limit=LIST_LIMIT_DEFAULT, order="newest", where=where):
            version = _Version(namespace, episode)
            if version.key not in seen:
                seen.add(version.key)
                yield version

    async def _list(self, op: SearchOp) -> list[tuple[_Version, None]]:
        found: list[_Version] = []
        wanted = op.offset + op.limit
        for namespace in await self._namespaces(op.namespace_prefix):
            taken = 0
            async for version in self._items(namespace):
                if taken == wanted:
                    break
                if passes(version.value, op.filter):
                    found.append(version)
                    taken += 1
        found.sort(key=lambda version: version.episode.at, reverse=True)
        return [(version, None) for version in found[op.offset : wanted]]

    async def _recall(self, op: SearchOp) -> list[tuple[_Version, float]]:
        names = [self._name(namespace) for namespace in await self._namespaces(op.namespace_prefix)]
        wanted = op.offset + op.limit
        some = RECALL_LIMIT_MAX if op.filter else min(RECALL_LIMIT_MAX, 2 * wanted + _SPARE_HITS)
        where = {"metadata": {KEY: {"exists": True}, _UNINDEXED: {"exists": False}}}
        hits = []
        for first in range(0, len(names), RECALL_NAMESPACES_COUNT_MAX):
            chunk = names[first : first + RECALL_NAMESPACES_COUNT_MAX]
            receipt = await self._memory.recall(op.query, limit=some, min_score=0, where=where, namespaces=chunk)
            hits += receipt.hits
        if len(names) > RECALL_NAMESPACES_COUNT_MAX:
            hits.sort(key=lambda hit: hit.score, reverse=True)
        found: list[tuple[_Version, float]] = []
        for hit in hits:
            if len(found) == wanted:
                break
            version = _Version(parts_of(hit.namespace)[1:], hit.episode)
            last = await self._newest(version.namespace, version.key)
            if last and last.episode.id == hit.episode.id and passes(version.value, op.filter):
                found.append((version, hit.score))
        return found[op.offset : wanted]

    async def _list_namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        found = [
            one[: op.max_depth]
            for one in await self._namespaces(())
            if all(matches(rule.match_type, rule.path, one) for rule in op.match_conditions or ())
        ]
        return sorted(dict.fromkeys(found))[op.offset : op.offset + op.limit]

    async def _namespaces(self, prefix: Namespace) -> list[Namespace]:
        """The namespaces below a prefix that hold anything."""
        found = [parts_of(info.name) for info in await self._memory.namespaces() if info.episodes]
        return [one[1:] for one in found if one[: len(prefix) + 1] == (ROOT, *prefix) and len(one) > 1]

    def _name(self, namespace: Namespace) -> str:
        return namespace_of(ROOT, *namespace)

    def _space(self, namespace: Namespace) -> Any:
        return self._memory.switch(self._name(namespace))

    # Writing.

    async def _put(self, namespace: Namespace, minutes: float | None, ops: list[PutOp], *, indexed: bool) -> None:
        versions = []
        for op in ops:
            old = await self._newest(namespace, op.key)
            created = {} if old is None else {"created_at": old.created_at.isoformat()}
            message = self._message(op, created | ({} if minutes is None else {"ttl": minutes}), indexed=indexed)
            versions.append((of_key(op.key), message))
        ttl = None if minutes is None else minutes * _SECONDS
        options = {"ttl": ttl, "extract_entities": indexed, "track_evolution": indexed}
        await write(self._space(namespace), versions, "the item was put again", **options)

    def _message(self, op: PutOp, notes: dict[str, Any], *, indexed: bool) -> Message:
        value = dict(op.value or {})
        item = {"key": op.key} | notes
        try:
            written = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"the value of item {op.key!r:.80} is no JSON: {error}") from None
        labels = {KEY: label(op.key)} | ({} if indexed else {_UNINDEXED: True})
        if len(written.encode("utf-8", "surrogatepass")) > _VALUE_BYTES_MAX:
            return Message(written, metadata={**labels, _ITEM: item})
        fields = op.index if isinstance(op.index, list) else self._fields
        text = "\n".join(line for field in fields for line in _texts(value, field))
        return Message(text if text.strip() else written, metadata={**labels, _ITEM: item | {"value": value}})

    async def _prolong(self, versions: Iterable[_Version]) -> None:
        """Let items that were read live as long again: the same version is written anew, and the one that would expire goes."""
        for version in versions:
            if version.minutes is not None:
                space, old = self._space(version.namespace), version.episode
                again = Message(old.content, at=old.at, metadata=old.metadata)
                indexed = _UNINDEXED not in old.metadata
                await space.remember(
                    again, ttl=version.minutes * _SECONDS, extract_entities=indexed, track_evolution=indexed
                )
                await space.forget(old.id)


def _texts(value: dict[str, Any], field: str) -> list[str]:
    return lines_of(value) if field == "$" else get_text_at_path(value, tokenize_path(field))

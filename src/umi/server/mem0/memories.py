"""What mem0's requests do with Umi's messages. A memory is a message, word for word; an update is a newer version of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import date, datetime
from typing import Any, Final

import umi
from umi import limits
from umi.errors import InvalidInput, NotFound
from umi.memory import Memory
from umi.server.access import Right, Use
from umi.server.mem0.filters import Filters
from umi.server.mem0.owners import ANY, ROOT, MemoryId, Owner, owner_of
from umi.server.mem0.records import (
    AGENT,
    APP,
    CREATED,
    EXPIRES,
    KEY,
    AddBody,
    ListBody,
    SearchBody,
    UpdateBody,
    Version,
    checked_metadata,
    day_of,
    moment_of,
    own_metadata,
    page_bounds,
    said_message,
    shown,
)
from umi.server.messages import EVERY, messages_of, replace_statements, statements_in
from umi.server.service import Service
from umi.types import Entity, Episode, Hit

_KEY_BYTES: Final = 16
_TOP_K_DEFAULT: Final = 10
_SEARCH_FACTOR: Final = (
    5  # hits asked for, for each that is wanted: what a filter or a newer version takes out is made up for
)
_SEARCH_MORE: Final = 50


class Memories:
    """The memories of one request's caller.

    Args:
        service: What all requests share.
        use: Who asks; what is done is noted there.
    """

    def __init__(self, service: Service, use: Use) -> None:
        self._service = service
        self._use = use

    async def add(self, body: AddBody) -> dict[str, Any]:
        """Keep messages; all of them or none. Instructions to a model are left out."""
        ids = body.ids()
        owner = owner_of(ids)
        memory = self._space(owner.namespace, "remember", Right.WRITE)
        agent = ids["agent_id"]
        given: Any = body.messages
        if isinstance(given, str):
            given = {"role": "user", "content": given}
        said = [said_message(one, owner, agent) for one in (given if isinstance(given, list) else [given])]
        notes = {AGENT: agent, APP: ids["app_id"], EXPIRES: day_of(body.expiration_date)}
        common = checked_metadata(body.metadata) | {name: one for name, one in notes.items() if one is not None}
        messages = [one | {"metadata": common | {KEY: _new_key()}} for one in said if one is not None]
        results: list[dict[str, Any]] = []
        if messages:
            receipt = await memory.remember(
                messages, at=moment_of(body.timestamp), session=ids["run_id"], extract_entities=body.infer is not False
            )
            self._use.records, self._use.degraded = len(messages), receipt.degraded
            self._use.deferred = len(receipt.deferred)
            for one in messages:
                id_ = str(MemoryId(owner.namespace, one["metadata"][KEY]))
                results.append({"id": id_, "memory": one["content"], "event": "ADD"})
        # Some clients wait for an event; here everything is done when the answer comes.
        return {"results": results, "status": "SUCCEEDED", "event_id": results[0]["id"] if results else "none"}

    async def event(self, id_: str) -> dict[str, Any]:
        """How an add went, by its event_id: the id of its first memory."""
        if id_ == "none":
            return {"id": id_, "status": "SUCCEEDED", "results": []}
        version = (await self._versions(id_, "get_episode", Right.READ))[-1]
        added = {"id": id_, "memory": version.episode.content, "event": "ADD"}
        return {"id": id_, "status": "SUCCEEDED", "results": [added]}

    async def get(self, id_: str) -> dict[str, Any]:
        """A memory as it stands now."""
        return (await self._versions(id_, "get_episode", Right.READ))[-1].record()

    async def history(self, id_: str) -> list[dict[str, Any]]:
        """The versions of a memory, oldest first."""
        versions = await self._versions(id_, "history", Right.READ)
        steps = []
        for before, version in zip([None, *versions], versions, strict=False):
            record = version.record()
            steps.append(
                {
                    "id": version.episode.id,
                    "memory_id": version.id,
                    "input": [{"role": version.episode.role, "content": version.episode.content}],
                    "old_memory": None if before is None else before.episode.content,
                    "new_memory": version.episode.content,
                    "event": "ADD" if before is None else "UPDATE",
                    "is_deleted": False,
                    **{name: record[name] for name in ("user_id", "actor_id", "role", "metadata")},
                    **{name: record[name] for name in ("created_at", "updated_at")},
                }
            )
        return steps

    async def page(self, body: ListBody, number: int, size: int) -> tuple[int, list[dict[str, Any]]]:
        """How many memories there are like that, and those of one page, the newest first.

        Raises:
            InvalidInput: For a filter that names no owner, and where more messages would have to be looked through than one request may.
        """
        first, last = page_bounds(number, size)
        since, until = _moment(body.start_date), _moment(body.end_date)
        count, records = 0, []
        async for version in self._all(Filters(body.filters), show_expired=bool(body.show_expired)):
            if (since and version.episode.at < since) or (until and version.episode.at > until):
                continue
            if first <= count < last:
                records.append(shown(version.record(), body.fields))
            count += 1
        self._use.records = len(records)
        return count, records

    async def search(self, body: SearchBody) -> list[dict[str, Any]]:
        """The memories that answer a question, best first, each in its newest version; none when nothing is relevant."""
        filters = Filters(body.filters | ({"metadata": body.metadata} if body.metadata else {}))
        wanted = _TOP_K_DEFAULT if body.top_k is None else body.top_k
        if not 1 <= wanted <= limits.RECALL_LIMIT_MAX:
            passed = 1 if wanted < 1 else limits.RECALL_LIMIT_MAX
            raise InvalidInput(
                f"top_k is {wanted:,}, it must lie in 1..{limits.RECALL_LIMIT_MAX:,}", limit=passed, value=wanted
            )
        names = await self._namespaces(filters, "recall", Right.READ)
        if len(names) > limits.RECALL_NAMESPACES_COUNT_MAX:
            raise InvalidInput(
                f"filters are about {len(names):,} owners, one search reads at most {limits.RECALL_NAMESPACES_COUNT_MAX}: name fewer",
                limit=limits.RECALL_NAMESPACES_COUNT_MAX,
                value=len(names),
            )
        if not names:
            return []
        receipt = await self._service.spaces.view(names[0]).recall(
            body.query,
            limit=min(limits.RECALL_LIMIT_MAX, _SEARCH_FACTOR * wanted + _SEARCH_MORE),
            min_score=body.threshold,
            include_superseded=body.latest_only is False,
            where=filters.where(),
            namespaces=names,
        )
        self._use.degraded = receipt.degraded
        found = [one async for one in self._shown(receipt.hits, filters, body, wanted)]
        self._use.records = len(found)
        return found

    async def update(self, id_: str, body: UpdateBody) -> dict[str, Any]:
        """Correct a memory: the older version stays in its history, and holds no longer."""
        versions = await self._versions(id_, "correct", Right.WRITE, Right.READ)
        before = versions[-1]
        memory = self._service.spaces.view(before.owner.namespace)
        episode, metadata = before.episode, dict(before.episode.metadata)
        if body.metadata is not None:
            kept = {name: one for name, one in metadata.items() if name not in own_metadata(metadata)}
            metadata = checked_metadata(body.metadata) | kept
        metadata |= {KEY: before.key, CREATED: versions[0].record()["created_at"]}
        if "expiration_date" in body.model_fields_set:
            metadata.pop(EXPIRES, None)
            metadata |= {} if body.expiration_date is None else {EXPIRES: day_of(body.expiration_date)}
        old = await _statements(memory, before)
        receipt = await memory.remember(
            {"content": episode.content if body.text is None else body.text, "role": episode.role},
            at=moment_of(body.timestamp),
            speaker=episode.speaker,
            session=episode.session,
            origin=episode.origin,
            metadata=metadata,
        )
        self._use.records, self._use.degraded = 1, receipt.degraded
        await replace_statements(memory, old, receipt)
        found = await memory.get(receipt.episode_ids[0])
        return Version(before.owner, found).record() if isinstance(found, Episode) else await self.get(id_)

    async def delete(self, id_: str, *, linked: bool = False) -> None:
        """Forget a memory with all its versions; with `linked` also the older ones that it replaced."""
        rights = (Right.ERASE, Right.READ) if linked else (Right.ERASE,)
        versions = await self._versions(id_, "forget", *rights)
        memory = self._service.spaces.view(versions[0].owner.namespace)
        older: set[str] = set()
        if linked:
            first = versions[0].episode.arrival
            for version in versions:
                for statement in await _statements(memory, version):
                    chain = await memory.history(statement.id)
                    older |= {step.entity.episode_id for step in chain if step.entity.arrival < first}
        await self._forget(memory, versions[-1])
        for one in sorted(older):
            await memory.forget(one)

    async def delete_all(self, ids: Mapping[str, Any]) -> int:
        """Forget every memory of an owner, or those of them that the further ids name; tells how many.

        Raises:
            InvalidInput: When no owner is named.
        """
        filters = Filters({name: one for name, one in ids.items() if one is not None})
        names = await self._namespaces(filters, "forget", Right.ERASE)
        deleted = 0
        for name in names:
            memory = self._service.spaces.view(name)
            if sum(one is not None for one in ids.values()) == 1:
                deleted += await memory.forget(where=EVERY)
                continue
            found = [one async for one in self._of(name, filters, show_expired=True)]
            for version in found:
                await self._forget(memory, version)
            deleted += len(found)
        return deleted

    async def owners(self) -> list[dict[str, Any]]:
        """Whose memories there are, as far as the caller may read them, by name."""
        self._use.action = "list_namespaces"
        found = []
        for info in await self._service.memory.namespaces():
            owner = Owner.of(info.name)
            if owner is not None and info.episodes and self._use.caller.may(Right.READ, info.name):
                found.append({"id": info.name, "type": owner.kind, "name": owner.name, "total_memories": info.episodes})
        return found

    async def erase_owner(self, owner: Owner) -> None:
        """Erase an owner's namespace, as `erase_namespace` does; takes the rights to erase and to administer, like in REST.

        Raises:
            NotFound: When there is none.
        """
        memory = self._space(owner.namespace, "erase", Right.ERASE, Right.ADMIN)
        if not any(info.name == owner.namespace for info in await memory.namespaces()):
            raise NotFound(f"no {owner.kind} {owner.name!r:.80}")
        await memory.erase_namespace()

    async def reset(self) -> int:
        """Erase every owner's namespace that the caller may erase and administer; tells how many. Other namespaces stay."""
        self._use.action, self._use.right, self._use.namespace = "erase", Right.ERASE, f"{ROOT}{ANY}"
        erased = 0
        for info in await self._service.memory.namespaces():
            may = all(self._use.caller.may(right, info.name) for right in (Right.ERASE, Right.ADMIN))
            if Owner.of(info.name) is not None and may:
                await self._service.spaces.view(info.name).erase_namespace()
                erased += 1
        return erased

    def _space(self, namespace: str, action: str, *rights: Right) -> Memory:
        """The memory of a namespace, for what takes these rights.

        Raises:
            Refused: Without one of them, be the namespace there or not.
        """
        self._use.action, self._use.right, self._use.namespace = action, rights[0], namespace
        for right in rights:
            self._use.caller.require(right, namespace)
        return self._service.spaces.view(namespace)

    async def _namespaces(self, filters: Filters, action: str, right: Right) -> list[str]:
        """The namespaces that a filter is about. One that is named must be allowed; "*" is every one that is."""
        names: dict[str, None] = {}
        for owner in filters.owners:
            if owner.name != ANY:
                self._space(owner.namespace, action, right)
                names[owner.namespace] = None
                continue
            self._use.action, self._use.right, self._use.namespace = action, right, f"{ROOT}{owner.kind}/{ANY}"
            for info in await self._service.memory.namespaces():
                if info.name.startswith(f"{ROOT}{owner.kind}/") and self._use.caller.may(right, info.name):
                    names[info.name] = None
        return list(names)

    async def _versions(self, id_: str, action: str, *rights: Right) -> list[Version]:
        """The versions of a memory, oldest first.

        Raises:
            Refused: When the caller may not do that in the namespace that the id names.
            NotFound: For an id that no memory has.
        """
        parsed = MemoryId.parse(id_)
        memory = self._space(parsed.namespace, action, *rights)
        owner = Owner.of(parsed.namespace)
        if owner is None:
            raise NotFound(f"no memory {id_!r:.80}")
        first = await memory.get(parsed.key) if len(parsed.key.encode()) <= limits.NAME_BYTES_MAX else None
        found = [Version(owner, first)] if isinstance(first, Episode) and first.id == parsed.key else []
        found += [Version(owner, one) async for one in messages_of(memory, {"metadata": {KEY: parsed.key}})]
        if not found:
            raise NotFound(f"no memory {id_!r:.80}")
        return found

    async def _forget(self, memory: Memory, version: Version) -> None:
        await memory.forget(where={"metadata": {KEY: version.key}})
        await memory.forget(version.key)  # a message that came by another way; there may be none

    async def _all(self, filters: Filters, *, show_expired: bool) -> AsyncIterator[Version]:
        for name in await self._namespaces(filters, "list_episodes", Right.READ):
            async for version in self._of(name, filters, show_expired=show_expired):
                yield version

    async def _of(self, namespace: str, filters: Filters, *, show_expired: bool) -> AsyncIterator[Version]:
        """The memories of a namespace that a filter admits, each in its newest version, the newest first."""
        owner = Owner.of(namespace)
        if owner is None:
            return
        today, seen, looked = self._today(), set[str](), 0
        async for episode in messages_of(self._service.spaces.view(namespace), EVERY, order="newest"):
            looked += 1
            if looked > limits.MEM0_SCAN_COUNT_MAX:
                raise InvalidInput(
                    f"{namespace!r:.80} has more than {limits.MEM0_SCAN_COUNT_MAX:,} messages, which no listing of this API goes through; "
                    "page through /v1/namespaces/NAME/episodes instead",
                    limit=limits.MEM0_SCAN_COUNT_MAX,
                    value=looked,
                )
            version = Version(owner, episode)
            if version.key in seen:
                continue
            seen.add(version.key)
            if (show_expired or not version.is_expired(today)) and filters.admits(version.record()):
                yield version

    async def _shown(
        self, hits: Iterable[Hit], filters: Filters, body: SearchBody, wanted: int
    ) -> AsyncIterator[dict[str, Any]]:
        today, seen = self._today(), set[str]()
        for hit in hits:
            owner = Owner.of(hit.namespace)
            if owner is None or len(seen) == wanted:
                return
            version = Version(owner, hit.episode)
            hidden = version.is_expired(today) and not body.show_expired
            if version.id in seen or hidden or not filters.admits(version.record()):
                continue
            memory = self._service.spaces.view(hit.namespace)
            newest = await memory.episodes(limit=1, order="newest", where={"metadata": {KEY: version.key}})
            if newest.items and newest.items[0].id != hit.episode.id:
                continue
            seen.add(version.id)
            yield shown(version.record() | {"score": hit.score}, body.fields and [*body.fields, "score"])

    def _today(self) -> date:
        return self._service.clock.now().date()


async def _statements(memory: Memory, version: Version) -> list[Entity]:
    """The statements that were read in a version."""
    where = {"metadata": {KEY: version.key}} if KEY in version.episode.metadata else None
    return [step.entity for step in await statements_in(memory, version.episode, where)]


def _moment(given: str | None) -> datetime | None:
    text = moment_of(given)
    return None if text is None else datetime.fromisoformat(text)


def _new_key() -> str:
    return umi.SystemEntropy().new_secret(_KEY_BYTES)

"""What mem0's calls do with Umi's messages. A memory is a message, word for word; an update is a newer version of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final

import umi
from umi import limits
from umi._compat.mem0.access import Access, Right
from umi._compat.mem0.filters import Filters
from umi._compat.mem0.owners import ANY, KINDS, ROOT, MemoryId, Owner, owner_of
from umi._compat.mem0.records import (
    AGENT,
    APP,
    CREATED,
    EXPIRES,
    KEY,
    Addition,
    Correction,
    Listing,
    Search,
    Unchanged,
    Version,
    checked_metadata,
    day_of,
    messages_in,
    moment_of,
    own_metadata,
    page_bounds,
    said_message,
    shown,
)
from umi._compat.messages import EVERY, messages_of, replace_statements, statements_in
from umi._compat.spaces import Spaces
from umi.errors import InvalidInput, NotFound
from umi.memory import Memory
from umi.ports import Clock
from umi.types import Degradation, Entity, Episode, Hit, RecallReceipt, RememberReceipt

_KEY_BYTES: Final = 16
_SEARCH_FACTOR: Final = (
    5  # hits asked for, for each that is wanted: what a filter or a newer version takes out is made up for
)
_SEARCH_MORE: Final = 50


@dataclass(frozen=True, slots=True)
class Added:
    """What an add stored: mem0's results, the message behind each, and the receipt; None where there was nothing to keep."""

    results: list[dict[str, Any]]
    messages: list[dict[str, Any]] = field(default_factory=list)
    receipt: RememberReceipt | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: memories as mem0 shows them with `score` and `state`, best first."""

    records: list[dict[str, Any]]
    degraded: tuple[Degradation, ...] = ()
    why_abstained: str = ""


class Memories:
    """The memories of one caller.

    Args:
        spaces: The open memory, by namespace.
        clock: The time by which memories expire.
        access: What the caller may do; what is done is noted there.
        is_flat: Whether a filter by agent, app or run alone also finds what belongs to a user, as in mem0's library. That looks into every
            user's namespace.
    """

    def __init__(self, spaces: Spaces, clock: Clock, access: Access, *, is_flat: bool = False) -> None:
        self._spaces = spaces
        self._clock = clock
        self._access = access
        self._is_flat = is_flat

    async def add(self, body: Addition) -> Added:
        """Keep messages; all of them or none. Instructions to a model and calls of tools are left out."""
        ids = body.ids()
        owner = owner_of(ids)
        memory = self._space(owner.namespace, "remember", "write")
        agent = ids["agent_id"]
        said = [said_message(one, owner, agent) for one in messages_in(body.messages)]
        notes = {AGENT: agent, APP: ids["app_id"], EXPIRES: day_of(body.expiration_date)}
        common = checked_metadata(body.metadata) | {name: one for name, one in notes.items() if one is not None}
        messages = [one | {"metadata": common | {KEY: _new_key()}} for one in said if one is not None]
        if not messages:
            return Added([])
        receipt = await memory.remember(
            messages, at=moment_of(body.timestamp), session=ids["run_id"], extract_entities=body.infer
        )
        self._access.done(len(messages), receipt.degraded, len(receipt.deferred))
        results = [
            {"id": str(MemoryId(owner.namespace, one["metadata"][KEY])), "memory": one["content"], "event": "ADD"}
            for one in messages
        ]
        return Added(results, messages, receipt)

    async def event(self, id_: str) -> dict[str, Any]:
        """How an add went, by its event_id: the id of its first memory."""
        if id_ == "none":
            return {"id": id_, "status": "SUCCEEDED", "results": []}
        version = (await self._versions(id_, "get_episode", "read"))[-1]
        added = {"id": id_, "memory": version.episode.content, "event": "ADD"}
        return {"id": id_, "status": "SUCCEEDED", "results": [added]}

    async def get(self, id_: str) -> dict[str, Any]:
        """A memory as it stands now."""
        return (await self._versions(id_, "get_episode", "read"))[-1].record()

    async def history(self, id_: str) -> list[dict[str, Any]]:
        """The versions of a memory, oldest first."""
        versions = await self._versions(id_, "history", "read")
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

    async def page(self, body: Listing, number: int, size: int) -> tuple[int, list[dict[str, Any]]]:
        """How many memories there are like that, and those of one page, the newest first.

        Raises:
            InvalidInput: For a filter that names no owner, and where more messages would have to be looked through than one request may.
        """
        first, last = page_bounds(number, size)
        count, records = 0, []
        async for record in self.listed(body):
            if first <= count < last:
                records.append(record)
            count += 1
        self._access.done(len(records))
        return count, records

    async def listed(self, body: Listing) -> AsyncIterator[dict[str, Any]]:
        """The memories that a filter admits, the newest first.

        Raises:
            InvalidInput: As `page`.
        """
        since, until = _moment(body.start_date), _moment(body.end_date)
        async for version in self._all(Filters(body.filters), show_expired=body.show_expired):
            if not ((since and version.episode.at < since) or (until and version.episode.at > until)):
                yield shown(version.record(), body.fields)

    async def search(self, body: Search) -> Found:
        """The memories that answer a question, best first, each in its newest version; none when nothing is relevant."""
        filters, wanted = Filters(body.filters), body.top_k
        if not 1 <= wanted <= limits.RECALL_LIMIT_MAX:
            passed = 1 if wanted < 1 else limits.RECALL_LIMIT_MAX
            raise InvalidInput(
                f"top_k is {wanted:,}, it must lie in 1..{limits.RECALL_LIMIT_MAX:,}", limit=passed, value=wanted
            )
        names = await self._namespaces(filters, "recall", "read")
        if len(names) > limits.RECALL_NAMESPACES_COUNT_MAX:
            raise InvalidInput(
                f"filters are about {len(names):,} owners, one search reads at most {limits.RECALL_NAMESPACES_COUNT_MAX}: name fewer",
                limit=limits.RECALL_NAMESPACES_COUNT_MAX,
                value=len(names),
            )
        receipts = [await self._recall(body, names, filters.where())] if names else []
        others = await self._others(filters, names, "read")
        for start in range(0, len(others), limits.RECALL_NAMESPACES_COUNT_MAX):
            part = others[start : start + limits.RECALL_NAMESPACES_COUNT_MAX]
            receipts.append(await self._recall(body, part, filters.where(elsewhere=True)))
        hits = [hit for receipt in receipts for hit in receipt.hits]
        if len(receipts) > 1:
            hits.sort(key=lambda hit: -hit.score)
        found = [one async for one in self._shown(hits, filters, body)]
        degraded = tuple(dict.fromkeys(one for receipt in receipts for one in receipt.degraded))
        self._access.done(len(found), degraded)
        reasons = [receipt.why_abstained for receipt in receipts if receipt.why_abstained]
        return Found(found, degraded, reasons[0] if reasons and not found else "")

    async def _recall(self, body: Search, names: list[str], where: dict[str, Any]) -> RecallReceipt:
        return await self._spaces.view(names[0]).recall(
            body.query,
            limit=min(limits.RECALL_LIMIT_MAX, _SEARCH_FACTOR * body.top_k + _SEARCH_MORE),
            min_score=body.threshold,
            include_superseded=not body.latest_only,
            explain=body.explain,
            where=where,
            namespaces=names,
        )

    async def update(self, id_: str, body: Correction) -> dict[str, Any]:
        """Correct a memory: the older version stays in its history, and holds no longer."""
        versions = await self._versions(id_, "correct", "write", "read")
        before = versions[-1]
        memory = self._spaces.view(before.owner.namespace)
        episode, metadata = before.episode, dict(before.episode.metadata)
        if body.metadata is not None:
            kept = {name: one for name, one in metadata.items() if name not in own_metadata(metadata)}
            metadata = checked_metadata(body.metadata) | kept
        metadata |= {KEY: before.key, CREATED: versions[0].record()["created_at"]}
        if body.expiration_date is not Unchanged.UNCHANGED:
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
        self._access.done(1, receipt.degraded)
        await replace_statements(memory, old, receipt)
        found = await memory.get(receipt.episode_ids[0])
        return Version(before.owner, found).record() if isinstance(found, Episode) else await self.get(id_)

    async def delete(self, id_: str, *, linked: bool = False) -> None:
        """Forget a memory with all its versions; with `linked` also the older ones that it replaced."""
        rights: tuple[Right, ...] = ("erase", "read") if linked else ("erase",)
        versions = await self._versions(id_, "forget", *rights)
        memory = self._spaces.view(versions[0].owner.namespace)
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
        given = {name: one for name, one in ids.items() if one is not None}
        filters = Filters(given)
        names = await self._namespaces(filters, "forget", "erase")
        # Operators may exclude one whom they name.
        is_whole = len(given) == 1 and all(isinstance(one, str) for one in given.values())
        deleted = 0
        for name in names:
            if is_whole:
                deleted += await self._spaces.view(name).forget(where=EVERY)
            else:
                deleted += await self._forget_admitted(name, filters)
        for name in await self._others(filters, names, "erase"):
            deleted += await self._forget_admitted(name, filters)
        return deleted

    async def _forget_admitted(self, namespace: str, filters: Filters) -> int:
        found = [one async for one in self._of(namespace, filters, show_expired=True)]
        for version in found:
            await self._forget(self._spaces.view(namespace), version)
        return len(found)

    async def owners(self) -> list[dict[str, Any]]:
        """Whose memories there are, as far as the caller may read them, by name."""
        self._access.doing("list_namespaces")
        found = []
        for info in await self._spaces.memory.namespaces():
            owner = Owner.of(info.name)
            if owner is not None and info.episodes and self._access.may("read", info.name):
                found.append({"id": info.name, "type": owner.kind, "name": owner.name, "total_memories": info.episodes})
        return found

    async def erase_owner(self, owner: Owner) -> None:
        """Erase an owner's namespace, as `erase_namespace` does; takes the rights to erase and to administer, like in REST.

        Raises:
            NotFound: When there is none.
        """
        memory = self._space(owner.namespace, "erase", "erase", "admin")
        if not any(info.name == owner.namespace for info in await memory.namespaces()):
            raise NotFound(f"no {owner.kind} {owner.name!r:.80}")
        await memory.erase_namespace()

    async def reset(self) -> tuple[int, int]:
        """Erase every owner's namespace that the caller may erase and administer; tells how many, and how many of owners stay."""
        self._access.doing("erase", f"{ROOT}{ANY}", "erase")
        erased = left = 0
        for info in await self._spaces.memory.namespaces():
            if Owner.of(info.name) is None:
                continue
            if self._access.may("erase", info.name) and self._access.may("admin", info.name):
                await self._spaces.view(info.name).erase_namespace()
                erased += 1
            else:
                left += 1
        return erased, left

    def _space(self, namespace: str, action: str, *rights: Right) -> Memory:
        """The memory of a namespace, for what takes these rights.

        Raises:
            Exception: What `Access.require` raises, without one of them, be the namespace there or not.
        """
        self._access.doing(action, namespace, rights[0])
        for right in rights:
            self._access.require(right, namespace)
        return self._spaces.view(namespace)

    async def _namespaces(self, filters: Filters, action: str, right: Right) -> list[str]:
        """The namespaces that a filter is about. One that is named must be allowed; "*" is every one that is."""
        names: dict[str, None] = {}
        for owner in filters.owners:
            if owner.name != ANY:
                self._space(owner.namespace, action, right)
                names[owner.namespace] = None
                continue
            self._access.doing(action, f"{ROOT}{owner.kind}/{ANY}", right)
            for info in await self._spaces.memory.namespaces():
                if info.name.startswith(f"{ROOT}{owner.kind}/") and self._access.may(right, info.name):
                    names[info.name] = None
        return list(names)

    async def _others(self, filters: Filters, names: list[str], right: Right) -> list[str]:
        """Further namespaces that may hold what a filter admits: those of owners who go before the ones that it names."""
        last = max(KINDS.index(owner.kind) for owner in filters.owners)
        if not self._is_flat or last == 0:
            return []
        found = []
        for info in await self._spaces.memory.namespaces():
            owner = Owner.of(info.name)
            if owner is not None and KINDS.index(owner.kind) < last and self._access.may(right, info.name):
                found.append(info.name)
        return [name for name in found if name not in names]

    async def _versions(self, id_: str, action: str, *rights: Right) -> list[Version]:
        """The versions of a memory, oldest first.

        Raises:
            Exception: What `Access.require` raises, when the caller may not do that in the namespace that the id names.
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
        names = await self._namespaces(filters, "list_episodes", "read")
        for name in [*names, *await self._others(filters, names, "read")]:
            async for version in self._of(name, filters, show_expired=show_expired):
                yield version

    async def _of(self, namespace: str, filters: Filters, *, show_expired: bool) -> AsyncIterator[Version]:
        """The memories of a namespace that a filter admits, each in its newest version, the newest first."""
        owner = Owner.of(namespace)
        if owner is None:
            return
        today, seen, looked = self._today(), set[str](), 0
        async for episode in messages_of(self._spaces.view(namespace), EVERY, order="newest"):
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

    async def _shown(self, hits: Iterable[Hit], filters: Filters, body: Search) -> AsyncIterator[dict[str, Any]]:
        today, seen = self._today(), set[str]()
        found = [(hit, Version(owner, hit.episode)) for hit in hits if (owner := Owner.of(hit.namespace)) is not None]
        admitted = [
            (hit, version)
            for hit, version in found
            if (body.show_expired or not version.is_expired(today)) and filters.admits(version.record())
        ]
        for start in range(0, len(admitted), body.top_k):
            part = admitted[start : start + body.top_k]
            newest = await self._newest(version for _, version in part)
            for hit, version in part:
                if version.id in seen or newest.get(version.id, hit.episode.id) != hit.episode.id:
                    continue
                seen.add(version.id)
                record = version.record() | {"score": hit.score, "state": hit.state.value}
                if body.explain:
                    record["score_details"] = dict(hit.legs)
                yield shown(record, body.fields and [*body.fields, "score"])
                if len(seen) == body.top_k:
                    return

    async def _newest(self, versions: Iterable[Version]) -> dict[str, str]:
        """By memory, the message that holds its newest version; a memory of one message without a key is not among them."""
        keys: dict[Owner, list[str]] = {}
        for version in versions:
            keys.setdefault(version.owner, []).append(version.key)
        found: dict[str, str] = {}
        for owner, wanted in keys.items():
            where = {"metadata": {KEY: {"in": wanted}}}
            async for episode in messages_of(self._spaces.view(owner.namespace), where, order="newest"):
                found.setdefault(Version(owner, episode).id, episode.id)
        return found

    def _today(self) -> date:
        return self._clock.now().date()


async def _statements(memory: Memory, version: Version) -> list[Entity]:
    """The statements that were read in a version."""
    where = {"metadata": {KEY: version.key}} if KEY in version.episode.metadata else None
    return [step.entity for step in await statements_in(memory, version.episode, where)]


def _moment(given: str | None) -> datetime | None:
    text = moment_of(given)
    return None if text is None else datetime.fromisoformat(text)


def _new_key() -> str:
    return umi.SystemEntropy().new_secret(_KEY_BYTES)

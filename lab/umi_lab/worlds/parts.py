"""Parts of a memory, in worlds: filters, several namespaces, and changes, compared with the acknowledged messages.

What a filter keeps is told by a plain function beside it, over the messages that were acknowledged; the product's own is not asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from functools import partial
from io import BytesIO
from typing import Any, Final, cast

from umi.memory import Memory
from umi.ports import Snapshot
from umi.types import Change, ChangeKind, EntityType, Message
from umi_lab.worlds.checks import Violation
from umi_lab.worlds.leaving import Left
from umi_lab.worlds.parts_story import PARTS
from umi_lab.worlds.steps import LABELLED, SPACES, Kind, Step

_PAGE: Final = 3  # statements per page, and changes per look of a follower that takes small pages
_ALL: Final = 1_000


class Parts:
    """Runs the steps of this module in one world and checks them."""

    def __init__(self, world: Left) -> None:
        self._world = world
        self._tried: set[int] = set()
        self._after = 0
        self._told: list[Change] = []

    # Filters.

    @property
    def actions(self) -> dict[Kind, Callable[[Step], Awaitable[str]]]:
        """What does each kind of step of this module."""
        return {
            Kind.PART: self.look,
            Kind.PART_COPY: self.copy,
            Kind.PART_FORGET: self.forget,
            Kind.PART_ERASE: self.erase,
            Kind.OVER: self.over,
            Kind.FOLLOW: self.follow,
        }

    async def look(self, step: Step) -> str:
        """List, recall and history within a filter."""
        memory, where = self._world.memory(step.space, step.number), PARTS[step.count].where(step.who)
        before = (await memory.stats()).sequence
        wanted = self._wanted(step)
        listed = await self._listed(memory, newest=step.number % 2 == 1, where=where)
        self._compare(step, "lists", listed, wanted)
        await self._recalled(step, memory, where, wanted)
        everything, within = (await memory.history(step.who), await memory.history(step.who, where=where))
        kinds = [EntityType.NOTE, EntityType.EVENT]
        typed, whole = await self._steps(memory, types=kinds), await self._steps(memory)
        if (await memory.stats()).sequence == before:  # work that waited may have been finished in between
            ids = [one.entity.id for one in everything if one.entity.episode_id in wanted]
            if [one.entity.id for one in within] != ids:
                raise Violation(f"{step.line()}: the history within {where} is {within}, and not {ids}")
            if [one.entity.id for one in typed] != [one.entity.id for one in whole if one.entity.entity_type in kinds]:
                raise Violation(f"{step.line()}: {kinds} are not all, or not alone, in {typed}")
        self._world.outcome.features["filter kept"] += 0 < len(wanted) < len(self._mine())
        return f"{len(wanted)} in {where}"

    async def copy(self, step: Step) -> str:
        """Export within a filter, and restore it elsewhere: exactly its messages are there."""
        memory, where = self._world.memory(step.space, step.number), PARTS[step.count].where(step.who)
        target = BytesIO()
        await memory.export(target, where=where)
        target.seek(0)
        async with Memory.open("dict:", namespace=LABELLED, embedder=None) as other:
            await other.restore(target)
            found = await other.stats()
            there = [await other.get(id_) for id_ in self._wanted(step)]
        if found.episodes != len(there) or None in there:
            raise Violation(f"{step.line()}: {found.episodes} messages came over, of {len(there)} in {where}")
        self._world.outcome.features["filter exported"] += bool(there)
        return f"{len(there)} came over"

    async def forget(self, step: Step) -> str:
        """Forget what is within a filter."""
        wanted, first = self._wanted(step), self._first(step)
        self._world.fading.update(wanted.values())
        memory = self._world.memory(step.space, step.number)
        count = await memory.forget(where=PARTS[step.count].where(step.who))
        # An earlier try may have been committed without our being told.
        if first and count != len(wanted):
            raise Violation(f"{step.line()} forgot {count} messages, and not {len(wanted)}")
        return await self._gone(step, wanted)

    async def erase(self, step: Step) -> str:
        """Erase what is within a filter."""
        wanted, first = self._wanted(step), self._first(step)
        self._world.fading.update(wanted.values())
        memory = self._world.memory(step.space, step.number)
        receipt = await memory.erase(where=PARTS[step.count].where(step.who))
        if not set(receipt.deleted) <= set(wanted) or (first and set(receipt.deleted) != set(wanted)):
            raise Violation(f"{step.line()} erased {receipt.deleted}, and not {sorted(wanted)}")
        self._world.erasures.keep_receipt(step.space, receipt)
        return await self._gone(step, wanted)

    async def _gone(self, step: Step, wanted: dict[str, int]) -> str:
        memory = self._world.memory(step.space, step.number)
        left = [id_ for id_ in wanted if await memory.get(id_) is not None]
        if left:
            raise Violation(f"{step.line()} left {left}")
        for number in wanted.values():
            self._world.erasures.take(number)
            self._world.oracle.forget(number)
        self._world.outcome.features["filter deleted"] += bool(wanted)
        return f"{len(wanted)} gone"

    # Several namespaces.

    async def over(self, step: Step) -> str:
        """Recall over this namespace and another one: what each would say alone, and nothing of a third."""
        asked = [step.space, step.slot]
        home = self._world.memory((*SPACES, LABELLED)[step.count], step.number)
        query = f"What did {step.who} say about the lantern?"
        more: dict[str, Any] = {"min_score": 0, "limit": _ALL, "include_superseded": True}
        before = [(await self._world.memory(one, step.number).stats()).sequence for one in asked]
        found = await home.recall(query, namespaces=asked, **more)
        alone = [await self._world.memory(one, step.number).recall(query, **more) for one in asked]
        after = [(await self._world.memory(one, step.number).stats()).sequence for one in asked]
        for hit in found.hits:
            if hit.namespace not in asked or not all(id_.startswith(f"{hit.namespace}-") for id_ in hit.message_ids):
                raise Violation(f"{step.line()}: {asked} was asked, and shown is {hit.message_ids} of {hit.namespace}")
        if before != after or found.degraded or any(one.degraded for one in alone):
            return "shown, and not compared"
        for name, one in zip(asked, alone, strict=True):
            mine = [hit.episode.id for hit in found.hits if hit.namespace == name]
            if mine != [hit.episode.id for hit in one.hits][: len(mine)] or (not mine and one.hits):
                raise Violation(f"{step.line()}: of {name} {mine} is shown, and alone {one.hits}")
        self._world.outcome.features["over two namespaces"] += len({hit.namespace for hit in found.hits}) > 1
        return f"{len(found.hits)} hits"

    # Changes.

    async def follow(self, step: Step) -> str:
        """Read on where the last look ended: `step.count` looks at small pages, or for 0 all that is new, by the public way."""
        memory = self._world.memory(step.space, step.number)
        if step.count:
            for _ in range(step.count):
                read = partial(_changes, after=self._after)
                self._add(step, await memory._open.storage.read(read))  # noqa: SLF001 - the page's size is nothing public
            return f"{len(self._told)} told"
        await self._read_all(step, memory)
        self._complete(step)
        return f"all {len(self._told)} told"

    async def check(self) -> str:
        """At the end: every acknowledged message was told once, and reading all anew tells the same."""
        if LABELLED not in self._world.plan.spaces:
            return "nothing"
        memory = self._world.memory(LABELLED)
        await self._read_all(None, memory)
        self._complete(None)
        anew = [one async for one in memory.changes()]
        if anew != self._told:
            raise Violation(f"followed were {self._told}, and told anew are {anew}")
        self._world.outcome.features["changes followed"] += bool(anew)
        return f"{len(anew)} changes"

    async def _read_all(self, step: Step | None, memory: Any) -> None:
        stream = cast("AsyncGenerator[Change]", memory.changes(self._after))
        self._add(step, [one async for one in stream])

    def _add(self, step: Step | None, found: Sequence[Change]) -> None:
        places = [one.sequence for one in found]
        if places != sorted(places) or (places and places[0] <= self._after):
            raise Violation(f"{_line(step)}: after {self._after} came {places}")
        self._told += found
        self._after = places[-1] if places else self._after

    def _complete(self, step: Step | None) -> None:
        """What was acknowledged was told: that it came, once; that it was read; that it is gone, once."""
        told = Counter((one.kind, one.id) for one in self._told)
        gone_too = self._world.erasures.of(LABELLED)
        for number in [*self._mine(), *gone_too]:
            receipt = self._world.receipts[number]
            id_ = receipt.episode_ids[0]
            gone = number in gone_too
            counts = {kind: told[kind, id_] for kind in ChangeKind}
            read = counts[ChangeKind.READ] > 0 or not receipt.entities
            if counts[ChangeKind.REMEMBERED] != 1 or counts[ChangeKind.DELETED] != int(gone) or not read:
                raise Violation(f"{_line(step)}: of #{number} {counts} were told{', and it is gone' if gone else ''}")

    # Helpers.

    def _mine(self) -> dict[int, Message]:
        return {n: message for n, (space, message) in self._world.messages.items() if space == LABELLED}

    def _wanted(self, step: Step) -> dict[str, int]:
        """The messages of a step's filter: numbers by the ids of episodes."""
        holds = PARTS[step.count].holds
        numbers = [n for n, message in self._mine().items() if holds(message, step.who)]
        return {self._world.receipts[n].episode_ids[0]: n for n in numbers}

    def _first(self, step: Step) -> bool:
        first = step.number not in self._tried
        self._tried.add(step.number)
        return first

    async def _steps(self, memory: Any, *, limit: int = _ALL, **more: Any) -> list[Any]:
        found: list[Any] = []
        after = None
        while True:
            page = await memory.list(limit=limit, after=after, **more)
            found += page.items
            after = page.next
            if after is None:
                return found

    async def _listed(self, memory: Any, *, newest: bool, where: dict[str, Any]) -> list[str]:
        order = "newest" if newest else "oldest"
        steps = await self._steps(memory, limit=_PAGE, order=order, where=where)
        ids = [one.entity.id for one in steps]
        if len(set(ids)) != len(ids):
            raise Violation(f"{where} lists {ids}, some twice")
        return list(dict.fromkeys(one.entity.episode_id for one in steps))

    def _compare(self, step: Step, what: str, found: Sequence[str], wanted: dict[str, int]) -> None:
        """Found is what was wanted; a message that waits to be read may be missing."""
        must = {id_ for id_, number in wanted.items() if self._world.receipts[number].entities}
        if not must <= set(found) <= set(wanted):
            missing, more = sorted(must - set(found)), sorted(set(found) - set(wanted))
            raise Violation(f"{step.line()} {what} not {missing}, and {more} beside them")

    async def _recalled(self, step: Step, memory: Any, where: dict[str, Any], wanted: dict[str, int]) -> None:
        numbers = list(wanted.values())
        text = self._world.messages[numbers[-1]][1].content if numbers else f"What did {step.who} say?"
        found = await memory.recall(text, where=where, min_score=0, limit=_ALL, include_superseded=True)
        ids = [hit.episode.id for hit in found.hits]
        if not set(ids) <= set(wanted):
            raise Violation(f"{step.line()}: {where} shows {sorted(set(ids) - set(wanted))} beside it")
        if numbers and self._world.receipts[numbers[-1]].episode_ids[0] not in ids:
            raise Violation(f"{step.line()}: {text!r} is within {where}, and not found by its own words")


def _changes(snapshot: Snapshot, after: int) -> Sequence[Change]:
    return snapshot.changes(after, _PAGE)


def _line(step: Step | None) -> str:
    return "at the end" if step is None else step.line()

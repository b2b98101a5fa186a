"""Messages that are read later: what is there while they wait, what happens meanwhile, and what is there once they are read."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from umi_lab.worlds.ledger.book import US, Look, Said, Statement
from umi_lab.worlds.ledger.carrying import Carrying
from umi_lab.worlds.ledger.expected import same

_REST: Final = timedelta(minutes=1)  # more than a model rests that has failed several times


class Waiting(Carrying):
    """Lets messages wait."""

    async def _end_background(self) -> None:
        """Let nothing be left to read, and whoever reads in the background come to an end, so that what is given next waits."""
        await self._opened.call("maintain")
        await self._opened.clock.sleep(1e-6)  # time goes on only when nobody has work left
        self.expire()
        await self.adopt_all()

    async def _while_waiting(
        self, found: Any, added: list[Said], sources: list[Statement], given: dict[str, Any]
    ) -> list[Said]:
        """Require that messages wait, and let something happen. Those that are left are given back."""
        ids = tuple(said.id for said in added)
        right = {"episode_ids": ids, "deferred": ids, "entities": (), "evolutions": (), "replayed": False}
        self.compared.record("the receipt", found, right)
        await self._require_waiting(added, sources, given)
        between = given["between"] or ""
        # What is kept as one note may need no model.
        if between and given["in_vain"] and given["extract"] and not self._expires_within(_REST):
            await self._read_in_vain(given["by"])
            await self._require_waiting(added, sources, given)
        if between and given["carried"] is not None:  # else whoever reads in the background may be at work
            await self._carry(added, sources, given)
        if "recall" in between:  # a filter by type that was asked while they waited knows them once they are read
            await self._found_by_type(added)
            await self._found_as_of(added)
        # Of what they rest on, through any number of conclusions, the last of a session goes with all that was concluded from it.
        sessions = [one.said.session for one in self._bases(sources) if one.said.session is not None]
        if between == "erase" and sessions:
            await self._erased({"session": sessions[-1], "derived": "erase"}, beside=added)
            added = [said for said in added if said in self.book.said]
        if "restart" in between and self._opened.plan.store != "dict":
            await self._opened.open()
        await self._require_waiting(added, sources, given)
        return added

    def _bases(self, sources: list[Statement]) -> list[Statement]:
        """What a conclusion of these rests on, the nearest first."""
        found = list(sources)
        for one in found:  # grows as it goes
            found += [each for each in self.book.sources(one) if each not in found]
        return found

    def _expires_within(self, time: timedelta) -> bool:
        """Whether anything expires by then, anywhere: whoever looks first would delete it."""
        ends = [*(said.expires_at for said in self.book.said), *(one.expires_at for one in self.beyond)]
        return any(end is not None and end <= self.now + time for end in ends)

    async def _read_in_vain(self, by: str) -> None:
        """What the model does not read goes on waiting; so long as it rests it is not asked again."""
        self._opened.model.down = True
        tried = await (self._opened.call("maintain") if by == "maintain" else self._opened.call("work", idle_s=0))
        self._opened.model.down = False
        right = {"completed": 0, "degraded": ("no_embedder", "model_failed")}
        self.compared.record("a reading in vain", tried, right)
        reasons = {item.episode_id: item.reason for item in await self._opened.memory.waiting()}
        # It begins with the oldest, and may end there.
        told = [reason.startswith("the model ") for reason in reasons.values()]
        same("which were tried", told, sorted(told, reverse=True))
        same("reasons of those that were tried", [bool(reason) for reason in reasons.values()], [True, *told[1:]])
        self._reasons = reasons
        await self._opened.clock.sleep(_REST.total_seconds())

    async def _found_by_type(self, added: list[Said]) -> None:
        """Of some messages those are found by type of which such a statement was read."""
        for types in (["event"], ["note", "task"], ["preference"]):
            found = await self._recalled_of(added, types=types)
            look = Look(now=self.now)
            right = [
                said.id
                for said in added
                if any(one.entity_type in types and self.book.shown(one, look) for one in self.book.of(said))
            ]
            same(f"messages found by type {types}", found, sorted(right))

    async def _found_as_of(self, added: list[Said]) -> None:
        """A message that waits is found from the moment at which it was said, whenever it was stored."""
        for border in sorted({said.at for said in added}):
            for at in (border - US, border, border + US):
                found = await self._recalled_of(added, as_of=at)
                same(f"messages that wait, as of {at}", found, sorted(said.id for said in added if said.at <= at))

    async def _recalled_of(self, added: list[Said], **arguments: Any) -> list[str]:
        """The ids of the messages among these that a recall finds."""
        ids = [said.id for said in added]
        asked = await self._opened.call("recall", "logged", limit=1_000, min_score=0.0, deep=False, **arguments)
        return sorted(hit.episode.id for hit in asked.hits if hit.episode.id in ids)

    async def _require_waiting(self, added: list[Said], sources: list[Statement], given: dict[str, Any]) -> None:
        self._waiting_are(await self._opened.call("waiting"), added, sources, given)
        if len(added) > 1:
            some = await self._opened.call("waiting", limit=len(added) - 1)
            same("the first of what waits", [item.episode_id for item in some], [said.id for said in added[:-1]])

    async def _read_waiting(self, added: list[Said], by: str) -> datetime:
        """Read what waits, by `work`, by a worker that goes on, or by `maintain`: when that was."""
        begun = self.now
        if by == "worker":
            await self._read_by_worker()
            return begun
        if by == "work":
            worked = await self._opened.call("work", idle_s=0)
        else:
            worked = await self._opened.call("maintain")
            # What the background has read is counted there.
            same("degraded of maintain", worked.degraded in ((), ("no_embedder",)), True)  # noqa: FBT003
        # Some may have been read in the background, which an earlier deferral starts.
        right = range(len(added) + 1) if self._deferred_before else [len(added)]
        same(f"texts read by {by}, of {len(added)}", worked.completed in right, True)  # noqa: FBT003
        self.compared.record(by, worked, {"waiting": (), "waiting_count": 0, "unclean": False})
        return begun

    async def _read_by_worker(self) -> None:
        """A worker that waits for more reads all that waits, says how far it is, and ends when it is told to."""
        told: list[tuple[int, int]] = []
        work = self._opened.call("work", progress=lambda done, left: told.append((done, left)))
        worker = asyncio.ensure_future(work)
        await self._opened.clock.sleep(1e-6)  # time goes on only when nobody has work left
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker
        same("what waits beside a worker", list(await self._opened.memory.waiting()), [])
        same("the progress of a worker", [done for done, _ in told], list(range(1, len(told) + 1)))
        same("what its progress says is left", [left for _, left in told], list(range(len(told)))[::-1])
        self.expire()

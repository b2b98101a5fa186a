"""What a small world asks as somebody who looks memory through: what waits for a decision, and what happened by day."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, timedelta
from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.book import SUPERSEDED, Link
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.opened import OpenedMemory, part_of

_DAYS: Final = 3_660  # the most that may be asked for


class Reviews:
    """Asks the memory of one world for its overviews."""

    def __init__(self, opened: OpenedMemory, journal: Journal) -> None:
        self._opened = opened
        self._book = journal.book
        self._compared = journal.compared

    async def undecided(self, rng: DeterministicRng) -> None:
        """Pages of any size give each open change once, the newest first; what later ones have settled is left out."""
        right = {link.id: link for link in self._book.links if self._waits(link)}
        found = await self._opened.paged("undecided", part_of(len(right), rng), len(self._book.links) + 1)
        same("what waits for a decision", sorted(one.relation.id for one in found), sorted(right))
        # Ids of relations are in order of time to the millisecond.
        times = [
            one.relation.created_at.replace(microsecond=one.relation.created_at.microsecond // 1_000 * 1_000)
            for one in found
        ]
        same("order of what waits", times, sorted(times, reverse=True))
        if found:
            rest = await self._opened.call("undecided", limit=100, after=found[0].relation.id)
            same(
                "what waits after the first",
                [one.relation.id for one in rest.items],
                [one.relation.id for one in found[1:]],
            )
        for one in found:
            link = right[one.relation.id]
            self._compared.link(one.relation, link)
            self._compared.entity(one.older, link.old)
            self._compared.entity(one.newer, link.new)
            states = {"older_state": self._book.state(link.old), "newer_state": self._book.state(link.new)}
            self._compared.record("what waits", one, states)
            self._opened.tally.saw("Undecided", {"relation": 0, "older": 0, "newer": 0})
        self._opened.tally.saw("UndecidedPage", {"items": 0, "next": 0})

    def _waits(self, link: Link) -> bool:
        is_open = link.type == "contradict" or (link.type == "update" and not link.acted)
        if not is_open or link.undone_at is not None or link.resolved is not None:
            return False
        return SUPERSEDED not in (self._book.state(link.old), self._book.state(link.new))

    async def activity(self, rng: DeterministicRng) -> None:
        """Each day counts what was remembered, noticed, settled and taken back on it, and nothing of other days."""
        until = rng.choice((None, self._opened.clock.now() - timedelta(days=1)))
        days = rng.choice((1, _DAYS))
        found = await self._opened.call("activity", days=days, until=until)
        last = (until or self._opened.clock.now()).astimezone(UTC).date()
        first = max(last - timedelta(days=days - 1), date(1970, 1, 1))
        self._compared.record("activity", found, {"first": first, "last": last})
        right: dict[date, Counter[str]] = {}
        for moment, what in self._events():
            day = moment.astimezone(UTC).date()
            if first <= day <= last:
                right.setdefault(day, Counter())[what] += 1
        same("days on which something happened", [one.day for one in found.days], sorted(right))
        for one in found.days:
            counts = right[one.day]
            others = {what: counts.pop(what, 0) for what in ("remembered", "waiting", "settled", "undone")}
            self._compared.record(f"the day {one.day}", one, {**others, "evolutions": dict(counts), "day": one.day})
        self._opened.tally.saw("Activity", {"days": 0})

    def _events(self) -> list[tuple[Any, str]]:
        found = [(said.recorded_at, "remembered") for said in self._book.said]
        for link in self._book.links:
            found.append((link.created_at, link.type))
            found += [(at, what) for at, what in ((link.resolved_at, "settled"), (link.undone_at, "undone")) if at]
        return found

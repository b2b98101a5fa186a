"""What a small world asks of the changes in a context: exactly those of late whose both sides a filter admits, newest first."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from umi import limits
from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.book import CURRENT, DISPUTED, Link, Look, Statement
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.filters import passes
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.opened import OpenedMemory
from umi_lab.worlds.ledger.packing import Piece

_ENOUGH: Final = 100_000  # tokens, in which every change finds room
_FIELDS: Final = ("session", "role", "origin", "speaker")  # by which the sides of a change may be told apart


class Lately:
    """Compares the changes that contexts show with the book."""

    def __init__(self, opened: OpenedMemory, journal: Journal) -> None:
        self._opened = opened
        self._book = journal.book
        self._compared = journal.compared

    async def changes(self, rng: DeterministicRng) -> None:
        """A context of changes alone shows all of them, each with what was thought before and what is said instead."""
        where = self._where(rng)
        right = self.right(where)
        found = await self._opened.call("context", max_tokens=_ENOUGH, profile=False, changes=True, where=where)
        told = sorted(right, key=lambda link: (link.new.said.at, link.new.said.arrival, link.new.id, link.old.id))
        what = f"changes of late where {where}"
        same(what, [item.id for item in found.items], [link.new.id for link in told])
        same(f"what was left out of {what}", (found.left_out, found.left_out_count), ((), 0))
        for item, link in zip(found.items, told, strict=True):
            self._line(item, link)

    def _line(self, item: Any, link: Link) -> None:
        """The line of a change has its date, its subject, both sides and the id of the newer message."""
        right = self.piece(link)
        fields = {name: getattr(right, name) for name in ("line", "section", "id", "episode_id", "at", "state")}
        self._compared.record("the line of a change", item, fields | {"shortened": False})

    def piece(self, link: Link) -> Piece:
        """A change as a line of a context."""
        new, said = link.new, link.new.said
        about = f"{new.name}, {new.metadata['attribute']}" if new.slot else new.name
        state = self._state(new)
        marked = "" if state == CURRENT else f"[{state}] "
        how = " (corrected)" if link.nature == "corrected" else ""
        line = f'- {said.at:%Y-%m-%d} {marked}{about}: "{_value(link.old)}" -> "{_now(link)}"{how} [{said.id}]'
        order = (said.at, said.arrival, new.id, link.old.id)
        return Piece("changes", line, new.id, said.id, said.at, state, order)

    def right(self, where: dict[str, Any] | None) -> list[Link]:
        """The changes of late: of statements that hold and were said within 30 days of the newest, newest first, 10 at most."""
        admitted = [one for one in self._book.arrived() if passes(where or {}, one.said)]
        looked_at = admitted[-limits.CONTEXT_CHANGES_LOOKED_AT_COUNT :]
        if not looked_at:
            return []
        since = max(one.said.at for one in looked_at) - timedelta(days=limits.CONTEXT_CHANGES_DAYS_MAX)
        found: dict[tuple[str, str], Link] = {}
        for new in sorted(looked_at, key=lambda one: one.order, reverse=True):
            if new.said.at < since or not self._holds(new):
                continue
            links = [link for link in self._book.links_of(new) if _changed(link, new) and link.old in admitted]
            for link in reversed(links):
                found.setdefault((new.id, _value(link.old)), link)
        return list(found.values())[: limits.CONTEXT_CHANGES_COUNT_MAX]

    def _where(self, rng: DeterministicRng) -> dict[str, Any] | None:
        """None, or a filter that admits one side of a change; mostly not the other."""
        links = [link for link in self._book.links if _changed(link, link.new)]
        if not links or rng.chance(0.3):
            return None
        link = rng.choice(links)
        said, other = (link.new.said, link.old.said) if rng.chance(0.8) else (link.old.said, link.new.said)
        names = [name for name in _FIELDS if getattr(said, name) is not None]
        apart = [name for name in names if getattr(said, name) != getattr(other, name)]
        name = rng.choice(apart or names)
        return {name: getattr(said, name)}

    def _state(self, one: Statement) -> str:
        return self._book.state(one, Look(now=self._opened.clock.now()))

    def _holds(self, one: Statement) -> bool:
        look = Look(now=self._opened.clock.now())
        return self._book.shown(one, look) and self._state(one) in (CURRENT, DISPUTED)


def _changed(link: Link, new: Statement) -> bool:
    """Whether a relation says that a statement has changed an older one, and acts."""
    return link.type == "update" and link.acted and link.alive(None) and link.new is new and link.old is not new


def _value(one: Statement) -> str:
    return one.value if one.slot else one.content


def _now(link: Link) -> str:
    new = link.new
    return new.value if new.slot and new.slot == link.old.slot else new.content

"""What a small world asks of contexts: their room, their lines, and what they leave out."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.book import Look
from umi_lab.worlds.ledger.expected import same, tokens_of
from umi_lab.worlds.ledger.filters import passes
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.lately import Lately
from umi_lab.worlds.ledger.model import ITEM
from umi_lab.worlds.ledger.opened import OpenedMemory
from umi_lab.worlds.ledger.plan import NAMES

_ORDER: Final = ("profile", "changes", "answers")  # of the sections
_WHERES: Final = (None, {"session": "dawn"}, {"origin": "user"}, {"role": {"in": ["tool", "document"]}})


class Contexts:
    """Compares contexts with the book."""

    def __init__(self, opened: OpenedMemory, journal: Journal) -> None:
        self._opened = opened
        self._journal = journal
        self._book = journal.book
        self._lately = Lately(opened, journal)

    async def changes(self, rng: DeterministicRng) -> None:
        """What has changed of late, and nothing else."""
        await self._lately.changes(rng)

    async def some(self, rng: DeterministicRng) -> None:
        """A context keeps to its room by the counter that it was given, tells what holds, and says what it left out."""
        room, where = rng.choice((1, 40, 90, 400)), rng.choice(_WHERES)
        about, query = rng.choice((None, *NAMES)), rng.choice(("item", "logged", None))
        counter = rng.choice((None, _words))
        parts = {"profile": rng.chance(0.5), "changes": rng.chance(0.5)}
        found = await self._opened.call(
            "context", query, about=about, where=where, counter=counter, max_tokens=room, **parts
        )
        tokens = tokens_of(found.text) if counter is None else counter(found.text)
        self._journal.compared.record(
            "the context", found, {"tokens": tokens, "degraded": ("no_embedder",) if query else ()}
        )
        same("a context within its room", found.tokens <= room, True)  # noqa: FBT003
        whose = (about or self._first_speaker(where)) if parts["profile"] else ""
        self._journal.compared.record("the context", found, {"about": whose})
        same("whether the context has a text", bool(found.text), bool(found.items))
        self._recalled(found, query)
        sections = [_ORDER.index(item.section) for item in found.items]
        same("the sections in order", sections, sorted(sections))
        for item in found.items:
            self._item(item, found, where)
        kept = " ".join(said.content for said in self._book.said if passes(where or {}, said))
        told = {match[0] for match in ITEM.finditer(found.text)}
        same("words from outside the filter", sorted(told.difference(ITEM.findall(kept))), [])
        same("what was left out, counted", found.left_out_count >= len(found.left_out), True)  # noqa: FBT003
        for one in found.left_out:
            self._left(one)
        names = ("text", "items", "left_out", "left_out_count")
        self._opened.tally.saw("Context", dict.fromkeys(names))

    def _first_speaker(self, where: Any) -> str:
        """Who is the first to speak as "user" in what the filter admits; "" for nobody. Whoever sets a fact does not speak."""
        spoken = [one.said for one in self._book.arrived() if not one.slot and passes(where or {}, one.said)]
        return next((said.speaker or said.role for said in spoken if said.role == "user"), "")

    def _recalled(self, found: Any, query: str | None) -> None:
        if query is None:
            self._journal.compared.record(
                "the context", found, {"recall": None, "abstained": False, "why_abstained": ""}
            )
            return
        same("the question of a context", found.recall.query, query)
        told = {"abstained": found.recall.abstained, "why_abstained": found.recall.why_abstained}
        self._journal.compared.record("the context", found, told)
        self._opened.tally.saw("Context", {"recall": 0})

    def _item(self, item: Any, found: Any, where: Any) -> None:
        """A line tells what holds, of a message that the filter admits, by the words of its statement."""
        same("a line is in the text", item.line in found.text, True)  # noqa: FBT003
        one = next((one for one in self._book.statements if one.id == item.id), None)
        same(f"a statement of the line {item.line!r}", one is not None, True)  # noqa: FBT003
        if one is None:
            return
        same("the filter admits the line's message", passes(where or {}, one.said), True)  # noqa: FBT003
        look = Look(now=self._opened.clock.now())
        fields = {"episode_id": one.said.id, "state": self._book.state(one, look)}
        self._journal.compared.record(f"the line {item.line!r}", item, fields)
        same("the words of a line", item.shortened or (one.value or one.content) in item.line, True)  # noqa: FBT003
        same("the date of a line", f"{item.at:%Y-%m-%d}" in item.line, True)  # noqa: FBT003
        self._opened.tally.saw("ContextItem", dict.fromkeys(("section", "line", "id", "at", "shortened")))

    def _left(self, one: Any) -> None:
        """What was left out is there, and over where that is the reason."""
        left = next((each for each in self._book.statements if each.id == one.id), None)
        same("what was left out is there", left is not None, True)  # noqa: FBT003
        if left is None:
            return
        look = Look(now=self._opened.clock.now())
        self._journal.compared.record("what was left out", one, {"episode_id": left.said.id})
        if one.reason == "outdated":
            same("what is outdated", self._book.state(left, look) in ("superseded", "stale"), True)  # noqa: FBT003
        same("the section of what was left out", one.section in _ORDER, True)  # noqa: FBT003
        self._opened.tally.saw("LeftOut", dict.fromkeys(("section", "reason", "id", "at")))


def _words(text: str) -> int:
    """A counter of tokens as a caller may have one: the words."""
    return len(text.split())

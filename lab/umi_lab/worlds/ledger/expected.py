"""Rows of the oracle as the product must show them, field by field, and the comparison that counts what it has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from umi_lab.worlds.ledger.book import EVER, Book, Link, Look, Said, Statement
from umi_lab.worlds.ledger.confirmed import Tally


class Wrong(AssertionError):  # noqa: N818 - a finding about an answer
    """The product's answer beside the right one."""


def same(what: str, found: object, right: object) -> None:
    """Require two plain values to be equal.

    Raises:
        Wrong: When they are not.
    """
    if found != right:
        raise Wrong(f"{what} is {found!r}, and must be {right!r}")


def learn(link: Link, row: Any) -> None:
    """Take over what the oracle cannot know of a new relation: its id, and words that are the rules' own."""
    link.id = link.id or row.id
    if link.reason == "?":
        link.reason, link.confidence = row.reason, row.confidence


def tokens_of(text: str) -> int:
    """Tokens as they are counted without a counter: four bytes each (docs/reference.md)."""
    return -(-len(text.encode()) // 4)


class Compared:
    """Compares records of the product with rows of a book."""

    def __init__(self, book: Book, tally: Tally) -> None:
        self._book = book
        self._tally = tally

    def record(self, what: str, found: Any, right: Mapping[str, Any]) -> None:
        """Require these fields of a record."""
        for name, value in right.items():
            same(f"{name} of {what}", getattr(found, name), value)
        self._tally.saw(type(found).__name__, right)

    def episode(self, found: Any, said: Said) -> None:
        """Require a message, word for word."""
        self.record(f"message {said.key}", found, _episode(said))
        same(f"the zone of message {said.key}", found.at.utcoffset(), said.at.utcoffset())

    def entity(self, found: Any, one: Statement, look: Look = EVER) -> None:
        """Require a statement with its times, as known at the moment of the look."""
        book = self._book
        over, known = book.validity(one, look.known_at)
        told = book.strongest(one, look.known_at)
        right = {
            "id": one.id,
            "entity_type": one.entity_type,
            "name": one.name,
            "content": one.content,
            "subject": one.subject,
            "slot": one.slot,
            "value": one.value,
            "negated": False,
            "confidence": one.confidence,
            "episode_id": one.said.id,
            "span": one.span,
            "at": one.said.at,
            "arrival": one.said.arrival,
            "valid_from": book.begins(one, look.known_at),
            "valid_to": over,
            "recorded_at": one.said.recorded_at,
            "invalidated_at": known,
            "metadata": one.metadata | ({"evolution": told} if told else {}),
            "also": one.also,
            "mode": one.mode,
            "said_by": "",
            "valid_until": one.valid_until,
            "notes": None,
        }
        self.record(f"statement {one.content!r}", found, right)

    def links(self, what: str, found: Sequence[Any], right: Sequence[Link], known_at: datetime | None = None) -> None:
        """Require relations in an order, as known at a moment; the id of a new one is learnt."""
        same(f"number of relations of {what}", len(found), len(right))
        for row, link in zip(found, right, strict=True):
            self.link(row, link, known_at)

    def link(self, found: Any, link: Link, known_at: datetime | None = None) -> None:
        """Require a relation, as known at a moment. What the oracle cannot know of a new one is learnt."""
        learn(link, found)
        right = {
            "id": link.id,
            "source_id": link.old.id,
            "target_id": link.new.id,
            "evolution_type": link.type,
            "reason": link.reason,
            "confidence": link.confidence,
            "created_at": link.created_at,
            "detector": link.detector,
            "acted": link.acts(known_at),
            "resolved": link.kept(known_at),
            "resolved_at": link.resolved_at if link.resolved == link.kept(known_at) else None,
            "undone_at": link.undone_at if known_at is None else None,
            "nature": link.nature,
            "part": None,
        }
        self.record(f"relation {link.type} {link.old.content!r} -> {link.new.content!r}", found, right)

    def step(self, found: Any, one: Statement) -> None:
        """Require a step of a history: the statement, its state and all relations."""
        self.entity(found.entity, one)
        self.record(f"{one.content!r}", found, {"state": self._book.state(one), "reason": one.reason})
        self.links(f"{one.content!r}", found.evolutions, self._book.all_links_of(one))
        self._tally.saw("HistoryStep", {"entity": 0, "evolutions": 0})

    def steps(self, what: str, found: Sequence[Any], right: Sequence[Statement]) -> None:
        """Require steps in an order."""
        same(f"{what}", [step.entity.id for step in found], [one.id for one in right])
        for step, one in zip(found, right, strict=True):
            self.step(step, one)


def _episode(said: Said) -> dict[str, Any]:
    return {
        "id": said.id,
        "content": said.content,
        "role": said.role,
        "speaker": said.speaker,
        "session": said.session,
        "at": said.at,
        "recorded_at": said.recorded_at,
        "arrival": said.arrival,
        "message_id": said.message_id,
        "metadata": said.metadata,
        "origin": said.origin,
        "expires_at": said.expires_at,
    }

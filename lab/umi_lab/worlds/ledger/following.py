"""The oracle of `changes`: whoever follows a namespace is told of everything that writes did since, once, in order, and of nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from umi_lab.worlds.ledger.book import Book, Link
from umi_lab.worlds.ledger.expected import same

_KINDS: Final = ("remembered", "read", "related", "reworded", "deleted")
_Row = tuple[str | None, bool, bool, str]


@dataclass(slots=True)
class Followed:
    """One namespace as somebody has followed it: all that they were told, up to which sequence, and what was there then."""

    log: list[Any] = field(default_factory=list)
    sequence: int = 0
    messages: dict[str, str] = field(default_factory=dict)  # words by id, in order of arrival
    relations: dict[str, _Row] = field(default_factory=dict)

    def begin_anew(self) -> None:
        """The namespace was dropped: its changes are gone, and the sequence goes on."""
        self.log.clear()
        self.messages.clear()
        self.relations.clear()

    def messages_are(self, found: Sequence[Any], here: dict[str, str], sequence: int) -> None:
        """Require what was told of messages since: each that came in and each that went, once, in order.

        Args:
            found: The changes after the sequence that was kept.
            here: The messages that are there, with their words, in order of arrival.
            sequence: That of the last write.
        """
        numbers = [one.sequence for one in found]
        same(
            "changes in order, after what was kept",
            numbers,
            sorted(n for n in numbers if self.sequence < n <= sequence),
        )
        same("changes of no known kind", [one for one in found if one.kind not in _KINDS], [])
        twice = [one for one, count in Counter((one.sequence, one.kind, one.id) for one in found).items() if count > 1]
        same("changes that one write tells twice", twice, [])
        came, gone = ([one.id for one in found if one.kind == kind] for kind in ("remembered", "deleted"))
        new = [id_ for id_ in here if id_ not in self.messages]
        same("messages that came in", [id_ for id_ in came if id_ in here], new)
        passed = [id_ for id_ in came if id_ not in here]  # came in, and went again before anybody looked
        lost = [id_ for id_ in self.messages if id_ not in here]
        same("messages that went", sorted(gone), sorted([*lost, *passed]))
        for id_ in passed:
            places = [one.kind for one in found if one.id == id_]
            same(f"the first and the last of {id_}", (places[0], places[-1]), ("remembered", "deleted"))
        self.log += found
        self.sequence = sequence

    def contents_are(self, found: Sequence[Any], book: Book, *, again: bool) -> None:
        """Require what was told of statements, words and relations since.

        Args:
            found: As for `messages_are`, which is asked afterwards.
            book: What is there.
            again: Whether messages were read again.
        """
        told = {kind: Counter(one.id for one in found if one.kind == kind) for kind in _KINDS}
        words = {said.id: said.content for said in book.said}
        reworded = {id_ for id_, before in self.messages.items() if words.get(id_, before) != before}
        same("messages that lost words", {id_ for id_ in told["reworded"] if id_ in words}, reworded)
        new = {said.id for said in book.said if said.id not in self.messages and book.of(said)}
        if not again:
            same("messages that were read", {id_ for id_ in told["read"] if id_ in words}, new | reworded)
            same("messages that were read twice", {id_ for id_ in new - reworded if told["read"][id_] != 1}, set())
        rows = {link.id: _row(link) for link in book.links}
        changed = {id_ for id_, row in rows.items() if self.relations.get(id_) != row}
        related = {id_ for id_ in told["related"] if id_ in rows}
        same("relations that changed", changed if again and related > changed else related, changed)
        self.relations = rows


def _row(link: Link) -> _Row:
    return link.resolved, link.acted, link.undone_at is not None, link.reason

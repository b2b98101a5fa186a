"""The step in which the model reads every message again: what it judged is judged anew, and what callers recorded stays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from umi_lab.worlds.ledger.book import Book, Link, Said, Statement
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.model import SENTENCE
from umi_lab.worlds.ledger.plan import Step
from umi_lab.worlds.ledger.rules import BY_RULES
from umi_lab.worlds.ledger.words import Words

_JUDGED: Final = ("model", *BY_RULES)  # a new reading takes the place of what these have recorded


class Rereading(Words):
    """Reads messages again."""

    async def _reread(self, step: Step) -> None:
        """The model finds the same statements in each message, or those of one that was kept unread, and judges them as they stand now."""
        # A fact that a caller set is not the model's to read.
        read = [said for said in self.book.said if not any(one.slot for one in self.book.of(said))]
        if not all(_is_plainly_read(self.book, said) or _is_unread(self.book, said) for said in read):
            return  # in words of another kind it may find something else: not told here
        told: list[tuple[int, int]] = []
        self._opened.count("reread", {"progress": None})
        self._read_again = True
        found = await self._opened.call("reread", progress=lambda done, left: told.append((done, left)))
        changes = [link for link in self._read_anew(read) if link.acted]
        await self._learn(read)
        same("changes of reread", sorted(one.id for one in found.changes), sorted(link.id for link in changes))
        right: dict[str, Any] = {"changes_count": len(changes), "waiting": (), "waiting_count": 0}
        self.compared.record("reread", found, {**right, "completed": len(read), "degraded": ()})
        self._opened.tally.saw("RereadReceipt", {"changes": 0})
        same("the progress of reread", told, [(done, len(read) - done) for done in range(1, len(read) + 1)])
        again = await self._opened.memory.reread()
        same("texts that were read a third time", again.completed, len(read))
        self._made[step.number] = self._read_anew(read)

    def _read_anew(self, read: Iterable[Said]) -> list[Link]:
        """Read each message, the oldest first, and put the verdicts of now in place of those of before.

        Returns:
            The relations that were made.
        """
        recorder = self.recorder()
        for said in sorted(read, key=lambda one: one.arrival):
            before = [link for link in self.book.links if _is_open(link) and link.new.said is said]
            self.book.links = [link for link in self.book.links if link not in before]
            if _is_unread(self.book, said):
                self._read_first(said)
            self._judged(recorder, self.book.of(said))
            joined = [link.old for link in before if link.detector == "relink"]
            for link in [link for link in self.book.links if link.undone_at is not None and link.old in joined]:
                self.recorder().rejoin(link)  # it stood before, and is no change
            self._keep_known(before)
        return recorder.made

    def _keep_known(self, before: list[Link]) -> None:
        """What is told as before has been known since then, by the same id."""
        for link in [link for link in self.book.links if not link.id]:
            same_one = next((one for one in before if self._is_as_before(link, one)), None)
            if same_one is not None:
                link.id, link.created_at = same_one.id, same_one.created_at
                before.remove(same_one)

    def _is_as_before(self, link: Link, one: Link) -> bool:
        # A note that a message was kept as is gone: all of its statements stand for it.
        ends = link.old is one.old and (link.new is one.new or one.new not in self.book.of(link.new.said))
        does = (link.type, link.acted, link.nature) == (one.type, one.acted, one.nature)
        return ends and link.new.said is one.new.said and does

    def _read_first(self, said: Said) -> None:
        """What was recorded and learned of the note that a message was kept as is now of the longest of its statements.

        What was concluded from it, or what it was concluded from, concerns all of them.
        """
        (note,) = self.book.of(said)
        self.book.statements.remove(note)
        new = self._read(said, extract=True)
        heir = max(new, key=lambda one: one.span[1] - one.span[0])
        self.learned.inherit(note, heir)
        for link in [link for link in self.book.links if note in (link.old, link.new)]:
            if link.type == "derive" and link.undone_at is None:
                self.book.links += [_between(replace(link, id=""), note, one) for one in new if one is not heir]
            _between(link, note, heir)


def _between(link: Link, note: Statement, heir: Statement) -> Link:
    """A relation with another statement in the place of the note."""
    link.old, link.new = (heir if one is note else one for one in (link.old, link.new))
    return link


def _is_open(link: Link) -> bool:
    """Whether a relation is a judge's alone, about which nobody has decided."""
    return link.detector in _JUDGED and link.resolved is None and link.undone_at is None


def _is_plainly_read(book: Book, said: Said) -> bool:
    """Whether a message has the statements that the model reads in it."""
    read = [match[0] for match in SENTENCE.finditer(said.content)]
    mine = book.of(said)
    return [one.content for one in mine] == read and all(one.subject for one in mine)


def _is_unread(book: Book, said: Said) -> bool:
    """Whether a message with statements is kept as one note."""
    mine = book.of(said)
    return len(mine) == 1 and not mine[0].subject and bool(SENTENCE.search(said.content))

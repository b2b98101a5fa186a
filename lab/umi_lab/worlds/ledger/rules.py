"""What each step must do to the rows: the second half of the oracle. Nothing here asks the product.

`Recorder` changes a `Book` as the documents say, and gives the relations that the step must have made. An id of a new relation is
not known beforehand: it stays "" until the product has told it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from umi_lab.worlds.ledger.book import Book, Link, Said, Statement
from umi_lab.worlds.ledger.model import SENTENCE, certainty

UNREAL: Final = ("wished", "hypothetical")  # what is so said makes nothing else untrue
BY_RULES: Final = ("rules", "relink")  # what so decided is decided again where a statement between was deleted
_KEPT_FROM: Final = 0.3  # as sure a verdict must be to be recorded
FORGOTTEN_REASON: Final = "its reason spoke of what was forgotten"


class Refused(Exception):  # noqa: N818 - the oracle's word for what the product must refuse
    """The product must raise the error of this name."""


class Recorder:
    """Changes a book at one moment.

    Args:
        book: The rows.
        now: The moment of recording.
        act_from: `Config.act_from`.
    """

    def __init__(self, book: Book, now: datetime, act_from: float) -> None:
        self._book = book
        self._now = now
        self._act_from = act_from
        self.made: list[Link] = []

    def record(self, link: Link) -> Link:
        """Record a relation, or give the same one that is there already."""
        if link.old is link.new:
            raise Refused("EvolutionError")
        if link.detector != "caller" and not may_change(link.old, link.new):
            link.acted = False
        for one in self._book.links_of(link.old):
            if (one.old, one.new, one.type) == (link.old, link.new, link.type):
                return one
        decided = next((one for one in self._book.all_links_of(link.old) if _is_decided(one, link)), None)
        if decided is not None:
            return decided
        if link.type == "derive" and self._book.rests_on(link.old, link.new):
            raise Refused("RelationCycle")
        if link.type == "update" and link.old.order > link.new.order:
            raise Refused("EvolutionError")
        self._book.links.append(link)
        self.made.append(link)
        return link

    def relate(self, old: Statement, new: Statement, kind: str, reason: str) -> Link:
        """As `Memory.relate`."""
        return self.record(Link("", old, new, kind, reason, 1.0, self._now, acted=kind == "update"))

    def resolve(self, link: Link, keep: str) -> Link:
        """As `Memory.resolve`."""
        flagged = link.type == "update" and not link.acted
        if link.undone_at is not None or link.resolved is not None or not (link.type == "contradict" or flagged):
            raise Refused("EvolutionError")
        link.resolved, link.resolved_at = keep, self._now
        link.acted = link.acted or (flagged and keep == "new")
        return link

    def undo(self, link: Link) -> Link:
        """As `Memory.undo`: of a fact that was set, all that it closed holds again, and it never held."""
        self._undo(link)
        if not _sets(link) or not is_set(link.new):
            return link
        for other in self._book.links_of(link.new):
            if other.new is link.new and _sets(other):
                self._undo(other)
        refused = self.record(Link("", link.old, link.new, "contradict", "taken back", 1.0, self._now))
        if refused.resolved is None:
            self.resolve(refused, "old")
        return link

    def _undo(self, link: Link) -> None:
        if link.undone_at is not None:
            raise Refused("EvolutionError")
        link.undone_at = self._now
        self.rejoin(link)

    def rejoin(self, link: Link) -> None:
        """What an undone update had closed is closed by what came after."""
        if not (link.type == "update" and link.acted):
            return
        after = [end for end in self._book.ends(link.new) if end.link.type == "update"]
        left = self._book.ends(link.old)
        if not after or (left and left[0].at <= after[0].at):
            return
        heir = after[0].link
        reason = f"joined when the step between was undone: {heir.reason}"[:200]
        self._join(link.old, heir.new, reason, min(link.confidence, heir.confidence), link.nature)

    def _join(self, old: Statement, new: Statement, reason: str, sure: float, nature: str = "") -> None:
        # It stands for steps that acted, so it acts, whatever confidence others need.
        self.record(Link("", old, new, "update", reason, sure, self._now, "relink", acted=True, nature=nature))

    def set_fact(self, new: Statement) -> None:
        """Put a fact that was just set in its place among the values of its attribute."""
        slot = (new.subject, new.slot)
        others = [one for one in self._book.statements if (one.subject, one.slot) == slot and one is not new]
        others.sort(key=lambda one: one.order)
        for one in [one for one in others if self.holds(one, new.said.at)]:
            said = new.reason or _told(one, new)
            self.record(Link("", one, new, "update", said, 1.0, self._now, acted=True, nature="changed"))
        later = [one for one in others if one.said.at > new.said.at]
        later = [one for one in later if not any(end.never_held for end in self._book.ends(one))]
        if later:
            self._join(new, later[0], _told(new, later[0]), 1.0, "changed")

    def holds(self, one: Statement, at: datetime) -> bool:
        """Whether a set fact holds at a moment."""
        over = self._book.validity(one)[0]
        return one.said.at <= at and (over is None or over > at)

    def derive(self, source: Statement, new: Statement) -> Link:
        """A conclusion that the caller told with its source."""
        return self.record(Link("", source, new, "derive", "said by the caller", 1.0, self._now))

    def verdicts(self, told: Sequence[tuple[Statement, str, Statement]]) -> list[Link]:
        """A model's verdicts on the statements of one message, each a new one and an older one.

        What had ended before the message is not changed again; what the message itself ends may be told of more than once.
        """
        before = {one: self._book.validity(one)[0] for one in self._book.statements}
        found = (self._verdict(new, kind, old, before) for new, kind, old in told)
        return [link for link in found if link is not None]

    def _verdict(
        self, new: Statement, kind: str, old: Statement, before: Mapping[Statement, datetime | None]
    ) -> Link | None:
        older, newer = sorted((new, old), key=lambda one: one.order)
        changes = kind in ("update", "correct")
        over, sure = before[older], _certainty(new)
        if sure < _KEPT_FROM:
            return None
        if changes and newer.mode in UNREAL and older.mode not in UNREAL:
            return None
        if over is not None and over <= newer.valid_from:
            return None
        alike = (newer.mode in UNREAL) == (older.mode in UNREAL)
        acts = changes and alike and self._act_from <= sure and self._act_from < 1
        nature = {"update": "changed", "correct": "corrected"}.get(kind, "")
        stored = "update" if changes else kind
        # A dispute that is not trusted holds nothing back: it is flagged as a change.
        if kind == "contradict" and not (may_change(older, newer) and may_change(newer, older)):
            stored = "update"
        return self.record(Link("", older, newer, stored, "as told", sure, self._now, "model", acts, nature))

    def delete(self, messages: Sequence[Said], statements: Sequence[Statement]) -> list[Statement]:
        """Delete messages and single statements; what they had closed holds again, what rests on them is stale.

        Returns:
            The conclusions that lost a source.
        """
        book = self._book
        gone = [one for one in book.statements if one.said in messages or one in statements]
        touching = _touching(book, gone)
        book.drop(gone)
        book.delete(messages)
        self._still_refused(gone, touching)
        self._close_again(gone, touching)
        bereft = [
            link.new for link in touching if link.type == "derive" and link.undone_at is None and link.old in gone
        ]
        left = [one for place, one in enumerate(bereft) if one not in gone and one not in bereft[:place]]
        for one in left:
            if not any(link.old is link.new and link.type == "derive" for link in book.links_of(one)):
                why = "what it was derived from was forgotten"
                link = Link("", one, one, "derive", why, 1.0, self._now, "erasure")
                book.links.append(link)
                self.made.append(link)
        self._blank(gone)
        return left

    def _still_refused(self, gone: Sequence[Statement], touching: Sequence[Link]) -> None:
        """What was refused for something that is deleted stays refused, since then."""
        refusals = [
            link for link in touching if link.resolved == "old" and link.undone_at is None and link.new not in gone
        ]
        for one in sorted({link.new.id: link.new for link in refusals}.values(), key=lambda each: each.id):
            since = min(link.resolved_at for link in refusals if link.new is one and link.resolved_at is not None)
            why = "what it was refused for was forgotten"
            link = Link("", one, one, "contradict", why, 1.0, since, "erasure", resolved="old", resolved_at=since)
            self._book.links.append(link)
            self.made.append(link)

    def _close_again(self, gone: Sequence[Statement], touching: Sequence[Link]) -> None:
        closing = [link for link in touching if _closes(link)]
        opened = {link.old: None for link in closing if link.old not in gone}
        for old in sorted(opened, key=lambda one: one.order):
            mine = [link for link in closing if link.old is old]
            if not self._book.ends(old) and old.slot and any(link.detector in BY_RULES for link in mine):
                self._next_value(old)
            if self._book.ends(old):
                continue
            decided = [link for link in mine if link.detector not in BY_RULES or _sets(link)]
            heirs = _heirs(decided, closing, gone)
            if heirs:
                heir = min(heirs, key=lambda one: one.order)
                nature = "changed" if any(map(_sets, decided)) else ""
                self._join(old, heir, "joined when the step between was forgotten", heirs[heir], nature)

    def _next_value(self, old: Statement) -> None:
        """The next value of an attribute closes the one before; its words are the rules' own and are not told here."""
        slot = (old.subject, old.slot)
        later = [one for one in self._book.statements if (one.subject, one.slot) == slot and one.order > old.order]
        ended = [link.new for link in self._book.all_links_of(old) if link.type == "update" and link.old is old]
        for one in sorted(later, key=lambda each: each.order):
            if one not in ended and one.value != old.value:
                self.record(Link("", old, one, "update", "?", 1.0, self._now, "rules", acted=True))
                return

    def _blank(self, gone: Iterable[Statement]) -> None:
        """No reason names what was deleted, unless an end of its relation says it."""
        told = {word for one in gone for word in (one.name, one.value) if len(word) >= 3}
        for link in self._book.links:
            words = link.reason.replace(":", " ").split()
            said = f"{link.old.said.content} {link.new.said.content}".replace(":", " ").replace(",", " ").split()
            if any(word in words and word not in said for word in sorted(told)):
                link.reason = FORGOTTEN_REASON


def concluded(book: Book, messages: Sequence[Said]) -> list[Said]:
    """Messages with conclusions from these, through any number of steps."""
    found = list(messages)
    for said in found:  # grows as it goes
        for one in book.of(said):
            for new in book.conclusions(one):
                if new.said not in found:
                    found.append(new.said)
    return found[len(messages) :]


def _is_decided(one: Link, link: Link) -> bool:
    """Whether a person has decided what a model says of two statements."""
    if link.detector != "model" or (one.old, one.new) != (link.old, link.new):
        return False
    if one.undone_at is not None:
        return one.type == link.type
    return one.resolved is not None and link.type in ("update", "contradict")


def _touching(book: Book, gone: Sequence[Statement]) -> list[Link]:
    found: list[Link] = []
    for one in sorted(gone, key=lambda each: each.id):
        found += [link for link in book.all_links_of(one) if link not in found]
    return found


def _heirs(links: Iterable[Link], closing: Sequence[Link], gone: Sequence[Statement]) -> dict[Statement, float]:
    """What remains at the ends of the chains that begin with these, each with how sure the surest chain to it is."""
    found: dict[Statement, float] = {}
    for link in links:
        if link.new not in gone:
            found[link.new] = max(link.confidence, found.get(link.new, 0.0))
            continue
        onward = _heirs([one for one in closing if one.old is link.new], closing, gone)
        for one, sure in onward.items():
            found[one] = max(min(link.confidence, sure), found.get(one, 0.0))
    return found


def _closes(link: Link) -> bool:
    return link.type == "update" and link.acted and link.undone_at is None


def is_set(one: Statement) -> bool:
    """Whether the caller set a fact."""
    return "attribute" in one.metadata


def _sets(link: Link) -> bool:
    return link.type == "update" and link.nature == "changed" and link.detector in ("caller", "relink")


def may_change(old: Statement, new: Statement) -> bool:
    """Whether the origin of the newer statement is trusted to change the older one."""
    return new.said.trusted or not old.said.trusted


def _told(old: Statement, new: Statement) -> str:
    return f"{new.metadata['attribute']}: {old.value} -> {new.value}"


def _certainty(new: Statement) -> float:
    """How sure the model is of its verdicts on a statement."""
    match = SENTENCE.match(new.content)
    return certainty(match[3] if match else None)

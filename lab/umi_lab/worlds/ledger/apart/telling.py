"""Ways to say a fact in plain words, and what each says of it: that it holds, began, is denied, is over, ended, or nothing at all.

What a memory must hold after such sentences follows from what was said of which fact when, by rules that stand here, without code of the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from umi_lab.worlds.ledger.apart.meanings import Fact

HOLDS: Final = "holds"
BEGAN: Final = "began"
DENIED: Final = "denied"
OVER: Final = "over"
ENDED: Final = "ended"
NOTHING: Final = "nothing"
FLAGGED: Final = "flagged"  # an update that is noted, and hides nothing

WAYS: Final[dict[str, tuple[str, ...]]] = {
    HOLDS: (
        "{s} {now}.", "{s} {now}!", "Well, {s} {now}.", "FYI: {s} {now}.", "By the way, {s} {now}.", "- {s} {now}", "* {s} {now}",
        "Good morning! {s} {now}.", "{s} {now}. How are you?", "Thanks. {s} {now}, by the way.", "{s} {now} because it is cheap.",
        "{s} {now} (as you know).", "{s} {now}; it is raining here.", "So {s} {now}, then.", "{s} still {now}.", "What a day… {s} {now}.",
        "It is late - {s} {now}.",
    ),
    BEGAN: (
        "{s} {event}.", "{s} just {event}.", "{s} has just {event}.", "{s} recently {event}!", "And then {s} {event}.", "{s} finally {event}.",
        "News: {s} {event}.", "{s} {event}, by the way.", "Hooray! {s} {event}.",
    ),
    DENIED: ("{s} {not}.", "{s} {n't}.", "Actually, {s} {n't}.", "No, {s} {not}."),
    OVER: ("{s} {no longer}.", "{s} {n't} anymore.", "{s} {not} any more.", "{s} {n't} any longer.", "{s} used to {bare}."),
    ENDED: ("{s} {end}.", "{s} just {end}.", "{s} recently {end}.", "{s} finally {end}!", "By the way, {s} {end}."),
    NOTHING: (
        "> {s} {now}.", "> {s} {event}.",
        "Did {s} ever {bare}?", "Would {s} {bare}?", "Should {s} {bare}?", "I wish {s} {past}.", "If only {s} {past}!", "{s} considered whether to {bare}.",
        "Does {s} {bare}?", "If {s} {now}, we can visit.", "When {s} {now}, we can visit.", "I wonder whether {s} {now}.", "Suppose {s} {now}.",
        "Imagine that {s} {now}.", "Let's say {s} {now}.", "{s} might {bare}.", "{s} may {bare}.", "{s} will {bare}.", "{s} would {bare}.",
        "{s} could {bare}.", "{s} should {bare}.", "{s} wants to {bare}.", "{s} hopes to {bare}.", "{s} plans to {bare}.", "{s} is going to {bare}.",
        "{s} {past} once.", "{s} {past} for a year.", "{s} dreamed that she {past}.", "What if {s} {now}?", "Is it true that {s} {now}?",
        "{s} almost {event}.", "{s} nearly {event}.", "{s} never {event}.", "Unless {s} {now}, we stay here.", "Why does {s} {bare}?",
        "{s} was supposed to {bare}.", "{s} {now}, right?", "{s} pretends to {bare}.", "Maybe {s} {now}.", "Perhaps {s} {now}.",
        "They say {s} {now}.",  "{s} is about to {bare}.",
    ),
}  # fmt: skip
# The first so many of the ways that state nothing are read as such of every fact, the others not of those that are guessed at
# (docs/planted-bugs.md).
NEVER_GUESSED: Final = 8


@dataclass(frozen=True, slots=True)
class Told:
    """What one sentence says of a fact.

    Attributes:
        fact: The fact.
        subject: As statements name it.
        value: As it is said.
        how: One of the kinds above.
        since: The day from which it holds, ISO 8601: that on which it is said, unless the sentence names another.
        turns: Whether the sentence has a word of change.
        tracked: Whether its call wants relations to what was told before.
    """

    fact: Fact
    subject: str
    value: str
    how: str
    since: str
    turns: bool = False
    tracked: bool = True


@dataclass(slots=True)
class Row:
    """A statement that must be held: its fields, its state and the sorts of its relations."""

    subject: str
    slot: str
    value: str
    negated: bool
    since: str
    state: str = "current"
    until: str | None = None
    related: tuple[str, ...] = ()

    def fields(self) -> tuple[object, ...]:
        """In an order that can be sorted."""
        return (
            self.subject,
            self.slot,
            self.value,
            self.negated,
            self.since,
            self.state,
            self.until or "",
            self.related,
        )


def forms(fact: Fact, value: str, *, first: bool = False) -> dict[str, str]:
    """The forms of a fact's verb with a value, by the names that ways of saying use.

    Args:
        fact: The fact.
        value: The value.
        first: Whether the subject is "I".
    """
    now, bare = fact.now, fact.bare
    is_state = now.startswith("is ")
    being, do = ("am" if first else "is"), ("do" if first else "does")
    if first:
        now = f"am {now[3:]}" if is_state else bare
    rest = now.partition(" ")[2]
    told = {
        "now": now,
        "bare": bare,
        "event": fact.event,
        "past": fact.past,
        "not": f"{being} not {rest}" if is_state else f"{do} not {bare}",
        "n't": (f"'m not {rest}" if first else f"isn't {rest}") if is_state else f"{do}n't {bare}",
        "no longer": f"{being} no longer {rest}" if is_state else f"no longer {now}",
    }
    if first:
        told = {name: form.replace(" her ", " my ") for name, form in told.items()}
    return {name: form.format(v=value) for name, form in told.items()}


def sentence(way: str, who: str, told: dict[str, str]) -> str:
    """One sentence: a way of saying, with a subject and the forms of a verb."""
    text = way
    for name, form in told.items():
        text = text.replace(f"{{{name}}}", form)
    before = text.partition("{s}")[0].rstrip()
    if before and before[-1] not in "!.…-*>" and who.startswith(("The ", "Our ", "My ", "Ticket ", "Order ", "Issue ")):
        who = f"{who[0].lower()}{who[1:]}"  # within a sentence
    return text.replace("{s}", who).replace("I 'm", "I'm")


def fits(way: str, fact: Fact) -> bool:
    """Whether a fact has the form that a way of saying needs."""
    if "has just" in way and fact.event.startswith(("was ", "got ", "has ")):
        return False
    return not (
        ("{event}" in way and not fact.event)
        or ("{past}" in way and not fact.past)
        or ("{end}" in way and not fact.ends)
    )


def expected(tellings: Sequence[Told]) -> list[Row]:
    """The statements that must be held after so many tellings, in the order in which they were said."""
    rows: list[Row] = []
    for one in tellings:
        if one.how == NOTHING or (one.fact.undenied and one.how in (DENIED, OVER)):
            continue
        denies = one.how in (DENIED, OVER, ENDED)
        row = Row(
            one.subject,
            one.fact.slot,
            one.fact.meant.get(one.value, one.value),
            denies != (one.fact.denied and one.how != BEGAN),
            one.since,
        )
        for old in rows if one.tracked else ():
            if (old.subject, old.slot) == (row.subject, row.slot) and old.state == "current":
                _meet(row, one, old)
        rows.append(row)
    return rows


def _meet(row: Row, one: Told, old: Row) -> None:
    """What a new statement does to one of the same subject and slot that holds."""
    same = row.value == old.value
    if same and row.negated != old.negated:
        if one.how in (OVER, ENDED) or one.turns:
            _close(row, old)
        elif one.how == DENIED:
            old.state = row.state = "disputed"
            _relate(row, old, "contradict")
        return
    if same or row.negated or old.negated or one.fact.several:
        return
    if one.fact.marked and not (one.how == BEGAN or one.turns):
        _relate(row, old, FLAGGED)
        return
    _close(row, old)


def _close(row: Row, old: Row) -> None:
    old.state, old.until = "superseded", row.since
    _relate(row, old, "update")


def _relate(row: Row, old: Row, kind: str) -> None:
    row.related = (*row.related, kind)
    old.related = (*old.related, kind)

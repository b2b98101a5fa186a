"""A small language about things and their looks, in which a simulated model extracts and judges without errors.

"Ada's lamp is red." states something. "... from now on" changes it, "... and always was" corrects it, "... is gone"
ends it, "As noted, ..." repeats it, "They say ..." is hearsay, and "... wishes ... were ..." is a wish. A kit has two
looks in one statement, of which one may change. Since the model's answers are right, a wrong result in the end is an
error of Umi.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

THINGS: Final = ("lamp", "rug", "boat", "kettle")
KIT: Final = "kit"
LOOKS: Final = ("amber", "crimson", "ivory", "jade", "mauve", "ochre", "teal", "umber")
QUESTION: Final = "What is {who}'s {thing} like?"
_CONFIDENCE: Final = 0.9


class Tells(StrEnum):
    """What a sentence does."""

    STATES = "states"
    CHANGES = "changes"
    CORRECTS = "corrects"
    ENDS = "ends"
    REPEATS = "repeats"
    HEARS = "hears"
    WISHES = "wishes"
    SWAPS = "swaps"  # changes one of the two looks of a kit


FORMS: Final[Mapping[Tells, str]] = {
    Tells.STATES: "{who}'s {thing} is {value}.",
    Tells.CHANGES: "{who}'s {thing} is {value} from now on.",
    Tells.CORRECTS: "{who}'s {thing} is {value}, and always was.",
    Tells.ENDS: "{who}'s {thing} is gone.",
    Tells.REPEATS: "As noted, {who}'s {thing} is {value}.",
    Tells.HEARS: "They say {who}'s {thing} is {value}.",
    Tells.WISHES: "{who} wishes {who}'s {thing} were {value}.",
    Tells.SWAPS: "Of {who}'s {thing}, {old} is {value} from now on.",
}
_THING: Final = rf"(?P<who>\w+)'s (?P<thing>{'|'.join((*THINGS, KIT))})"
_LOOK: Final = rf"(?:{'|'.join(LOOKS)})"
# How each sentence is recognised; the value may be one look, or two for a kit.
_READ: Final = tuple(
    (tells, re.compile(pattern))
    for tells, pattern in (
        (Tells.WISHES, rf"\w+ wishes {_THING} were (?P<value>{_LOOK})"),
        (Tells.HEARS, rf"They say {_THING} is (?P<value>{_LOOK})"),
        (Tells.SWAPS, rf"Of {_THING}, (?P<old>{_LOOK}) is (?P<value>{_LOOK}) from now on"),
        (Tells.REPEATS, rf"As noted, {_THING} is (?P<value>{_LOOK}(?: and {_LOOK})?)"),
        (Tells.CORRECTS, rf"{_THING} is (?P<value>{_LOOK}(?: and {_LOOK})?), and always was"),
        (Tells.CHANGES, rf"{_THING} is (?P<value>{_LOOK}(?: and {_LOOK})?) from now on"),
        (Tells.ENDS, rf"{_THING} is (?P<value>gone)"),
        (Tells.STATES, rf"{_THING} is (?P<value>{_LOOK}(?: and {_LOOK})?)"),
    )
)
_MODES: Final = {Tells.WISHES: "wished", Tells.HEARS: "reported"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the language: what it does, the owner, the thing, and the look it names.

    `old` is the look that a swap replaces; `span` are its half-open characters in the text.
    """

    tells: Tells
    who: str
    thing: str
    value: str
    span: tuple[int, int] = (0, 0)
    old: str = ""

    @property
    def name(self) -> str:
        """The thing with its owner."""
        return f"{self.who}'s {self.thing}"


def sentences(text: str) -> list[Sentence]:
    """The sentences of the language in a text, in order."""
    found: list[Sentence] = []
    place = 0
    while True:
        matches = [
            (match.start(), -match.end(), tells, match) for tells, form in _READ if (match := form.search(text, place))
        ]
        if not matches:
            return found
        # The earliest match, and of those the longest: "is X" is a prefix of "is X from now on".
        _, _, tells, match = min(matches, key=lambda one: one[:2])
        parts = match.groupdict()
        found.append(
            Sentence(tells, parts["who"], parts["thing"], parts["value"], match.span(), parts.get("old") or "")
        )
        place = match.end()


def read(text: str) -> list[dict[str, Any]]:
    """The statements of a text, in the schema of extraction."""
    return [
        {
            "content": text[slice(*one.span)],
            "name": one.name,
            "also": [one.who],
            "type": "topic",
            "mode": _MODES.get(one.tells, "asserted"),
            "by": "They" if one.tells is Tells.HEARS else None,
            "from": None,
            "until": None,
            "confidence": _CONFIDENCE,
        }
        for one in sentences(text)
    ]


def is_told(row: Mapping[str, Any]) -> bool:
    """Whether a line of a prompt is in this language."""
    return bool(sentences(str(row["memory"])))


def judge(new: Sequence[Mapping[str, Any]], old: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Verdicts on pairs of lines about one thing, at least one of them new, in the schema of evolution.

    Of earlier lines that say the same, only the last one is named: Umi must close the others with it.
    """
    rows = [*old, *new]
    fresh = {str(row["id"]) for row in new}
    # In order of the dates that the prompt gives; equal dates in order of the prompt.
    order = sorted(range(len(rows)), key=lambda place: (str(rows[place].get("on", "")), place))
    found: list[dict[str, Any]] = []
    for later_place, later in enumerate(order):
        named: set[tuple[str, str]] = set()
        for earlier in reversed(order[:later_place]):
            one, other = rows[later], rows[earlier]
            # Only pairs about one thing, and only with a new line in them.
            if one["about"] != other["about"] or not ({str(one["id"]), str(other["id"])} & fresh):
                continue
            news, olds = sentences(str(one["memory"])), sentences(str(other["memory"]))
            kind, part = between(news[0], olds[0]) if news and olds else ("", None)
            # A verdict that closes the whole of a plain statement. Umi must apply it to repetitions of that statement
            # itself.
            closes = kind in {"update", "end", "correct"} and part is None and olds[0].tells in _PLAIN
            if kind and not (closes and (kind, olds[0].value) in named):
                named |= {(kind, olds[0].value)} if closes else set()
                found.append(
                    {
                        "new_id": one["id"],
                        "type": kind,
                        "reason": f"simulated {kind}",
                        "related_id": other["id"],
                        "part": part,
                        "confidence": _CONFIDENCE,
                    }
                )
    return found


def between(new: Sentence, old: Sentence) -> tuple[str, str | None]:
    """What the later of two sentences about one thing does to the earlier one ("" for nothing), and to which of its words."""
    if Tells.WISHES in {new.tells, old.tells}:
        return "", None
    if new.tells is Tells.SWAPS:
        # Of a kit one look is replaced; a statement with that look alone is replaced whole.
        whole = old.value.split(" and ")
        return ("update", new.old if len(whole) > 1 else None) if new.old in whole else ("", None)
    if new.value == old.value:
        return "same", None
    if new.tells is Tells.HEARS:
        return "contradict", None
    kinds = {Tells.ENDS: "end", Tells.CORRECTS: "correct"}
    return kinds.get(new.tells, "update"), None


_PLAIN: Final = frozenset({Tells.STATES, Tells.CHANGES, Tells.REPEATS})

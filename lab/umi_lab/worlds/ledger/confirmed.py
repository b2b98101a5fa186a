"""What small worlds drew and what their oracle confirmed: arguments by class of value, and fields of what came back.

An argument counts as confirmed when the step that gave it was compared with the oracle to its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sized
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Tally:
    """Counts by "method(parameter=class)" and by "Type.field"."""

    drawn: Counter[str] = field(default_factory=Counter)
    confirmed: Counter[str] = field(default_factory=Counter)
    _open: list[str] = field(default_factory=list)

    def called(self, method: str, arguments: Mapping[str, Any]) -> None:
        """A call was made; it waits to be confirmed."""
        names = [f"{method}()"]
        for name, value in arguments.items():
            told = kind(value)
            names.append(f"{method}({name}={told})")
            if told not in ("None", "True", "False") and told not in WORDS:
                names.append(f"{method}({name}={ANY})")
        self.drawn.update(names)
        self._open += names

    def settle(self) -> None:
        """All that the calls so far gave was as the oracle says."""
        self.confirmed.update(self._open)
        self._open.clear()

    def saw(self, record: str, names: Mapping[str, Any]) -> None:
        """These fields of a record were compared and equal."""
        told = [f"{record}.{name}" for name in names]
        self.drawn.update(told)
        self.confirmed.update(told)

    def add(self, other: Tally) -> None:
        """Add the counts of another world."""
        self.drawn.update(other.drawn)
        self.confirmed.update(other.confirmed)


ANY = "*"  # any value that is neither None, a truth value nor one of a few words


def kind(value: object) -> str:
    """The class of a value: None, the truth values, words of an enumeration, else its type, empty or not."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value in WORDS:
        return value
    name = type(value).__name__
    return f"{name}, empty" if isinstance(value, Sized) and not len(value) else name


WORDS = frozenset(
    [
        "user",
        "assistant",
        "tool",
        "document",
        "now",
        "later",
        "oldest",
        "newest",
        "update",
        "extend",
        "derive",
        "contradict",
        "new",
        "old",
        "both",
        "stale",
        "erase",
        "success",
        "failure",
        "partial_success",
        "approved",
        "rejected",
    ]
)

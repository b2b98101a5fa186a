"""Which messages a call is about: `where=` and `types=` as one record, and the labels of a message that it compares.

A label is a pair of a field's name and a value. A message has one for its role, one each for its speaker, session and
origin if it has them, and one for each value in its metadata that is a text, a number or a boolean; of a list one for
each such element. Every store compares the same labels, so every store selects the same messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from umi import limits
from umi.types.kinds import EntityType
from umi.types.records import Entity, Episode

Scalar = str | int | float | bool
Label = tuple[str, Scalar]

FIELDS: Final = ("session", "speaker", "role", "origin")
METADATA: Final = "metadata."  # prefix of the field of a metadata key
_WHOLE_MAX: Final = 1 << 63  # larger whole numbers are compared as reals, since a store has 64 bits for them


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """What one field must be like: a value out of `among`, or one within bounds, or any (`exists`), or none.

    `among` is None where there are bounds or nothing but `exists`. `low` and `high` are None where a side is open. Equal are
    conditions that the same values fulfil: True and 1, which Python takes for equal, are two.
    """

    field: str
    among: tuple[Scalar, ...] | None = None
    low: Scalar | None = None
    high: Scalar | None = None
    with_low: bool = True
    with_high: bool = True
    exists: bool = True

    def __eq__(self, other: object) -> bool:
        return self._told() == other._told() if isinstance(other, Condition) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._told())

    def holds(self, values: tuple[Scalar, ...]) -> bool:
        """Whether a message fulfils it whose values of the field are these."""
        if not self.exists:
            return not values
        return any(self._fits(value) for value in values)

    def _told(self) -> tuple[object, ...]:
        """All that distinguishes it from others."""
        among = None if self.among is None else tuple((kind(one), one) for one in self.among)
        return self.field, among, self.low, self.high, self.with_low, self.with_high, self.exists

    def _fits(self, value: Scalar) -> bool:
        if self.among is not None:
            return any(kind(one) == kind(value) and one == value for one in self.among)
        return self._above(value) and self._below(value)

    def _above(self, value: Scalar) -> bool:
        if self.low is None:
            return True
        return kind(value) == kind(self.low) and (value > self.low or (self.with_low and value == self.low))  # type: ignore[operator]

    def _below(self, value: Scalar) -> bool:
        if self.high is None:
            return True
        return kind(value) == kind(self.high) and (value < self.high or (self.with_high and value == self.high))  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which messages: those that fulfil all conditions; and which of their statements: those of one of the types, if any are given."""

    conditions: tuple[Condition, ...] = ()
    types: frozenset[EntityType] = frozenset()

    def __bool__(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.conditions or self.types)

    def admits(self, episode: Episode) -> bool:
        """Whether a message fulfils all conditions."""
        if not self.conditions:
            return True
        values: dict[str, list[Scalar]] = {}
        for field, value in labels(episode):
            values.setdefault(field, []).append(value)
        return all(one.holds(tuple(values.get(one.field, ()))) for one in self.conditions)

    def takes(self, entity: Entity | None) -> bool:
        """Whether a statement is of one of the types; what is no statement is of none."""
        return not self.types or (entity is not None and entity.entity_type in self.types)


EVERYTHING: Final = Filter()


def labels(episode: Episode) -> list[Label]:
    """The labels of a message, each once, in order of its fields."""
    own = {"session": episode.session, "speaker": episode.speaker, "role": episode.role, "origin": episode.origin}
    return labels_of(own, episode.metadata)


def labels_of(own: Mapping[str, str | None], metadata: Mapping[str, Any]) -> list[Label]:
    """As `labels`, from a message's own fields by name and its metadata."""
    found: dict[tuple[str, type, Scalar], None] = {}
    for field, said in own.items():
        if said is not None:
            found[field, str, _short(said)] = None
    for key, value in metadata.items():
        found |= dict.fromkeys((METADATA + key, kind(one), one) for one in _scalars(value))
    return [(field, value) for field, _, value in found]


def kind(value: Scalar) -> type:
    """What a value can be compared with: `str`, `bool`, or `float` for every number."""
    return type(value) if isinstance(value, str | bool) else float


def _scalars(value: object) -> Iterator[Scalar]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            yield _short(one)
        elif isinstance(one, bool | float):
            yield one
        elif isinstance(one, int):
            yield one if -_WHOLE_MAX <= one < _WHOLE_MAX else _real(one)


def _short(text: str) -> str:
    return text[: limits.LABEL_CHARACTERS_MAX]


def _real(whole: int) -> float:
    try:
        return float(whole)
    except OverflowError:  # beyond the largest real: only its side of every bound matters
        return float("inf") if whole > 0 else float("-inf")

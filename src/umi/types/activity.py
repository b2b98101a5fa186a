"""What `Memory.activity` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

SECONDS_OF_DAY = 86_400


@dataclass(frozen=True, slots=True)
class ActivityDay:
    """What a namespace took in and noticed on one day (UTC), as far as it is still stored: what was erased since is not counted.

    `remembered` counts messages by the moment at which Umi took them, `waiting` those of them that are not read yet. `evolutions`
    counts relations by their type and the moment at which they were recorded, undone ones too; `settled` those that were decided
    on that day, `undone` those that were taken back.
    """

    day: date
    remembered: int = 0
    waiting: int = 0
    evolutions: Mapping[str, int] = field(default_factory=dict)
    settled: int = 0
    undone: int = 0


@dataclass(frozen=True, slots=True)
class Activity:
    """What happened from the day `first` to the day `last`, both included; `days` are those on which something did, oldest first."""

    first: date
    last: date
    days: tuple[ActivityDay, ...]

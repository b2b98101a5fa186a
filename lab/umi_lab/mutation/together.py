"""Several faults planted at a time: what notices one of them is looked for once for all, and then tried with each alone.

Faults beside each other may hide one another, never the other way round: what counts is that a fault is noticed when it is there alone,
and that nothing is noticed without any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from umi_lab.mutation.operators import IMPORT, Place

GROUP_COUNT: Final = 12

Found = dict[Place, str]


@dataclass(frozen=True, slots=True)
class Failed:
    """What failed in a row of runs.

    `at` is its place in the row, `then` where to go on once what fails there is known, `runs` name what alone is tried.
    """

    at: int
    then: int
    runs: Sequence[str]


class Trial(Protocol):
    """A row of runs that faults are tried by."""

    def first(self, places: Sequence[Place], start: int) -> Failed | None:
        """What fails first with all these faults planted, from a place in the row on; None when nothing does."""

    def alone(self, place: Place, runs: Sequence[str]) -> str | None:
        """How one of these runs fails with one fault planted, and does not without; None when none does."""


def grouped(places: Sequence[Place], size: int = GROUP_COUNT) -> list[list[Place]]:
    """Places in groups, in their order, no two of a group in one function."""
    groups: list[list[Place]] = []
    for place in places:
        room = next((one for one in groups if len(one) < size and all(_apart(place, other) for other in one)), None)
        if room is None:
            groups.append(room := [])
        room.append(place)
    return groups


def noticed(places: Sequence[Place], trial: Trial, start: int = 0) -> Found:
    """How each fault is noticed, of those that are.

    Args:
        places: The faults.
        trial: What they are tried by.
        start: Where in its row.
    """
    left, found = list(places), Found()
    while left and (failed := trial.first(left, start)) is not None:
        hits = {place: how for place in left if (how := trial.alone(place, failed.runs)) is not None}
        found |= hits
        left = [place for place in left if place not in hits]
        if hits:
            start = failed.then
        elif len(left) > 1:  # together they fail otherwise than alone
            half = len(left) // 2
            return found | noticed(left[:half], trial, failed.at) | noticed(left[half:], trial, failed.at)
        else:  # without a fault it fails as well
            start = failed.at + 1
    return found


def _apart(one: Place, other: Place) -> bool:
    if one.file != other.file:
        return True
    return one.function != other.function and IMPORT not in {one.function, other.function}

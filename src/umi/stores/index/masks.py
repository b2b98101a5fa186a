"""Which documents of an index a filter keeps, as one flag each. Kept between queries, since most callers ask with few filters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from umi._core.vectors import GrowingArray
from umi.ports.candidates import Flags, Keys
from umi.types.filters import Filter

Matching = Callable[[Filter, int], Keys]  # the keys of a filter's messages from an arrival on, in any order

_KEPT_COUNT: Final = 64


@dataclass(slots=True)
class _Mask:
    flags: GrowingArray
    until: int  # the arrival from which on nothing was looked up
    sequence: int  # the state of the namespace then


class Masks:
    """The flags of the last filters asked for.

    What a message's labels are never changes, so flags grow with the index. Which statements a message has does: flags of a
    filter with types are made anew after each write. A removed document keeps its flag, and nobody asks for it.
    """

    def __init__(self) -> None:
        self._masks: dict[Filter, _Mask] = {}  # least recently used first

    @property
    def bytes(self) -> int:
        """The memory they take."""
        return sum(one.flags.nbytes for one in self._masks.values())

    def forget(self) -> None:
        """Drop all flags, and the values in the filters they belong to."""
        self._masks.clear()

    def of(self, filter_: Filter, keys: Keys, sequence: int, matching: Matching) -> Flags:
        """The flags of a filter, shape (documents,).

        Args:
            filter_: What is asked for.
            keys: The arrivals of all documents of the index, ascending.
            sequence: The state that `matching` reads.
            matching: Looks up the keys.
        """
        mask = self._masks.pop(filter_, None)
        if mask is None or (filter_.types and mask.sequence != sequence):
            mask = _Mask(GrowingArray(np.bool_), 0, sequence)
        known = len(mask.flags)
        if known < len(keys):
            mask.flags.extend(np.zeros(len(keys) - known))
            found = matching(filter_, mask.until)
            places = np.searchsorted(keys, found)
            # What is not in the index yet is looked up again when it is.
            here = places < len(keys)
            places = places[here][keys[places[here]] == found[here]]
            mask.flags.rows[places] = True
            mask.until, mask.sequence = int(keys[-1]) + 1, sequence
        self._masks[filter_] = mask
        if len(self._masks) > _KEPT_COUNT:
            del self._masks[next(iter(self._masks))]
        flags: Flags = mask.flags.rows
        return flags

"""Who speaks in a namespace: a number for each speaker, and who is named by a term of a question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from umi._core.text import analyse
from umi._core.vectors import GrowingArray
from umi.stores.index.documents import Names

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

_NOBODY: Final = 0  # the number of no speaker


class Speakers:
    """The speakers of an index's messages. Who has no message left is forgotten."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": _NOBODY}
        self._by_term: dict[str, list[int]] = {}
        self._size = GrowingArray(np.int64)  # messages of each
        self._size.append(0)

    def add(self, names: Names) -> Ints:
        """Count the messages of these speakers, and number new ones. Returns the number of each message's speaker."""
        count = known = len(self._size)
        numbers = []
        for name in names.distinct:
            number = self._numbers.setdefault(name, count)
            numbers.append(number)
            if number == count:
                count += 1
                # A speaker is named in a question by the first word of the name.
                for term in analyse(name)[:1]:
                    self._by_term.setdefault(term, []).append(number)
        self._size.extend(np.zeros(count - known))
        found = np.array([*numbers, _NOBODY])[names.of]
        np.add.at(self._size.rows, found, 1)
        return found

    def leave(self, number: int) -> None:
        """Count one message less for a speaker. With the last one the name is removed from RAM."""
        self._size.rows[number] -= 1
        if number == _NOBODY or self._size.rows[number]:
            return
        self._numbers = {name: of for name, of in self._numbers.items() if of != number}
        left = {term: [of for of in named if of != number] for term, named in self._by_term.items()}
        self._by_term = {term: named for term, named in left.items() if named}

    def named_in(self, terms: Iterable[str]) -> frozenset[str]:
        """Those of the terms that name somebody who said something."""
        size = self._size.rows
        return frozenset(term for term in terms if any(size[of] for of in self._by_term.get(term, ())))

    def spoken(self, terms: Sequence[str], numbers: Ints) -> Floats:
        """For messages of these speakers: 1 where the query names the speaker, -1 where it names another one only, else 0.

        All 0 when the query names no speaker, or every one.
        """
        named = [number for term in terms for number in self._by_term.get(term, ())]
        named = [number for number in named if self._size.rows[number]]
        speaking = int(np.count_nonzero(self._size.rows[1:]))
        # Naming all speakers distinguishes none.
        if not 0 < len(named) < speaking:
            return np.zeros(len(numbers), dtype=np.float32)
        table = np.full(len(self._size), -1.0, dtype=np.float32)
        table[_NOBODY] = 0.0
        table[named] = 1.0
        spoken: Floats = table[numbers]
        return spoken

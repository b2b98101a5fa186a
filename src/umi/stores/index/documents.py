"""Episodes as columns, as an index takes them in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from umi.ports import EpisodeRow
from umi.ports.candidates import Keys, in_days
from umi.stores.index.postings import Counted

Ints = npt.NDArray[np.int64]

_NONE: Final = -1  # no name


class Names(NamedTuple):
    """A column of names, of which many are equal.

    Attributes:
        distinct: Each name once, in the order in which it first occurs.
        of: For each row the place of its name in `distinct`, -1 where it has none. Shape (rows,).
    """

    distinct: Sequence[str]
    of: Ints

    @classmethod
    def column(cls, names: Sequence[str | None]) -> Names:
        """The names of some rows; None where a row has none."""
        places: dict[str, int] = {}
        of = [_NONE if name is None else places.setdefault(name, len(places)) for name in names]
        return cls(list(places), np.array(of, dtype=np.int64))


class Documents(NamedTuple):
    """Episodes for an index, as columns of equal length.

    Columns are used because one container per row keeps Python's garbage collector busy for a seventh of the time it
    takes to build an index.

    Attributes:
        keys: Arrivals, ascending.
        lines: Terms, repeats kept, joined by single spaces, which no term contains. Or terms that are counted already. Or, where
            they stay in the database, how many there are.
        words: Number of words before stop words were removed.
        sessions: The conversation of each, or None.
        speakers: The speaker of each, or None.
        traits: Style flags, see `umi._core.style_flags.read_traits`.
        at_days: When each was said, in days since 1970.
    """

    keys: Sequence[int] | Keys
    lines: Sequence[str] | Counted | Ints
    words: Sequence[int] | Ints
    sessions: Names
    speakers: Names
    traits: Sequence[int] | Ints
    at_days: Sequence[float] | npt.NDArray[np.float64]


def as_documents(arrivals: Sequence[int], rows: Sequence[EpisodeRow]) -> Documents:
    """Episodes in order of arrival, for an index."""
    said = [row.episode for row in rows]
    return Documents(
        arrivals,
        [" ".join(row.terms) for row in rows],
        [row.words for row in rows],
        Names.column([one.session for one in said]),
        Names.column([one.speaker for one in said]),
        [row.traits for row in rows],
        [in_days(one.at) for one in said],
    )

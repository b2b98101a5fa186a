"""Insert many rows in few statements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from umi.stores.sql.connection import Connection
from umi.stores.sql.rows import Value

_ROWS_COUNT_MAX: Final = 64  # of one statement; SQLite allows 32,766 values, and a row has at most 27


def insert(db: Connection, into: str, values: Sequence[tuple[Value, ...]]) -> None:
    """Insert rows, some at a time.

    Portions are powers of two, so that a few statements, which SQLite keeps compiled, serve any number of rows.

    Args:
        db: The connection.
        into: The statement as far as the table, such as "INSERT INTO labels".
        values: The rows, all of one width; none is fine.
    """
    start = 0
    while start < len(values):
        count = min(_ROWS_COUNT_MAX, 1 << ((len(values) - start).bit_length() - 1))
        some = values[start : start + count]
        row = f"({', '.join('?' * len(some[0]))})"
        db.execute(f"{into} VALUES {', '.join([row] * count)}", tuple(chain.from_iterable(some)))
        start += count

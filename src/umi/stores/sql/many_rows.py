"""Insert and delete many rows in few statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from umi.stores.sql.connection import Connection
from umi.stores.sql.rows import Value

_ROWS_COUNT_MAX: Final = 64  # of one statement; SQLite allows 32,766 values, and a row has at most 27


def insert(db: Connection, into: str, values: Sequence[tuple[Value, ...]]) -> None:
    """Insert rows, some at a time.

    Args:
        db: The connection.
        into: The statement as far as the table, such as "INSERT INTO labels".
        values: The rows, all of one width; none is fine.
    """
    for some, packed in _portions(values):
        db.execute(f"{into} VALUES {some}", packed)


def delete(db: Connection, table: str, columns: str, values: Sequence[tuple[Value, ...]]) -> None:
    """Delete the rows of which columns have these values, some at a time.

    Args:
        db: The connection.
        table: Where from.
        columns: "ns, key".
        values: A tuple a row; none is fine.
    """
    for some, packed in _portions(values):
        db.execute(f"DELETE FROM {table} WHERE ({columns}) IN (VALUES {some})", packed)


def _portions(values: Sequence[tuple[Value, ...]]) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Marks and values of some rows at a time: portions are powers of two, so that a few statements, which SQLite keeps compiled, serve any number."""
    start = 0
    while start < len(values):
        count = min(_ROWS_COUNT_MAX, 1 << ((len(values) - start).bit_length() - 1))
        some = values[start : start + count]
        row = f"({', '.join('?' * len(some[0]))})"
        yield ", ".join([row] * count), tuple(chain.from_iterable(some))
        start += count

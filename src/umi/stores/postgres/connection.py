"""A connection to PostgreSQL with the methods of a SQLite connection that the shared statements use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import psycopg
from psycopg.pq import TransactionStatus

from umi.stores.postgres.dialect import translated
from umi.stores.sql.connection import Row

_WRITES: Final = ("INSERT", "UPDATE", "DELETE")


class Found:
    """What a statement found; read once, row by row."""

    def __init__(self, found: Iterator[Row]) -> None:
        self._found = found

    def __iter__(self) -> Iterator[Row]:
        return self._found

    def __next__(self) -> Row:
        return next(self._found)

    def fetchone(self) -> Row | None:
        """The next row; None at the end."""
        return next(self._found, None)

    def fetchall(self) -> list[Row]:
        """The rows that are left."""
        return list(self._found)


class PostgresConnection:
    """One connection, used by one thread at a time.

    Args:
        inner: In autocommit mode: transactions are begun and ended by statements, as in SQLite.
    """

    def __init__(self, inner: psycopg.Connection[Row]) -> None:
        self._inner = inner
        self._changed = 0
        self._changes = 0

    def execute(self, sql: str, values: Sequence[object] = ()) -> Found:
        """Run a statement of the SQLite store."""
        cursor = self._inner.execute(
            translated(sql).encode(), tuple(values)
        )  # bytes: statements are made of constants only
        if sql.startswith(_WRITES):
            self._changes = max(cursor.rowcount, 0)
            self._changed += self._changes
        return Found(iter(cursor.fetchall()) if cursor.description is not None else iter(()))

    def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement that writes for each row of values; psycopg sends all of them before it waits for an answer."""
        with self._inner.cursor() as cursor:
            cursor.executemany(translated(sql).encode(), [tuple(row) for row in rows])
            self._changes = max(cursor.rowcount, 0)
            self._changed += self._changes

    def changes(self) -> int:
        """How many rows the last statement that writes has changed."""
        return self._changes

    def total_changes(self) -> int:
        """How many rows this connection has changed."""
        return self._changed

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, also one that has failed."""
        status = self._inner.info.transaction_status
        return status in {TransactionStatus.INTRANS, TransactionStatus.INERROR, TransactionStatus.ACTIVE}

    @property
    def is_broken(self) -> bool:
        """Whether the connection is lost."""
        return self._inner.closed or self._inner.broken

    def close(self) -> None:
        """Close the connection; what was not committed is gone."""
        self._inner.close()

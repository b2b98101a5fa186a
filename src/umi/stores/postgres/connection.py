"""A connection to PostgreSQL with the methods of a SQLite connection that the shared statements use.

Within a transaction statements are sent without waiting for the answers to those before (libpq's pipeline mode). It waits where
rows are read, where it matters how many rows a statement changed, and at the end. So a transaction takes as many round
trips as it has look-ups that depend on each other, not as many as it has statements. An error of a statement is raised where it
is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Final

import psycopg
from psycopg.abc import PQGen
from psycopg.pq.abc import PGconn
from psycopg.waiting import Ready, Wait

from umi.stores.postgres.dialect import translated
from umi.stores.postgres.errors import NotReplicated
from umi.stores.sql.connection import Row

_WRITES: Final = ("INSERT", "UPDATE", "DELETE")
_CERTAIN: Final = "INSERT INTO"  # changes as many rows as it has values, or fails
_UNANSWERED_COUNT: Final = 256  # statements that may be sent without waiting; bounds what both ends keep for them


class Found:
    """What a statement found; its rows come when they are first asked for, and are read once."""

    def __init__(self, fetch: Callable[[], Sequence[Row]]) -> None:
        self._fetch = fetch
        self._rows: Iterator[Row] | None = None

    def __iter__(self) -> Iterator[Row]:
        if self._rows is None:
            self._rows = iter(self._fetch())
        return self._rows

    def __next__(self) -> Row:
        return next(iter(self))

    def fetchone(self) -> Row | None:
        """The next row; None at the end."""
        return next(iter(self), None)

    def fetchall(self) -> list[Row]:
        """The rows that are left."""
        return list(self)


class PostgresConnection:
    """One connection, used by one thread at a time.

    Args:
        inner: In autocommit mode: transactions are begun and ended by statements, as in SQLite.
    """

    def __init__(self, inner: psycopg.Connection[Row]) -> None:
        self._inner = inner
        self._warnings: list[str] = []  # from the server, since the last COMMIT was sent
        inner.add_notice_handler(self._hear)
        self._pipeline: psycopg.Pipeline | None = None
        self._leaving = ExitStack()  # leaves pipeline mode
        self._in_transaction = False
        self._unread: list[psycopg.Cursor[Row]] = []  # of statements that write, whose answers nobody has waited for
        self._unanswered_count = 0
        self._certain = False  # whether one of these surely changes rows
        self._changed = 0
        self._changes = 0

    def begin(self, *statements: str) -> None:
        """Begin a transaction with these statements: BEGIN, and settings. One that is open is rolled back first."""
        self.roll_back()
        if self._pipeline is None:
            self._pipeline = self._leaving.enter_context(self._inner.pipeline())
        self._in_transaction = True
        for statement in statements:
            self._inner.execute(statement.encode())

    def execute(self, sql: str, values: Sequence[object] = ()) -> Found:
        """Run a statement of the SQLite store; COMMIT ends a transaction.

        Raises:
            NotReplicated: The server warned while it committed, as it does where someone stopped it from waiting for a standby.
        """
        if not self._in_transaction:
            self._leave_pipeline()  # such as VACUUM, which wants to be alone
        if sql == "COMMIT":
            # PostgreSQL acknowledges a COMMIT that a time-out ends while it waits for a standby.
            self._inner.execute(b"SET LOCAL statement_timeout = 0")
            self._warnings.clear()
        # bytes: statements are made of constants only
        # Rows come as PostgreSQL keeps them: as text, a vector would be twice as long, and read digit by digit.
        cursor = self._inner.execute(translated(sql).encode(), tuple(values), binary=True)
        self._unanswered_count += 1
        if sql.startswith(_WRITES):
            self._unread.append(cursor)
            self._certain = self._certain or sql.startswith(_CERTAIN)
        if sql == "COMMIT":
            self._wait()
            self._in_transaction = False
            if self._warnings:
                raise NotReplicated(self._warnings[0])
        elif self._unanswered_count >= _UNANSWERED_COUNT:
            self._wait()
        return Found(lambda: self._rows_of(cursor))

    def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement that writes for each row of values."""
        for row in rows:
            self.execute(sql, row)

    def changes(self) -> int:
        """How many rows the last statement that writes has changed; waits for its answer."""
        self._wait()
        return self._changes

    def total_changes(self) -> int:
        """How many rows this connection has changed, or one more where rows of statements that nobody waited for are not counted yet."""
        if self._unread and not self._certain:
            self._wait()
        return self._changed + bool(self._unread)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, also one that has failed."""
        return self._in_transaction

    @property
    def is_broken(self) -> bool:
        """Whether the connection is lost."""
        return self._inner.closed or self._inner.broken

    def roll_back(self) -> None:
        """Undo what the transaction did, whatever has failed in it; without one nothing happens."""
        if not self._in_transaction:
            return
        self._in_transaction = False
        self._answered()
        try:
            self._inner.execute(b"ROLLBACK")
            self._wait()
        except psycopg.Error:
            # A statement that nobody waited for had failed, and the server passed over all that came after it.
            self._leave_pipeline()
            if not self.is_broken:
                self._inner.execute(b"ROLLBACK")

    def close(self) -> None:
        """Close the connection; what was not committed is gone."""
        self._leave_pipeline()
        self._inner.close()

    def _hear(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warnings.append(notice.message_primary or "a warning")

    def _rows_of(self, cursor: psycopg.Cursor[Row]) -> Sequence[Row]:
        if cursor.description is None:
            self._wait()
        return cursor.fetchall() if cursor.description is not None else ()

    def _wait(self) -> None:
        """Wait for the answers to all that was sent, and count what it changed.

        Raises:
            psycopg.Error: What the first of them that failed raises.
        """
        if self._pipeline is not None:
            self._send_all()
            self._pipeline.sync()
        for cursor in self._unread:
            self._changes = max(cursor.rowcount, 0)
            self._changed += self._changes
        self._answered()

    def _send_all(self) -> None:
        """Send what libpq still keeps. Where it is too much for the socket, psycopg 3.3 would wait for answers and send no more of it."""
        self._inner.wait(_flushed(self._inner.pgconn))

    def _leave_pipeline(self) -> None:
        if self._pipeline is None:
            return
        self._pipeline = None
        # Errors of what is undone or was raised already, or of a connection that is lost.
        with suppress(psycopg.Error):
            self._send_all()
        with suppress(psycopg.Error):
            self._leaving.pop_all().close()

    def _answered(self) -> None:
        self._unread.clear()
        self._unanswered_count, self._certain = 0, False


def _flushed(connection: PGconn) -> PQGen[None]:
    while connection.flush():
        if (yield Wait.RW) & Ready.R:
            connection.consume_input()  # a server that cannot send its answers reads no more

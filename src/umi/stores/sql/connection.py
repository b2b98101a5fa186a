"""What the shared statements need of a database's driver. SQLite's has it (`apsw.Connection`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

Row = tuple[Any, ...]  # rows are untyped


class Rows(Protocol):
    """What a statement found; read once, row by row."""

    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def fetchone(self) -> Any | None:
        """The next row; None at the end."""
        ...

    def fetchall(self) -> list[Any]:
        """The rows that are left."""
        ...


class Connection(Protocol):
    """Runs statements with `?` for each value, inside a transaction that its owner has begun."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Rows: ...
    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object: ...
    def changes(self) -> int:
        """How many rows the last statement that writes has changed."""
        ...

    def total_changes(self) -> int:
        """How many rows this connection has changed."""
        ...

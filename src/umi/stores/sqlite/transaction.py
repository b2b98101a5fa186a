"""A write transaction on one namespace of a SQLite file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import apsw

from umi.stores.sql.connection import Connection
from umi.stores.sql.write import SqlTransaction

_TABLES: Final = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"


class SqliteTransaction(SqlTransaction):
    """A write transaction; see `umi.ports.Transaction`."""

    _taken = apsw.ConstraintError

    def _tables(self) -> Mapping[str, Collection[str]]:
        return tables_of(self._db)


def tables_of(db: Connection) -> dict[str, frozenset[str]]:
    """The columns of every table, from the file itself, so that a table that a later version adds is not forgotten."""
    columns = "SELECT name FROM pragma_table_info(?)"
    return {
        table: frozenset(name for (name,) in db.execute(columns, (table,)))
        for (table,) in db.execute(_TABLES).fetchall()
    }

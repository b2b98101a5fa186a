"""Delete a whole namespace from the file: its rows in every table, and its name."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from umi.stores.sql.connection import Connection
from umi.stores.sql.keys import keys_of
from umi.stores.sql.rows import summed, verified

_ROW: Final = "erased_namespaces"  # its name in `meta`


@dataclass(frozen=True, slots=True)
class Floor:
    """Above what a new namespace begins.

    The number of a deleted namespace is not given out again: another process may still hold the index of its rows. The
    sequence goes on for the same reason: what a process read before the deletion must not seem unchanged after it.
    """

    ns: int = 0
    sequence: int = 0


def floor(db: Connection) -> Floor:
    """What deleted namespaces have left behind."""
    row = db.execute("SELECT name, value, crc FROM meta WHERE name = ?", (_ROW,)).fetchone()
    return Floor() if row is None else Floor(**json.loads(verified("meta", row, 0)[1]))


def drop_namespace(db: Connection, ns: int, sequence: int, tables: Mapping[str, Collection[str]]) -> None:
    """Delete every row of a namespace. Runs inside a write transaction.

    Rows belong to a namespace by a column `ns`, or by the key of their episode.

    Args:
        db: Inside a write transaction.
        ns: The namespace's number.
        sequence: Its sequence before this transaction.
        tables: The columns of every table.
    """
    for table, columns in tables.items():
        if "ns" in columns:
            db.execute(f"DELETE FROM {table} WHERE ns = ?", (ns,))
        elif "key" in columns:
            db.execute(f"DELETE FROM {table} WHERE key BETWEEN ? AND ?", keys_of(ns))
    db.execute("DELETE FROM meta WHERE name = ?", (f"restoring:{ns}",))
    before = floor(db)
    after = Floor(max(before.ns, ns), max(before.sequence, sequence + 1))
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", summed((_ROW, json.dumps(asdict(after)))))

"""A counter of the transactions that deleted something whose bytes may still lie where the database keeps its files."""

from __future__ import annotations

from typing import Final

from umi.stores.sql.connection import Connection
from umi.stores.sql.rows import summed, verified

UNCLEAN: Final = "unclean"  # the name of the counter in `meta`


def unclean(db: Connection) -> int:
    """The number of transactions that deleted something since the database was last cleaned."""
    row = db.execute("SELECT name, value, crc FROM meta WHERE name = ?", (UNCLEAN,)).fetchone()
    return 0 if row is None else int(verified("meta", row, 0)[1])


def count_deletion(db: Connection) -> None:
    """Increment the counter. To be called inside a transaction that deletes."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", summed((UNCLEAN, str(unclean(db) + 1))))

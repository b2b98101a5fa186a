"""The namespaces of a database: list them, and give a new one its number."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from umi._core.invariants import check
from umi.stores.sql.connection import Connection
from umi.stores.sql.keys import NAMESPACE_LAST
from umi.stores.sql.leaving import floor
from umi.stores.sql.rows import summed, to_micros, verified
from umi.types import NamespaceInfo

_ALL: Final = (
    "SELECT n.ns, n.name, n.sequence, n.next_arrival, n.changes_from, n.crc, coalesce(p.count, 0), coalesce(e.count, 0)"
    " FROM namespaces n"
    " LEFT JOIN (SELECT ns, count(*) AS count FROM episodes GROUP BY ns) p ON p.ns = n.ns"
    " LEFT JOIN (SELECT ns, count(*) AS count FROM entities GROUP BY ns) e ON e.ns = n.ns ORDER BY n.name"
)


# One look-up in the index of expiries for each namespace.
_WITH_EXPIRED: Final = "SELECT name FROM namespaces n WHERE EXISTS (SELECT 1 FROM episodes p WHERE p.ns = n.ns AND p.expires_at <= ?) ORDER BY name"


def all_namespaces(db: Connection) -> dict[int, NamespaceInfo]:
    """Every namespace by its number, in the order of names."""
    return {
        verified("namespaces", tuple(row), 1)[0]: NamespaceInfo(row[1], episodes, entities)
        for *row, episodes, entities in db.execute(_ALL)
    }


def with_expired(db: Connection, now: datetime) -> list[str]:
    """Names of the namespaces that hold a message which has expired by now, in order."""
    return [name for (name,) in db.execute(_WITH_EXPIRED, (to_micros(now),))]


def add_namespace(db: Connection, name: str) -> None:
    """Give a new namespace the next number. Inside a transaction that keeps others from doing the same."""
    past = floor(db)
    (last,) = next(db.execute("SELECT coalesce(max(ns), 0) FROM namespaces"))
    ns = max(past.ns, last) + 1
    check(ns <= NAMESPACE_LAST, "no number is left for another namespace")
    values = summed((ns, name, past.sequence, 0, 0))
    db.execute("INSERT OR IGNORE INTO namespaces VALUES (?, ?, ?, ?, ?, ?)", values)

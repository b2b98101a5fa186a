"""The embedder of a database: which it is, and another in its place, with all vectors deleted and every episode waiting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache

from umi.ports import EmbedderIdentity
from umi.stores.namespace_view import REEMBED_WHY
from umi.stores.sql import rows as codec
from umi.stores.sql.connection import Connection
from umi.stores.sql.crc import checksum
from umi.types import OutboxItem


def embedder_values(identity: EmbedderIdentity) -> tuple[codec.Value, ...]:
    """The row of `meta` that names an embedder."""
    fields = {"name": identity.name, "dimensions": identity.dimensions, "digest": identity.digest}
    return codec.summed(("embedder", codec.to_json(fields)))


@lru_cache(maxsize=4)  # a process meets one or two, and asks at every transaction
def identity_of(value: str) -> EmbedderIdentity:
    """The embedder that such a row names, from its value."""
    return EmbedderIdentity(**json.loads(value))


def registered_embedder(db: Connection) -> EmbedderIdentity | None:
    """The embedder of the database; None before the first vector."""
    row = db.execute("SELECT name, value, crc FROM meta WHERE name = 'embedder'").fetchone()
    return None if row is None else identity_of(codec.verified("meta", row, 0)[1])


def replace_embedder(db: Connection, identity: EmbedderIdentity) -> int:
    """Replace the embedder, inside a write transaction.

    `changes_from` moves past the present sequence, so every index in memory, of any process, is older than the change
    log and is rebuilt.

    Returns:
        How many episodes wait now.
    """
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", embedder_values(identity))
    for table in ("vectors", "blocks", "postings"):  # blocks hold signs of vectors; later writes seal them again
        db.execute(f"DELETE FROM {table}")
    # No index can use the log any more.
    db.execute("DELETE FROM changes")
    db.executemany("INSERT INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _waiting(db))
    # In all namespaces at once: a file has one embedder.
    heads = db.execute("SELECT ns, name, sequence + 1, next_arrival, sequence + 2 FROM namespaces").fetchall()
    for ns, name, *head in heads:
        db.execute(
            "UPDATE namespaces SET sequence = ?, next_arrival = ?, changes_from = ?, crc = ? WHERE ns = ?",
            (*head, checksum((ns, name, *head)), ns),
        )
    return sum(1 for _ in db.execute("SELECT key FROM outbox"))


def _waiting(db: Connection) -> Iterator[tuple[codec.Value, ...]]:
    """An outbox row for each episode that has none. Episodes that were read already are only embedded."""
    sql = "SELECT key, id FROM episodes WHERE key NOT IN (SELECT key FROM outbox) ORDER BY key"
    rows = db.execute(sql).fetchall()
    return (codec.outbox_values(OutboxItem(str(id_), 0, reason=REEMBED_WHY), int(str(key))) for key, id_ in rows)

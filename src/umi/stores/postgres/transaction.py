"""Read and write one namespace in a PostgreSQL transaction, with the statements of the SQLite store."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from psycopg.errors import IntegrityError

from umi.errors import EmbedderMismatch, NotFound
from umi.ports import EmbedderIdentity
from umi.stores.namespace_view import another_embedder
from umi.stores.postgres.labels import ordered
from umi.stores.postgres.schema import COLUMNS
from umi.stores.sql import rows as codec
from umi.stores.sql.cache import Head, IndexCache
from umi.stores.sql.connection import Connection
from umi.stores.sql.embedder import embedder_values, registered_embedder
from umi.stores.sql.read import SqlSnapshot
from umi.stores.sql.write import SqlTransaction
from umi.types import ChangeKind, EvolutionRelation

_MARKS: Final = ", ".join("?" * 17)
# One of these relations that joins a statement which is not here.
_ENDLESS: Final = (
    "SELECT r.id, r.source_id, r.target_id FROM relations r"
    " WHERE r.ns = ? AND r.id IN (SELECT value FROM json_each(?))"
    " AND NOT (EXISTS (SELECT 1 FROM entities e WHERE e.ns = r.ns AND e.id = r.source_id)"
    " AND EXISTS (SELECT 1 FROM entities e WHERE e.ns = r.ns AND e.id = r.target_id)) LIMIT 1"
)


class PostgresSnapshot(SqlSnapshot):
    """A snapshot of one namespace; see `umi.ports.Snapshot`."""

    _as_label = staticmethod(ordered)


class PostgresTransaction(SqlTransaction):
    """A write transaction; see `umi.ports.Transaction`."""

    _as_label = staticmethod(ordered)
    _taken = IntegrityError

    def __init__(self, db: Connection, namespace: str, head: Head, cache: IndexCache) -> None:
        super().__init__(db, namespace, head, cache)
        self._put: dict[str, None] = {}  # relations that this transaction has put, by id

    def claim_embedder(self, identity: EmbedderIdentity) -> None:
        if self._embedder is None:
            # A transaction of another namespace may be about to register one too: this waits for it.
            self._execute("INSERT OR IGNORE INTO meta VALUES (?, ?, ?)", embedder_values(identity))
            self._embedder = registered_embedder(self._db)
        if self._embedder != identity and self._embedder is not None:
            raise self._refuse(EmbedderMismatch(another_embedder(self._embedder, identity)))

    def _tables(self) -> Mapping[str, Collection[str]]:
        return COLUMNS

    def put_relation(self, relation: EvolutionRelation) -> None:
        self._note(ChangeKind.RELATED, relation.id)
        # Whether its ends are here is asked once for all of them, in `conclude`: each look-up would be a round trip.
        self._put[relation.id] = None
        values = codec.relation_values(relation, self._ns)
        self._execute(f"INSERT OR REPLACE INTO relations VALUES ({_MARKS})", values)

    def conclude(self) -> bool:
        if self._put:
            found = self._execute(_ENDLESS, (self._ns, codec.json_array(self._put))).fetchone()
            if found is not None:
                raise self._refuse(
                    NotFound(f"relation {found[0]} joins {sorted(found[1:])}, and not all of them are here")
                )
        return super().conclude()

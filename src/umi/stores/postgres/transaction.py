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
from umi.stores.sql.embedder import embedder_values, registered_embedder
from umi.stores.sql.read import SqlSnapshot
from umi.stores.sql.write import SqlTransaction
from umi.types import ChangeKind, EvolutionRelation

_MARKS: Final = ", ".join("?" * 17)


class PostgresSnapshot(SqlSnapshot):
    """A snapshot of one namespace; see `umi.ports.Snapshot`."""

    _as_label = staticmethod(ordered)


class PostgresTransaction(SqlTransaction):
    """A write transaction; see `umi.ports.Transaction`."""

    _as_label = staticmethod(ordered)
    _taken = IntegrityError

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
        ends = sorted({relation.source_id, relation.target_id})
        self._note(ChangeKind.RELATED, relation.id)
        if len(self.entities(ends)) < len(ends):
            raise self._refuse(NotFound(f"relation {relation.id} joins {ends}, and not all of them are here"))
        values = codec.relation_values(relation, self._ns)
        self._execute(f"INSERT OR REPLACE INTO relations VALUES ({_MARKS})", values)

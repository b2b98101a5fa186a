"""A read-only replica of a PostgreSQL store, which answers from what it has received so far."""

from __future__ import annotations

from typing import Final

from umi.stores.postgres.store import PostgresStore
from umi.stores.sql.connection import Connection

# All that was committed before one of these moments is visible: the commit that was applied last, and, where all that was received
# is applied, when the primary sent its last message. Only members of pg_read_all_stats see that one; without it an idle primary
# makes what is up to date look old. A server that is no replica is never stale.
STALE: Final = (
    "SELECT CASE WHEN pg_is_in_recovery() THEN extract(epoch FROM clock_timestamp() - greatest(pg_last_xact_replay_timestamp(),"
    " (SELECT w.last_msg_send_time FROM pg_stat_wal_receiver w WHERE pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn())"
    "))::float8 ELSE 0 END"
)


class PostgresReplica(PostgresStore):
    """See `umi.ports.Replica`. Made without a connection; the first read makes one."""

    async def stale_s(self) -> float | None:
        def ask(db: Connection) -> float | None:
            (age,) = next(db.execute(STALE))
            return None if age is None else max(0.0, age)

        return await self._look(ask)

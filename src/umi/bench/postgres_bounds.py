"""The least that a PostgreSQL server costs, with nothing of Umi around it. Nothing is written into any table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import sql

from umi._core.clock import SystemClock
from umi.addresses import without_password
from umi.bench.report import quantile
from umi.stores.postgres.errors import mapped
from umi.stores.postgres.opening import CONNECT_S, DURABLE
from umi.stores.sql.connection import Row

_TRIPS_COUNT: Final = 200
# A record in the write-ahead log, as long as the text, which no table keeps and any user may write. One message is one round trip.
_COMMITTED: Final = sql.SQL("BEGIN; {}; SELECT pg_logical_emit_message(true, 'umi bench', {}); COMMIT")


def version(url: str) -> str:
    """The server's version, such as 18.1.

    Raises:
        StoreError: When the server cannot be reached or refuses.
    """
    with _connected(url) as db:
        return "{}.{}".format(*divmod(db.info.server_version, 10_000))


def round_trip_s(url: str) -> float:
    """Median seconds until a server has answered a statement that does nothing.

    Raises:
        StoreError: When the server cannot be reached or refuses.
    """
    with _connected(url) as db:
        return _median_s(db, [sql.SQL("SELECT 1")] * _TRIPS_COUNT)


def commit_s(url: str, texts: Sequence[str]) -> float:
    """Median seconds to commit one text to the server's disk in one round trip, with the `synchronous_commit` of Umi's writes.

    Raises:
        StoreError: When the server cannot be reached or refuses.
    """
    with _connected(url) as db:
        return _median_s(db, [_COMMITTED.format(sql.SQL(DURABLE), sql.Literal(text)) for text in texts])


def _median_s(db: psycopg.Connection[Row], statements: Sequence[sql.Composable]) -> float:
    clock = SystemClock()
    samples = []
    for statement in statements:
        packed = statement.as_bytes(db)
        start = clock.monotonic_s()
        db.execute(packed)
        samples.append(clock.monotonic_s() - start)
    return quantile(samples, 0.5)


@contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection[Row]]:
    with mapped(without_password(url)), psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_S) as db:
        db.prepare_threshold = None  # a pooler may give each statement another session
        yield db

"""Open a PostgreSQL database: connect, and create or migrate Umi's tables."""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from umi.addresses import HIDDEN, without_password
from umi.errors import StoreUnavailable, StoreVersion
from umi.limits import STORE_BUSY_TIMEOUT_MS, STORE_STATEMENT_MS_MAX
from umi.stores.postgres.connection import PostgresConnection
from umi.stores.postgres.errors import mapped
from umi.stores.postgres.schema import STEPS, VERSION
from umi.stores.sql.connection import Row

# Each transaction sets what it needs, and the connection keeps nothing: a pooler may give every transaction another one.
# All tables are in a schema of their own, so that Umi can share a database with others. What is acknowledged must survive a
# crash, whatever the server's default is; a stricter setting, for replicas, is kept.
# An app that hangs, or that the network has cut off, keeps neither a lock nor a snapshot for ever.
_BOUNDS: Final = (
    f"SET LOCAL statement_timeout = {STORE_STATEMENT_MS_MAX}",
    f"SET LOCAL idle_in_transaction_session_timeout = {STORE_STATEMENT_MS_MAX}",
)
WEAK_COMMITS: Final = ("off", "local", "remote_write")  # settings below `on`
_WEAK: Final = "', '".join(WEAK_COMMITS)
DURABLE: Final = (
    "SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit')"
    f" IN ('{_WEAK}') THEN 'on' ELSE current_setting('synchronous_commit') END, true)"
)
BEGIN_READ: Final = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SET LOCAL search_path = umi", *_BOUNDS)
BEGIN_WRITE: Final = (
    "BEGIN ISOLATION LEVEL READ COMMITTED",  # whatever the server's default is: what waited for the lock reads what is newest
    "SET LOCAL search_path = umi",
    *_BOUNDS,
    f"SET LOCAL lock_timeout = {STORE_BUSY_TIMEOUT_MS}",
    DURABLE,
)
OLDEST_SERVER: Final = 160_000  # sub-selects without a name need PostgreSQL 16
CONNECT_S: Final = 10
# Whatever the address, the database or the environment says: psycopg writes texts in it.
CLIENT_ENCODING: Final = "UTF8"
# Where the address says nothing else. A server that no longer answers is given up after a minute.
_SETTINGS: Final[dict[str, Any]] = {
    "application_name": "umi",
    "connect_timeout": CONNECT_S,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 4,
    "tcp_user_timeout": 60_000,
}
_MIGRATION_LOCK: Final = 0x556D6931  # any number that other programs do not use


def readable(url: str) -> str:
    """The address as messages may show it.

    Raises:
        StoreUnavailable: When libpq cannot read it.
    """
    name = without_password(url)
    try:
        shown = conninfo_to_dict(name)
    except psycopg.ProgrammingError as error:
        raise StoreUnavailable(f"{name} is no address of PostgreSQL ({str(error).strip()}): correct it") from None
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # it would quote the password
        given = {}
    if any(value != given.get(setting) for setting, value in shown.items() if value != HIDDEN):
        raise StoreUnavailable(
            f"the password in the address {name} cannot be read: write a % in it as %25, a / as %2F, a @ as %40"
        )
    return name


def connect(url: str) -> PostgresConnection:
    """Open a connection; nothing is created.

    Raises:
        StoreError: When the server cannot be reached or refuses.
    """
    with mapped(readable(url)):
        # Prepared statements would be kept in a session, and one whose transaction failed half-way is lost.
        given = conninfo_to_dict(url)
        settings = {name: value for name, value in _SETTINGS.items() if name not in given}
        inner = psycopg.connect(
            url, autocommit=True, prepare_threshold=None, client_encoding=CLIENT_ENCODING, **settings
        )
        return PostgresConnection(inner)


def migrate(url: str) -> None:
    """Create Umi's tables or bring older ones up to date, under a lock, in one transaction.

    Raises:
        StoreVersion: When a newer Umi wrote them.
        StoreUnavailable: When the server is too old.
        StoreError: When the server cannot be reached or refuses.
    """
    name = readable(url)
    settings: dict[str, Any] = {
        "connect_timeout": CONNECT_S,
        "application_name": "umi migration",
        "client_encoding": CLIENT_ENCODING,
    }
    with mapped(name), psycopg.connect(url, **settings) as inner:
        if inner.info.server_version < OLDEST_SERVER:
            raise StoreUnavailable(f"{name} is PostgreSQL {inner.info.server_version // 10_000}: Umi needs 16 or newer")
        version = schema_version(inner, name)
        if version == VERSION:
            return  # the usual case; also for a user who may create nothing, and on a standby
        if not version and (wrong := wrong_encoding(inner)):
            raise StoreUnavailable(f"{name}: {wrong}")
        # Two processes that open a new database: the second waits and finds nothing left to do.
        inner.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
        inner.execute("CREATE SCHEMA IF NOT EXISTS umi")
        inner.execute("SET LOCAL search_path = umi")
        inner.execute("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
        version = schema_version(inner, name)
        for step in STEPS[version:]:
            inner.execute(step.encode())
        if version < VERSION:
            inner.execute("DELETE FROM schema_version")
            inner.execute("INSERT INTO schema_version VALUES (%s)", (VERSION,))


def wrong_encoding(inner: psycopg.Connection[Row]) -> str:
    """Why the database cannot take every text; "" where it can."""
    found = inner.info.parameter_status("server_encoding")
    return (
        ""
        if found == "UTF8"
        else f"its encoding is {found}: make one with createdb --encoding UTF8 --template template0"
    )


def schema_version(inner: psycopg.Connection[Row], name: str) -> int:
    """The version of Umi's tables; 0 where there are none.

    Raises:
        StoreVersion: When a newer Umi wrote them.
    """
    if inner.execute("SELECT to_regclass('umi.schema_version')").fetchone() == (None,):
        return 0
    row = inner.execute("SELECT version FROM umi.schema_version").fetchone()
    version = 0 if row is None else int(row[0])
    if version > VERSION:
        raise StoreVersion(
            f"{name} was written by a newer Umi (version {version}, this one knows {VERSION}): upgrade umi-memory"
        )
    return version

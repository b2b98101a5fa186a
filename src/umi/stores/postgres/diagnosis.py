"""What a PostgreSQL server says about itself: whether Umi can use it, and what becomes of what it acknowledges.

Nothing is created or changed: all is asked in one read-only transaction, with bounds of time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from umi.addresses import without_password
from umi.errors import StoreError
from umi.limits import STORE_CONNECTIONS_COUNT_MAX
from umi.stores.postgres.errors import mapped
from umi.stores.postgres.opening import (
    CLIENT_ENCODING,
    CONNECT_S,
    OLDEST_SERVER,
    WEAK_COMMITS,
    readable,
    schema_version,
    wrong_encoding,
)
from umi.stores.postgres.replica import STALE
from umi.stores.postgres.schema import COLUMNS, VERSION
from umi.stores.sql.connection import Row
from umi.types import Diagnosis, Finding

Server = psycopg.Connection[Row]

_PATIENCE_MS: Final = 10_000  # for a statement: a table may be locked
_BEHIND_BYTES_MAX: Final = 64 << 20  # of the write-ahead log; a standby that is further behind is wrong
_BEGIN: Final = (
    "BEGIN READ ONLY",
    f"SET LOCAL statement_timeout = {_PATIENCE_MS}",
    f"SET LOCAL lock_timeout = {_PATIENCE_MS}",
)
_SETTINGS: Final = (
    "SELECT name, setting FROM pg_settings WHERE name IN ('autovacuum', 'fsync', 'full_page_writes', 'synchronous_commit',"
    " 'synchronous_standby_names', 'max_connections', 'superuser_reserved_connections', 'reserved_connections')"
)
# Without the role pg_read_all_stats only the rows are shown, and nulls in them. A backup in progress is no standby.
_STANDBYS: Final = (
    "SELECT coalesce(nullif(application_name, ''), 'unnamed'), state, sync_state,"
    " pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint, extract(epoch FROM replay_lag)::float8"
    " FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup' ORDER BY 1, pid"
)
_TABLES: Final = (
    "SELECT c.relname, c.relrowsecurity, row_security_active(c.oid), pg_total_relation_size(c.oid),"
    " coalesce(pg_stat_get_dead_tuples(c.oid), 0)"
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = 'umi' AND c.relkind = 'r' AND c.relname = ANY(%s) ORDER BY 1"
)
# A limit of -1 is none. What has no database is a process of the server itself.
_CONNECTED: Final = (
    "SELECT count(*), count(*) FILTER (WHERE a.datname = current_database()), count(*) FILTER (WHERE a.usename = current_user),"
    " (SELECT datconnlimit FROM pg_database WHERE datname = current_database()),"
    " (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user)"
    " FROM pg_stat_activity a WHERE a.datid IS NOT NULL AND a.pid <> pg_backend_pid()"
)
_IDENTITY: Final = "SELECT system_identifier FROM pg_control_system()"
_REPLAY: Final = (
    "SELECT pg_is_in_recovery(), CASE WHEN pg_is_in_recovery() THEN pg_is_wal_replay_paused() END,"
    " pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn())::bigint"
)


def look(url: str, read_url: str | None = None) -> Diagnosis:
    """See `umi.diagnose`."""
    with _asked(url) as db:
        (standby,) = _row(db, "SELECT pg_is_in_recovery()")
        server = _server(db, standby=standby)
        if db.info.server_version < OLDEST_SERVER:
            return Diagnosis((server,), ready=False)
        schema, ready = _schema(db, without_password(url))
        settings = dict(db.execute(_SETTINGS.encode()).fetchall())
        tables = db.execute(_TABLES.encode(), (list(COLUMNS),)).fetchall()
        findings = (
            server,
            schema,
            _durability(settings),
            *(() if standby else (_replication(db, settings["synchronous_standby_names"]),)),
            *(() if read_url is None else (_replica(db, read_url, standby=standby),)),
            _connections(db, settings),
            *((_row_security(tables), _disk(tables, settings)) if tables else ()),
        )
    return Diagnosis(findings, ready)


@contextmanager
def _asked(url: str) -> Iterator[Server]:
    """A connection in a transaction that reads.

    Raises:
        StoreError: When the server cannot be reached or refuses.
    """
    with (
        mapped(readable(url)),
        psycopg.connect(
            url,
            autocommit=True,
            connect_timeout=CONNECT_S,
            prepare_threshold=None,
            application_name="umi doctor",
            client_encoding=CLIENT_ENCODING,
        ) as db,
    ):
        for statement in _BEGIN:
            db.execute(statement.encode())
        yield db


def _row(db: Server, sql: str, values: tuple[object, ...] = ()) -> Row:
    (row,) = db.execute(sql.encode(), values).fetchall()
    return row


def _server(db: Server, *, standby: bool) -> Finding:
    name = f"PostgreSQL {(db.info.parameter_status('server_version') or '?').split()[0]}"
    if db.info.server_version < OLDEST_SERVER:
        return Finding(
            "server", ok=False, detail=f"{name}: Umi needs {OLDEST_SERVER // 10_000} or newer, so upgrade the server"
        )
    if standby:
        detail = f"{name}, a standby, which takes no writes: give the address of the primary, and this one as read_url"
        return Finding("server", ok=False, detail=detail)
    libpq = psycopg.pq.version() // 10_000
    return Finding(
        "server", ok=True, detail=f"{name}, takes writes; asked with psycopg {psycopg.__version__}, libpq {libpq}"
    )


def _schema(db: Server, name: str) -> tuple[Finding, bool]:
    """What there is of Umi's tables, and whether they can be opened as they are."""
    try:
        version = schema_version(db, name)
    except StoreError as error:
        return Finding("schema", ok=False, detail=str(error)), False
    if version == VERSION:
        return Finding("schema", ok=True, detail=f"version {version}, the newest"), True
    if version:
        return Finding("schema", ok=True, detail=f"version {version}; the next command brings it to {VERSION}"), False
    if wrong := wrong_encoding(db):
        return Finding("schema", ok=False, detail=f"none yet, and the database cannot take it: {wrong}"), False
    (may_create,) = _row(db, "SELECT has_database_privilege(current_database(), 'CREATE')")
    if may_create:
        return Finding("schema", ok=True, detail="none yet; the first `umi remember` makes it"), False
    role, database = db.info.user, db.info.dbname
    detail = f"none yet, and {role} may not make it: run GRANT CREATE ON DATABASE {database} TO {role} as its owner"
    return Finding("schema", ok=False, detail=detail), False


def _durability(settings: Mapping[str, str]) -> Finding:
    wrong = [
        f"{name} is off: a crash of the machine can lose or damage what was acknowledged; run"
        f" ALTER SYSTEM SET {name} = on and SELECT pg_reload_conf()"
        for name in ("fsync", "full_page_writes")
        if settings[name] != "on"
    ]
    if wrong:
        return Finding("durability", ok=False, detail="; ".join(wrong))
    commit = settings["synchronous_commit"]
    raised = ", raised to on for every write of Umi" if commit in WEAK_COMMITS else ""
    detail = f"acknowledged writes survive a crash: fsync on, full_page_writes on, synchronous_commit {commit}{raised}"
    return Finding("durability", ok=True, detail=detail)


def _replication(db: Server, wanted: str) -> Finding:
    standbys = db.execute(_STANDBYS.encode()).fetchall()
    waits = f"and every write waits for one of synchronous_standby_names = '{wanted}': start it, or empty the setting"
    if not standbys:
        if wanted:
            return Finding("replication", ok=False, detail=f"no standby is connected, {waits}")
        detail = "no standby: what is lost with the disk comes back from a backup only, so take some (pg_basebackup)"
        return Finding("replication", ok=True, detail=detail)
    if any(state is None for _, state, *_ in standbys):
        detail = f"{len(standbys)} connected; to see how far they are behind: GRANT pg_read_all_stats TO {db.info.user}"
        return Finding("replication", ok=True, detail=detail)
    told = [
        f"{name} ({state}, {sync}) is {_size(behind or 0)} of the log behind"
        + ("" if lag is None else f", {lag:.1f} s")
        for name, state, sync, behind, lag in standbys
    ]
    if any((behind or 0) > _BEHIND_BYTES_MAX for _, _, _, behind, _ in standbys):
        told.append("look at the log and the disk of who is far behind")
        return Finding("replication", ok=False, detail="; ".join(told))
    confirmed = [name for name, _, sync, *_ in standbys if sync in {"sync", "quorum"}]
    if wanted and not confirmed:
        return Finding("replication", ok=False, detail="; ".join((*told, f"none is synchronous, {waits}")))
    if not wanted:
        told.append(
            "none is synchronous: the newest writes are lost with the primary's disk; see synchronous_standby_names"
        )
    return Finding("replication", ok=True, detail="; ".join(told))


def _replica(primary: Server, read_url: str, *, standby: bool) -> Finding:
    name = without_password(read_url)
    written = None if standby else _row(primary, "SELECT pg_current_wal_lsn()::text")[0]
    try:
        with _asked(read_url) as db:
            same = _row(db, _IDENTITY) == _row(primary, _IDENTITY)
            follows, paused, behind = _row(db, _REPLAY, (written,))
            (age_s,) = _row(db, STALE)
    except StoreError as error:
        return Finding("replica", ok=False, detail=f"{error}; until then recalls ask the primary")
    wrong = ""
    if not same:
        wrong = "holds another database: recalls would show other things; give a standby of this server"
    elif not follows:
        wrong = "is no standby: give the address of one, or leave read_url out"
    elif paused:
        wrong = "stands still: run SELECT pg_wal_replay_resume() there"
    elif (behind or 0) > _BEHIND_BYTES_MAX:
        wrong = f"is {_size(behind)} of the log behind: look at its log and its disk"
    if wrong:
        return Finding("replica", ok=False, detail=f"{name} {wrong}")
    stale = "has applied no write yet" if age_s is None else f"is at most {max(0.0, age_s):.1f} s stale"
    left = "" if behind is None else f", {_size(max(0, behind))} of the log behind"
    return Finding("replica", ok=True, detail=f"{name} {stale}{left}")


def _connections(db: Server, settings: Mapping[str, str]) -> Finding:
    of_all, of_database, of_role, database_max, role_max = _row(db, _CONNECTED)
    reserved = sum(int(settings[name]) for name in ("superuser_reserved_connections", "reserved_connections"))
    server_max = int(settings["max_connections"]) - reserved
    left, bound = min(
        (limit - used, f"{name} of {limit}")
        for limit, used, name in (
            (server_max, of_all, "max_connections, less what is reserved,"),
            (database_max, of_database, "the database's limit"),
            (role_max, of_role, "the role's limit"),
        )
        if limit >= 0
    )
    each = f"an open memory takes up to {STORE_CONNECTIONS_COUNT_MAX}"
    if left < STORE_CONNECTIONS_COUNT_MAX:
        detail = f"{max(0, left)} left under {bound}, and {each}: raise the limit, end some programs, or put a pooler between"
        return Finding("connections", ok=False, detail=detail)
    room = left // STORE_CONNECTIONS_COUNT_MAX
    return Finding("connections", ok=True, detail=f"{left} left under {bound}; {each}: room for {room} more processes")


def _row_security(tables: list[Row]) -> Finding:
    without = [name for name, on, *_ in tables if not on]
    if not without:
        bound = any(active for _, _, active, *_ in tables)
        who = "this role is bound by it" if bound else "this role is not bound by it: let apps use roles of their own"
        return Finding("row-level security", ok=True, detail=f"on for all {len(tables)} tables; {who}")
    if len(without) == len(tables):
        detail = "off: a role that may read the tables reads every namespace; docs/postgres.md says how to bind roles"
        return Finding("row-level security", ok=True, detail=detail)
    detail = f"off for {', '.join(without)}, on for the others: run the first part of docs/postgres.md's SQL again"
    return Finding("row-level security", ok=False, detail=detail)


def _disk(tables: list[Row], settings: Mapping[str, str]) -> Finding:
    sizes = sorted(((size, name) for name, _, _, size, _ in tables), reverse=True)
    dead = sum(count for *_, count in tables)
    largest = ", ".join(f"{name} {_size(size)}" for size, name in sizes[:3])
    detail = f"{_size(sum(size for size, _ in sizes))} in {len(tables)} tables ({largest}), {dead:,} dead rows"
    if settings["autovacuum"] != "on":
        detail += "; autovacuum is off, so they stay: run ALTER SYSTEM SET autovacuum = on and SELECT pg_reload_conf()"
        return Finding("disk", ok=False, detail=detail)
    return Finding("disk", ok=True, detail=f"{detail}; what is free is to be seen on the server")


def _size(count: Any) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count:,} bytes"

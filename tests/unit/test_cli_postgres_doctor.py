"""`umi doctor` on PostgreSQL: what the server says of itself, on real servers in good and bad order, and nothing is created."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import postgres_server
import psycopg
import pytest
from house import ROOT
from postgres_cluster import Server, servers
from test_cli import STORE_TROUBLE, Umi

import umi
from umi.errors import InvalidInput, StoreBusy, StoreUnavailable
from umi.stores.postgres import diagnosis
from umi.stores.postgres.opening import DURABLE
from umi.types import Finding

IN_ORDER = ("autovacuum=on",)


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_server.database() as made:
        yield made


@pytest.fixture
def server() -> Iterator[Server]:
    with servers() as (made,):
        made.create()
        yield made


def _by_name(found: umi.Diagnosis) -> dict[str, Finding]:
    return {one.what: one for one in found.findings}


def _tell(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        for statement in statements:
            db.execute(statement.encode())


def _wait_for_a_write(url: str) -> None:
    """Wait until a standby has applied one: on a busy machine that takes seconds."""
    with psycopg.connect(url, autocommit=True) as db:
        for _ in range(600):
            if db.execute("SELECT pg_last_xact_replay_timestamp() IS NOT NULL").fetchone() == (True,):
                return
            time.sleep(0.1)
    raise AssertionError(f"{url} applied no write within a minute")


def _wait_for_sessions(db: psycopg.Connection, count: int) -> None:
    """Wait until those who left are gone: a server ends a session a while after its client has."""
    for _ in range(600):
        if db.execute("SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL").fetchone() == (count,):
            return
        time.sleep(0.1)
    raise AssertionError(f"the server has not come down to {count} sessions within a minute")


def test_the_doctor_of_a_server_in_good_order(tmp_path: Path, url: str) -> None:
    cli = Umi(tmp_path)
    empty = {one["what"]: one["detail"] for one in cli.data("doctor", "--db", url)["findings"]}
    assert "none yet" in empty["schema"]
    assert "store" not in empty
    with psycopg.connect(url) as db:
        assert db.execute("SELECT to_regnamespace('umi')").fetchone() == (None,), "the doctor has made nothing"
    cli("remember", "Alice works at Acme.", "--db", url)
    found = {one["what"]: one for one in cli.data("doctor", "--db", url)["findings"]}
    assert all(one["ok"] for one in found.values()), found
    said = {what: one["detail"] for what, one in found.items()}
    assert re.match(r"PostgreSQL \d+", said["server"])
    assert "the newest" in said["schema"]
    assert "survive a crash: fsync on, full_page_writes on, synchronous_commit on" in said["durability"]
    assert "take some (pg_basebackup)" in said["replication"]
    assert "off: a role that may read" in said["row-level security"]
    assert "room for" in said["connections"]
    assert "episodes" in said["disk"]
    assert "every check passed" in said["integrity"]


def test_a_server_that_cannot_be_reached_is_said_with_what_to_do(tmp_path: Path) -> None:
    gone = "postgresql://umi:hunter2@127.0.0.1:1/nowhere"
    shown = Umi(tmp_path).data("doctor", "--db", gone, code=STORE_TROUBLE, status="error")
    (wrong,) = [one for one in shown["findings"] if not one["ok"]]
    assert wrong["what"] == "server"
    assert "see that the server runs and try again" in wrong["detail"]
    assert "hunter2" not in str(shown)


def test_a_replica_is_for_postgresql(tmp_path: Path) -> None:
    assert "--read-url is for a replica" in Umi(tmp_path)("doctor", "--read-url", "postgresql://a@b/c", code=2)


async def test_an_address_without_a_server_behind_it_is_refused() -> None:
    with pytest.raises(InvalidInput, match="url must be an address of PostgreSQL"):
        await umi.diagnose("umi.db")
    with pytest.raises(InvalidInput, match="read_url must be"):
        await umi.diagnose("postgresql://umi@127.0.0.1:1/nowhere", read_url="umi.db")
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await umi.diagnose("postgresql://umi@127.0.0.1:1/nowhere")


async def test_settings_that_lose_what_was_acknowledged_are_flagged(server: Server) -> None:
    server.start("fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off")
    async with umi.Memory.open(server.url, embedder=None) as memory:
        await memory.remember("Alice works at Acme.")
    found = _by_name(await umi.diagnose(server.url))
    assert {what for what, one in found.items() if not one.ok} == {"durability", "disk"}
    assert "ALTER SYSTEM SET fsync = on" in found["durability"].detail
    assert "ALTER SYSTEM SET full_page_writes = on" in found["durability"].detail
    assert "ALTER SYSTEM SET autovacuum = on" in found["disk"].detail
    _tell(server.url, "ALTER SYSTEM SET autovacuum = on")
    server.kill()
    server.start("synchronous_commit=off", *IN_ORDER)
    found = _by_name(await umi.diagnose(server.url))
    assert all(one.ok for one in found.values()), found
    assert "synchronous_commit off, raised to on for every write of Umi" in found["durability"].detail
    weaker = dict.fromkeys(["off", "local", "remote_write"], "on")
    with psycopg.connect(server.url, autocommit=True) as db:
        for setting, becomes in (weaker | {"on": "on", "remote_apply": "remote_apply"}).items():
            db.execute(f"SET synchronous_commit = {setting}".encode())
            with db.transaction():
                db.execute(DURABLE.encode())
                assert db.execute("SHOW synchronous_commit").fetchall() == [(becomes,)]


async def test_standbys_and_the_replica_are_looked_at() -> None:
    with servers(3) as (primary, standby, stranger):
        for one in (primary, stranger):
            one.create()
            one.start(*IN_ORDER)
        primary.copy_to(standby)
        standby.start()
        async with umi.Memory.open(primary.url, embedder=None) as memory:
            await memory.remember("Alice works at Acme.")
        _wait_for_a_write(standby.url)
        found = _by_name(await umi.diagnose(primary.url, read_url=standby.url))
        assert found["replication"].ok
        assert "streaming, async" in found["replication"].detail
        assert "none is synchronous" in found["replication"].detail
        assert found["replica"].ok, found["replica"]
        assert "s stale" in found["replica"].detail
        # A server that takes no writes, as the memory itself.
        at_standby = _by_name(await umi.diagnose(standby.url))
        assert "takes no writes: give the address of the primary" in at_standby["server"].detail
        assert "replication" not in at_standby
        # What is no replica of this server, or does not follow it.
        for read_url, why in (
            (stranger.url, "holds another database"),
            (primary.url, "is no standby"),
            ("postgresql://umi@127.0.0.1:1/nowhere", "until then recalls ask the primary"),
        ):
            replica = _by_name(await umi.diagnose(primary.url, read_url=read_url))["replica"]
            assert not replica.ok
            assert why in replica.detail
        _tell(standby.url, "SELECT pg_wal_replay_pause()")
        paused = _by_name(await umi.diagnose(primary.url, read_url=standby.url))["replica"]
        assert not paused.ok
        assert "pg_wal_replay_resume()" in paused.detail
        # Every write waits for a standby that is not there.
        _tell(primary.url, "ALTER SYSTEM SET synchronous_standby_names = 'elsewhere'", "SELECT pg_reload_conf()")
        waits = _by_name(await umi.diagnose(primary.url))["replication"]
        assert not waits.ok
        assert "every write waits for one of synchronous_standby_names = 'elsewhere'" in waits.detail
        standby.kill()
        _tell(primary.url, "SELECT pg_terminate_backend(pid) FROM pg_stat_replication")
        assert "no standby is connected" in _by_name(await umi.diagnose(primary.url))["replication"].detail


async def test_a_server_without_connections_left_is_flagged(server: Server) -> None:
    server.start("max_connections=10", *IN_ORDER)  # 3 of them reserved
    with closing(psycopg.connect(server.url, autocommit=True)) as held, closing(psycopg.connect(server.url)):
        assert _by_name(await umi.diagnose(server.url))["connections"].ok
        with closing(psycopg.connect(server.url)), closing(psycopg.connect(server.url)):
            _wait_for_sessions(held, 4)
            scarce = _by_name(await umi.diagnose(server.url))["connections"]
            assert not scarce.ok
            assert scarce.detail.startswith("3 left under max_connections")
            _tell(server.url, "CREATE ROLE app LOGIN")
            app = server.url.replace("postgres@", "app@")
            _wait_for_sessions(held, 4)
            with (
                closing(psycopg.connect(app)),
                closing(psycopg.connect(app)),
                closing(psycopg.connect(app)),
                pytest.raises(StoreBusy),
            ):
                await umi.diagnose(app)


async def test_a_role_with_few_rights_is_told_what_it_lacks(server: Server) -> None:
    server.start(*IN_ORDER)
    _tell(server.url, "CREATE ROLE app LOGIN CONNECTION LIMIT 3")
    found = _by_name(await umi.diagnose(server.url.replace("postgres@", "app@")))
    assert "run GRANT CREATE ON DATABASE postgres TO app" in found["schema"].detail
    assert "the role's limit of 3" in found["connections"].detail
    assert not found["schema"].ok
    assert not found["connections"].ok


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
async def test_a_database_that_cannot_take_every_text_is_refused(server: Server, encoding: str) -> None:
    server.start(*IN_ORDER)
    _tell(server.url, f"CREATE DATABASE narrow ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    narrow = server.url.replace("@/postgres", "@/narrow")
    schema = _by_name(await umi.diagnose(narrow))["schema"]
    assert not schema.ok
    assert f"its encoding is {encoding}: make one with createdb --encoding UTF8" in schema.detail
    with pytest.raises(StoreUnavailable, match=f"its encoding is {encoding}"):
        await umi.Memory.open(narrow, embedder=None)


async def test_row_level_security_on_some_tables_only_is_flagged(url: str) -> None:
    async with umi.Memory.open(url, embedder=None) as memory:
        await memory.remember("Alice works at Acme.")
    everyone, _ = re.findall(r"```sql\n(.*?)```", (Path(ROOT) / "docs" / "postgres.md").read_text("utf-8"), re.DOTALL)
    _tell(url, everyone)
    bound = _by_name(await umi.diagnose(url))["row-level security"]
    assert bound.ok
    assert "this role is not bound by it" in bound.detail
    _tell(url, "ALTER TABLE umi.episodes DISABLE ROW LEVEL SECURITY")
    found = _by_name(await umi.diagnose(url))["row-level security"]
    assert not found.ok
    assert "off for episodes" in found.detail


async def test_a_server_or_tables_of_another_version_are_flagged(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with umi.Memory.open(url, embedder=None) as memory:
        await memory.remember("Alice works at Acme.")
    _tell(url, "UPDATE umi.schema_version SET version = 99")
    newer = await umi.diagnose(url)
    assert not newer.ready
    assert "upgrade umi-memory" in _by_name(newer)["schema"].detail
    with monkeypatch.context() as patch:
        patch.setattr(diagnosis, "OLDEST_SERVER", 990_000)
        old = await umi.diagnose(url)
    assert [one.ok for one in old.findings] == [False]
    assert "Umi needs 99 or newer, so upgrade the server" in old.findings[0].detail
    assert not old.ready

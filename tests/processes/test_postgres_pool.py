"""Connections to PostgreSQL: few, each for its share of the namespaces, bounded in time, and behind a pooler."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import postgres_server
import psycopg
import pytest
from postgres_cluster import Server, servers

import umi
from umi import HitState
from umi._core.clock import SystemClock, SystemEntropy
from umi.errors import StoreBusy, StoreUnavailable
from umi.limits import STORE_CONNECTIONS_COUNT_MAX, STORE_STATEMENT_MS_MAX
from umi.stores.postgres import store as postgres
from umi.stores.postgres.store import PostgresStore


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_server.database() as made:
        yield made


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(url, clock=SystemClock(), entropy=SystemEntropy())
    yield opened
    await opened.close()


@contextmanager
def bounded(patch: pytest.MonkeyPatch, milliseconds: int) -> Iterator[None]:
    """Statements and pauses within a transaction may take so long."""
    with patch.context() as patched:
        for name in ("BEGIN_READ", "BEGIN_WRITE"):
            short = [
                one.replace(str(STORE_STATEMENT_MS_MAX), str(milliseconds)) if "timeout" in one else one
                for one in getattr(postgres, name)
            ]
            patched.setattr(postgres, name, tuple(short))
        yield


async def test_a_long_read_holds_up_no_namespace_of_another_connection(store: PostgresStore) -> None:
    slow = "n0"
    other = next(name for name in (f"n{number}" for number in range(1, 99)) if store._lanes.of(name) != store._lanes.of(slow))  # fmt: skip
    done, begun = threading.Event(), threading.Event()
    reading = asyncio.create_task(store.read(slow, lambda _: begun.set() or done.wait(30)))
    await asyncio.to_thread(begun.wait, 30)
    assert await asyncio.wait_for(store.read(other, lambda snapshot: snapshot.sequence), 30) == 0
    assert not reading.done()
    done.set()
    await reading


async def test_many_namespaces_at_once_take_few_connections(url: str) -> None:
    async with umi.Memory.open(url, embedder=None) as memory:
        spaces = [memory.switch(f"tenant {number}") for number in range(40)]
        await asyncio.gather(*(space.remember("Alice works at Acme.") for space in spaces))
        await asyncio.gather(*(space.recall("Where does Alice work?") for space in spaces))
        with psycopg.connect(url) as other:
            sql = (
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'umi' AND datname = current_database()"
            )
            row = other.execute(sql).fetchone()
            locks = other.execute("SELECT count(*) FROM pg_locks WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())").fetchone()  # fmt: skip
        assert row == (STORE_CONNECTIONS_COUNT_MAX,)
        assert locks is not None
        assert locks[0] < 10, "nothing is locked for a namespace when nothing is under way"
        assert len(await memory.namespaces()) == 40
        assert await memory.check() == []


async def _once(url: str) -> None:
    async with umi.Memory.open(url, embedder=None) as memory:
        await memory.namespaces()


async def test_a_server_with_no_connection_left_is_said_and_asked_again(url: str) -> None:
    role = f"umi_few_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 2".encode())
        admin.execute(f"GRANT ALL ON DATABASE {urlsplit(url).path[1:]} TO {role}".encode())
        parts = urlsplit(url)
        limited = parts._replace(netloc=parts.netloc.replace(str(parts.username), role, 1)).geturl()
        try:
            held = [psycopg.connect(limited) for _ in range(2)]
            with pytest.raises(StoreBusy, match="no connection left"):
                await _once(limited)
            for one in held:
                one.close()
            until = time.monotonic() + 30  # the server needs a moment to end them
            while True:
                try:
                    await _once(limited)
                except StoreBusy:
                    assert time.monotonic() < until
                else:
                    break
        finally:
            admin.execute(f"DROP OWNED BY {role} CASCADE".encode())
            admin.execute(f"DROP ROLE {role}".encode())


async def test_a_writer_that_hangs_is_cut_off_and_others_go_on(
    url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bounded(monkeypatch, 300):
        begun = threading.Event()
        hanging = asyncio.create_task(
            store.write("team", lambda tx: (begun.set(), time.sleep(2), tx.add_alias("al", "alice")))
        )
        await asyncio.to_thread(begun.wait, 30)
        async with umi.Memory.open(url, namespace="team", embedder=None) as other:
            await other.remember("Alice works at Acme.")
        with pytest.raises((StoreBusy, StoreUnavailable)):
            await hanging
    assert (await store.read("team", lambda snapshot: snapshot.counts())).episodes == 1


async def test_a_statement_that_takes_too_long_is_ended(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with umi.Memory.open(url, embedder=None) as memory:
        await memory.remember("Alice works at Acme.")
        with psycopg.connect(url) as other:
            other.execute("CREATE FUNCTION umi.wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(30); RETURN new; END'")  # fmt: skip
            other.execute("CREATE TRIGGER wait BEFORE INSERT ON umi.events FOR EACH ROW EXECUTE FUNCTION umi.wait()")
        with bounded(monkeypatch, 300), pytest.raises(StoreBusy, match="took too long"):
            await memory.remember("Bob works at Initech.")
        with psycopg.connect(url) as other:
            other.execute("DROP TRIGGER wait ON umi.events")
        assert [one.entity.content for one in (await memory.list()).items] == ["Alice works at Acme."]
        await memory.remember("Bob works at Initech.")


def _tell(server: Server, *statements: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as db:
        for statement in statements:
            db.execute(statement.encode())


async def test_a_time_out_never_acknowledges_what_no_standby_has() -> None:
    """PostgreSQL answers a COMMIT with success when it is told to stop while it waits for a standby."""
    with servers() as (server,):
        server.create()
        server.start()
        _tell(server, "ALTER DATABASE postgres SET statement_timeout = '300ms'")
        async with umi.Memory.open(server.url, embedder=None) as memory:
            await memory.remember("Alice works at Acme.")
            _tell(server, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
            await asyncio.sleep(0.5)
            waiting = asyncio.create_task(memory.remember("Bob works at Initech.", idempotency_key="bob"))
            await asyncio.sleep(1.5)
            assert not waiting.done()
            _tell(server, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            with pytest.raises(StoreUnavailable, match="standby"):
                await waiting
            _tell(server, "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
            await asyncio.sleep(0.5)
            assert (await memory.remember("Bob works at Initech.", idempotency_key="bob")).replayed
            await memory.remember("Carl works at Acme.")


@pytest.fixture
def pooled(url: str) -> Iterator[str]:
    """The address of a database through PgBouncer, which gives every transaction one of three connections."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    parts = urlsplit(url)
    folder = Path(tempfile.mkdtemp(prefix="umi-pool-", dir="/tmp"))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    host = dict(word.split("=") for word in parts.query.split("&")).get("host", parts.hostname)
    (folder / "users").write_text(f'"{parts.username}" ""\n')
    (folder / "ini").write_text(
        f"[databases]\n{parts.path[1:]} = host={host} user={parts.username}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\nauth_file = {folder}/users\n"
        "pool_mode = transaction\ndefault_pool_size = 3\n"
    )
    user = postgres_server.system_user()
    for path in (folder, *folder.iterdir()):
        if user is not None:
            shutil.chown(path, user)
    with subprocess.Popen([program, "-q", str(folder / "ini")], user=user) as pooler:
        try:
            through = f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}"
            _wait_for(through)
            yield through
        finally:
            pooler.terminate()
    shutil.rmtree(folder)


def _wait_for(url: str) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return


async def test_behind_pgbouncer_each_transaction_may_get_another_connection(pooled: str) -> None:
    async def work(number: int) -> None:
        async with umi.Memory.open(pooled, namespace=f"team {number % 2}", embedder=None) as memory:
            for turn in range(6):
                await memory.remember(f"Person{number} works at Firm{turn}.")
                found = await memory.recall(f"Where does Person{number} work?", min_score=0, limit=1)
                assert found.hits[0].content == f"Person{number} works at Firm{turn}."
                await memory.set_fact("api", "owner", f"Team {number} {turn}")

    await asyncio.gather(*(work(number) for number in range(8)))
    for number in range(2):
        async with umi.Memory.open(pooled, namespace=f"team {number}", embedder=None) as memory:
            assert [step.state for step in await memory.history("api")].count(HitState.CURRENT) == 1
            assert len(await memory.history("api")) == 4 * 6
            assert await memory.check() == []

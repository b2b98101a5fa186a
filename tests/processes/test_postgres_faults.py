"""PostgreSQL that is cut off, killed or crowded: nothing acknowledged is lost, nothing is there twice or by half, and Umi goes on by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import postgres_server
import psycopg
import pytest
from postgres_wire import listening

import umi
from umi.errors import StoreBusy, StoreError, StoreUnavailable
from umi.stores.postgres import opening
from umi.stores.postgres.connection import PostgresConnection
from umi.stores.postgres.schema import STEPS, VERSION
from umi.stores.postgres.store import PostgresStore

SAID = "Alice works at Acme."
NEXT = "Alice left Acme and joined Initech."


@pytest.fixture
def url() -> Iterator[str]:
    with postgres_server.database() as made:
        yield made


@pytest.fixture
async def memory(url: str) -> AsyncIterator[umi.Memory]:
    async with umi.Memory.open(url, embedder=None) as memory:
        await memory.remember(SAID)
        yield memory


@contextmanager
def cut_at(url: str, number: int, patch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The server ends Umi's connection right before its statement of that number is sent; yields the statements seen."""
    seen = [0]

    def cutting(send: Callable[..., Any]) -> Callable[..., Any]:
        def cut(self: PostgresConnection, *given: Any) -> Any:
            seen[0] += 1
            if seen[0] == number:
                with psycopg.connect(url, autocommit=True) as other:
                    other.execute("SELECT pg_terminate_backend(%s, 5000)", (self._inner.info.backend_pid,))
            return send(self, *given)

        return cut

    with patch.context() as patched:
        for name in ("execute", "executemany"):
            patched.setattr(PostgresConnection, name, cutting(getattr(PostgresConnection, name)))
        yield seen


async def _rows(memory: umi.Memory) -> tuple[Any, ...]:
    page = await memory.list()
    return tuple((one.entity.content, one.entity.valid_to is None) for one in page.items)


async def remember(memory: umi.Memory) -> None:
    await memory.remember(NEXT, idempotency_key="next")


async def recall(memory: umi.Memory) -> None:
    await memory.recall("Where does Alice work?", min_score=0)


async def forget(memory: umi.Memory) -> None:
    page = await memory.list()
    await memory.forget(page.items[0].entity.id)


async def undo(memory: umi.Memory) -> None:
    page = await memory.list()
    await memory.undo(next(row.id for one in page.items for row in one.evolutions))


ACTS: tuple[Callable[[umi.Memory], Awaitable[None]], ...] = (remember, recall, forget, undo)


QUICK = ("remember", "recall", "undo")
SOME = [pytest.param(act, marks=[] if act.__name__ in QUICK else [pytest.mark.slow]) for act in ACTS]


@pytest.mark.parametrize("act", SOME, ids=lambda act: act.__name__)
async def test_a_connection_cut_before_any_statement_leaves_all_or_nothing(
    url: str, act: Callable[[umi.Memory], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, number = 0, 1
    while True:
        async with umi.Memory.open(url, namespace=f"n{number}", embedder=None) as memory:
            await memory.remember(SAID)
            if act is undo:
                await memory.remember(NEXT)
            before = await _rows(memory)
            with cut_at(url, number, monkeypatch) as seen:
                try:
                    await act(memory)
                except (StoreUnavailable, StoreError):
                    tried += 1
            if seen[0] < number:
                break  # the whole act runs in fewer statements
            # The same memory goes on by itself, on a new connection.
            there = await _rows(memory)
            if act is undo:
                assert there in {before, tuple((text, True) for text, _ in before)}
            elif act is not remember:
                assert there in {before, ()}
            else:
                assert there == before or len(there) > len(before)
                await remember(memory)  # a retry under its key settles what a lost answer left open
                again = await _rows(memory)
                await remember(memory)
                assert await _rows(memory) == again
                assert len(again) > len(before)
            assert await memory.check() == []
        number += 1
    assert tried >= 3


async def test_a_commit_whose_answer_is_lost_is_settled_by_its_key() -> None:
    with listening() as (url, wire):
        async with umi.Memory.open(url, embedder=None) as memory:
            await memory.remember(SAID)
            before = await _rows(memory)
            wire.commits_to_lose = 1
            with pytest.raises(StoreUnavailable):
                await remember(memory)
            done = await _rows(memory)
            assert len(done) > len(before), "the server had committed"
            receipt = await memory.remember(NEXT, idempotency_key="next")
            assert receipt.replayed
            assert await _rows(memory) == done
            assert await memory.check() == []


async def test_a_lock_that_others_hold_is_waited_for_and_then_said(url: str, memory: umi.Memory) -> None:
    with psycopg.connect(url) as other:
        other.execute("SELECT ns FROM umi.namespaces FOR UPDATE")
        async with umi.Memory.open(url, embedder=None, config=umi.Config(busy_timeout_ms=200)) as impatient:
            with pytest.raises(StoreBusy, match="busy_timeout_ms"):
                await impatient.remember(NEXT)
            assert await impatient.recall("Alice", min_score=0)  # reads go on
        waiting = asyncio.create_task(memory.remember(NEXT))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        other.rollback()
    await waiting
    assert len(await _rows(memory)) > 1


async def test_a_server_that_is_not_there_is_said() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        async with umi.Memory.open("postgresql://127.0.0.1:1/none", embedder=None):
            pass


async def test_texts_are_kept_whatever_encoding_clients_of_the_database_have(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        (name,) = other.execute("SELECT current_database()").fetchone() or ("",)
        other.execute(f"ALTER DATABASE {name} SET client_encoding = 'LATIN1'".encode())
    async with umi.Memory.open(url, embedder=None) as memory:
        await memory.remember("Zoë lives in Łódź.")
        assert [one.content for one in (await memory.episodes()).items] == ["Zoë lives in Łódź."]


async def test_writers_wait_for_each_other_whatever_isolation_the_database_has(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        (name,) = other.execute("SELECT current_database()").fetchone() or ("",)
        other.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'".encode())

    async def write(memory: umi.Memory, who: str) -> None:
        for number in range(15):
            await memory.remember(f"Note {number} of {who}.")

    async with umi.Memory.open(url, embedder=None) as one, umi.Memory.open(url, embedder=None) as two:
        await asyncio.gather(write(one, "one"), write(two, "two"))
        assert (await one.stats()).episodes == 30


async def test_a_password_is_in_no_message() -> None:
    with pytest.raises(StoreUnavailable) as error:
        await PostgresStore.open("postgresql://ann:secret@127.0.0.1:1/none", clock=None, entropy=None)  # type: ignore[arg-type]
    assert "secret" not in str(error.value)


async def test_tables_of_a_newer_version_are_refused(url: str, memory: umi.Memory) -> None:
    with psycopg.connect(url) as other:
        other.execute("UPDATE umi.schema_version SET version = 99")
    with pytest.raises(umi.StoreVersion, match="upgrade"):
        async with umi.Memory.open(url, embedder=None):
            pass


STEP = (
    "ALTER TABLE episodes ADD COLUMN made_up BIGINT NOT NULL DEFAULT 7; CREATE INDEX made_up ON episodes (ns, made_up)"
)


async def _export(url: str, path: Path) -> bytes:
    async with umi.Memory.open(url, embedder=None) as memory:
        await memory.export(path)
    return path.read_bytes()


async def test_a_migration_that_is_interrupted_leaves_the_old_tables_and_is_done_by_the_next(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a made-up step to a next version, which sleeps before its end the first time."""
    async with umi.Memory.open(url, embedder=None) as memory:
        await remember(memory)
    before = await _export(url, tmp_path / "before")
    monkeypatch.setattr(opening, "VERSION", VERSION + 1)
    monkeypatch.setattr(opening, "STEPS", (*STEPS, f"{STEP}; SELECT pg_sleep(60)"))
    migrating = asyncio.create_task(asyncio.to_thread(opening.migrate, url))
    with psycopg.connect(url, autocommit=True) as other:
        sql = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
        while not other.execute(sql).fetchall():
            await asyncio.sleep(0.02)
        with pytest.raises(StoreUnavailable):
            await migrating
        assert other.execute("SELECT version FROM umi.schema_version").fetchall() == [(VERSION,)]
    monkeypatch.setattr(opening, "STEPS", (*STEPS, STEP))
    # Several open it at once: one migrates, the others wait for it.
    await asyncio.gather(*(asyncio.to_thread(opening.migrate, url) for _ in range(4)))
    with psycopg.connect(url) as other:
        assert other.execute("SELECT version FROM umi.schema_version").fetchall() == [(VERSION + 1,)]
        assert other.execute("SELECT DISTINCT made_up FROM umi.episodes").fetchall() == [(7,)]
    assert await _export(url, tmp_path / "after") == before

"""What may lie where the database should be, and what is said about it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import apsw
import pytest
from store_files import PYTHON, add, opened, sql, texts

from umi._core.clock import SystemClock, SystemEntropy
from umi._core.invariants import InvariantError
from umi.errors import StoreBusy, StoreCorrupt, StoreError, StoreUnavailable, StoreVersion
from umi.stores.sqlite import schema
from umi.stores.sqlite.store import SqliteStore


async def _refused(path: Path, error: type[StoreError], *words: str) -> None:
    with pytest.raises(error) as caught:
        async with opened(path):
            pass
    assert type(caught.value) is error
    for word in (str(path), *words):
        assert word in str(caught.value)


async def test_a_folder_is_refused(tmp_path: Path) -> None:
    await _refused(tmp_path, StoreUnavailable, "is a folder", "umi.db")


async def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    await _refused(tmp_path / "no" / "umi.db", StoreUnavailable, "does not exist", "create it")
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    "content", [b"just some notes\n" * 100, b"x", b"x" * 511, b"x" * 512, b"PK\x03\x04" + bytes(5000)]
)
async def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    await _refused(path, StoreUnavailable, "not a SQLite database")
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("made_by", ["CREATE TABLE t (x)", "PRAGMA user_version = 5", "PRAGMA application_id = 7"])
async def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path, made_by: str) -> None:
    path = tmp_path / "other.db"
    sql(path, made_by)
    before = path.read_bytes()
    await _refused(path, StoreUnavailable, "another program")
    assert path.read_bytes() == before


async def test_what_another_program_left_in_its_log_stays_there(tmp_path: Path) -> None:
    path, log = tmp_path / "other.db", tmp_path / "other.db-wal"
    db = apsw.Connection(str(tmp_path / "made.db"))
    db.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (7)").fetchall()
    for suffix in ("", "-wal"):  # as after a crash: nobody has the file open
        shutil.copy(tmp_path / f"made.db{suffix}", tmp_path / f"other.db{suffix}")
    db.close()
    before = (path.read_bytes(), log.read_bytes())
    assert before[1]
    await _refused(path, StoreUnavailable, "another program")
    assert (path.read_bytes(), log.read_bytes()) == before


async def test_a_file_of_a_newer_umi_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with opened(path) as store:
        await add(store.namespace("a"), "kept")
    sql(path, f"PRAGMA user_version = {schema.VERSION + 1}")
    await _refused(path, StoreVersion, "newer Umi", "upgrade")
    sql(path, f"PRAGMA user_version = {schema.VERSION}")
    async with opened(path) as store:
        assert await texts(store.namespace("a")) == ["kept"]


async def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with opened(path):
        pass
    empty = path.stat().st_size
    async with opened(path) as store:
        await add(store.namespace("a"), *["long text " * 200] * 50)
    size = path.stat().st_size
    with path.open("r+b") as file:
        for offset in range(empty, size, 4096):  # behind the tables' definitions, without which nothing opens
            file.seek(offset)
            file.write(b"\xff" * 600)
    async with opened(path) as store:
        with pytest.raises(StoreCorrupt, match="backup"):
            await texts(store.namespace("a"))
        findings = await store.check_integrity()
        assert findings
        assert "damaged" in findings[0]


async def test_a_file_cut_short_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with opened(path) as store:
        await add(store.namespace("a"), *["long text " * 200] * 50)
    path.write_bytes(path.read_bytes()[:10_000])
    with pytest.raises(StoreCorrupt):
        async with opened(path) as store:
            await texts(store.namespace("a"))


@pytest.mark.parametrize("name", ["umi db.sqlite", "a?b#c%20.db", "file:x.db", "記憶.db", "-.db", "it's"])
async def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    for word in ("one", "two"):
        async with opened(tmp_path / name) as store:
            await add(store.namespace("a"), word)
    async with opened(tmp_path / name) as store:
        assert await texts(store.namespace("a")) == ["one", "two"]
    assert [each.name for each in tmp_path.iterdir()] == [name]


async def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    path.touch()
    async with opened(path) as store:
        await add(store.namespace("a"), "one")
    assert sql(path, "PRAGMA user_version") == [(schema.VERSION,)]
    assert sql(path, "PRAGMA application_id") == [(schema.APPLICATION_ID,)]


async def test_memory_is_a_database_of_its_own_each_time() -> None:
    async with opened(":memory:") as one, opened(":memory:") as other:
        await add(one.namespace("a"), "one")
        assert await texts(one.namespace("a")) == ["one"]
        assert await texts(other.namespace("a")) == []


async def test_the_settings_that_durability_rests_on(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as store:

        def settings() -> list[object]:
            names = ("journal_mode", "synchronous", "fullfsync", "secure_delete", "cell_size_check", "trusted_schema")
            return [store._db.execute(f"PRAGMA {name}").get for name in names]

        assert await store._run(settings) == ["wal", 2, 1, 1, 1, 0]


async def test_a_statement_is_planned_once_and_not_with_every_bound_value(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as store:
        assert await store._run(lambda: store._db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1)) == 1


async def test_deleted_text_is_not_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with opened(path) as store:
        await add(store.namespace("a"), "keep this", "Zanzibarbarian secret " * 500, "keep that")
    assert b"Zanzibarbarian" in path.read_bytes()
    async with opened(path) as store:
        await store.namespace("a").write(lambda tx: tx.delete_episode("ep_1"))
    assert not (tmp_path / "umi.db-wal").exists()
    assert b"Zanzibarbarian" not in path.read_bytes()
    assert b"zanzibarbarian" not in path.read_bytes()


async def test_a_store_that_was_not_opened_says_so(tmp_path: Path) -> None:
    from umi._core.clock import SystemClock, SystemEntropy

    store = SqliteStore(str(tmp_path / "umi.db"), clock=SystemClock(), entropy=SystemEntropy())
    with pytest.raises(InvariantError, match=r"SqliteStore\.open"):
        await store.namespace("a").read(lambda s: s.sequence)
    await store.close()


async def test_a_write_waits_for_another_and_gives_up_after_the_busy_timeout(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with opened(path, busy_timeout_ms=300) as store:
        await add(store.namespace("a"), "one")
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE; UPDATE namespaces SET sequence = 7")
        with pytest.raises(StoreBusy, match="busy_timeout_ms"):
            await add(store.namespace("a"), "two")
        assert await texts(store.namespace("a")) == ["one"], "a read takes no lock and sees what is committed"
        assert await store.namespace("a").read(lambda s: s.sequence) == 1
        waiting = asyncio.ensure_future(add(store.namespace("a"), "two"))
        await asyncio.sleep(0.05)
        assert await texts(store.namespace("a")) == ["one"], "reads go on while a write waits"
        assert not waiting.done()
        other.execute("ROLLBACK")
        await waiting
        other.close()
        assert await texts(store.namespace("a")) == ["one", "two"]


class _Paused(SystemClock):
    """A second passes in each pause, and none besides."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def monotonic_s(self) -> float:
        return len(self.pauses)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


async def test_a_write_that_waits_pauses_between_two_tries_up_to_the_busy_timeout(tmp_path: Path) -> None:
    path, clock = tmp_path / "umi.db", _Paused()
    store = await SqliteStore.open(str(path), clock=clock, entropy=SystemEntropy(), busy_timeout_ms=1_002_000)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        await asyncio.wait_for(add(store.namespace("a"), "one"), 20)
    assert clock.pauses == [0.001] * 1_002
    other.close()
    await store.close()


async def test_a_cancelled_write_waits_no_longer_and_never_happens(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with opened(path) as store:
        await add(store.namespace("a"), "one")
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(add(store.namespace("a"), "two"))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(waiting, 1)
        other.execute("ROLLBACK")
        other.close()
        await asyncio.sleep(0.05)
        assert await texts(store.namespace("a")) == ["one"]


async def test_a_read_does_not_hold_up_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with opened(path) as store, opened(path, busy_timeout_ms=50) as other:
        await add(store.namespace("a"), "one")
        loop = asyncio.get_running_loop()

        def slow(snapshot) -> tuple[int, int]:
            before = snapshot.counts().episodes
            asyncio.run_coroutine_threadsafe(add(other.namespace("a"), "two"), loop).result(10)
            return before, snapshot.counts().episodes

        assert await store.namespace("a").read(slow) == (1, 1), "the snapshot stands still"
        assert await texts(store.namespace("a")) == ["one", "two"]


async def test_a_backup_is_of_one_moment_whatever_others_write_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("umi.stores.sqlite.backup._STEP_PAGES", 2)
    path, steps = tmp_path / "umi.db", []
    async with opened(path) as store, opened(path) as other:
        await add(store.namespace("a"), "one")
        loop = asyncio.get_running_loop()

        def meanwhile(done: int, count: int) -> None:
            steps.append((done, count))
            if len(steps) == 1:
                asyncio.run_coroutine_threadsafe(add(other.namespace("a"), "two"), loop).result(10)

        await store.backup(str(tmp_path / "copy.db"), meanwhile)
        assert await texts(store.namespace("a")) == ["one", "two"]
    assert len(steps) > 2
    assert steps == sorted(steps), "it does not begin again"
    async with opened(tmp_path / "copy.db") as copy:
        assert await texts(copy.namespace("a")) == ["one"]
        assert await copy.check_integrity() == []


async def test_a_closed_store_leaves_no_thread_behind(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    async with opened(tmp_path / "umi.db") as store:
        await add(store.namespace("a"), "one")
        mine = [one for one in set(threading.enumerate()) - before if one.name.startswith("umi-store")]
        assert mine
    for thread in mine:
        await asyncio.to_thread(thread.join, 10)
    assert not any(thread.is_alive() for thread in mine), store


def test_a_store_opened_before_a_fork_says_so(tmp_path: Path) -> None:
    script = """
import asyncio, os, sys
sys.path.insert(0, sys.argv[2])
from store_files import add, opened, texts
from umi.errors import StoreUnavailable
async def main():
    async with opened(sys.argv[1]) as store:
        await add(store.namespace("a"), "one")
        child = os.fork()
        if child == 0:
            try:
                await texts(store.namespace("a"))
            except StoreUnavailable as error:
                os._exit(0 if "fork" in str(error) else 3)
            os._exit(4)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        await add(store.namespace("a"), "two")
        assert await texts(store.namespace("a")) == ["one", "two"]
asyncio.run(main())
"""
    here = str(Path(__file__).parent)
    subprocess.run([PYTHON, "-c", script, str(tmp_path / "umi.db"), here], check=True, timeout=60)


@pytest.mark.parametrize("how", ["removed", "replaced"])
async def test_a_file_that_is_taken_away_while_open_takes_no_more_writes(tmp_path: Path, how: str) -> None:
    path = tmp_path / "umi.db"
    async with opened(tmp_path / "other.db") as other:
        await add(other.namespace("a"), "restored")
    async with opened(path) as store:
        await add(store.namespace("a"), "one")
        if how == "removed":
            path.unlink()
        else:
            (tmp_path / "other.db").rename(path)
        for attempt in (add(store.namespace("a"), "two"), texts(store.namespace("a"))):
            with pytest.raises(StoreUnavailable, match="removed or replaced"):
                await attempt


async def test_a_relative_path_stays_valid_when_the_process_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened("umi.db") as store:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        await add(store.namespace("a"), "one")
        assert await texts(store.namespace("a")) == ["one"]
    assert (tmp_path / "umi.db").exists()


AS_A_STRANGER = """
import asyncio, os, sys
sys.path.insert(0, sys.argv[2])
import encodings.idna, concurrent.futures.thread
from store_files import add, opened, texts
from umi.errors import StoreUnavailable
async def main():
    if os.getuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
    try:
        async with opened(sys.argv[1]) as store:
            print("read", await texts(store.namespace("a")))
            print("vectors", (await store.namespace("a").read(lambda s: s.text_candidates(["one"]))).keys.tolist())
            try:
                await add(store.namespace("a"), "two")
            except StoreUnavailable as error:
                print("refused", error)
            print("still", await texts(store.namespace("a")), await store.check_integrity(), flush=True)
            if len(sys.argv) > 3:
                sys.stdin.readline()
                await texts(store.namespace("a"))
    except StoreUnavailable as error:
        print("unopened", error)
asyncio.run(main())
"""


def _as_a_stranger(path: Path) -> str:
    """What another user without rights meets; when the tests run as root, root's own rights would hide it."""
    command = [PYTHON, "-c", AS_A_STRANGER, str(path), str(Path(__file__).parent)]
    return subprocess.run(command, check=True, timeout=60, capture_output=True, text=True).stdout


@pytest.fixture
def shared() -> Path:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)  # noqa: PTH101
        yield Path(folder)
        os.chmod(folder, 0o777)  # noqa: PTH101


async def test_a_read_only_file_can_be_read_and_not_written(shared: Path) -> None:
    path = shared / "umi.db"
    async with opened(path) as store:
        await add(store.namespace("a"), "one")
    path.chmod(0o444)
    said = _as_a_stranger(path)
    assert "read ['one']" in said
    assert "vectors [0]" in said
    assert "refused" in said
    assert "cannot be written" in said
    assert "still ['one'] []" in said


async def test_a_read_only_folder_can_be_read_and_not_written(shared: Path) -> None:
    path = shared / "umi.db"
    async with opened(path) as store:
        await add(store.namespace("a"), "one")
    path.chmod(0o444)
    shared.chmod(0o555)
    said = _as_a_stranger(path)
    assert "read ['one']" in said
    assert "refused" in said
    assert "still ['one'] []" in said


async def test_a_file_read_as_unchanging_is_let_go_once_somebody_writes_it(shared: Path) -> None:
    path = shared / "umi.db"
    async with opened(path) as store:
        await add(store.namespace("a"), "one")
    path.chmod(0o444)
    shared.chmod(0o555)
    command = [PYTHON, "-c", AS_A_STRANGER, str(path), str(Path(__file__).parent), "wait"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stranger:
        while not (stranger.stdout.readline()).startswith("still"):
            pass
        shared.chmod(0o755)
        path.chmod(0o644)
        async with opened(path) as store:
            await add(store.namespace("a"), "two")
            said, _ = stranger.communicate("go on\n", timeout=30)
    assert "began to write" in said


async def test_a_file_without_leave_to_read_is_refused(shared: Path) -> None:
    path = shared / "umi.db"
    async with opened(path) as store:
        await add(store.namespace("a"), "one")
    path.chmod(0o000)
    said = _as_a_stranger(path)
    assert "unopened" in said
    assert "leave to read it" in said


async def test_a_new_file_in_a_read_only_folder_is_refused(shared: Path) -> None:
    shared.chmod(0o555)
    said = _as_a_stranger(shared / "umi.db")
    assert "unopened" in said
    assert "leave to read it and to write in its folder" in said

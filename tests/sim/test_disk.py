"""Real SQLite on the simulated disk: what it promises holds at every cut, and the disk is able to hurt."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress

import apsw
import pytest

from umi._core.invariants import InvariantError
from umi.sim.clock import SimClock
from umi.sim.disk import SimDisk
from umi.sim.faults import FaultConfig, FaultInjector, FaultType
from umi.sim.rng import DeterministicRng
from umi.sim.vfs import SimDiskFile

COMMITS = 12
CUTS_MAX = 400


def disk_of(seed: int, *configs: FaultConfig, **options: object) -> SimDisk:
    rng = DeterministicRng(seed)
    return SimDisk(rng.fork("disk"), faults=FaultInjector(rng.fork("faults"), configs), **options)


def wal(disk: SimDisk, synchronous: str) -> apsw.Connection:
    return disk.connect(synchronous=synchronous)


def rollback(disk: SimDisk, synchronous: str) -> apsw.Connection:
    db = apsw.Connection("umi.db", vfs=disk.vfs)
    db.execute(f"PRAGMA synchronous = {synchronous}")
    return db


Opener = Callable[[SimDisk, str], apsw.Connection]


def work(db: apsw.Connection, acknowledged: list[int]) -> None:
    """Commits of several shapes; a number is acknowledged when its commit returned."""
    db.execute("CREATE TABLE IF NOT EXISTS facts (number INTEGER PRIMARY KEY, text TEXT)")
    db.execute("CREATE INDEX IF NOT EXISTS by_text ON facts (text)")
    for number in range(len(acknowledged), COMMITS):
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO facts VALUES (?, ?)", (number, f"{number} " * (1_500 if number % 5 == 4 else 50)))
        db.execute("UPDATE facts SET text = text || '.' WHERE number % 3 = ?", (number % 3,))
        db.execute("COMMIT")
        acknowledged.append(number)


def found(db: apsw.Connection) -> list[int]:
    assert db.execute("PRAGMA integrity_check").get == "ok"
    if not db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'facts'").get:
        return []
    return [number for (number,) in db.execute("SELECT number FROM facts ORDER BY number")]


def after_cut(seed: int, change: int, opener: Opener, synchronous: str) -> tuple[bool, list[int], list[int]]:
    """Whether the power went, what was acknowledged before, and what is found after."""
    with disk_of(seed) as disk:
        db = opener(disk, synchronous)
        acknowledged: list[int] = []
        disk.arm_power_cut(change)
        try:
            work(db, acknowledged)
        except apsw.IOError:
            assert not disk.powered
        cut = not disk.powered
        disk.cut_power()
        db.close()
        disk.restart()
        db = opener(disk, synchronous)
        numbers = found(db)
        work(db, list(numbers))
        assert found(db) == list(range(COMMITS)), "the database works on"
        db.close()
        return cut, acknowledged, numbers


@pytest.mark.parametrize(("opener", "synchronous"), [(wal, "FULL"), (rollback, "EXTRA")])
def test_no_acknowledged_commit_is_lost_at_any_cut(opener: Opener, synchronous: str) -> None:
    in_flight_kept = 0
    for change in range(1, CUTS_MAX):
        cut, acknowledged, numbers = after_cut(change, change, opener, synchronous)
        assert numbers[: len(acknowledged)] == acknowledged
        assert len(numbers) <= len(acknowledged) + 1
        in_flight_kept += len(numbers) > len(acknowledged)
        if not cut:
            break
    assert not cut, "the workload is longer than the cuts tried"
    assert change > 80
    assert in_flight_kept, "a commit that was not acknowledged may be there: the cut lies between fsync and answer"


def test_synchronous_normal_loses_acknowledged_commits() -> None:
    lost = sum(len(numbers) < len(acknowledged) for _, acknowledged, numbers in (
        after_cut(change, change, wal, "NORMAL") for change in range(1, 100)
    ))  # fmt: skip
    assert lost > 10


def test_synchronous_off_destroys_the_database() -> None:
    broken = 0
    for change in range(1, 60):
        try:
            after_cut(change, change, rollback, "OFF")
        except (apsw.CorruptError, apsw.NotADBError, AssertionError):
            broken += 1
    assert broken > 5


def test_a_rollback_journal_may_come_back_after_its_deletion() -> None:
    """Why SQLite has synchronous=EXTRA: with FULL the journal's deletion may be lost, and the commit is rolled back."""
    lost = sum(len(numbers) < len(acknowledged) for _, acknowledged, numbers in (
        after_cut(change, change, rollback, "FULL") for change in range(1, 100)
    ))  # fmt: skip
    assert lost > 3


def test_a_new_file_may_vanish_until_it_is_synced() -> None:
    left = set()
    for seed in range(20):
        with disk_of(seed) as disk:
            synced, fresh = opened(disk, "synced"), opened(disk, "fresh")
            synced.xSync(0)
            disk.cut_power()
            left.add(tuple(disk.file_names()))
            synced.xClose()
            fresh.xClose()
    assert left == {("fresh", "synced"), ("synced",)}


def test_what_a_failed_fsync_dropped_no_later_one_makes_durable() -> None:
    survived = []
    for seed in range(40):
        with disk_of(seed, FaultConfig(FaultType.StorageSyncFail, 1.0, count_max=1)) as disk:
            file = opened(disk, "file")
            file.xWrite(b"n" * 2_048, 0)
            with pytest.raises(apsw.IOError):
                file.xSync(0)
            file.xSync(0)
            assert file.xRead(10, 0) == b"n" * 10, "the cache shows it all the same"
            disk.cut_power()
            survived.append(disk.content("file") == b"n" * 2_048)
            file.xClose()
    assert 3 < sum(survived) < 30


def opened(disk: SimDisk, name: str) -> SimDiskFile:
    flags = apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_MAIN_DB
    file: SimDiskFile = disk._registered.xOpen(name, [flags, 0])
    return file


def test_a_connection_that_left_the_wal_mode_still_notices_a_power_cut() -> None:
    with disk_of(1) as disk:
        db = wal(disk, "FULL")
        work(db, [])
        assert db.execute("PRAGMA journal_mode = DELETE").get == "delete"
        disk.cut_power()
        with pytest.raises(apsw.IOError):
            db.execute("INSERT INTO facts VALUES (99, 'never')")
        with suppress(apsw.IOError):
            db.close()


def test_a_killed_process_loses_nothing_even_unsynced() -> None:
    with disk_of(1) as disk:
        db, acknowledged = wal(disk, "OFF"), list[int]()
        work(db, acknowledged)
        disk.kill()
        with pytest.raises(apsw.IOError):
            db.execute("INSERT INTO facts VALUES (99, 'never')")
        db.close()
        disk.restart()
        db = wal(disk, "OFF")
        assert found(db) == acknowledged
        db.close()


def test_without_power_every_call_fails_until_the_restart() -> None:
    with disk_of(1) as disk:
        db = wal(disk, "FULL")
        work(db, [])
        disk.cut_power()
        before = disk.image_hash()
        for sql in ("INSERT INTO facts VALUES (99, 'never')", "PRAGMA wal_checkpoint"):
            with pytest.raises(apsw.IOError):
                db.execute(sql).fetchall()
        with pytest.raises(apsw.CantOpenError):
            disk.connect()
        with pytest.raises(InvariantError, match="close the connections of before first"):
            disk.restart()
        db.close()
        assert disk.image_hash() == before, "a dead process changes nothing, closing neither"
        assert disk.power_cuts_count == 1


def test_a_full_disk_rolls_back_and_works_on_when_there_is_room() -> None:
    with disk_of(1) as disk:
        db = wal(disk, "FULL")
        acknowledged: list[int] = []
        disk.capacity_bytes = 60_000
        with pytest.raises(apsw.FullError):
            work(db, acknowledged)
        assert 0 < len(acknowledged) < COMMITS
        if db.in_transaction:
            db.execute("ROLLBACK")
        assert found(db) == acknowledged
        disk.capacity_bytes = None
        work(db, acknowledged)
        assert found(db) == list(range(COMMITS))
        db.close()


def retried(db: apsw.Connection, acknowledged: list[int], attempts: int = 200) -> None:
    for _ in range(attempts):
        try:
            work(db, acknowledged)
        except (apsw.IOError, apsw.FullError):
            if db.in_transaction:
                db.execute("ROLLBACK")
        else:
            return


@pytest.mark.parametrize(
    "fault", [FaultType.StorageWriteFail, FaultType.StorageFull, FaultType.StorageSyncFail, FaultType.StorageReadFail]
)
def test_a_fault_fails_its_commit_and_no_other(fault: FaultType) -> None:
    fired = 0
    for seed in range(30):
        with disk_of(seed) as disk:
            db, acknowledged = wal(disk, "FULL"), list[int]()
            db.execute("PRAGMA cache_size = 0")  # so that there is something to read
            disk.faults.register(FaultConfig(fault, 0.1))
            retried(db, acknowledged)
            disk.faults.stop()
            disk.cut_power()
            db.close()
            disk.restart()
            db = wal(disk, "FULL")
            assert found(db)[: len(acknowledged)] == acknowledged
            db.close()
            fired += disk.faults.fired[fault]
    assert fired > 30


@pytest.mark.parametrize("fault", [FaultType.PowerCut, FaultType.TornWrite])
def test_a_power_cut_by_a_fault(fault: FaultType) -> None:
    for seed in range(40):
        with disk_of(seed, FaultConfig(fault, 0.02, after=20, count_max=1)) as disk:
            db, acknowledged = wal(disk, "FULL"), list[int]()
            try:
                work(db, acknowledged)
            except apsw.IOError:
                assert not disk.powered
            disk.cut_power()
            db.close()
            disk.restart()
            db = wal(disk, "FULL")
            assert found(db)[: len(acknowledged)] == acknowledged
            db.close()


def test_a_slow_disk_takes_virtual_time() -> None:
    clock = SimClock()
    with disk_of(1, FaultConfig(FaultType.StorageSlow, 1.0, ("disk_sync",)), clock=clock) as disk:
        db = wal(disk, "FULL")
        before = clock.monotonic_s()
        work(db, [])
        assert clock.monotonic_s() - before > COMMITS * 0.05
        db.close()


def test_sqlite_sees_virtual_time() -> None:
    clock = SimClock()
    clock.advance(3_600)
    with disk_of(1, clock=clock) as disk:
        db = disk.connect()
        assert db.execute("SELECT datetime('now')").get == "2030-01-01 01:00:00"
        assert db.execute("SELECT unixepoch('now') - unixepoch('2030-01-01')").get == 3_600
        db.close()


def damaged(flip: Callable[[SimDisk], None]) -> str:
    with disk_of(1) as disk:
        db = wal(disk, "FULL")
        work(db, [])
        db.close()
        flip(disk)
        db = disk.connect()
        try:
            return str(db.execute("PRAGMA integrity_check").get)
        except apsw.CorruptError as error:
            return str(error)
        finally:
            db.close(force=True)


def test_corruption_is_found_by_the_integrity_check() -> None:
    assert damaged(lambda _: None) == "ok"
    assert damaged(lambda disk: disk.corrupt("umi.db", 2 * 4_096 + 3, bit=3)) != "ok", "cells of the third page"
    assert damaged(lambda disk: disk.corrupt("umi.db", 4_096, bit=1)) != "ok", "the kind of the second page"


def test_a_fault_may_corrupt_what_is_read() -> None:
    found_broken = 0
    for seed in range(40):
        with disk_of(seed) as disk:
            db = wal(disk, "FULL")
            work(db, [])
            db.close()
            pristine = disk.content("umi.db")
            disk.faults.register(FaultConfig(FaultType.StorageCorrupt, 0.5))
            broken = False
            try:
                db = disk.connect()
                broken = db.execute("PRAGMA integrity_check").get != "ok"
                db.close()
            except apsw.Error:
                broken = True
            assert disk.content("umi.db") != pristine
            found_broken += broken
            disk.close(force=True)
    assert found_broken > 10


def test_a_lost_write_is_acknowledged_and_gone() -> None:
    lost = 0
    for seed in range(20):
        with disk_of(seed) as disk:
            db, acknowledged = wal(disk, "FULL"), list[int]()
            disk.faults.register(FaultConfig(FaultType.LostWrite, 0.05))
            with suppress(apsw.Error):
                work(db, acknowledged)
            disk.faults.stop()
            disk.cut_power()
            db.close()
            disk.restart()
            db = wal(disk, "FULL")
            try:
                lost += found(db)[: len(acknowledged)] != acknowledged
            except (apsw.Error, AssertionError):
                lost += 1
            db.close()
    assert lost > 10


def test_two_disks_share_no_bytes() -> None:
    with disk_of(1) as one, disk_of(2) as other:
        first, second = wal(one, "FULL"), wal(other, "FULL")
        work(first, [])
        assert found(first) == list(range(COMMITS))
        assert found(second) == []
        one.cut_power()
        second.execute("CREATE TABLE alive (a)")
        first.close()
        second.close()


def test_two_connections_on_one_disk_exclude_each_other() -> None:
    with disk_of(1) as disk:
        db = disk.connect()
        db.execute("CREATE TABLE facts (number)")
        with pytest.raises(apsw.BusyError):
            disk.connect()
        db.close()
    with disk_of(1) as disk:
        one, other = rollback(disk, "FULL"), rollback(disk, "FULL")
        one.execute("CREATE TABLE facts (number)")
        one.execute("BEGIN IMMEDIATE")
        with pytest.raises(apsw.BusyError):
            other.execute("BEGIN IMMEDIATE")
        one.execute("ROLLBACK")
        other.execute("INSERT INTO facts VALUES (1)")
        assert one.execute("SELECT count(*) FROM facts").get == 1
        one.close()
        other.close()


def test_disks_are_freed() -> None:
    names = apsw.vfs_names()
    dead = []
    gc.collect()
    for seed in range(50):
        with disk_of(seed) as disk:
            db = disk.connect()
            db.execute("CREATE TABLE facts (number)")
            db.close()
        dead.append(weakref.ref(disk))
    del disk, db
    assert apsw.vfs_names() == names
    assert [each() for each in dead] == [None] * 50


def test_a_disk_with_open_files_is_not_closed_silently() -> None:
    disk = disk_of(1)
    db = disk.connect()
    with pytest.raises(InvariantError, match="still open"):
        disk.close()
    db.close()
    disk.close()
    disk.close()


PROGRAM = """
import sys
from umi.sim.disk import SimDisk
from umi.sim.rng import DeterministicRng
from umi.sim.vfs import SimDiskFile
hashes, cuts = [], []
for seed in range(5):
    with SimDisk(DeterministicRng(seed)) as disk:
        for life in range(3):
            db = disk.connect()
            db.execute("CREATE TABLE IF NOT EXISTS facts (number INTEGER PRIMARY KEY, text TEXT, noise BLOB, at TEXT)")
            for _ in range(5):
                db.execute("INSERT INTO facts VALUES (NULL, 'text', randomblob(50), datetime('now'))")
            hashes.append(disk.image_hash())
            disk.arm_power_cut(20 + seed)
            try:
                while True:
                    db.execute("INSERT INTO facts VALUES (NULL, 'more', randomblob(3000), random())")
            except Exception:
                pass
            db.close()
            disk.restart()
        cuts.append(disk.power_cuts_count)
assert len(set(hashes)) == len(hashes) == 15 and cuts == [3] * 5, cuts
print(hashes)
"""


def test_same_seed_same_bytes_in_every_process() -> None:
    printed = set()
    for hash_seed in ("0", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1


def test_same_seed_same_bytes_twice_in_one_process_whatever_was_drawn_between() -> None:
    hashes = set()
    for draw in (0, 1, 1_000):
        apsw.randomness(draw)
        with disk_of(3) as disk:
            db = disk.connect()
            work(db, [])
            hashes.add(disk.image_hash())
            db.close()
    assert len(hashes) == 1

"""The simulated disk as SQLite uses it: an apsw virtual file system and its open files."""

# ruff: noqa: N802, ARG002 - the names and the arguments are SQLite's
from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import apsw

from umi.sim.disk_state import Medium
from umi.sim.faults import FaultType
from umi.sim.rng import DeterministicRng
from umi.sim.sectors import SCATTERED, SectorFile

CHECKPOINT_PAGES: Final = 64  # WAL pages before a checkpoint; SQLite's 1,000 would never be reached in a short run
_JULIAN_ZERO_MS: Final = 210_866_760_000_000  # from Julian day 0 (noon, 24 November 4714 BC) to 1970
_UNIX: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_POWER: Final = "the power is off, or the process was killed"
_PATH_BYTES: Final = 1_024
# New files of these kinds make SQLite sync the directory with their first fsync.
_JOURNALS: Final = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
# Methods of a VFS that SQLite does not need here.
_UNUSED: Final = {
    "xDlOpen", "xDlSym", "xDlClose", "xDlError", "xSetSystemCall", "xGetSystemCall", "xNextSystemCall", "xGetLastError",
}  # fmt: skip


class SimDiskFile:
    """An open file as SQLite uses it; one per handle. Method names are SQLite's."""

    def __init__(self, disk: Medium, name: str, file: SectorFile, flags: int) -> None:
        self.name = name
        self.dead = False
        self._disk = disk
        self.file = file
        self._syncs_directory = bool(flags & apsw.SQLITE_OPEN_CREATE and flags & _JOURNALS)
        self._delete_on_close = bool(flags & apsw.SQLITE_OPEN_DELETEONCLOSE)
        self.lock = apsw.SQLITE_LOCK_NONE
        self.leaving = False

    def xRead(self, amount: int, offset: int) -> bytes:
        """Read up to `amount` bytes."""
        if self.dead and not self._alive(apsw.SQLITE_IOERR_READ):
            return b""  # a short read stops the checkpoint of a closing connection without raising in `close`
        disk = self._disk
        fault = self._fault("disk_read")
        if fault is FaultType.StorageReadFail:
            raise _failure(apsw.SQLITE_IOERR_READ, "a read failed")
        file = self.file.volatile
        if fault is FaultType.StorageCorrupt and offset < len(file):
            last = min(amount, len(file) - offset) - 1
            disk.flip_bit(self.name, offset + disk.damage.next_int(0, last), disk.damage.next_int(0, 7))
        return bytes(memoryview(file)[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        """Write into the cache."""
        if self.dead and not self._alive(apsw.SQLITE_IOERR_WRITE):
            return
        disk = self._disk
        fault = self._fault("disk_write")
        if fault is FaultType.StorageWriteFail:
            raise _failure(apsw.SQLITE_IOERR_WRITE, "a write failed")
        if fault is FaultType.StorageFull or not disk.room_for(self.file, offset + len(data)):
            raise _failure(apsw.SQLITE_FULL, "no room is left")
        # Acknowledged, without any effect.
        if fault is FaultType.LostWrite:
            return
        self.file.write(offset, data)
        # Counted after the write, so that a cut at this change may keep, lose or tear it.
        disk.change()
        if fault is FaultType.PowerCut or fault is FaultType.TornWrite:
            disk.cut(SCATTERED if fault is FaultType.TornWrite else None)
        # The power went in this very write.
        if self.dead:
            self._alive(apsw.SQLITE_IOERR_WRITE)

    def xTruncate(self, size: int) -> None:
        """Change the file's length."""
        if not self._alive(apsw.SQLITE_IOERR_TRUNCATE):
            return
        self.file.truncate(size)
        self._disk.change()
        self._alive(apsw.SQLITE_IOERR_TRUNCATE)

    def xSync(self, flags: int) -> None:
        """Make the file and its name durable."""
        if not self._alive(apsw.SQLITE_IOERR_FSYNC):
            return
        disk = self._disk
        fault = self._fault("disk_sync")
        disk.change()
        if fault is FaultType.PowerCut:
            disk.cut()
        if not self._alive(apsw.SQLITE_IOERR_FSYNC):
            return
        if fault is FaultType.StorageSyncFail:
            self.file.settle(disk.cuts)
            raise _failure(apsw.SQLITE_IOERR_FSYNC, "an fsync failed")
        self.file.sync()
        if self._syncs_directory:
            # The directory is synced too, which makes all names durable.
            self._syncs_directory = False
            disk.durable_names = dict(disk.files)
        elif disk.files.get(self.name) is self.file:
            disk.durable_names[self.name] = self.file

    def xFileSize(self) -> int:
        """The size of the file in bytes."""
        self._alive(apsw.SQLITE_IOERR_FSTAT)
        return len(self.file.volatile)

    def xLock(self, level: int) -> None:
        """Take a lock, or raise `apsw.BusyError` when another handle's lock is in the way."""
        if level == apsw.SQLITE_LOCK_EXCLUSIVE == self.lock:
            self._leave(leaving=True)
        if not self._alive(apsw.SQLITE_IOERR_LOCK) or level <= self.lock:
            return
        others = [each.lock for each in self._disk.handles if each is not self and each.file is self.file]
        # The highest lock of another handle that each level tolerates (SQLite, "File Locking And Concurrency").
        allowed = {
            apsw.SQLITE_LOCK_SHARED: apsw.SQLITE_LOCK_RESERVED,
            apsw.SQLITE_LOCK_RESERVED: apsw.SQLITE_LOCK_SHARED,
            apsw.SQLITE_LOCK_EXCLUSIVE: apsw.SQLITE_LOCK_NONE,
        }[level]
        if max(others, default=apsw.SQLITE_LOCK_NONE) > allowed:
            raise _failure(apsw.SQLITE_BUSY, "another handle has the lock")
        self.lock = level

    def xUnlock(self, level: int) -> None:
        """Lower the lock. Works without power too, as SQLite expects."""
        self.lock = min(self.lock, level)

    def xCheckReservedLock(self) -> bool:
        """Whether some handle holds the lock to write."""
        self._alive(apsw.SQLITE_IOERR_CHECKRESERVEDLOCK)
        return any(each.lock >= apsw.SQLITE_LOCK_RESERVED for each in self._disk.handles if each.file is self.file)

    def xFileControl(self, operation: int, pointer: int) -> bool:
        """Support no file control; only notice when a commit is about to be synced."""
        if operation == apsw.SQLITE_FCNTL_SYNC:
            self._leave(leaving=False)  # a commit: the connection was not closing, it only left WAL mode
        return False

    def xSectorSize(self) -> int:
        """The sector size that SQLite's Unix VFS reports. Tearing happens at smaller units."""
        return 4_096

    def xDeviceCharacteristics(self) -> int:
        """The characteristics that SQLite's Unix VFS reports."""
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xClose(self) -> None:
        """Close the handle. Works without power too."""
        if self in self._disk.handles:
            self._disk.handles.remove(self)
            if self._delete_on_close:
                self._disk.files.pop(self.name, None)

    def excepthook(self, etype: object, evalue: BaseException | None, etraceback: object) -> bool:
        """Take an error that apsw cannot raise; see `Medium.hidden`."""
        return self._disk.hidden(evalue)

    def _fault(self, operation: str) -> FaultType | None:
        """The fault of this call, or None."""
        return None if self.leaving else self._disk.fault(operation)

    def _alive(self, code: int) -> bool:
        """Whether calls still have an effect. Raises when they do not and SQLite should be told."""
        if self.dead and not self.leaving:
            raise _failure(code, _NO_POWER)
        return not self.dead

    def _leave(self, *, leaving: bool) -> None:
        """Handle that SQLite takes the exclusive lock it already has: it is closing the database, or leaving WAL mode.

        On a real machine closing never fails, whatever the disk reports. But apsw raises in `close` whatever was raised
        here. So from now on no call of this connection raises, and without power none has an effect.
        """
        for each in self._disk.handles:
            if each.name.startswith(self.name):
                each.leaving = leaving


class DiskVfs(apsw.VFS):
    """The virtual file system of one disk."""

    def __init__(self, disk: Medium, name: str) -> None:
        self._disk = disk
        super().__init__(name, None, maxpathname=_PATH_BYTES, exclude=_UNUSED)

    def xOpen(
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> Any:  # any object with a file's methods will do
        """Open or create a file."""
        disk = self._disk
        self._alive(apsw.SQLITE_CANTOPEN)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or disk.temporary_name()
        file = disk.files.get(path)
        if file is None:
            if not flags[0] & apsw.SQLITE_OPEN_CREATE:
                raise _failure(apsw.SQLITE_CANTOPEN, f"there is no file {path}")
            # Visible at once, durable only with a sync.
            file = disk.files[path] = SectorFile()
        if flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
            _seed_sqlite(disk.sqlite)
        # Output flags: how the file was really opened.
        flags[1] = flags[0]
        handle = SimDiskFile(disk, path, file, flags[0])
        disk.handles.append(handle)
        return handle

    def xDelete(self, filename: str, syncdir: bool) -> None:
        """Delete a file."""
        disk = self._disk
        if not disk.powered:
            return  # a dead process deletes nothing, and SQLite ignores the result
        if disk.files.pop(filename, None) is None:
            raise _failure(apsw.SQLITE_IOERR_DELETE_NOENT, f"there is no file {filename}")
        disk.change()
        self._alive(apsw.SQLITE_IOERR_DELETE)
        if syncdir:
            disk.durable_names.pop(filename, None)

    def xAccess(self, pathname: str, flags: int) -> bool:
        """Whether a file exists."""
        self._alive(apsw.SQLITE_IOERR_ACCESS)
        return pathname in self._disk.files

    def xFullPathname(self, name: str) -> str:
        """The name itself: there are no folders."""
        return name

    def xRandomness(self, numbytes: int) -> bytes:
        """Random bytes. SQLite asks only its default VFS, which this is not; see `_seed_sqlite`."""
        return self._disk.sqlite.next_bytes(numbytes)

    def xCurrentTimeInt64(self) -> int:
        """Virtual time in SQLite's unit, milliseconds since Julian day 0."""
        return (self._disk.clock.now() - _UNIX) // timedelta(milliseconds=1) + _JULIAN_ZERO_MS

    def xCurrentTime(self) -> float:
        """Virtual time as a Julian day."""
        return self.xCurrentTimeInt64() / 86_400_000

    def xSleep(self, microseconds: int) -> int:
        """Let virtual time pass."""
        self._disk.clock.advance(microseconds / 1e6)
        return microseconds

    def excepthook(self, etype: object, evalue: BaseException | None, etraceback: object) -> bool:
        """Take an error that apsw cannot raise; see `Medium.hidden`."""
        return self._disk.hidden(evalue)

    def _alive(self, code: int) -> None:
        if not self._disk.powered:
            raise _failure(code, _NO_POWER)


def _failure(code: int, what: str) -> Exception:
    error = apsw.exception_for(code)
    error.args = (f"simulated disk: {what}",)
    return error


def checkpoint_quietly(vfs: str, db: apsw.Connection) -> None:
    """Make a connection to the disk `vfs` checkpoint after a commit, ignoring errors, as SQLite does by itself.

    The commit is durable at that point, so an error of the checkpoint is no error of the commit. But apsw would raise
    it from the commit.
    """
    if db.open_vfs == vfs:
        db.set_wal_hook(_checkpoint)


def _checkpoint(db: apsw.Connection, name: str, pages: int) -> int:
    if pages >= CHECKPOINT_PAGES:
        with suppress(apsw.Error):
            db.wal_checkpoint(name, apsw.SQLITE_CHECKPOINT_PASSIVE)
    return apsw.SQLITE_OK


class _Seed(apsw.VFS):
    """A VFS that is the default for a moment, because SQLite seeds its random generator from the default VFS only."""

    def __init__(self, rng: DeterministicRng) -> None:
        self._rng = rng
        super().__init__("umi-sim-seed", None, makedefault=True)

    def xRandomness(self, numbytes: int) -> bytes:
        return self._rng.next_bytes(numbytes)


def _seed_sqlite(rng: DeterministicRng) -> None:
    """Seed SQLite's random generator from a stream of the simulation."""
    seed = _Seed(rng)
    try:
        apsw.randomness(0)  # discard the old seed
        apsw.randomness(1)  # take a new one now, while `seed` is the default VFS
    finally:
        seed.unregister()

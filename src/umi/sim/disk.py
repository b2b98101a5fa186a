"""A disk under real SQLite: every read, write and fsync goes through here, and the power may go at any of them.

The fault model. A file is bytes in a volatile cache and bytes on the medium, and the changes between the two.
- write: reaches the cache; the medium at the next fsync of the same file, or in part at a power cut.
- power cut: of the changes since a file's last fsync all, none, the first ones up to a torn one, or for each 512-byte sector
  any of its versions survive; the last one may be torn at any byte. Bytes that no write touched are never damaged
  ("powersafe overwrite", which SQLite assumes of real disks too). Every call then fails with SQLITE_IOERR until the handles are
  closed and the disk is restarted. The cut comes when asked for, at the n-th change or fsync, or by a fault.
- killed process: the handles die as at a power cut, but the cache survives, as a page cache does.
- names: a file's name is durable with the file's first fsync, before that by chance; the first fsync of a new journal or WAL
  makes every name and deletion durable (SQLite syncs the directory then). Other deletions are durable at once when SQLite asks
  for it, else by chance: a rollback journal may come back.
- StorageFull: a write that needs room beyond `capacity_bytes`, or by a fault, fails with SQLITE_FULL.
- StorageReadFail, StorageWriteFail: the call fails and has had no effect.
- StorageSyncFail: the fsync fails, and what was not yet durable stays so for ever but for a random part of it (as on Linux).
- StorageSlow: the call takes 0.05 to 5 s of virtual time.
- TornWrite: a power cut in the middle of this very write.
- StorageCorrupt: one bit of what is read flips on the medium. LostWrite: a write is acknowledged and never reaches even the
  cache. No store on a single disk can undo these two; what matters is that a check sees them, or that little is lost.

Not modelled: shared memory (so WAL needs `PRAGMA locking_mode=EXCLUSIVE`, which `connect` sets), several processes at once,
a disk that reorders across an fsync, misdirected writes.

Same seed, same bytes: SQLite draws from one random generator per process, seeded by the default VFS; opening a database here
seeds it anew from the disk's own stream, and SQLite's clock is virtual. Two disks used in turns share that generator.
"""

from __future__ import annotations

import hashlib
import itertools
from functools import partial
from types import TracebackType
from typing import Final, Self

import apsw

from umi._core.invariants import check
from umi.sim.clock import SimClock
from umi.sim.disk_state import Medium
from umi.sim.faults import FaultInjector
from umi.sim.rng import DeterministicRng
from umi.sim.vfs import DiskVfs, checkpoint_quietly

_numbers: Final = itertools.count(1)


class SimDisk(Medium):
    """A disk of its own, with a name under which SQLite finds it (`vfs`).

    Args:
        rng: Where everything that is random is drawn from.
        clock: Virtual time, moved by a slow disk and shown to SQLite; a new one by default.
        faults: What may go wrong by itself.
        capacity_bytes: Room for all files together; None is without bound. May be changed at any time.
    """

    def __init__(
        self,
        rng: DeterministicRng,
        *,
        clock: SimClock | None = None,
        faults: FaultInjector | None = None,
        capacity_bytes: int | None = None,
    ) -> None:
        super().__init__(rng, clock or SimClock(), faults, capacity_bytes)
        self.vfs = f"umi-sim-{next(_numbers)}"
        self._registered: DiskVfs | None = DiskVfs(self, self.vfs)
        self._on_connection = partial(checkpoint_quietly, self.vfs)
        apsw.connection_hooks.append(self._on_connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: TracebackType | None) -> None:
        self.close(force=error is not None)

    def connect(self, path: str = "umi.db", *, synchronous: str = "FULL") -> apsw.Connection:
        """A connection in WAL mode, locked exclusively because there is no shared memory.

        Raises:
            apsw.Error: Whatever SQLite reports.
        """
        db = apsw.Connection(path, vfs=self.vfs)
        ready = False
        try:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            mode = db.execute("PRAGMA journal_mode = WAL").get
            check(mode == "wal", f"SQLite took journal mode {mode!r}, so a power cut would prove nothing about WAL")
            db.execute(f"PRAGMA synchronous = {synchronous}")
            ready = True
        finally:
            if not ready:
                db.close()
        return db

    def cut_power(self) -> None:
        """Lose what is not durable, by the draw. Handles fail from now on; a disk without power has none to lose."""
        self.cut()

    def arm_power_cut(self, change: int) -> None:
        """Let the power go at the n-th write, truncation, deletion or fsync from now on; 1 is the next one."""
        check(change >= 1, f"the next change is number 1, not {change}")
        self.cut_at = self.changes_count + change

    def disarm_power_cut(self) -> None:
        """Let no armed power cut happen."""
        self.cut_at = None

    def kill(self) -> None:
        """End the process: its handles fail, what it has written stays in the cache."""
        self.switch_off()

    def restart(self) -> None:
        """Power on again, with what has survived. Handles of before must have been closed."""
        check(not self.handles, f"close the connections of before first: {len(self.handles)} files are still open")
        self.powered = True

    def corrupt(self, name: str, offset: int, bit: int = 0) -> None:
        """Flip one bit of a file on the medium."""
        self.flip_bit(name, offset, bit)

    def file_names(self) -> list[str]:
        """Names of the files, sorted."""
        return sorted(self.files)

    def content(self, name: str) -> bytes:
        """A file as a running program reads it."""
        return bytes(self.files[name].volatile)

    def image_hash(self) -> str:
        """SHA-256 over every name and byte, of the cache and of the medium: two runs of one seed must agree in it."""
        digest = hashlib.sha256()
        for names, of in ((self.files, "volatile"), (self.durable_names, "durable")):
            for name in sorted(names):
                image: bytearray = getattr(names[name], of)
                digest.update(f"{of} {name} {len(image)} ".encode())
                digest.update(image)
        return digest.hexdigest()

    def close(self, *, force: bool = False) -> None:
        """Give the disk's name back to SQLite and its bytes to the memory.

        Args:
            force: Also with files still open, and without complaint about errors of the disk itself.
        """
        check(force or not self.handles, f"close the connections first: {len(self.handles)} files are still open")
        self.switch_off()
        if self._registered is not None:
            apsw.connection_hooks.remove(self._on_connection)
            self._registered.unregister()
            self._registered = None
        self.files.clear()
        self.durable_names.clear()
        check(force or not self.unexpected, f"the simulated disk itself failed: {self.unexpected}")

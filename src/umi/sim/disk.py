"""A simulated disk under the real SQLite. Every read, write and fsync goes through it, and power may be lost at any of them.

A file is bytes in a volatile cache, bytes on the medium, and the changes between the two. The fault model:

- write: reaches the cache. It reaches the medium at the next fsync of the same file, or in part at a power cut.
- power cut: of the changes since a file's last fsync all survive, none, the first ones up to a torn one, or for each 512-byte
  sector any of its versions. The last one may be torn at any byte. Bytes that no write touched are never damaged ("powersafe
  overwrite", which SQLite assumes of real disks too). Every call then fails with SQLITE_IOERR until the handles are closed and the
  disk is restarted. The cut happens on request, at the n-th change or fsync, or by a fault.
- killed process: handles fail as after a power cut, but the cache survives, as the operating system's page cache does.
- names: a file's name is durable after the file's first fsync, and before that survives by chance. The first fsync of a new
  journal or WAL makes all names and deletions durable (SQLite syncs the directory then). Other deletions are durable at once
  when SQLite asks for it, else by chance: a rollback journal may reappear.
- StorageFull: a write beyond `capacity_bytes`, or hit by this fault, fails with SQLITE_FULL.
- StorageReadFail, StorageWriteFail: the call fails without effect.
- StorageSyncFail: the fsync fails. A random part of what was not durable reaches the medium, the rest never will (as on Linux).
- StorageSlow: the call takes 0.05 to 5 s of virtual time.
- TornWrite: a power cut in the middle of this write.
- StorageCorrupt: one bit of what is read flips on the medium. LostWrite: a write is acknowledged and does not even reach the
  cache. No store on a single disk can undo these two. What is tested is that they are detected, or that little is lost.

Not modelled: shared memory (so WAL needs `PRAGMA locking_mode=EXCLUSIVE`, which `connect` sets), several processes at
once, a disk that reorders writes across an fsync, misdirected writes.

The same seed gives the same bytes. SQLite has one random generator per process, seeded by the default VFS; opening a
database here seeds it again from the disk's own stream, and SQLite's clock is virtual. Two disks used in turn share
that generator.
"""

from __future__ import annotations

import hashlib
import itertools
from contextlib import suppress
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

_numbers: Final = itertools.count(1)  # a VFS name must be unique in the process


class SimDisk(Medium):
    """A simulated disk, registered with SQLite as the virtual file system named `vfs`.

    Args:
        rng: Source of all randomness.
        clock: Virtual time, which a slow disk advances and SQLite reads; a new clock by default.
        faults: What may fail.
        capacity_bytes: Room for all files together; None is unbounded. May be changed at any time.
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
        # Hooks are global; this one acts only on connections to this disk.
        apsw.connection_hooks.append(self._on_connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: TracebackType | None) -> None:
        self.close(force=error is not None)

    def connect(self, path: str = "umi.db", *, synchronous: str = "FULL") -> apsw.Connection:
        """Open a connection in WAL mode, with an exclusive lock because there is no shared memory.

        Raises:
            apsw.Error: Whatever SQLite reports.
        """
        db = apsw.Connection(path, vfs=self.vfs)
        ready = False
        try:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            mode = db.execute("PRAGMA journal_mode = WAL").get
            # SQLite falls back silently where WAL is not possible.
            check(mode == "wal", f"SQLite took journal mode {mode!r}, so a power cut would prove nothing about WAL")
            db.execute(f"PRAGMA synchronous = {synchronous}")
            ready = True
        finally:
            if not ready:
                db.close()
        return db

    def cut_power(self) -> None:
        """Cut the power: lose what is not durable, as drawn. Open handles fail from now on. No effect without power."""
        self.cut()

    def arm_power_cut(self, change: int) -> None:
        """Cut the power at the n-th write, truncation, deletion or fsync from now; 1 is the next one."""
        check(change >= 1, f"the next change is number 1, not {change}")
        self.cut_at = self.changes_count + change

    def disarm_power_cut(self) -> None:
        """Cancel an armed power cut."""
        self.cut_at = None

    def kill(self) -> None:
        """End the process: its handles fail, but what it wrote stays in the cache."""
        self.switch_off()

    def restart(self) -> None:
        """Turn the power on again, with what has survived. Earlier handles must have been closed."""
        check(not self.handles, f"close the connections of before first: {len(self.handles)} files are still open")
        self.powered = True

    def corrupt(self, name: str, offset: int, bit: int = 0) -> None:
        """Flip one bit of a file on the medium."""
        self.flip_bit(name, offset, bit)

    def file_names(self) -> list[str]:
        """The names of all files, sorted."""
        return sorted(self.files)

    def content(self, name: str) -> bytes:
        """A file's content as a running program reads it."""
        return bytes(self.files[name].volatile)

    def image_hash(self) -> str:
        """SHA-256 over every name and byte in the cache and on the medium; equal for two runs of one seed."""
        digest = hashlib.sha256()
        # Both images: equal caches with different media would differ after a power cut.
        for names, of in ((self.files, "volatile"), (self.durable_names, "durable")):
            for name in sorted(names):
                image: bytearray = getattr(names[name], of)
                digest.update(f"{of} {name} {len(image)} ".encode())
                digest.update(image)
        return digest.hexdigest()

    def close(self, *, force: bool = False) -> None:
        """Unregister the disk from SQLite and release its memory.

        Args:
            force: Also with files still open, whose connections are closed, and without raising errors of the disk itself.
        """
        check(force or not self.handles, f"close the connections first: {len(self.handles)} files are still open")
        # Handles that are still open must not write into released files.
        self.switch_off()
        self._close_connections()
        if self._registered is not None:
            apsw.connection_hooks.remove(self._on_connection)
            self._registered.unregister()
            self._registered = None
        self.files.clear()
        self.durable_names.clear()
        check(force or not self.unexpected, f"the simulated disk itself failed: {self.unexpected}")

    def _close_connections(self) -> None:
        """Close what nobody closed: the garbage collector would do it later, in the middle of something else."""
        for db in apsw.connections():
            if db.open_vfs == self.vfs:
                with suppress(apsw.Error):  # the power is off
                    db.close()

"""The state of a simulated disk: files, names, power, and the faults to come. `umi.sim.disk` describes the model."""

from __future__ import annotations

import itertools
from typing import Final, Protocol

import apsw

from umi._core.invariants import check
from umi.sim.clock import SimClock
from umi.sim.faults import FaultInjector, FaultType
from umi.sim.rng import DeterministicRng
from umi.sim.sectors import SectorFile

SLOW_S: Final = (0.05, 5.0)  # virtual seconds of a slow call


class Handle(Protocol):
    """An open file, as far as the disk needs to know it. `leaving` is explained at `SimDiskFile._leave`."""

    dead: bool
    leaving: bool
    lock: int
    name: str
    file: SectorFile


class Medium:
    """Files as SQLite sees them, and as a power cut would leave them."""

    def __init__(
        self, rng: DeterministicRng, clock: SimClock, faults: FaultInjector | None, capacity_bytes: int | None
    ) -> None:
        self.clock = clock
        self.capacity_bytes = capacity_bytes
        self.powered = True
        self.changes_count = 0  # writes, truncations, deletions and fsyncs so far; a power cut can be armed at any
        self.power_cuts_count = 0
        self.handles: list[Handle] = []
        self.files: dict[str, SectorFile] = {}
        self.durable_names: dict[str, SectorFile] = {}
        self.unexpected: list[BaseException] = []  # Python errors in callbacks, which are bugs of the simulation
        # A stream per purpose, so that more draws for one leave the others as they are.
        self.cuts = rng.fork("cuts")
        self.damage = rng.fork("damage")
        self.sqlite = rng.fork("sqlite")
        self.faults = faults
        self.cut_at: int | None = None
        self._slow = rng.fork("slow")
        self._temporary = itertools.count(1)

    def fault(self, operation: str) -> FaultType | None:
        """The fault of this call, or None. A slow call is dealt with here, by letting time pass."""
        fault = None if self.faults is None else self.faults.should_inject(operation)
        if fault is FaultType.StorageSlow:
            self.clock.advance(self._slow.uniform(*SLOW_S))
            return None
        return fault

    def change(self) -> None:
        """Count a change; an armed power cut may happen at it."""
        self.changes_count += 1
        if self.cut_at is not None and self.changes_count >= self.cut_at:
            self.cut()

    def cut(self, mood: str | None = None) -> None:
        """Cut the power, and lose of everything not durable what is drawn. `mood` fixes the kind of loss."""
        # A disk without power has nothing left to lose.
        if not self.powered:
            return
        self.switch_off()
        self.power_cuts_count += 1
        survivors: dict[str, SectorFile] = {}
        for name in sorted({*self.files, *self.durable_names}):
            now, before = self.files.get(name), self.durable_names.get(name)
            # A name that was created, replaced or deleted since its last fsync survives in its new or its old state.
            file = now if now is before or self.cuts.chance(0.5) else before
            if file is not None:
                file.lose_power(self.cuts, mood)
                survivors[name] = file
        self.files = survivors
        # After a power cut the cache is empty: what is visible is what is durable.
        self.durable_names = dict(survivors)

    def switch_off(self) -> None:
        """Make every open file fail from now on."""
        self.powered = False
        # An armed cut belongs to the run that ends here.
        self.cut_at = None
        for handle in self.handles:
            handle.dead = True

    def flip_bit(self, name: str, offset: int, bit: int) -> None:
        """Flip one bit of a file on the medium."""
        file = self.files[name]
        check(offset < len(file.volatile), f"{name} has {len(file.volatile)} bytes, none at {offset}")
        file.damage(offset, bytes([file.volatile[offset] ^ (1 << bit)]))

    def room_for(self, file: SectorFile, end: int) -> bool:
        """Whether `file` may grow to `end` bytes."""
        if self.capacity_bytes is None or end <= len(file.volatile):
            return True
        used = sum(len(each.volatile) for each in self.files.values())
        return used + end - len(file.volatile) <= self.capacity_bytes

    def temporary_name(self) -> str:
        """A new name for a file that SQLite opens without one."""
        return f"temporary-{next(self._temporary)}"

    def hidden(self, error: BaseException | None) -> bool:
        """Take an error that apsw cannot raise from a callback. Returns True: it has been dealt with.

        Errors of the disk are expected. Any other error is kept in `unexpected`.
        """
        if error is not None and not isinstance(error, apsw.Error):
            self.unexpected.append(error)
        return True

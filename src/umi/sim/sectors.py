"""A file on a disk with a volatile cache: what was written, what is durable, and what a power cut leaves of the difference."""

from __future__ import annotations

from typing import Final

from umi.sim.rng import DeterministicRng

SECTOR_BYTES: Final = 512  # the unit that survives a power cut independently of others

# What a power cut does to the unsynced writes of one file; `_MOODS` gives each outcome its weight.
ALL_LOST: Final = "all lost"
ALL_KEPT: Final = "all kept"
IN_ORDER: Final = "in order"  # the first writes are kept, the next one is torn, the rest are lost
SCATTERED: Final = "scattered"  # decided for each sector separately
_MOODS: Final = ((ALL_LOST, 1.0), (ALL_KEPT, 1.0), (IN_ORDER, 2.0), (SCATTERED, 4.0))

Write = tuple[int, bytes]  # offset, data
Truncation = tuple[int, None]  # size, nothing
Change = Write | Truncation


class SectorFile:
    """A file: `volatile` as running programs see it, `durable` as it is after a power cut, and the `changes` between."""

    __slots__ = ("changes", "durable", "volatile")

    def __init__(self, content: bytes = b"") -> None:
        self.volatile = bytearray(content)
        self.durable = bytearray(content)
        self.changes: list[Change] = []

    def write(self, offset: int, data: bytes) -> None:
        """Write into the cache; a gap before `offset` is filled with zeros."""
        _put(self.volatile, offset, data)
        self.changes.append((offset, data))

    def truncate(self, size: int) -> None:
        """Cut the cached file to `size` bytes, or extend it with zeros."""
        _resize(self.volatile, size)
        self.changes.append((size, None))

    def sync(self) -> None:
        """Make everything that was written durable."""
        for offset, data in self.changes:
            _apply(self.durable, offset, data)
        self.changes.clear()

    def lose_power(self, rng: DeterministicRng, mood: str | None = None) -> None:
        """Lose the cache. A random part of the unsynced changes survives; `mood` fixes the kind."""
        self.settle(rng, mood)
        self.volatile = bytearray(self.durable)

    def settle(self, rng: DeterministicRng, mood: str | None = None) -> None:
        """Let a random part of the unsynced changes reach the disk, and drop the others for good.

        The cache still shows all of them. This is a failed fsync: Linux marks the pages clean, and a later fsync that
        succeeds does not write them.
        """
        if not self.changes:
            return
        mood = mood or rng.weighted(_MOODS)
        if mood == SCATTERED:
            _scatter(self.durable, self.changes, rng)
        elif mood != ALL_LOST:
            kept = len(self.changes) if mood == ALL_KEPT else rng.next_int(0, len(self.changes))
            for offset, data in self.changes[:kept]:
                _apply(self.durable, offset, data)
            if kept < len(self.changes):
                offset, data = self.changes[kept]
                _tear(self.durable, offset, data, rng)
        self.changes.clear()

    def damage(self, offset: int, data: bytes) -> None:
        """Overwrite bytes on the medium and in the cache, without any write being recorded."""
        _put(self.volatile, offset, data)
        _put(self.durable, offset, data)


def _put(image: bytearray, offset: int, data: bytes) -> None:
    size = len(image)
    if size == offset:
        image += data
        return
    if size < offset:
        # A write beyond the end leaves a gap of zeros, as file systems do.
        image.extend(bytes(offset - size))
    image[offset : offset + len(data)] = data


def _resize(image: bytearray, size: int) -> None:
    del image[size:]
    image.extend(bytes(size - len(image)))


def _apply(image: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        _resize(image, offset)
    else:
        _put(image, offset, data)


def _tear(image: bytearray, offset: int, data: bytes | None, rng: DeterministicRng) -> None:
    """Apply the beginning of a write. A truncation is one step of the file system's journal and is never half done."""
    if data is not None:
        _put(image, offset, data[: rng.next_int(0, len(data))])


def _scatter(image: bytearray, changes: list[Change], rng: DeterministicRng) -> None:
    """Let each sector end at one of its versions: lost, kept, one in between, or torn within the sector.

    Truncations are kept in order up to a random one. A kept truncation also removes what was written beyond it before.
    """
    truncations = sum(data is None for _, data in changes)
    kept_truncations = rng.next_int(0, truncations) if truncations else 0
    versions: dict[int, list[Write]] = {}
    for offset, data in changes:
        if data is not None:
            for piece in _pieces(offset, data):
                versions.setdefault(piece[0] // SECTOR_BYTES, []).append(piece)
        elif kept_truncations:
            kept_truncations -= 1
            _resize(image, offset)
            # What lay beyond the new size is gone, whatever its sectors would have kept.
            versions = {sector: kept for sector, pieces in versions.items() if (kept := _before(pieces, offset))}
    for sector in sorted(versions):
        pieces = versions[sector]
        # 0: all writes lost; 1: all kept; 2: a random number kept and the next one torn.
        fate = rng.next_int(0, 2)
        count = (0, len(pieces), rng.next_int(0, len(pieces) - 1))[fate]
        for offset, data in pieces[:count]:
            _put(image, offset, data)
        if fate == 2:
            offset, data = pieces[count]
            _tear(image, offset, data, rng)


def _pieces(offset: int, data: bytes) -> list[Write]:
    """A write, split at sector borders."""
    first = SECTOR_BYTES - offset % SECTOR_BYTES
    starts = [0, *range(first, len(data), SECTOR_BYTES)]
    ends = [*starts[1:], len(data)]
    return [(offset + start, data[start:end]) for start, end in zip(starts, ends, strict=True)]


def _before(pieces: list[Write], size: int) -> list[Write]:
    """The parts of these writes that lie before `size`."""
    return [(offset, data[: size - offset]) for offset, data in pieces if offset < size]

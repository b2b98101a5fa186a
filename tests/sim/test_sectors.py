"""What a power cut may leave of a file: nothing but old bytes, new bytes and the borders between them."""

from __future__ import annotations

import pytest

from umi.sim.rng import DeterministicRng
from umi.sim.sectors import ALL_KEPT, ALL_LOST, IN_ORDER, SCATTERED, SECTOR_BYTES, SectorFile

SECTORS = 4
OLD = b"o" * SECTORS * SECTOR_BYTES


def survivors(mood: str | None, count: int = 300) -> list[bytes]:
    found = []
    for seed in range(count):
        file = SectorFile(OLD)
        file.write(0, b"1" * len(OLD))
        file.write(0, b"2" * len(OLD))
        file.lose_power(DeterministicRng(seed), mood)
        assert file.volatile == file.durable
        assert file.changes == []
        found.append(bytes(file.durable))
    return found


def test_synced_bytes_survive_anything() -> None:
    for seed in range(100):
        file = SectorFile()
        file.write(0, b"kept" * 1_000)
        file.sync()
        file.write(100, b"x")
        file.lose_power(DeterministicRng(seed))
        left = bytes(file.durable)
        assert left[:100] + left[101:] == (b"kept" * 1_000)[:100] + (b"kept" * 1_000)[101:]


def test_all_and_nothing() -> None:
    assert set(survivors(ALL_LOST, 5)) == {OLD}
    assert set(survivors(ALL_KEPT, 5)) == {b"2" * len(OLD)}


def test_in_order_is_a_prefix_of_what_was_written() -> None:
    for image in survivors(IN_ORDER):
        first, rest = ("2", "1") if b"2" in image else ("1", "o")
        prefix = image.count(first.encode())
        assert image == first.encode() * prefix + rest.encode() * (len(OLD) - prefix)


def test_scattered_sectors_are_independent_and_torn_only_forwards() -> None:
    kinds = set()
    for image in survivors(SCATTERED):
        for start in range(0, len(image), SECTOR_BYTES):
            sector = image[start : start + SECTOR_BYTES].decode()
            borders = "".join(dict.fromkeys(sector))
            assert sector == "".join(each * sector.count(each) for each in borders), "one border at most"
            kinds.add(borders)
    assert kinds == {"o", "1", "2", "1o", "21"}
    assert len({image[::SECTOR_BYTES] for image in survivors(SCATTERED)}) > 20


def test_bytes_that_no_write_touched_are_never_damaged() -> None:
    for seed in range(300):
        file = SectorFile(OLD)
        file.write(SECTOR_BYTES - 5, b"n" * 10)
        file.lose_power(DeterministicRng(seed))
        assert len(file.durable) == len(OLD)
        assert set(file.durable[: SECTOR_BYTES - 5] + file.durable[SECTOR_BYTES + 5 :]) == {ord("o")}


def test_a_lost_sector_before_a_kept_one_reads_as_zeros() -> None:
    images = set()
    for seed in range(100):
        file = SectorFile()
        file.write(0, b"a" * SECTOR_BYTES)
        file.write(SECTOR_BYTES, b"b" * SECTOR_BYTES)
        file.lose_power(DeterministicRng(seed), SCATTERED)
        images.add(bytes(file.durable))
    assert bytes(SECTOR_BYTES) + b"b" * SECTOR_BYTES in images
    assert b"" in images
    assert b"a" * SECTOR_BYTES in images


@pytest.mark.parametrize("mood", [None, SCATTERED, IN_ORDER])
def test_a_truncation_is_whole_or_not_at_all(mood: str | None) -> None:
    sizes = set()
    for seed in range(200):
        file = SectorFile(OLD)
        file.write(SECTOR_BYTES, b"n" * 2 * SECTOR_BYTES)
        file.truncate(SECTOR_BYTES + 7)
        assert len(file.volatile) == SECTOR_BYTES + 7
        file.lose_power(DeterministicRng(seed), mood)
        sizes.add(len(file.durable))
    assert sizes == {SECTOR_BYTES + 7, len(OLD)}


def test_a_failed_sync_forgets_what_it_did_not_write() -> None:
    lost = 0
    for seed in range(50):
        file = SectorFile(OLD)
        file.write(0, b"n" * len(OLD))
        file.settle(DeterministicRng(seed))
        file.sync()
        assert bytes(file.volatile) == b"n" * len(OLD), "the cache still shows it"
        lost += bytes(file.durable) != bytes(file.volatile)
    assert 10 < lost < 50

"""Streams: the same on every machine, independent of each other, and as even as they claim."""

from __future__ import annotations

import pytest

from umi._core.invariants import InvariantError
from umi.sim.rng import DeterministicRng


def test_the_numbers_of_a_seed_never_change() -> None:
    rng = DeterministicRng(42).fork("disk")
    assert [rng.next_bits() for _ in range(3)] == FIRST_OF_42_DISK
    assert rng.next_float() == FOURTH_FLOAT_OF_42_DISK


FIRST_OF_42_DISK = [18261590107325247596, 5034894794721558238, 244116186090609643]
FOURTH_FLOAT_OF_42_DISK = 0.37656050802522945


def test_a_stream_does_not_depend_on_the_use_of_another() -> None:
    quiet, busy = DeterministicRng(7), DeterministicRng(7)
    for _ in range(100):
        busy.next_bits()
        busy.fork("network").next_bits()
    assert busy.fork("disk").next_bits() == quiet.fork("disk").next_bits()


def test_streams_differ_by_name_path_and_seed() -> None:
    rng = DeterministicRng(7)
    streams = [
        rng,
        rng.fork("a"),
        rng.fork("b"),
        rng.fork("a").fork("b"),
        rng.fork("ab"),
        DeterministicRng(8),
        DeterministicRng(-7),
    ]
    assert len({stream.next_bits() for stream in streams}) == len(streams)


def test_integers_reach_both_ends_and_are_even() -> None:
    rng = DeterministicRng(1)
    drawn = [rng.next_int(-1, 2) for _ in range(40_000)]
    assert sorted(set(drawn)) == [-1, 0, 1, 2]
    assert all(9_500 < drawn.count(value) < 10_500 for value in (-1, 0, 1, 2))
    assert DeterministicRng(1).next_int(5, 5) == 5
    with pytest.raises(InvariantError, match="between 3 and 2"):
        rng.next_int(3, 2)


def test_floats_are_in_their_interval_and_even() -> None:
    rng = DeterministicRng(2)
    drawn = [rng.next_float() for _ in range(10_000)]
    assert 0 <= min(drawn) < 0.01
    assert 0.99 < max(drawn) < 1
    assert abs(sum(drawn) / len(drawn) - 0.5) < 0.01
    assert all(3 <= rng.uniform(3, 4) < 4 for _ in range(1_000))


def test_chance_is_never_and_always_at_its_ends() -> None:
    rng = DeterministicRng(3)
    assert not any(rng.chance(0.0) for _ in range(1_000))
    assert all(rng.chance(1.0) for _ in range(1_000))
    assert 2_300 < sum(rng.chance(0.25) for _ in range(10_000)) < 2_700


def test_choice_and_weights() -> None:
    rng = DeterministicRng(4)
    drawn = [rng.weighted([("never", 0.0), ("rare", 1.0), ("often", 3.0), ("never too", 0)]) for _ in range(8_000)]
    assert sorted(set(drawn)) == ["often", "rare"]
    assert 1_800 < drawn.count("rare") < 2_200
    assert {rng.choice("abc") for _ in range(100)} == {"a", "b", "c"}
    for nothing in (lambda: rng.choice(""), lambda: rng.weighted([]), lambda: rng.weighted([("a", 0.0)])):
        with pytest.raises(InvariantError):
            nothing()


def test_shuffle_is_a_permutation_and_reaches_all() -> None:
    rng = DeterministicRng(5)
    seen = set()
    for _ in range(500):
        items = [1, 2, 3, 4]
        rng.shuffle(items)
        assert sorted(items) == [1, 2, 3, 4]
        seen.add(tuple(items))
    assert len(seen) == 24


def test_bytes_have_the_length_asked_for() -> None:
    assert [len(DeterministicRng(6).next_bytes(count)) for count in (0, 1, 8, 9)] == [0, 1, 8, 9]
    assert DeterministicRng(6).next_bytes(16) == DeterministicRng(6).next_bytes(16)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1_999])
def test_shuffled_one_by_one_is_the_shuffle_from_its_end(count: int) -> None:
    at_once, one_by_one = DeterministicRng(3), DeterministicRng(3)
    items = list(range(count))
    at_once.shuffle(items)
    assert list(one_by_one.shuffled(range(count))) == items[::-1]
    assert one_by_one.next_bits() == at_once.next_bits(), "both take as many numbers from the stream"


def test_what_is_shuffled_one_by_one_is_drawn_apart_from_the_stream() -> None:
    rng, whole = DeterministicRng(3), DeterministicRng(3)
    order = list(whole.shuffled(range(20)))
    drawn = rng.shuffled(range(20))
    first = [next(drawn) for _ in range(5)]
    rng.next_bits()
    assert [*first, *drawn] == order

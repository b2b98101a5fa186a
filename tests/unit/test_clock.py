"""The machine's clock and random source: ids that sort by time, and secrets as long as asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from umi import SystemEntropy

MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "digits"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), "000000000000"),
        (MOMENT, f"{int(MOMENT.timestamp()) * 1_000:012x}"),
        (MOMENT + timedelta(microseconds=1_999), f"{int(MOMENT.timestamp()) * 1_000 + 1:012x}"),
        (datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), "fffffffffc18"),  # as long as any other
    ],
)
def test_an_id_begins_with_its_milliseconds_and_is_given_out_once(at: datetime, digits: str) -> None:
    ids = {SystemEntropy().new_id("ep", at) for _ in range(100)}
    assert len(ids) == 100
    assert {(id_[: len("ep_") + 12], len(id_)) for id_ in ids} == {(f"ep_{digits}", len("ep_") + 28)}


def test_random_numbers_fill_the_range_from_zero_to_one() -> None:
    numbers = [SystemEntropy().uniform() for _ in range(1_000)]
    assert 0 <= min(numbers) < 0.1
    assert 0.9 < max(numbers) < 1

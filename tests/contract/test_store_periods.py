"""Every store counts alike when the statements about a subject begin, and finds those of a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from store_rows import NOON, entity, episode_row, later

from umi.ports import StorageBackend, Store, Transaction
from umi.types import HistoryCounts, PeriodCounts
from umi.types.periods import During

LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


def _written(tx: Transaction) -> None:
    """Ten statements, one an hour, the last of which names no beginning; they became known in two minutes. And two about others."""
    tx.add_episodes([episode_row(number, at=NOON + timedelta(hours=number)) for number in range(12)])
    tx.add_entities(
        [
            entity(number, id=f"e{number}", valid_from=NOON + timedelta(hours=number), recorded_at=later(number % 2))
            for number in range(9)
        ]
    )
    tx.add_entities(
        [
            entity(9, id="e9", valid_from=LONG_AGO, recorded_at=later(1)),
            entity(10, id="of both", subject="lamp", also=("alice",), valid_from=NOON, recorded_at=later(1)),
            entity(11, id="of another", subject="lamp"),
        ]
    )
    tx.set_validity("e2", NOON + timedelta(hours=4), later(60))
    tx.set_validity("e3", NOON + timedelta(hours=3), later(60))  # it never held


async def test_statements_are_counted_in_parts_of_equal_length_on_both_axes(
    store: Store, alice: StorageBackend
) -> None:
    await alice.write(_written)
    await store.namespace("bob").write(_written)  # the same subjects of somebody else
    found = await alice.read(lambda s: s.periods("alice", 3))
    assert found == HistoryCounts(
        11,
        PeriodCounts(NOON, NOON + timedelta(hours=9), (5, 3, 3)),
        PeriodCounts(NOON, later(1), (5, 0, 6)),
    )
    assert await alice.read(lambda s: s.periods("nobody", 3)) == HistoryCounts()
    (one,) = (await alice.read(lambda s: s.periods("alice", 1)),)
    assert one.held is not None
    assert one.held.counts == (11,)


async def test_all_at_one_moment_are_in_the_first_part(alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(0, at=NOON)])
        tx.add_entities(
            [entity(0, id=f"e{number}", span=(number, number + 1), recorded_at=NOON) for number in range(3)]
        )

    await alice.write(work)
    all_at_once = PeriodCounts(NOON, NOON, (3, 0, 0, 0))
    assert await alice.read(lambda s: s.periods("alice", 4)) == HistoryCounts(3, all_at_once, all_at_once)


@pytest.mark.parametrize(
    ("hours", "wanted"),
    [
        ((0, 1), {"e0", "of both"}),
        ((3, 4), {"e0", "e1", "e2", "e3", "of both"}),
        ((4, 5), {"e0", "e1", "e4", "of both"}),
        ((-5, 0), set()),
        ((100, 101), {"e0", "e1", "e4", "e5", "e6", "e7", "e8", "e9", "of both"}),
    ],
)
async def test_those_that_held_at_some_time_of_a_range_are_found(
    alice: StorageBackend, hours: tuple[int, int], wanted: set[str]
) -> None:
    await alice.write(_written)
    start, end = (NOON + timedelta(hours=hour) for hour in hours)
    found = await alice.read(lambda s: s.statements("alice", limit=100, during=During(held=(start, end))))
    assert {one.id for one in found} == wanted
    assert await alice.read(lambda s: s.statements("alice", limit=1, during=During(held=(start, end)))) == found[:1]


async def test_those_that_were_known_at_some_time_of_a_range_are_found(alice: StorageBackend) -> None:
    await alice.write(_written)

    async def ids(start: float, end: float, held: tuple[datetime, datetime] | None = None) -> set[str]:
        known = later(start), later(end)
        found = await alice.read(lambda s: s.statements("alice", limit=100, during=During(held=held, known=known)))
        return {one.id for one in found}

    assert await ids(0, 1) == {"e0", "e2", "e4", "e6", "e8"}
    assert await ids(60, 61) == {"e0", "e1", "e4", "e5", "e6", "e7", "e8", "e9", "of both"}
    assert await ids(-10, 0) == set()
    assert await ids(0, 1, (NOON, NOON + timedelta(hours=3))) == {"e0", "e2"}

"""Every store counts alike what happened on a day."""

from __future__ import annotations

from datetime import datetime, timedelta

from store_rows import NOON, episode_row, later, relation, seed

from umi.ports import DayCount, StorageBackend, Store, Transaction
from umi.types import EvolutionType, OutboxItem

DAY = 20_513  # 2026-03-01
MIDNIGHT = datetime(2026, 3, 1, tzinfo=NOON.tzinfo)


async def test_messages_and_relations_are_counted_by_the_day_on_which_they_were_recorded(
    store: Store, alice: StorageBackend
) -> None:
    await seed(alice, 2)

    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(1_000, at=later(-90_000))])  # taken in the next day, said long before
        tx.put_outbox(OutboxItem("ep_1000", 1_000))
        tx.put_relation(relation("e0", "e1", "rel_1"))
        tx.put_relation(relation("e0", "e1", "rel_2", created_at=later(1_000), undone_at=later(1_001)))
        kinds = {"evolution_type": EvolutionType.CONTRADICT, "resolved": "new", "resolved_at": later(1_002)}
        tx.put_relation(relation("e0", "e1", "rel_3", **kinds))

    await alice.write(work)
    both = [
        DayCount(DAY, "contradict", 1),
        DayCount(DAY, "remembered", 2),
        DayCount(DAY, "update", 1),
        DayCount(DAY + 1, "remembered", 1),
        DayCount(DAY + 1, "settled", 1),
        DayCount(DAY + 1, "undone", 1),
        DayCount(DAY + 1, "update", 1),
        DayCount(DAY + 1, "waiting", 1),
    ]
    day = timedelta(days=1)
    assert await alice.read(lambda s: s.days(MIDNIGHT, MIDNIGHT + 2 * day)) == both
    assert await alice.read(lambda s: s.days(MIDNIGHT, MIDNIGHT + day)) == both[:3]
    assert await alice.read(lambda s: s.days(MIDNIGHT - day, MIDNIGHT)) == []
    assert await store.namespace("bob").read(lambda s: s.days(MIDNIGHT, MIDNIGHT + 2 * day)) == []

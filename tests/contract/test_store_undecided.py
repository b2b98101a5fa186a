"""What waits for a decision is listed alike by every store."""

from __future__ import annotations

from store_rows import later, relation, seed

from umi.ports import StorageBackend, Store, Transaction
from umi.types import EvolutionType

C, U, X = EvolutionType.CONTRADICT, EvolutionType.UPDATE, EvolutionType.EXTEND


async def test_open_contradictions_and_flagged_updates_are_listed_by_descending_id_a_page_at_a_time(
    store: Store, alice: StorageBackend
) -> None:
    await seed(alice)
    rows = [
        relation("e0", "e1", "rel_1", evolution_type=C),
        relation("e0", "e1", "rel_2", evolution_type=U, acted=False),
        relation("e0", "e1", "rel_3", evolution_type=U, acted=True),
        relation("e0", "e1", "rel_4", evolution_type=X),
        relation("e0", "e1", "rel_5", evolution_type=C, resolved="new", resolved_at=later(1)),
        relation("e0", "e1", "rel_6", evolution_type=C, undone_at=later(1)),
        relation("e0", "e1", "rel_7", evolution_type=U, acted=False),
    ]

    def work(tx: Transaction) -> None:
        for row in rows:
            tx.put_relation(row)

    await alice.write(work)
    first = await alice.read(lambda s: s.undecided(after=None, limit=2))
    assert first == [rows[6], rows[1]]
    assert await alice.read(lambda s: s.undecided(after="rel_2", limit=2)) == [rows[0]]
    assert await alice.read(lambda s: s.undecided(after="rel_1", limit=2)) == []
    assert await store.namespace("bob").read(lambda s: s.undecided(after=None, limit=9)) == []

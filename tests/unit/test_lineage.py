"""A transaction's ledger, and what it must not forget while relations are written one after the other."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from store_files import entity, episode_row

from umi._core.clock import SystemClock, SystemEntropy
from umi._evolution.relation_effects import RelationEffects
from umi._evolution.relation_writer import Proposal, RelationWriter
from umi._evolution.states import StateResolver, View
from umi.ports import Transaction
from umi.stores.memory.store import MemoryStore
from umi.stores.sql.rows import json_array
from umi.types import Detector, EvolutionType, HitState

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _proposal(older: str, newer: str, kind: EvolutionType) -> Proposal:
    return Proposal(older, newer, kind, "for a test", 1.0, Detector.CALLER)


async def test_one_transaction_sees_its_own_relations_as_another_would() -> None:
    store = MemoryStore(clock=SystemClock(), entropy=SystemEntropy())
    space = store.namespace("main")

    def work(tx: Transaction) -> None:
        ids = ["first", "second", "third"]
        for arrival, id_ in enumerate(ids):
            tx.add_episodes([episode_row(arrival)])
            tx.add_entities([replace(entity(arrival, id_), valid_from=_NOW)])
        writer = RelationWriter(tx, SystemEntropy(), _NOW)
        writer.record(_proposal(ids[0], ids[2], EvolutionType.DERIVE))
        assert writer.effects.causes(ids[2]) == frozenset()
        closing = writer.record(_proposal(ids[0], ids[1], EvolutionType.UPDATE))
        assert writer.effects.causes(ids[2]) == {closing.id}, "what rests on a closed statement is stale at once"
        assert writer.record(_proposal(ids[0], ids[1], EvolutionType.UPDATE)) == closing, "said twice, written once"
        writer.undo(closing.id)
        fresh = RelationEffects(tx)
        for id_ in ids:
            assert writer.effects.rows(id_) == fresh.rows(id_)
            assert writer.effects.relations(id_) == fresh.relations(id_)
            assert writer.effects.causes(id_) == fresh.causes(id_) == frozenset()
            assert writer.effects.entity(id_) == fresh.entity(id_)
        (state,) = StateResolver(tx, View(), writer.effects).of([tx.entities([ids[0]])[ids[0]]])
        assert state.state is HitState.CURRENT

    await space.write(work)


def test_ids_travel_as_the_json_that_they_are() -> None:
    odd = ["", "plain", 'quo"te', "back\\slash", "new\nline", "nul\0", "é", "\U0001f600", "\ud800", "</script>"]
    assert json.loads(json_array(odd)) == odd
    assert json_array(odd) == json.dumps(odd, separators=(",", ":"))
    assert json_array([]) == "[]"

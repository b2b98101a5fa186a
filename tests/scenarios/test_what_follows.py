"""Conclusions: stale when a source changes, fresh again on undo, in chains and diamonds."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import day

import umi
from umi import EvolutionError, EvolutionType, HitState, NotFound, RelationCycle
from umi._core.clock import SystemClock, SystemEntropy
from umi._evolution.relation_writer import Proposal, RelationWriter
from umi.ports import Transaction
from umi.stores.sqlite.store import SqliteStore


async def _note(memory: umi.Memory, text: str, when: str, *, derived_from: tuple[str, ...] = ()) -> umi.Entity:
    receipt = await memory.remember(text, at=day(when), derived_from=derived_from, extract_entities=not derived_from)
    return receipt.entities[0]


async def _state(memory: umi.Memory, entity: umi.Entity) -> HitState:
    return (await memory.why(entity.id)).state


async def test_a_conclusion_goes_stale_with_its_source_and_comes_back_on_undo(words: umi.Memory) -> None:
    source = await _note(words, "Alice lives in Paris.", "2026-01-01")
    conclusion = await _note(words, "Alice can meet at the Louvre.", "2026-01-02", derived_from=(source.id,))
    assert await _state(words, conclusion) is HitState.CURRENT

    moved = await words.remember("Alice moved to Berlin.", at=day("2026-02-01"))
    explained = await words.why(conclusion.id)
    assert explained.state is HitState.STALE
    assert explained.stale_because == moved.evolutions
    assert explained.derived_from[0].id == source.id
    assert (await words.recall("Louvre", min_score=0)).hits == ()
    shown = await words.recall("Louvre", min_score=0, include_superseded=True)
    assert [hit.state for hit in shown.hits] == [HitState.STALE]

    await words.undo(moved.evolutions[0].id)
    assert await _state(words, conclusion) is HitState.CURRENT
    assert [hit.content for hit in (await words.recall("Louvre", min_score=0)).hits] == [
        "Alice can meet at the Louvre."
    ]


async def test_a_conclusion_was_right_before_its_source_changed(words: umi.Memory) -> None:
    source = await _note(words, "Alice lives in Paris.", "2026-01-01")
    await _note(words, "Alice can meet at the Louvre.", "2026-01-02", derived_from=(source.id,))
    await words.remember("Alice moved to Berlin.", at=day("2026-02-01"))
    assert len((await words.recall("Louvre", min_score=0, as_of=day("2026-01-15"))).hits) == 1
    assert len((await words.recall("Louvre", min_score=0, as_of=day("2026-02-15"))).hits) == 0


async def test_a_diamond_is_stale_while_one_cause_stands(words: umi.Memory) -> None:
    left = await _note(words, "Alice lives in Paris.", "2026-01-01")
    right = await _note(words, "Bob lives in Paris.", "2026-01-01")
    top_left = await _note(words, "Alice is near the Seine.", "2026-01-02", derived_from=(left.id,))
    top_right = await _note(words, "Bob is near the Seine.", "2026-01-02", derived_from=(right.id,))
    both = await _note(words, "They can meet by the river.", "2026-01-03", derived_from=(top_left.id, top_right.id))

    first = await words.remember("Alice moved to Berlin.", at=day("2026-02-01"))
    second = await words.remember("Bob moved to Rome.", at=day("2026-02-02"))
    assert await _state(words, both) is HitState.STALE
    await words.undo(first.evolutions[0].id)
    assert await _state(words, top_left) is HitState.CURRENT
    assert await _state(words, both) is HitState.STALE
    await words.undo(second.evolutions[0].id)
    assert await _state(words, both) is HitState.CURRENT


async def test_a_chain_of_three(words: umi.Memory) -> None:
    chain = [await _note(words, "Alice lives in Paris.", "2026-01-01")]
    for text in ("Alice speaks French at work.", "Alice needs no interpreter.", "The interpreter can be cancelled."):
        chain.append(await _note(words, text, "2026-01-02", derived_from=(chain[-1].id,)))
    moved = await words.remember("Alice moved to Berlin.", at=day("2026-02-01"))
    assert [await _state(words, entity) for entity in chain] == [HitState.SUPERSEDED] + [HitState.STALE] * 3
    await words.undo(moved.evolutions[0].id)
    assert {await _state(words, entity) for entity in chain} == {HitState.CURRENT}


async def test_a_conclusion_from_an_outdated_source_is_born_stale(words: umi.Memory) -> None:
    source = await _note(words, "Alice lives in Paris.", "2026-01-01")
    await words.remember("Alice moved to Berlin.", at=day("2026-02-01"))
    assert (
        await _state(words, await _note(words, "Meet at the Louvre.", "2026-02-02", derived_from=(source.id,)))
        is HitState.STALE
    )


async def test_a_contradicted_source_makes_stale_until_settled_for_it(words: umi.Memory) -> None:
    source = (await words.remember("I love hiking", speaker="Ann", at=day("2026-01-01"))).entities[0]
    gift = await _note(words, "Hiking boots would make a good gift.", "2026-01-02", derived_from=(source.id,))
    second = await words.remember("I hate hiking", speaker="Ann", at=day("2026-02-01"))
    assert await _state(words, gift) is HitState.STALE
    await words.resolve(second.evolutions[0].id, keep="old")
    assert await _state(words, gift) is HitState.CURRENT


async def test_deriving_from_an_episode_takes_all_its_entities(words: umi.Memory) -> None:
    source = await words.remember("Alice lives in Paris. Bob lives in Rome.", at=day("2026-01-01"))
    receipt = await words.remember("They live far apart.", derived_from=[source.episode_ids[0]], extract_entities=False)
    assert {row.source_id for row in receipt.evolutions} == {entity.id for entity in source.entities}
    assert {row.evolution_type for row in receipt.evolutions} == {EvolutionType.DERIVE}


async def test_undoing_the_middle_of_a_chain_brings_no_old_value_back(words: umi.Memory) -> None:
    first = await words.remember("Alice works at Acme.", at=day("2026-01-01"))
    second = await words.remember("Alice now works at Bolt.", at=day("2026-02-01"))
    third = await words.remember("Alice now works at Cargo.", at=day("2026-03-01"))
    await words.undo(second.evolutions[0].id)
    old = await words.why(first.entities[0].id)
    assert old.state is HitState.SUPERSEDED
    assert old.entity.valid_to == day("2026-03-01")
    relinked = [row for row in old.evolutions if row.undone_at is None]
    assert [(row.target_id, row.detector) for row in relinked] == [(third.entities[0].id, umi.Detector.RELINK)]


async def test_undoing_the_newest_step_brings_the_old_value_back(words: umi.Memory) -> None:
    await words.remember("Alice works at Acme.", at=day("2026-01-01"))
    second = await words.remember("Alice now works at Bolt.", at=day("2026-02-01"))
    await words.undo(second.evolutions[0].id)
    assert {hit.state for hit in (await words.recall("Alice", min_score=0)).hits} == {HitState.CURRENT}


async def test_a_circle_of_conclusions_is_refused(words: umi.Memory) -> None:
    one, two, three = [await _note(words, f"Note number {n} about gardens.", "2026-01-01") for n in (1, 2, 3)]
    await words.relate(one.id, two.id, "derive", "follows")
    await words.relate(two.id, three.id, "derive", "follows")
    with pytest.raises(RelationCycle):
        await words.relate(three.id, one.id, "derive", "follows")
    with pytest.raises(EvolutionError, match="into itself"):
        await words.relate(one.id, one.id, "derive", "follows")
    with pytest.raises(EvolutionError, match="swap the two"):
        await words.relate(three.id, one.id, "update", "backwards")


async def test_a_relation_by_hand_acts_like_a_detected_one(words: umi.Memory) -> None:
    old = await _note(words, "The budget is two thousand.", "2026-01-01")
    new = await _note(words, "Finance gave us five thousand.", "2026-02-01")
    relation = await words.relate(old.id, new.id, "update", "finance said so")
    assert relation.detector is umi.Detector.CALLER
    assert await _state(words, old) is HitState.SUPERSEDED
    assert await words.relate(old.id, new.id, "update", "again") == relation
    await words.undo(relation.id)
    assert await _state(words, old) is HitState.CURRENT
    with pytest.raises(EvolutionError, match="undone"):
        await words.undo(relation.id)


async def test_unknown_ids_are_typed_errors(words: umi.Memory) -> None:
    entity = await _note(words, "The budget is two thousand.", "2026-01-01")
    for call in (
        words.why("ent_none"),
        words.undo("rel_none"),
        words.resolve("rel_none"),
        words.relate(entity.id, "ent_none", "update", "x"),
        words.remember("It follows.", derived_from=["ent_none"]),
    ):
        with pytest.raises(NotFound, match="none"):
            await call
    assert (await words.stats()).episodes == 1
    second = await _note(words, "A second note.", "2026-01-02")
    relation = await words.relate(entity.id, second.id, "extend", "more")
    with pytest.raises(EvolutionError, match="only a contradiction"):
        await words.resolve(relation.id)


async def test_an_unsure_update_is_flagged_and_closes_nothing(tmp_path: Path) -> None:
    """Recording and acting are two things."""
    clock, entropy = SystemClock(), SystemEntropy()
    store = await SqliteStore.open(
        str(tmp_path / "umi.db"), clock=clock, entropy=entropy, cache_bytes_max=1 << 20, busy_timeout_ms=1000
    )
    storage = store.namespace("default")
    old = await storage.store_entity(umi.Entity(umi.EntityType.NOTE, "Alice", "Works at Acme"))
    new = await storage.store_entity(umi.Entity(umi.EntityType.NOTE, "Alice", "Seen at StartupX"))

    def record(tx: Transaction) -> umi.EvolutionRelation:
        proposal = Proposal(old, new, EvolutionType.UPDATE, "perhaps", 0.5, umi.Detector.RULES)
        return RelationWriter(tx, entropy, clock.now()).record(proposal)

    relation = await storage.write(record)
    assert not relation.acted
    kept = await storage.get_entity(old)
    assert kept is not None
    assert kept.valid_to is None
    await store.close()

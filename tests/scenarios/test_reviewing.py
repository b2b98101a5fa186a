"""What waits for a decision is listed and decided, and an undo says beforehand exactly what it will do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import postgres_server
import pytest

import umi
from umi.sim.clock import SimClock

STORES = ("sqlite", "postgres")


@pytest.fixture(params=STORES)
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[umi.Memory]:
    url = postgres_server.new_database() if request.param == "postgres" else str(tmp_path / "umi.db")
    async with umi.Memory.open(url, namespace="alice", embedder=None) as opened:
        yield opened
    if request.param == "postgres":
        postgres_server.drop_database(url)


async def states(memory: umi.Memory) -> dict[str, tuple[umi.HitState, object]]:
    page = await memory.list(limit=100)
    return {step.entity.id: (step.state, step.entity.valid_to) for step in page.items}


async def test_a_contradiction_waits_until_it_is_decided(memory: umi.Memory) -> None:
    await memory.remember("I love hiking.", speaker="Alice", at="2026-01-12T10:00Z")
    await memory.remember("I hate hiking.", speaker="Alice", at="2026-06-30T10:00Z")
    (found,) = (await memory.undecided()).items
    assert (found.older.negated, found.newer.negated) == (False, True)
    assert found.older_state is found.newer_state is umi.HitState.DISPUTED
    await memory.resolve(found.relation.id, keep="new")
    assert (await memory.undecided()).items == ()
    await memory.undo(found.relation.id)
    assert (await memory.undecided()).items == ()


async def test_a_page_says_where_the_next_one_begins(memory: umi.Memory) -> None:
    for thing in ("hiking", "tea", "jazz"):
        await memory.remember(f"I love {thing}.", speaker="Alice", at="2026-01-12T10:00Z")
        await memory.remember(f"I hate {thing}.", speaker="Alice", at="2026-06-30T10:00Z")
    first = await memory.undecided(limit=2)
    second = await memory.undecided(limit=2, after=first.next)
    assert [one.newer.value for one in (*first.items, *second.items)] == ["jazz", "tea", "hiking"]
    assert second.next is None
    with pytest.raises(umi.InvalidInput, match="limit is 0"):
        await memory.undecided(limit=0)


async def test_pages_have_each_change_once_when_all_were_recorded_within_one_millisecond() -> None:
    async with umi.Memory.open("dict:", embedder=None, clock=SimClock()) as memory:
        told = [await memory.set_fact("Kiba", name, "red") for name in ("shelf", "badge", "lamp", "door", "boat")]
        one, *others = [receipt.entities[0].id for receipt in told]
        for other in others:
            await memory.relate(one, other, "contradict", "both cannot be")
        found, after = [], None
        while True:
            page = await memory.undecided(limit=1, after=after)
            found += [undecided.relation for undecided in page.items]
            after = page.next
            if after is None:
                break
        assert len({row.created_at for row in found}) == 1
        assert [row.id for row in found] == sorted({row.id for row in found}, reverse=True)
        assert len(found) == 4


async def test_the_preview_of_an_undo_is_what_the_undo_does(memory: umi.Memory) -> None:
    first = await memory.remember("I work at Acme.", speaker="Alice", at="2026-01-12T10:00Z")
    concluded = await memory.remember(
        "Alice takes the tram to Acme.", role="assistant", derived_from=[first.entities[0].id], at="2026-01-13T10:00Z"
    )
    done = await memory.remember("I left Acme and joined StartupX.", speaker="Alice", at="2026-04-08T10:00Z")
    (change,) = [one for one in done.evolutions if one.acted]
    before, sequence = await states(memory), await memory.sequence()
    preview = await memory.preview_undo(change.id)
    assert (await states(memory), await memory.sequence()) == (before, sequence)  # nothing has happened yet
    becomes = {one.entity.id: (one.was, one.becomes) for one in preview.changes}
    assert becomes[first.entities[0].id] == (umi.HitState.SUPERSEDED, umi.HitState.CURRENT)
    assert becomes[concluded.entities[0].id] == (umi.HitState.STALE, umi.HitState.CURRENT)
    await memory.undo(change.id)
    after = await states(memory)
    changed = {id_ for id_ in after if after[id_] != before[id_]}
    assert set(becomes) == changed
    assert {one.entity.id: (one.becomes, one.entity.valid_to) for one in preview.changes} == {
        id_: after[id_] for id_ in changed
    }
    with pytest.raises(umi.EvolutionError, match="was undone"):
        await memory.preview_undo(change.id)
    with pytest.raises(umi.NotFound):
        await memory.preview_undo("rel_nobody")


async def test_the_preview_covers_a_fact_that_was_set_and_a_chain_that_is_joined(memory: umi.Memory) -> None:
    await memory.set_fact("api", "database", "MySQL", at="2026-01-01T00:00Z")
    middle = await memory.set_fact("api", "database", "PostgreSQL", at="2026-02-01T00:00Z")
    await memory.set_fact("api", "database", "SQLite", at="2026-03-01T00:00Z")
    for change in middle.evolutions:
        before = await states(memory)
        preview = await memory.preview_undo(change.id)
        await memory.undo(change.id)
        after = await states(memory)
        assert {one.entity.id: one.becomes for one in preview.changes} == {
            id_: after[id_][0] for id_ in after if after[id_] != before[id_]
        }


async def test_the_preview_of_forgetting_is_what_forgetting_does(memory: umi.Memory) -> None:
    told = await memory.remember("I work at Acme. Bob lives in Paris.", speaker="Alice", at="2026-01-12T10:00Z")
    work, home = sorted(told.entities, key=lambda one: one.span or (0, 0))
    concluded = await memory.remember("Alice takes the tram.", role="assistant", derived_from=[work.id])
    preview = await memory.preview_forget(work.id)
    assert {one.id for one in preview.statements} == {work.id}
    assert [one.id for one in preview.unsupported] == [concluded.entities[0].id]
    assert preview.left is not None
    assert preview.left.split() == ["Bob", "lives", "in", "Paris."]
    whole = await memory.preview_forget(told.episode_ids[0])
    assert (whole.left, {one.id for one in whole.statements}) == (None, {work.id, home.id})
    before = await states(memory)
    assert work.id in before
    await memory.forget(work.id)
    after = await states(memory)
    assert work.id not in after
    assert after[concluded.entities[0].id][0] is umi.HitState.STALE
    kept = await memory.get(told.episode_ids[0])
    assert isinstance(kept, umi.Episode)
    assert kept.content == preview.left
    with pytest.raises(umi.NotFound, match="no statement and no message"):
        await memory.preview_forget(work.id)

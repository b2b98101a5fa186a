"""A namespace that is dropped: no row, no name, no index of it, and nothing that was before it is mistaken for it."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from store_rows import entity, episode_row, later, relation

from umi.errors import NotFound
from umi.ports import ReplayRow, Snapshot, StorageBackend, Store, Transaction
from umi.types import OutboxItem
from umi.types.learning_rows import Belief, Share, Trajectory, Version
from umi.types.routing_rows import Decision
from umi.types.sessions import SessionInfo

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def _fill(tx: Transaction) -> None:
    tx.add_episodes([episode_row(0, "gull kelp"), episode_row(1, "gull cliff", session="s2", speaker="Bo")])
    tx.add_entities([entity(0, id="e0", also=("boat",)), entity(1, id="e1")])
    tx.add_vectors({"ep_0": np.eye(1, 8, dtype=np.float32)})
    tx.put_relation(relation("e0", "e1", "rel_a"))
    tx.add_replay(ReplayRow("message:m0", "digest", ("ep_0",)))
    tx.add_alias("al", "alice")
    tx.put_outbox(OutboxItem("ep_1", 1))
    tx.set_restoring("half way")
    tx.learned.put_version(Version())
    tx.learned.add_trajectories([Trajectory("rec_1", NOW, "task", 0, (Share(0, "e0", 0, 0, used=False),), None, "")])
    tx.learned.put_beliefs([Belief(0, "e0", "p", 1.0, 0.0, 1)])
    tx.routed.put(Decision("dec_1", NOW, "fast", "m", 0.5, 0.5))


def _all(snapshot: Snapshot) -> tuple[object, ...]:
    scans = (snapshot.scan_episodes, snapshot.scan_entities, snapshot.scan_relations, snapshot.scan_aliases)
    more = (snapshot.scan_replays, snapshot.scan_outbox, snapshot.learned.scan_beliefs, snapshot.learned.versions)
    return (
        *(list(scan()) for scan in (*scans, *more)),
        snapshot.restoring(),
        snapshot.learned.trajectories(["rec_1"]),
        snapshot.routed.since(0),
        snapshot.statements("boat", limit=9),
        [int(key) for key in snapshot.text_candidates(["gull"]).keys],
        snapshot.counts().episodes,
    )


EMPTY = ([], [], [], [], [], [], [], [], None, {}, [], [], [], 0)


async def test_nothing_of_a_dropped_namespace_is_left(store: Store, alice: StorageBackend) -> None:
    other = store.namespace("other")
    for space in (alice, other):
        await space.write(_fill)
    before = await other.read(_all)
    assert (await alice.read(_all))[-2:] == ([0, 1], 2)
    await alice.write(lambda tx: tx.drop_namespace())
    assert await alice.read(_all) == EMPTY
    assert [info.name for info in await store.namespaces()] == ["other"]
    assert await alice.read(lambda s: s.sequence) == 0
    assert await other.read(_all) == before
    assert await store.clean(None)


async def test_it_begins_anew_and_no_sequence_comes_twice(store: Store, alice: StorageBackend) -> None:
    await alice.write(_fill)
    await alice.write(lambda tx: tx.remove_aliases(["al"]))
    seen = await alice.read(lambda s: s.sequence)
    await alice.write(lambda tx: tx.drop_namespace())
    assert await alice.write(lambda tx: tx.next_arrival()) == 0
    assert await store.namespaces() == [], "looking creates nothing"
    await alice.write(lambda tx: tx.add_episodes([episode_row(0, "heron")]))
    assert await alice.read(lambda s: s.sequence) > seen
    assert await alice.read(lambda s: [int(key) for key in s.text_candidates(["gull"]).keys]) == []
    assert await alice.read(lambda s: [int(key) for key in s.text_candidates(["heron"]).keys]) == [0]
    fresh = store.namespace("fresh")
    await fresh.write(lambda tx: tx.add_episodes([episode_row(0, "gull")]))
    assert await fresh.read(lambda s: s.sequence) > seen


async def test_an_error_takes_the_drop_back(alice: StorageBackend, store: Store) -> None:
    await alice.write(_fill)
    before = await alice.read(_all)

    def fails(tx: Transaction) -> None:
        tx.drop_namespace()
        raise NotFound("nothing of it")

    with pytest.raises(NotFound):
        await alice.write(fails)
    assert await alice.read(_all) == before
    assert [info.name for info in await store.namespaces()] == ["alice"]


async def test_sessions_by_name_in_pages(alice: StorageBackend) -> None:
    rows = [
        episode_row(0, session="b", speaker="Zoe", at=later(9)),
        episode_row(1, session=None, speaker="Ann"),
        episode_row(2, session="b", speaker="Ann", at=later(3)),
        episode_row(3, session="a"),
        episode_row(4, session="b", speaker="Ann", at=later(5)),
        episode_row(5, session="é", speaker="Bo"),
    ]
    assert await alice.read(lambda s: s.sessions(after=None, limit=9)) == []
    await alice.write(lambda tx: tx.add_episodes(rows))
    a, b = SessionInfo("a", 1, later(3), later(3)), SessionInfo("b", 3, later(3), later(9), ("Ann", "Zoe"))
    last = SessionInfo("é", 1, later(5), later(5), ("Bo",))
    assert await alice.read(lambda s: s.sessions(after=None, limit=9)) == [a, b, last]
    assert await alice.read(lambda s: s.sessions(after=None, limit=1)) == [a]
    assert await alice.read(lambda s: s.sessions(after="a", limit=2)) == [b, last]
    assert await alice.read(lambda s: s.sessions(after="é", limit=2)) == []

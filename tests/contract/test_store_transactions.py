"""All of a transaction or none of it; the change sequence; what a snapshot is; opening and closing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import numpy as np
import pytest
from store_rows import NOON, axis, entity, episode_row, later, relation, windows

from umi._core.invariants import InvariantError
from umi.errors import Closed, EmbedderMismatch, InvalidInput, NotFound
from umi.ports import EmbedderIdentity, ReplayRow, Snapshot, StorageBackend, Store, Transaction
from umi.types import NamespaceInfo, OutboxItem

Opener = Callable[[], Awaitable[Store]]


class TroubleError(Exception):
    """Raised by closures of these tests."""


def everything(s: Snapshot) -> list[object]:
    """All that a namespace shows, to compare before and after."""
    return [
        s.sequence,
        s.episodes_at(range(9)),
        s.entities(["e0", "e1", "e2"]),
        s.entities_of(["ep_0", "ep_1", "ep_2"]),
        s.statements("alice", limit=9),
        s.statements("carol", limit=9),
        s.list_entities(after=None, limit=9),
        s.list_entities(after=None, limit=9, newest=True),
        s.list_episodes(after=None, limit=9),
        s.relations(["rel_1", "rel_2"]),
        s.relations_of(["e0", "e1", "e2"]),
        [s.subjects_of(["al"]).get("al"), s.subjects_of(["new"]).get("new"), s.aliases("alice"), s.aliases("carol")],
        s.replays(["k", "new"]),
        s.outbox(9),
        s.counts().episodes,
        s.counts().vectors,
        s.text_candidates(["number"]).keys.tolist(),
        s.vector_candidates(axis(0), also=np.array([0, 1, 2]), pool=9).keys.tolist(),
        s.vector_candidates(axis(0), also=np.array([0, 1, 2]), pool=9).cosine.round(3).tolist(),
    ]


async def _seed(alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(0), episode_row(1)])
        tx.add_entities([entity(0, id="e0"), entity(1, id="e1")])
        tx.add_vectors({"ep_0": windows(0)})
        tx.put_relation(relation("e0", "e1"))
        tx.add_alias("al", "alice")
        tx.add_replay(ReplayRow("k", "d", ("ep_0",)))
        tx.put_outbox(OutboxItem("ep_1", 1))

    await alice.write(work)


CHANGES: dict[str, Callable[[Transaction], object]] = {
    "episode": lambda tx: tx.add_episodes([episode_row(2)]),
    "entity": lambda tx: tx.add_entities([entity(1, id="e2", subject="carol")]),
    "late vectors": lambda tx: tx.add_vectors({"ep_1": windows(1)}),
    "other vectors": lambda tx: tx.add_vectors({"ep_0": windows(2)}),
    "relation": lambda tx: tx.put_relation(relation("e1", "e0", "rel_2")),
    "same relation": lambda tx: tx.put_relation(relation("e1", "e0", "rel_1", created_at=later(3))),
    "validity": lambda tx: tx.set_validity("e0", NOON, NOON),
    "alias": lambda tx: tx.add_alias("new", "carol"),
    "replay": lambda tx: tx.add_replay(ReplayRow("new", "d", ())),
    "outbox": lambda tx: tx.put_outbox(OutboxItem("ep_0", 0)),
    "same outbox": lambda tx: tx.put_outbox(OutboxItem("ep_1", 1, attempts=3)),
    "less outbox": lambda tx: tx.remove_outbox("ep_1"),
    "deletion": lambda tx: tx.delete_episode("ep_1"),
    "deletion with vectors": lambda tx: tx.delete_episode("ep_0"),
}


@pytest.mark.parametrize("what", sorted(CHANGES))
async def test_a_closure_that_raises_changes_nothing(alice: StorageBackend, what: str) -> None:
    await _seed(alice)
    before = await alice.read(everything)

    def work(tx: Transaction) -> None:
        CHANGES[what](tx)
        raise TroubleError

    for _ in range(2):
        with pytest.raises(TroubleError):
            await alice.write(work)
        assert await alice.read(everything) == before
    await alice.write(CHANGES[what])
    after = await alice.read(everything)
    assert after[0] == 2
    assert after[1:] != before[1:]


async def test_a_closure_that_raises_after_every_change_changes_nothing(alice: StorageBackend) -> None:
    await _seed(alice)
    before = await alice.read(everything)

    def work(tx: Transaction) -> None:
        for change in CHANGES.values():
            change(tx)
        tx.text_candidates(["number"])
        tx.vector_candidates(axis(0), also=np.array([0]), pool=3)
        raise TroubleError

    with pytest.raises(TroubleError):
        await alice.write(work)
    assert await alice.read(everything) == before


async def _three(alice: StorageBackend) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(number) for number in range(3)])
        tx.add_entities([entity(number, id=f"e{number}") for number in range(3)])

    await alice.write(work)


REFUSED = {
    "entity without episode": (lambda tx: tx.add_entities([entity("no")]), NotFound),
    "vectors without episode": (lambda tx: tx.add_vectors({"no": windows(0)}), NotFound),
    "outbox without episode": (lambda tx: tx.put_outbox(OutboxItem("no", 0)), NotFound),
    "validity of nothing": (lambda tx: tx.set_validity("no", NOON, NOON), NotFound),
    "relation without source": (lambda tx: tx.put_relation(relation("no", "e1")), NotFound),
    "relation without target": (lambda tx: tx.put_relation(relation("e1", "no")), NotFound),
    "episode twice": (lambda tx: tx.add_episodes([episode_row(9, name="ep_0")]), InvalidInput),
    "entity twice": (lambda tx: tx.add_entities([entity(1, id="e0")]), InvalidInput),
    "entity twice in one call": (lambda tx: tx.add_entities([entity(1, id="x"), entity(2, id="x")]), InvalidInput),
    "key twice": (lambda tx: [tx.add_replay(ReplayRow("k", "d", ())) for _ in range(2)], InvalidInput),
    "vector of no window": (lambda tx: tx.add_vectors({"ep_0": np.empty((0, 8), np.float32)}), InvalidInput),
    "vector not finite": (lambda tx: tx.add_vectors({"ep_0": windows(0) * np.nan}), InvalidInput),
    "vector of other dimensions": (
        lambda tx: [tx.add_vectors({"ep_0": windows(0)}), tx.add_vectors({"ep_1": windows(0)[:, :4]})],
        EmbedderMismatch,
    ),
}


@pytest.mark.parametrize("what", sorted(REFUSED))
async def test_a_refusal_undoes_the_whole_transaction_even_when_swallowed(alice: StorageBackend, what: str) -> None:
    await _three(alice)
    fault, error = REFUSED[what]

    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(3)])
        tx.add_alias("half", "done")
        try:
            fault(tx)
        except (NotFound, InvalidInput, EmbedderMismatch):
            return

    with pytest.raises(error):
        await alice.write(work)
    after = await alice.read(
        lambda s: (s.episodes(["ep_3"]), s.subjects_of(["half"]).get("half"), s.sequence, s.counts().entities)
    )
    assert after == ({}, None, 1, 3)


async def test_a_transaction_sees_its_own_rows(alice: StorageBackend) -> None:
    await _seed(alice)

    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(2)])
        tx.add_entities([entity(2, id="e2")])
        tx.put_relation(relation("e1", "e2", "rel_2"))
        tx.set_validity("e0", later(9), None)
        tx.put_outbox(OutboxItem("ep_2", 2))
        tx.delete_episode("ep_1")
        assert list(tx.episodes(["ep_1", "ep_2"])) == ["ep_2"]
        assert list(tx.entities_of(["ep_1", "ep_2"])) == ["ep_2"]
        assert [each.id for each in tx.statements("alice", limit=9)] == ["e2", "e0"]
        assert tx.entities(["e0"])["e0"].valid_to == later(9)
        assert tx.relations_of(["e2", "e0"]) == {}
        assert [item.episode_id for item in tx.outbox(9)] == ["ep_2"]
        assert tx.counts().episodes == 2
        assert tx.next_arrival() == 3
        assert tx.sequence == 1

    await alice.write(work)


async def test_the_sequence_grows_by_one_with_each_write_that_changed_something(
    store: Store, alice: StorageBackend
) -> None:
    async def sequence() -> int:
        return await alice.read(lambda s: s.sequence)

    assert await sequence() == 0
    await alice.write(lambda tx: tx.next_arrival())
    assert await sequence() == 0
    await _seed(alice)
    assert await sequence() == 1
    for nothing in (
        lambda tx: tx.add_alias("al", "other"),
        lambda tx: tx.remove_outbox("ep_0"),
        lambda tx: tx.delete_episode("no"),
        lambda tx: tx.add_episodes([]),
        lambda tx: tx.add_entities([]),
        lambda tx: tx.add_vectors({}),
        everything,
    ):
        await alice.write(nothing)
        assert await sequence() == 1
    for number, what in enumerate(("episode", "late vectors", "alias", "deletion")):
        await alice.write(CHANGES[what])
        assert await sequence() == number + 2
    await store.namespace("bob").write(lambda tx: tx.add_alias("al", "alice"))
    assert await sequence() == 5
    assert await store.namespaces() == [NamespaceInfo("alice", 2, 1), NamespaceInfo("bob", 0, 0)]


async def test_what_a_closure_returns_comes_back(alice: StorageBackend) -> None:
    assert await alice.read(lambda s: (s.namespace, 7)) == ("alice", 7)
    assert await alice.write(lambda tx: [tx.namespace]) == ["alice"]


async def test_a_snapshot_is_of_no_use_after_its_transaction(alice: StorageBackend) -> None:
    await _seed(alice)
    kept: list[Snapshot] = [await alice.read(lambda s: s), await alice.write(lambda tx: tx)]
    for snapshot in kept:
        with pytest.raises(InvariantError, match="ended"):
            snapshot.episodes(["ep_0"])


async def test_a_cancelled_task_leaves_nothing_open_and_nothing_half_done(alice: StorageBackend) -> None:
    await _seed(alice)

    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(2)])
        tx.add_entities([entity(2, id="e2")])

    for _ in range(20):
        task = asyncio.ensure_future(alice.write(work))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        found = await alice.read(lambda s: (len(s.episodes(["ep_2"])), len(s.entities(["e2"]))))
        assert found in {(0, 0), (1, 1)}
        await alice.write(lambda tx: tx.delete_episode("ep_2"))
        arrival = await alice.write(lambda tx: tx.next_arrival())

        def work(tx: Transaction, arrival: int = arrival) -> None:
            tx.add_episodes([episode_row(arrival, name="ep_2")])
            tx.add_entities([entity(2, id="e2")])


async def test_many_tasks_at_once_lose_nothing(alice: StorageBackend) -> None:
    async def add(number: int) -> None:
        def work(tx: Transaction) -> None:
            tx.add_episodes([episode_row(tx.next_arrival(), name=f"task_{number}")])

        await alice.write(work)

    await asyncio.gather(*(add(number) for number in range(50)))
    found = await alice.read(lambda s: s.episodes_at(range(50)))
    assert sorted(episode.id for episode in found.values()) == sorted(f"task_{number}" for number in range(50))


async def test_a_closed_store_says_so(store: Store, alice: StorageBackend) -> None:
    await _seed(alice)
    await store.close()
    await store.close()
    for attempt in (
        alice.read(lambda s: s.sequence),
        alice.write(lambda tx: None),
        alice.count(),
        store.namespaces(),
        store.embedder_identity(),
        store.set_embedder_identity(EmbedderIdentity("a", 1, "b")),
        store.check_integrity(),
    ):
        with pytest.raises(Closed):
            await attempt


async def test_everything_is_there_after_reopening_and_opening_twice_is_fine(opener: Opener) -> None:
    store = await opener()
    await _seed(store.namespace("alice"))
    await store.set_embedder_identity(EmbedderIdentity("minilm", 8, "abc"))
    before = await store.namespace("alice").read(everything)
    await store.close()
    for _ in range(2):
        store, second = await opener(), await opener()
        assert await store.namespace("alice").read(everything) == before
        assert await second.namespace("alice").read(everything) == before
        assert await second.embedder_identity() == EmbedderIdentity("minilm", 8, "abc")
        assert await store.check_integrity() == []
        await second.close()
        await store.close()


async def test_a_second_store_on_the_same_data_sees_each_write_at_once(opener: Opener) -> None:
    one, other = await opener(), await opener()
    await _seed(one.namespace("alice"))
    for what in ("episode", "late vectors", "other vectors", "entity", "validity", "less outbox", "deletion"):
        await one.namespace("alice").write(CHANGES[what])
        assert await other.namespace("alice").read(everything) == await one.namespace("alice").read(everything), what
        one, other = other, one
    with pytest.raises(EmbedderMismatch):
        await one.namespace("alice").write(lambda tx: tx.add_vectors({"ep_0": windows(0)[:, :3]}))
    await one.set_embedder_identity(EmbedderIdentity("minilm", 8, "abc"))
    with pytest.raises(EmbedderMismatch):
        await other.set_embedder_identity(EmbedderIdentity("other", 8, "abc"))
    await one.close()
    await other.close()


async def test_an_error_of_the_store_does_not_hide_in_the_next_call(alice: StorageBackend) -> None:
    await _seed(alice)
    with pytest.raises(NotFound, match="e7"):
        await alice.write(lambda tx: tx.set_validity("e7", None, None))
    await alice.write(lambda tx: tx.set_validity("e0", NOON, None))
    assert (await alice.read(lambda s: s.entities(["e0"])))["e0"].valid_to == NOON


async def test_a_transaction_reads_the_vectors_that_it_has_added_and_those_from_before(alice: StorageBackend) -> None:
    await _seed(alice)

    def work(tx: Transaction) -> list[list[str]]:
        tx.add_episodes([episode_row(2)])
        before = tx.vectors(["ep_0", "ep_1", "ep_2"])
        tx.add_vectors({"ep_2": windows(2)})
        after = tx.vectors(["ep_0", "ep_1", "ep_2"])
        return [sorted(before), sorted(after), sorted(tx.vectors(["ep_2"])), sorted(tx.vectors([]))]

    assert await alice.write(work) == [["ep_0"], ["ep_0", "ep_2"], ["ep_2"], []]

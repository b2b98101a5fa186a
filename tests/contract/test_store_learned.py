"""What learning keeps, in every store alike: trajectories with their shares, signals with their matches, beliefs, versions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from store_rows import NOON, axis, entity, episode_row, later

from umi.errors import UmiError
from umi.ports import StorageBackend, Store, Transaction
from umi.types.learning_rows import Belief, LearnedCounts, LearnedRows, Share, SignalRow, Total, Trajectory, Version


def trajectory(name: str = "rec_1", *shares: Share, minutes: float = 0, task: str | None = None) -> Trajectory:
    return Trajectory(name, later(minutes), task, 2, shares or (Share(0, "e0", 0), Share(1, "e1", 1)))


def signal(
    number: int, *trajectories: str, provider: str = "ci", used_only: bool = False, version: int = 1
) -> SignalRow:
    said = (provider, f"s{number}", f"digest {number}", "success", 0.75, 0.5, later(number), "recall")
    return SignalRow(number, *said, used_only=used_only, version=version, trajectories=trajectories or ("rec_1",))


def belief(arrival: int, provider: str = "ci", gain: float = 0.5) -> Belief:
    return Belief(arrival, f"e{arrival}", provider, gain, 0.25, 3)


async def _seed(alice: StorageBackend, episodes: int = 3) -> None:
    def work(tx: Transaction) -> None:
        tx.add_episodes([episode_row(number) for number in range(episodes)])
        tx.add_entities([entity(number, f"fact {number}", id=f"e{number}") for number in range(episodes)])

    await alice.write(work)


async def test_nothing_learned_is_nothing(alice: StorageBackend) -> None:
    def look(rows: LearnedRows) -> tuple[object, ...]:
        found = rows.trajectories(["rec_1"]), rows.of_tasks(["t"], 3), rows.newest("mini", 5), rows.known("ci", ["s"])
        return (
            rows.open_version(),
            rows.versions(),
            rows.beliefs([0]),
            list(rows.scan_beliefs()),
            *found,
            rows.counts(),
        )

    assert await alice.read(lambda s: look(s.learned)) == (None, [], {}, [], {}, {}, [], {}, LearnedCounts())


async def test_a_trajectory_comes_back_with_its_shares_in_order(alice: StorageBackend) -> None:
    await _seed(alice)
    given = trajectory("rec_1", Share(2, "e2", 1), Share(0, "e0", 0), Share(1, "e1", 0, depth=1), task="T-1")
    given = replace(given, embedding=axis(3), embedder="mini")
    await alice.write(lambda tx: tx.learned.add_trajectories([given, trajectory("rec_2")]))
    found = (await alice.read(lambda s: s.learned.trajectories(["rec_1", "nobody"])))["rec_1"]
    assert found == replace(given, shares=(given.shares[1], given.shares[2], given.shares[0]))
    assert found.embedding is not None
    assert np.allclose(found.embedding, axis(3))
    newest = await alice.read(lambda s: s.learned.newest("mini", 5))
    assert [(one.id, one.shares) for one in newest] == [("rec_1", ())]  # the other has no embedding
    for other in ("min", "minilm", ""):
        assert await alice.read(lambda s, other=other: s.learned.newest(other, 5)) == []


async def test_a_trajectory_is_written_once_and_without_what_is_gone(alice: StorageBackend) -> None:
    await _seed(alice)
    shares = (Share(0, "e0", 0), Share(9, "gone", 1))
    await alice.write(lambda tx: tx.learned.add_trajectories([trajectory("rec_1", *shares)]))
    await alice.write(lambda tx: tx.learned.add_trajectories([trajectory("rec_1", Share(1, "e1", 0))]))
    found = await alice.read(lambda s: s.learned.trajectories(["rec_1"]))
    assert found["rec_1"].shares == (Share(0, "e0", 0),)


async def test_trajectories_of_a_task_come_newest_first(alice: StorageBackend) -> None:
    await _seed(alice)
    made = [trajectory(f"rec_{n}", minutes=n, task="T" if n % 2 else "U") for n in range(6)]
    await alice.write(lambda tx: tx.learned.add_trajectories(made))
    found = await alice.read(lambda s: s.learned.of_tasks(["T", "none", "T"], 2))
    assert found == {"T": ("rec_5", "rec_3")}


async def test_used_marks_a_hit_and_what_is_below_it(alice: StorageBackend) -> None:
    await _seed(alice)
    shares = (Share(0, "e0", 0), Share(1, "e1", 1), Share(2, "e2", 1, depth=1))

    def work(tx: Transaction) -> None:
        tx.learned.add_trajectories([trajectory("rec_1", *shares)])
        tx.learned.mark_used("rec_1", ["e1", "nobody"])

    await alice.write(work)
    found = (await alice.read(lambda s: s.learned.trajectories(["rec_1"])))["rec_1"]
    assert [share.used for share in found.shares] == [False, True, True]
    assert found.named


async def test_signals_are_kept_once_and_paged(alice: StorageBackend) -> None:
    await _seed(alice)

    def work(tx: Transaction) -> None:
        tx.learned.add_trajectories([trajectory("rec_1"), trajectory("rec_2")])
        tx.learned.add_signals([signal(0, "rec_2", "rec_1"), signal(1), signal(2, provider="review")])

    await alice.write(work)
    pages = await alice.read(lambda s: (s.learned.signals_after(-1, 2), s.learned.signals_after(1, 2)))
    assert pages == ([signal(0, "rec_1", "rec_2"), signal(1)], [signal(2, provider="review")])
    assert await alice.read(lambda s: s.learned.known("ci", ["s0", "s2", "s9"])) == {"s0": "digest 0"}
    with pytest.raises(UmiError):
        await alice.write(lambda tx: tx.learned.add_signals([replace(signal(7), id="s1")]))
    assert (await alice.read(lambda s: s.learned.counts())).signals == 3


async def test_numbers_of_a_signal_may_be_whole_or_minus_zero(alice: StorageBackend) -> None:
    given = [replace(signal(n), quality=value, weight=value) for n, value in enumerate((-0.0, 0, 1))]
    await _seed(alice)
    await alice.write(lambda tx: tx.learned.add_trajectories([trajectory()]))
    await alice.write(lambda tx: tx.learned.add_signals(given))
    assert await alice.read(lambda s: s.learned.signals_after(-1, 9)) == given


async def test_signals_about_a_memory_are_those_that_credit_it_in_versions_that_count(alice: StorageBackend) -> None:
    await _seed(alice)

    def work(tx: Transaction) -> None:
        tx.learned.add_trajectories([trajectory("rec_1"), trajectory("rec_2", Share(0, "e0", 0))])
        tx.learned.mark_used("rec_1", ["e0"])
        rows = [signal(0), signal(1, used_only=True), signal(2, "rec_2"), signal(3, version=2)]
        tx.learned.add_signals(rows)

    await alice.write(work)

    async def about(arrival: int, versions: list[int], limit: int = 9) -> list[int]:
        found = await alice.read(lambda s: s.learned.signals_about(arrival, f"e{arrival}", versions, limit))
        return [row.sequence for row in found]

    assert await about(0, [1]) == [2, 1, 0]
    assert await about(0, [1, 2], limit=2) == [3, 2]
    assert await about(1, [1]) == [0]  # what was used is known for signal 1, and it was another
    assert await about(2, [1]) == []
    assert await about(0, []) == []


async def test_beliefs_are_replaced_scanned_and_cleared(alice: StorageBackend) -> None:
    await _seed(alice)
    await alice.write(lambda tx: tx.learned.put_beliefs([belief(1), belief(0, "review"), belief(0), belief(9)]))
    await alice.write(lambda tx: tx.learned.put_beliefs([belief(0, gain=2.0)]))
    expected = [belief(0, gain=2.0), belief(0, "review"), belief(1)]
    assert await alice.read(lambda s: list(s.learned.scan_beliefs())) == expected
    assert await alice.read(lambda s: s.learned.beliefs([0, 5])) == {0: tuple(expected[:2])}
    await alice.write(lambda tx: tx.learned.clear_beliefs())
    assert await alice.read(lambda s: list(s.learned.scan_beliefs())) == []


async def test_one_version_is_open(alice: StorageBackend) -> None:
    first = Version(1, 0, None, "", 3, 3, {"ci": Total(3, 1.5, 1.5)})

    def work(tx: Transaction) -> None:
        tx.learned.put_version(first)
        tx.learned.put_version(replace(first, sealed_at=NOON, why="run"))
        tx.learned.put_version(Version(2, 1, next_sequence=3))

    await alice.write(work)
    found = await alice.read(lambda s: (s.learned.open_version(), s.learned.versions()))
    assert found[0] == Version(2, 1, next_sequence=3)
    assert found[1] == [replace(first, sealed_at=NOON, why="run"), Version(2, 1, next_sequence=3)]


async def test_deleting_an_episode_takes_its_credit(alice: StorageBackend) -> None:
    await _seed(alice)

    def work(tx: Transaction) -> None:
        only = trajectory("rec_2", Share(1, "e1", 0))
        tx.learned.add_trajectories([trajectory("rec_1"), only, trajectory("rec_3", Share(0, "e0", 0))])
        tx.learned.add_signals([signal(0), signal(1, "rec_2"), signal(2, "rec_2", "rec_3")])
        tx.learned.put_beliefs([belief(0), belief(1)])

    await alice.write(work)
    await alice.write(lambda tx: tx.delete_episode("ep_1"))
    rows = await alice.read(
        lambda s: (
            s.learned.trajectories(["rec_1", "rec_2", "rec_3"]),
            s.learned.signals_after(-1, 9),
            list(s.learned.scan_beliefs()),
        )
    )
    assert {name: one.shares for name, one in rows[0].items()} == {
        "rec_1": (Share(0, "e0", 0),),
        "rec_3": (Share(0, "e0", 0),),
    }
    assert rows[1] == [signal(0), signal(2, "rec_3")]  # signal 1 was about what is gone, and nothing else
    assert rows[2] == [belief(0)]
    assert (await alice.read(lambda s: s.learned.known("ci", ["s1"]))) == {}


async def test_pruning_drops_the_oldest_that_nobody_judged(alice: StorageBackend) -> None:
    await _seed(alice)

    def work(tx: Transaction) -> None:
        tx.learned.add_trajectories([trajectory(f"rec_{n}", minutes=n) for n in range(5)])
        tx.learned.add_signals([signal(0, "rec_0")])

    await alice.write(work)
    assert await alice.write(lambda tx: tx.learned.prune(2)) == 2
    left = await alice.read(lambda s: sorted(s.learned.trajectories([f"rec_{n}" for n in range(5)])))
    assert left == ["rec_0", "rec_3", "rec_4"]
    await alice.write(lambda tx: tx.delete_episode("ep_0"))  # its shares are looked up by episode too


async def test_what_replaces_a_statement_inherits_its_shares(alice: StorageBackend) -> None:
    await _seed(alice)
    shares = Share(0, "e0", 0, used=True), Share(0, "e9", 0, depth=1), Share(0, "e0", 1), Share(1, "e1", 2)

    def work(tx: Transaction) -> None:
        tx.learned.add_trajectories([trajectory("rec_1", *shares), trajectory("rec_2", Share(1, "e0", 0))])
        tx.learned.add_signals([signal(0)])
        tx.learned.put_beliefs([belief(0), belief(1)])
        tx.learned.inherit(0, {"e0": "f0", "e8": "f0"})
        tx.learned.inherit(2, {"e2": "f2"})

    await alice.write(work)

    def look(rows: LearnedRows) -> tuple[object, ...]:
        found = rows.trajectories(["rec_1", "rec_2"])
        of = [[row.id for row in rows.signals_about(0, id_, [1], 9)] for id_ in ("f0", "e0")]
        return {name: one.shares for name, one in found.items()}, of, list(rows.scan_beliefs())

    moved = Share(0, "f0", 0, used=True), Share(0, "e9", 0, depth=1), Share(0, "f0", 1), Share(1, "e1", 2)
    right = {"rec_1": moved, "rec_2": (Share(1, "e0", 0),)}, [["s0"], []], [belief(1)]
    assert await alice.read(lambda s: look(s.learned)) == right


async def test_other_entities_leave_what_was_learned_as_it_is(alice: StorageBackend) -> None:
    await _seed(alice)

    def work(tx: Transaction) -> None:
        tx.learned.add_trajectories([trajectory("rec_1")])
        tx.learned.put_beliefs([belief(0)])
        tx.replace_entities("ep_0", {})

    await alice.write(work)
    found = await alice.read(lambda s: (s.learned.trajectories(["rec_1"]), s.learned.beliefs([0])))
    assert found == ({"rec_1": trajectory("rec_1")}, {0: (belief(0),)})


async def test_a_broken_off_transaction_leaves_nothing(alice: StorageBackend) -> None:
    await _seed(alice)
    await alice.write(lambda tx: tx.learned.add_trajectories([trajectory("rec_1")]))

    def broken(tx: Transaction) -> None:
        tx.learned.add_signals([signal(0)])
        tx.learned.put_beliefs([belief(0)])
        tx.learned.mark_used("rec_1", ["e0"])
        tx.learned.put_version(Version())
        tx.learned.forget([1])
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await alice.write(broken)
    found = await alice.read(lambda s: (s.learned.counts(), s.learned.trajectories(["rec_1"]), s.learned.versions()))
    assert found == (LearnedCounts(1, 1, 0, 0), {"rec_1": trajectory("rec_1")}, [])


async def test_namespaces_learn_apart(store: Store, alice: StorageBackend) -> None:
    bob = store.namespace("bob")
    await _seed(bob)
    await _seed(alice)

    def work(tx: Transaction) -> None:
        tx.learned.add_trajectories([trajectory("rec_1")])
        tx.learned.add_signals([signal(0)])
        tx.learned.put_beliefs([belief(0)])
        tx.learned.put_version(Version())

    await alice.write(work)
    found = await bob.read(lambda s: (s.learned.counts(), s.learned.beliefs([0]), s.learned.trajectories(["rec_1"])))
    assert found == (LearnedCounts(), {}, {})
    await bob.write(work)
    await bob.write(lambda tx: tx.learned.clear_beliefs())
    await bob.write(lambda tx: tx.delete_episode("ep_0"))
    assert (await alice.read(lambda s: s.learned.counts())) == LearnedCounts(1, 1, 1, 1)


async def test_a_task_that_is_named_so_is_taken_away_from_its_trajectories(alice: StorageBackend) -> None:
    await _seed(alice)
    made = [trajectory(f"rec_{n}", Share(n, f"e{n}", 0), minutes=n, task=("call Nora", "T", None)[n]) for n in range(3)]
    await alice.write(lambda tx: tx.learned.add_trajectories(made))
    assert await alice.write(lambda tx: tx.learned.forget_tasks(lambda task: "Nora" in task)) == ["call Nora"]
    found = await alice.read(lambda s: s.learned.trajectories(f"rec_{n}" for n in range(3)))
    assert found == {"rec_0": replace(made[0], task_id=None), "rec_1": made[1], "rec_2": made[2]}
    assert await alice.read(lambda s: s.learned.of_tasks(["call Nora", "T"], 2)) == {"T": ("rec_1",)}
    assert await alice.write(lambda tx: tx.learned.forget_tasks(lambda task: "Nora" in task)) == []


async def test_a_signal_gets_another_id_and_keeps_all_else(alice: StorageBackend) -> None:
    await _seed(alice)

    def learn(tx: Transaction) -> None:
        tx.learned.add_trajectories([trajectory("rec_1"), trajectory("rec_2")])
        tx.learned.add_signals(
            [signal(1, "rec_1", "rec_2"), signal(2, "rec_1"), replace(signal(3), id="s1", provider="qa")]
        )

    await alice.write(learn)
    renamed = {"s1": "gone"}.get
    assert await alice.write(lambda tx: tx.learned.rename_signals(renamed)) == ["s1"]
    found = await alice.read(lambda s: s.learned.signals_after(0, 9))
    assert found == [
        replace(signal(1, "rec_1", "rec_2"), id="gone"),
        signal(2, "rec_1"),
        replace(signal(3), id="gone", provider="qa"),
    ]
    assert await alice.read(lambda s: s.learned.known("ci", ["s1", "s2", "gone"])) == {
        "s2": "digest 2",
        "gone": "digest 1",
    }
    assert await alice.write(lambda tx: tx.learned.rename_signals(renamed)) == []
    await alice.write(lambda tx: tx.learned.forget([0, 1]))
    assert (await alice.read(lambda s: s.learned.counts())) == LearnedCounts()

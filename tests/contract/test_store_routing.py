"""Decisions of routing: kept whole, found by id and by turn, judged in place, gone when taken away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import numpy as np
import pytest
from store_rows import NOON, later

from umi.ports import StorageBackend, Store
from umi.types.routing_rows import Decision

Opener = Callable[[], Awaitable[Store]]

ONE = Decision("dec_1", NOON, "fast", "tiny", 0.25, 0.75, vector=np.array([0.5, -0.25, 3.0], np.float32))
TWO = Decision("dec_2", later(1), "strong", "big", 0.9, 0.8, kind="evolve", explored=True, embedder="abc")


async def put(space: StorageBackend, *decisions: Decision) -> None:
    for decision in decisions:
        await space.write(lambda tx, one=decision: tx.routed.put(one))


async def turns(space: StorageBackend, after: int = 0) -> list[tuple[str, int]]:
    return [(one.id, one.turn) for one in await space.read(lambda s: s.routed.since(after))]


async def test_a_decision_comes_back_as_it_went_in(alice: StorageBackend) -> None:
    await put(alice, ONE, TWO)
    found = await alice.read(lambda s: s.routed.decisions(["dec_1", "dec_2", "dec_9"]))
    assert found == {"dec_1": replace(ONE, turn=1), "dec_2": replace(TWO, turn=2)}
    assert found["dec_1"].vector is not None
    assert found["dec_1"].vector.tolist() == [0.5, -0.25, 3.0]
    assert found["dec_2"].vector is None


@pytest.mark.parametrize("value", [-0.0, 0, 1])
async def test_numbers_of_a_decision_may_be_whole_or_minus_zero(alice: StorageBackend, value: float) -> None:
    given = replace(ONE, complexity=value, expected=value, quality=value, actual=value)
    await put(alice, given)
    assert await alice.read(lambda s: s.routed.decisions(["dec_1"])) == {"dec_1": replace(given, turn=1)}


async def test_a_vector_comes_back_in_half_precision(alice: StorageBackend) -> None:
    await put(alice, replace(ONE, vector=np.array([0.1], np.float32)))
    vector = (await alice.read(lambda s: s.routed.decisions(["dec_1"])))["dec_1"].vector
    assert vector is not None
    assert vector.tolist() == [float(np.float16(0.1))]


async def test_a_judged_decision_has_a_new_turn_and_is_no_second_one(alice: StorageBackend) -> None:
    await put(alice, ONE, TWO, replace(ONE, quality=0.5, actual=0.75, judge="feedback"))
    assert await turns(alice) == [("dec_2", 2), ("dec_1", 3)]
    assert await turns(alice, after=2) == [("dec_1", 3)]
    assert await alice.read(lambda s: s.routed.count()) == 2
    judged = (await alice.read(lambda s: s.routed.decisions(["dec_1"])))["dec_1"]
    assert (judged.quality, judged.actual, judged.judge) == (0.5, 0.75, "feedback")


async def test_what_is_removed_is_gone_and_counted(alice: StorageBackend) -> None:
    await put(alice, ONE, TWO)
    assert await alice.write(lambda tx: tx.routed.remove(["dec_1", "dec_1", "nobody"])) == 1
    assert await turns(alice) == [("dec_2", 2)]
    assert await alice.write(lambda tx: tx.routed.remove(["dec_1"])) == 0


async def test_pruning_keeps_what_was_written_last(alice: StorageBackend) -> None:
    await put(alice, *(replace(ONE, id=f"dec_{number}") for number in range(5)), replace(ONE, id="dec_0"))
    assert await alice.write(lambda tx: tx.routed.prune(2)) == 3
    assert await turns(alice) == [("dec_4", 5), ("dec_0", 6)]
    assert await alice.write(lambda tx: tx.routed.prune(2)) == 0


async def test_namespaces_do_not_see_each_others_decisions(store: Store) -> None:
    alice, bob = store.namespace("alice"), store.namespace("bob")
    await put(alice, ONE)
    await put(bob, replace(ONE, tier="strong"), TWO)
    assert await alice.write(lambda tx: tx.routed.remove(["dec_2"])) == 0
    assert (await alice.read(lambda s: s.routed.decisions(["dec_1"])))["dec_1"].tier == "fast"
    assert await bob.read(lambda s: s.routed.count()) == 2


async def test_a_failed_transaction_leaves_decisions_as_they_were(alice: StorageBackend) -> None:
    await put(alice, ONE)

    def fail(tx) -> None:
        tx.routed.put(replace(ONE, quality=1.0))
        tx.routed.put(TWO)
        tx.routed.remove(["dec_1"])
        raise OSError

    with pytest.raises(OSError):
        await alice.write(fail)
    assert await alice.read(lambda s: s.routed.since(0)) == [replace(ONE, turn=1)]


async def test_decisions_are_there_after_a_restart(opener: Opener) -> None:
    store = await opener()
    await put(store.namespace("alice"), ONE, TWO)
    await store.close()
    again = await opener()
    assert await turns(again.namespace("alice")) == [("dec_1", 1), ("dec_2", 2)]
    await again.close()

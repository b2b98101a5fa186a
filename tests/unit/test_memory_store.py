"""What is special about the store of plain dicts: its indexes are made when asked for and dropped when they take too much."""

from __future__ import annotations

import pytest
from store_files import add

from umi._core.clock import SystemClock, SystemEntropy
from umi.ports import Snapshot
from umi.stores.memory.store import MemoryStore


def words(s: Snapshot) -> list[int]:
    return s.text_candidates(["cat"]).keys.tolist()


@pytest.mark.parametrize(("bytes_max", "held"), [(0, ["c"]), (1 << 30, ["a", "b", "c"])])
async def test_indexes_are_bounded_and_come_back(bytes_max: int, held: list[str]) -> None:
    store = MemoryStore(clock=SystemClock(), entropy=SystemEntropy(), cache_bytes_max=bytes_max)
    for name in "abc":
        await add(store.namespace(name), "cat one", "cat two")
        assert await store.namespace(name).read(words) == [0, 1]
    assert [name for name in "abc" if (await store.namespace(name).read(lambda s: s.counts())).cache_bytes] == held
    for name in "cab":
        await add(store.namespace(name), "cat three")
        assert await store.namespace(name).read(words) == [0, 1, 2]
    assert await store.check_integrity() == []


async def test_an_index_that_lost_a_row_is_reported() -> None:
    store = MemoryStore(clock=SystemClock(), entropy=SystemEntropy())
    await add(store.namespace("a"), "cat one", "cat two")
    await store.namespace("a").read(words)
    store._spaces["a"].index.remove(1)
    assert await store.check_integrity() == ["the index of 'a' holds 1 texts, the rows 2"]

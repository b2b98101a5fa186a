"""Answers of an index that reads from blocks where it differed from one that keeps everything. Found by a randomised comparison."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from umi import limits
from umi._core.clock import SystemClock, SystemEntropy
from umi._core.text import analyse
from umi._core.vectors import normalised
from umi.ports import EpisodeRow, Snapshot, Transaction
from umi.stores.index.sign_codes import SignCodes
from umi.stores.index.stored import KeyedWindows
from umi.stores.sqlite.store import SqliteStore
from umi.types import Episode

BLOCK_COUNT = 4


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STORE_BLOCKS_FROM_COUNT", 1)
    monkeypatch.setattr(limits, "STORE_BLOCK_COUNT", BLOCK_COUNT)
    monkeypatch.setattr(limits, "STORE_BLOCKS_SEALED_COUNT", 9)
    monkeypatch.setattr(limits, "INDEX_MESSAGE_BYTES", 1 << 40)


async def opened(folder: Path) -> SqliteStore:
    return await SqliteStore.open(str(folder / "umi.db"), clock=SystemClock(), entropy=SystemEntropy())


def adding(word: str, first: int, until: int) -> Callable[[Transaction], None]:
    """Adds so many messages of one word, each with a vector along an axis."""

    def work(tx: Transaction) -> None:
        now = SystemClock().now()
        said = [Episode(f"ep_{one}", word, "user", None, "s", now, now, one) for one in range(first, until)]
        tx.add_episodes([EpisodeRow(one, tuple(analyse(word)), 1) for one in said])
        tx.add_vectors({one.id: np.eye(8, dtype=np.float32)[[one.arrival % 8]] for one in said})

    return work


@pytest.mark.parametrize("message_bytes", [0, 1 << 40])  # everything is kept, or nothing
@pytest.mark.parametrize("held", [8, 10])  # its index ends with a block, or within one
async def test_a_transaction_that_deletes_what_its_index_has_not_read_yet_can_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message_bytes: int, held: int
) -> None:
    monkeypatch.setattr(limits, "INDEX_MESSAGE_BYTES", message_bytes)
    store, other = await opened(tmp_path), await opened(tmp_path)
    alice = store.namespace("alice")
    await alice.write(adding("cat", 0, held))
    await alice.read(lambda s: s.text_candidates(("cat",)))
    await other.namespace("alice").write(adding("dog", held, 20))  # two blocks more are sealed here

    def work(tx: Transaction) -> list[int]:
        for number in (11, 12, 15):
            tx.delete_episode(f"ep_{number}")
        found = tx.text_candidates(("dog",))
        assert found.turn.df.tolist() == [len(left)]
        kept: list[int] = found.keys[found.turn.unit].tolist()
        return kept

    left = [number for number in range(held, 20) if number not in {11, 12, 15}]
    assert await alice.write(work) == left
    assert (await alice.read(lambda s: s.text_candidates(("dog",)))).turn.df.tolist() == [len(left)]
    assert await store.check_integrity() == []
    await other.close()
    await store.close()


async def test_cosines_that_a_transaction_read_do_not_outlive_it_when_it_is_rolled_back(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    alice, asked = store.namespace("alice"), np.eye(8, dtype=np.float32)[0]
    await alice.write(adding("cat", 0, 16))

    def cosines(s: Snapshot) -> list[float]:
        found: list[float] = s.vector_candidates(asked, pool=100).cosine.tolist()
        return found

    before = await alice.read(lambda s: s.vector_candidates(asked.copy(), pool=100).cosine.tolist())

    def work(tx: Transaction) -> None:
        tx.add_vectors({"ep_0": np.eye(8, dtype=np.float32)[[3]]})
        cosines(tx)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        await alice.write(work)
    assert await alice.read(cosines) == before
    await store.close()


async def test_an_index_made_from_blocks_does_not_read_the_changes_that_are_in_them(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    for start in range(0, 40, 2):
        await store.namespace("alice").write(adding("cat", start, start + 2))
        # Later vectors are changes of messages that an index may hold.
        await store.namespace("alice").write(
            lambda tx, start=start: tx.add_vectors({f"ep_{start}": np.eye(8, dtype=np.float32)[[1]]})  # type: ignore[misc]
        )
    await store.close()
    store = await opened(tmp_path)
    kept = await store.namespace("alice").read(lambda s: len(s._index()._windows._owner))  # type: ignore[attr-defined]
    assert kept == 40  # a window each; those of changes would be there twice
    await store.close()


def test_a_window_that_differs_in_every_sign_is_nearer_than_none() -> None:
    windows = np.array([[-1, 0, 0, 0, 0, 0, 0, 0]], dtype=np.float32) - np.float32(0.01)
    codes = SignCodes(
        lambda places: KeyedWindows(places, np.ones(len(places), np.int64), windows),
        lambda places: places < 0,
    )
    codes.add_documents(3)
    codes.put(np.array([2]), np.array([1]), windows)
    near = codes.compare(-windows[0])
    assert codes.nearest(near, 1).tolist() == [2]


def test_what_is_removed_is_as_far_as_what_has_no_window() -> None:
    windows = normalised(np.array([[-1, -1, -1, 1], [-1, -1, 1, 1], [-1, 1, 1, 1]], dtype=np.float32))
    codes = SignCodes(
        lambda places: KeyedWindows(places, np.ones(len(places), np.int64), windows[places]),
        lambda places: places < 0,
    )
    codes.add_documents(3)
    codes.put(np.arange(3), np.ones(3, np.int64), windows)
    asked = windows[0]
    assert codes.nearest(codes.compare(asked), 1).tolist() == [0]
    codes.drop(0)
    for again in (asked, asked.copy()):
        assert codes.nearest(codes.compare(again), 1).tolist() == [1]
        assert codes.nearest(codes.compare(again), 3).tolist() == [1, 2]

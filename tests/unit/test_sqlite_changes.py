"""The log of changes, from which indexes follow what other processes write."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_files import add, episode_row, opened, sql
from test_sqlite_cache import found, vector

from umi.errors import StoreCorrupt
from umi.ports import Transaction


async def test_the_log_has_changes_of_earlier_messages_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    def first(tx: Transaction) -> None:
        tx.add_episodes([episode_row(0), episode_row(1)])
        tx.add_vectors({"ep_0": vector(0), "ep_1": vector(1)})

    async with opened(path) as store:
        space = store.namespace("alice")
        await space.write(first)
        assert sql(path, "SELECT key FROM changes") == []
        await found(space)
        await space.write(lambda tx: tx.add_vectors({"ep_1": vector(0)}))
        ((key,),) = sql(path, "SELECT key FROM changes")
        assert sql(path, "SELECT id FROM episodes WHERE key = (SELECT key FROM changes)") == [("ep_1",)]
        sql(path, "UPDATE changes SET crc = crc + 1")
        with pytest.raises(StoreCorrupt, match=f"a row of changes is damaged: {key}\\."):
            await found(space)


async def test_the_log_of_changes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("umi.stores.sql.write.CHANGE_LOG_SEQUENCES_COUNT_MAX", 3)
    path = tmp_path / "m.db"
    async with opened(path) as store:
        space = store.namespace("alice")
        for number in range(9):
            await add(space, f"cat {number}")
        for number in range(8):
            await space.write(lambda tx, number=number: tx.delete_episode(f"ep_{number}"))
    ((count,),) = sql(path, "SELECT count(DISTINCT sequence) FROM changes")
    assert count == 3

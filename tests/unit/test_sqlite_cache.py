"""Search indexes follow the file step by step, stay bounded, and never hold what was not committed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import apsw
import numpy as np
import pytest
from store_files import add, episode_row, opened, sql

from umi import limits
from umi._core.filters import read_filter
from umi.ports import Snapshot, StorageBackend, Transaction
from umi.stores.sql.cache import IndexCache
from umi.stores.sqlite.store import SqliteStore

AXES = np.eye(4, dtype=np.float32)


def vector(number: int) -> np.ndarray:
    return AXES[number : number + 1]


def near(s: Snapshot) -> list[int]:
    return s.vector_candidates(AXES[0], also=np.empty(0, np.int64), pool=50).keys.tolist()


async def found(space: StorageBackend) -> tuple[list[int], list[int]]:
    return await space.read(lambda s: (s.text_candidates(["number", "cat"]).keys.tolist(), near(s)))


def index(store: SqliteStore, ns: int = 1) -> object:
    return store._lanes.all[0].cache._entries[ns].index


class HasTextReader:
    """Counts the documents that statements hand to the cache."""

    def __init__(self, store: SqliteStore) -> None:
        self.documents = 0
        store._db.row_trace = self._seen

    def _seen(self, cursor, row):
        if [name for name, _ in cursor.get_description()][:2] == ["key", "words"]:
            self.documents += 1
        return row

    def taken(self) -> int:
        documents, self.documents = self.documents, 0
        return documents


@pytest.mark.parametrize("by_whom", ["own", "another store"])
async def test_an_index_reads_only_what_is_new(tmp_path: Path, by_whom: str) -> None:
    path = tmp_path / "umi.db"
    async with opened(path) as store, opened(path) as other:
        space = store.namespace("a")
        writer = space if by_whom == "own" else other.namespace("a")
        await add(writer, *[f"message number {n}" for n in range(20)])
        reads = HasTextReader(store)
        assert (await found(space))[0] == list(range(20))
        first = index(store)
        assert reads.taken() == 20
        assert (await found(space))[0] == list(range(20))
        assert reads.taken() == 0
        await add(writer, "number twenty")
        await writer.write(lambda tx: tx.add_vectors({"ep_3": vector(0)}))
        await writer.write(lambda tx: tx.delete_episode("ep_5"))
        kept = [n for n in range(21) if n != 5]
        assert await found(space) == (kept, [3])
        assert reads.taken() == 1
        assert index(store) is first
        await writer.write(lambda tx: tx.add_alias("al", "alice"))
        assert await found(space) == (kept, [3])
        assert reads.taken() == 0


async def test_a_write_that_failed_does_not_touch_a_warm_index(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as store:
        space = store.namespace("a")
        await add(space, "cat 0", "cat 1", "cat 2")
        await space.write(lambda tx: tx.add_vectors({"ep_0": vector(0), "ep_1": vector(1)}))
        assert await found(space) == ([0, 1, 2], [0, 1])

        def work(tx: Transaction) -> None:
            tx.add_episodes([episode_row(3, "cat 3")])
            tx.add_vectors({"ep_3": vector(3), "ep_2": vector(2)})
            tx.delete_episode("ep_1")
            assert near(tx) == [0, 1]
            assert tx.text_candidates(["cat"]).keys.tolist() == [0, 1, 2]
            raise KeyError

        with pytest.raises(KeyError):
            await space.write(work)
        assert await found(space) == ([0, 1, 2], [0, 1])
        assert await store.check_integrity() == []


async def test_an_index_that_is_behind_advances_in_a_write_by_committed_rows_only(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as store:
        space = store.namespace("a")
        await add(space, "cat 0", "cat 1")
        await found(space)
        warm = index(store)
        await add(space, "cat 2")
        await space.write(lambda tx: tx.add_vectors({"ep_0": vector(0)}))

        def harmless(tx: Transaction) -> None:
            tx.add_episodes([episode_row(3, "cat 3")])
            assert tx.text_candidates(["cat"]).keys.tolist() == [0, 1, 2]
            raise KeyError

        with pytest.raises(KeyError):
            await space.write(harmless)
        assert index(store) is warm, "it read nothing that the failed write had changed, so it stays"
        assert await found(space) == ([0, 1, 2], [0])

        await add(space, "cat 3")

        def meddling(tx: Transaction) -> None:
            tx.add_vectors({"ep_3": vector(3)})
            tx.text_candidates(["cat"])
            raise KeyError

        with pytest.raises(KeyError):
            await space.write(meddling)
        assert await found(space) == ([0, 1, 2, 3], [0])
        assert await store.check_integrity() == []


async def test_what_a_transaction_commits_after_asking_is_found_next(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as store:
        space = store.namespace("a")
        await add(space, "cat 0")

        def work(tx: Transaction) -> None:
            tx.text_candidates(["cat"])
            tx.add_episodes([episode_row(1, "cat 1")])
            tx.add_vectors({"ep_0": vector(0), "ep_1": vector(1)})
            tx.text_candidates(["cat"])

        await space.write(work)
        assert await found(space) == ([0, 1], [0, 1])
        assert await store.check_integrity() == []


async def test_indexes_are_dropped_least_recently_used_first(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as store:
        spaces = [store.namespace(name) for name in "abcd"]
        for space in spaces:
            await add(space, *[f"message number {n}" for n in range(30)])
            await found(space)
        assert list(store._lanes.all[0].cache._entries) == [1, 2, 3, 4]
        one = (await spaces[0].read(lambda s: s.counts())).cache_bytes
        assert one > 0
    async with opened(tmp_path / "umi.db", cache_bytes_max=int(one * 2.5)) as store:
        spaces = [store.namespace(name) for name in "abcd"]
        for turn, held in ((0, [1]), (1, [1, 2]), (0, [2, 1]), (2, [1, 3]), (3, [3, 4]), (3, [3, 4]), (1, [4, 2])):
            assert (await found(spaces[turn]))[0] == list(range(30))
            assert list(store._lanes.all[0].cache._entries) == held
        assert (await spaces[0].read(lambda s: s.counts())).cache_bytes == 0
    async with opened(tmp_path / "umi.db", cache_bytes_max=0) as store:
        for name in "abab":
            assert (await found(store.namespace(name)))[0] == list(range(30))
            assert len(store._lanes.all[0].cache._entries) == 1


async def test_an_index_older_than_the_change_log_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "umi.db"
    async with opened(path) as store, opened(path) as other:
        space, writer = store.namespace("a"), other.namespace("a")
        await add(writer, *[f"cat {n}" for n in range(12)])
        await found(space)
        first = index(store)
        monkeypatch.setattr("umi.stores.sql.write.CHANGE_LOG_SEQUENCES_COUNT_MAX", 4)
        for number in range(3):
            await writer.write(lambda tx, n=number: tx.delete_episode(f"ep_{n}"))
        assert (await found(space))[0] == list(range(3, 12))
        assert index(store) is first
        for number in range(3, 9):
            await writer.write(lambda tx, n=number: tx.delete_episode(f"ep_{n}"))
        assert sql(path, "SELECT count(*) FROM changes") == [(4,)]
        assert (await found(space))[0] == [9, 10, 11]
        assert index(store) is not first
        assert await store.check_integrity() == []
    assert limits.CHANGE_LOG_SEQUENCES_COUNT_MAX > 1000


async def test_a_read_that_fails_half_way_leaves_no_half_index(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as store:
        space = store.namespace("a")
        await add(space, *[f"message number {n}" for n in range(10)])
        await found(space)
        await add(space, *[f"message number {n}" for n in range(10, 20)])
        seen = 0

        def stumble(cursor, row):
            nonlocal seen
            if [name for name, _ in cursor.get_description()][:2] == ["key", "words"]:
                seen += 1
                if seen == 5:
                    raise MemoryError
            return row

        store._db.row_trace = stumble
        with pytest.raises(MemoryError):
            await found(space)
        store._db.row_trace = None
        assert await found(space) == (list(range(20)), [])
        assert await store.check_integrity() == []


# Whatever breaks the tie between file and index, or between tables, is found.

BREAKS: dict[str, tuple[str, str]] = {
    "an entity without episode": ("DELETE FROM episodes WHERE id = 'ep_1'", "an entity belongs to no episode: e1"),
    "a relation without end": (
        (
            "INSERT INTO relations (ns, id, source_id, target_id, type, reason, confidence, created_at, detector, acted, crc)"
            " VALUES (1, 'r', 'e0', 'no', 'update', '', 1.0, 0, 'rules', 0,"
            " umi_crc(1, 'r', 'e0', 'no', 'update', '', 1.0, 0, 'rules', 0, NULL, NULL, NULL, '', NULL, NULL))"
        ),
        "a relation has lost an end: r",
    ),
    "a vector cut short": (
        "UPDATE vectors SET windows = substr(windows, 1, 7), crc = umi_crc(key, dimensions, substr(windows, 1, 7))",
        "a vector has the wrong length",
    ),
    "a vector without episode": (
        "INSERT INTO vectors VALUES (77, 4, x'0000000000000000', umi_crc(77, 4, x'0000000000000000'))",
        "a vector belongs to no",
    ),
    "an episode without terms": ("DELETE FROM terms WHERE key = (SELECT max(key) FROM terms)", "has no terms: ep_2"),
    "work without episode": (
        (
            "INSERT INTO outbox (key, attempts, reason, derived_from, extract_entities, track_evolution, crc)"
            " VALUES (78, 0, '', '[]', 1, 1, 0)"
        ),
        "waiting work belongs to no episode",
    ),
    "an arrival to come again": (
        "UPDATE namespaces SET next_arrival = 1, crc = umi_crc(ns, name, sequence, 1, changes_from)",
        "would be given out again: ep_1",
    ),
    "an entity of another time": (
        (
            "UPDATE entities SET at = 5, crc = umi_crc(key, place, id, type, name, content, subject, slot, value, negated,"
            " confidence, 'ep_2', span_start, span_end, 5, valid_from, recorded_at, metadata, also, mode, said_by, valid_until, notes)"
            " WHERE id = 'e2'"
        ),
        "time is not its episode's: e2",
    ),
    "other terms than the index has": (
        (
            "UPDATE terms SET terms = 'dog', crc = umi_crc(key, words, traits, 'dog', NULL, NULL,"
            " (SELECT at FROM episodes WHERE episodes.key = terms.key))"
        ),
        "finds other texts",
    ),
    "other vectors than the index has": (
        "UPDATE vectors SET windows = x'0000003c00000000', crc = umi_crc(key, dimensions, x'0000003c00000000')",
        "finds other vectors",
    ),
    "vectors of another embedder": (
        (
            "INSERT INTO meta SELECT name, value, umi_crc(name, value)"
            """ FROM (SELECT 'embedder' AS name, '{"name":"m","dimensions":5,"digest":"d"}' AS value)"""
        ),
        "has 4 dimensions, its embedder 5",
    ),
}


@pytest.mark.parametrize("what", sorted(BREAKS))
async def test_the_check_of_integrity_finds(tmp_path: Path, what: str) -> None:
    statement, finding = BREAKS[what]
    path = tmp_path / "umi.db"
    async with opened(path) as store:
        space = store.namespace("a")
        await add(space, "cat 0", "cat 1", "cat 2")
        await space.write(lambda tx: tx.add_vectors({"ep_0": vector(0)}))
        await found(space)
        assert await store.check_integrity() == []
        sql(path, statement)
        findings = await store.check_integrity()
        assert findings
        assert any(finding in each for each in findings), findings


async def test_no_lookup_reads_a_whole_table(tmp_path: Path) -> None:
    """Every statement of a snapshot and a transaction finds its rows through an index."""
    plans: list[str] = []
    async with opened(tmp_path / "umi.db") as store:
        space = store.namespace("a")
        await add(space, "cat 0", "cat 1")

        def explained(cursor, statement: str, bindings) -> bool:
            if statement.startswith(("SELECT", "UPDATE", "DELETE")) and "EXPLAIN" not in statement:
                rows = plain.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)
                plans.extend(f"{row[3]} <- {statement}" for row in rows)
            return True

        plain = apsw.Connection(str(tmp_path / "umi.db"))
        store._db.exec_trace = explained
        await space.read(_every_lookup)
        await space.write(_every_change)
        store._db.exec_trace = None
        plain.close()
    scans = [plan for plan in plans if plan.startswith("SCAN")]
    allowed = (
        "SCAN json_each",
        "SCAN value",
        "SCAN wanted <- SELECT n.ns",  # one row: the name that was given
        "SCAN pragma_",
        "SCAN CONSTANT ROW",
        "SCAN 2-ROW VALUES CLAUSE",  # of a statement
        "SCAN vectors <- SELECT dimensions FROM vectors LIMIT 1",
        "SCAN (subquery-",  # what an inner SELECT gave, which has a plan of its own
    )
    assert [plan for plan in scans if not plan.startswith(allowed)] == []
    # Relations of statements that are given are found by those, and not by reading all of the namespace.
    joined = [plan for plan in plans if plan.startswith("SEARCH r") and " FROM entities e " in plan]
    assert joined
    assert [plan for plan in joined if "(ns=?)" in plan.split(" <- ")[0]] == []
    assert len(plans) > 40
    filtered = [plan for plan in plans if "labels" in plan.split(" <- ")[0]]
    assert len(filtered) > 8
    assert [plan for plan in filtered if "PRIMARY KEY" not in plan] == []


_FILTERS = (
    read_filter({"session": "s1"}, None),
    read_filter({"metadata": {"a": {"gte": 1}}, "speaker": {"in": ["Ann", "Bo"]}}, None),
    read_filter({"metadata": {"a": {"exists": False}}}, None),
    read_filter({"role": "user"}, ["note"]),
)


def _every_lookup(s: Snapshot) -> None:
    some: list[str] = ["e0", "e1"]
    lookups: list[Callable[[], object]] = [
        lambda: s.episodes(["ep_0"]),
        lambda: s.episodes_at([0]),
        lambda: s.read_at([0]),
        lambda: s.entities(some),
        lambda: s.entities_of(["ep_0"]),
        lambda: s.statements("note", limit=5),
        lambda: s.statements_in([("note", "likes")], limit=5),
        lambda: s.list_entities(after=(0, 0), limit=5),
        lambda: s.list_entities(after=None, limit=5, newest=True),
        lambda: s.list_episodes(after=0, limit=5),
        lambda: s.list_episodes(after=None, limit=5, newest=True),
        lambda: s.relations(["r"]),
        lambda: s.relations_of(some),
        lambda: s.subjects_of(["x"]).get("x"),
        lambda: s.aliases("x"),
        lambda: s.replays(["k"]),
        lambda: s.outbox(5),
        s.counts,
        lambda: s.text_candidates(["cat"]),
        lambda: near(s),
        s.first_expiry,
        lambda: s.expired(datetime(2030, 1, 1, tzinfo=UTC), 5),
        lambda: s.changes(0, 5),
        lambda: s.sessions(after=None, limit=5),
    ]
    for where in _FILTERS:
        lookups += [
            partial(s.list_entities, after=(0, 0), limit=5, where=where),
            partial(s.list_entities, after=None, limit=5, where=where, newest=True),
            partial(s.list_episodes, after=0, limit=5, where=where),
            partial(s.list_episodes, after=None, limit=5, where=where, newest=True),
            partial(s.statements, "note", limit=5, where=where),
            partial(s.text_candidates, ["cat"], where=where),
            lambda where=where: list(s.scan_episodes(where)),
            lambda where=where: list(s.scan_entities(where)),
        ]
    for lookup in lookups:
        lookup()


def _every_change(tx: Transaction) -> None:
    tx.add_episodes([episode_row(2)])
    tx.add_vectors({"ep_0": vector(0)})
    tx.set_validity("e0", None, None)
    tx.remove_outbox("ep_0")
    tx.delete_episode("ep_1")


async def test_an_index_is_built_in_portions_between_which_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("umi.limits.CATCH_UP_COUNT", 4)
    path = tmp_path / "umi.db"
    async with opened(path) as store, opened(path) as other:
        space, writer = store.namespace("a"), other.namespace("a")
        await add(writer, *[f"message number {n}" for n in range(11)])
        await writer.write(lambda tx: tx.add_vectors({"ep_1": vector(0), "ep_9": vector(0)}))
        reads = HasTextReader(store)
        assert not await space.read(lambda s: s.catch_up())
        assert (reads.taken(), len(index(store))) == (4, 4)
        # Both what is there and what is still to come changes meanwhile.
        await writer.write(lambda tx: tx.delete_episode("ep_2"))
        await writer.write(lambda tx: tx.delete_episode("ep_7"))
        await writer.write(lambda tx: tx.add_vectors({"ep_0": vector(0), "ep_10": vector(0)}))
        assert not await space.read(lambda s: s.catch_up())
        assert await space.read(lambda s: s.catch_up())
        kept = [n for n in range(11) if n not in {2, 7}]
        assert (reads.taken(), len(index(store))) == (6, len(kept))
        assert await found(space) == (kept, [0, 1, 9, 10])
        assert reads.taken() == 0
        assert await space.read(lambda s: s.catch_up())
        assert await store.check_integrity() == []


async def test_a_leg_that_is_asked_half_way_does_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("umi.limits.CATCH_UP_COUNT", 4)
    async with opened(tmp_path / "umi.db") as store:
        space = store.namespace("a")
        await add(space, *[f"message number {n}" for n in range(11)])
        assert not await space.read(lambda s: s.catch_up())
        assert (await found(space))[0] == list(range(11))
        assert await store.check_integrity() == []


async def test_rows_that_are_given_to_an_index_in_parts_are_all_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("umi.stores.sql.cache._CHECKED_COUNT", 2)
    monkeypatch.setattr("umi.stores.sql.cache._PORTION_COUNT", 4)
    async with opened(tmp_path / "umi.db") as store:
        space = store.namespace("a")
        await add(space, *[f"message number {n}" for n in range(11)])
        await space.write(lambda tx: tx.add_vectors({"ep_1": vector(0), "ep_9": vector(0)}))
    async with opened(tmp_path / "umi.db") as store:
        assert await found(store.namespace("a")) == (list(range(11)), [1, 9])


async def test_indexes_are_bounded_in_number_and_answer_the_same_when_they_come_back(tmp_path: Path) -> None:
    """Small indexes take next to nothing each; ten thousand of them do not."""
    path = tmp_path / "umi.db"
    names = [f"tenant {n}" for n in range(12)]
    async with opened(path) as store:
        store._lanes.all[0].cache = IndexCache(1 << 30, count_max=3)
        for n, name in enumerate(names):
            await add(store.namespace(name), *[f"message number {m}" for m in range(n + 1)], "a cat")
        before = [await found(store.namespace(name)) for name in names]
        assert len(store._lanes.all[0].cache) == 3
        assert len(store._lanes.all[0].cache._numbers) <= 7
        held = store._lanes.all[0].cache.bytes
        for _ in range(3):
            assert [await found(store.namespace(name)) for name in names] == before
        assert len(store._lanes.all[0].cache) == 3
        assert store._lanes.all[0].cache.bytes == held
        await add(store.namespace(names[0]), "number two, another cat")
        assert len((await found(store.namespace(names[0])))[0]) == len(before[0][0]) + 1
        assert await store.check_integrity() == []


async def test_indexes_of_namespaces_that_another_process_deleted_go_with_the_next_look(tmp_path: Path) -> None:
    """However many names were read before."""
    path = tmp_path / "umi.db"
    async with opened(path) as store, opened(path) as other:
        cache = store._lanes.all[0].cache = IndexCache(1 << 30, count_max=3)
        for number in range(8):
            await add(store.namespace(f"tenant {number}"), "a cat")
            await found(store.namespace(f"tenant {number}"))
        assert list(cache._entries) == [6, 7, 8]
        for number in (6, 7):
            await other.namespace(f"tenant {number}").write(lambda tx: tx.drop_namespace())
        assert await found(store.namespace("tenant 6")) == ([], [])
        assert [ns in cache for ns in (7, 8)] == [False, True]
        assert "tenant 6" not in cache._numbers, "nor does its name stay in memory"
        await add(other.namespace("tenant 7"), "no dog", "a cat")
        assert await found(store.namespace("tenant 7")) == ([1], [])
        assert 8 not in cache

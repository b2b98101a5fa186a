"""A file of version 1, frozen as SQL, comes out at the newest version with everything in it."""

from __future__ import annotations

import asyncio
import gzip
from datetime import UTC, datetime
from pathlib import Path

import apsw
import numpy as np
import pytest
from store_files import NOON, add, opened, sql, texts

import umi
from umi.errors import StoreError
from umi.ports import ReplayRow, Snapshot
from umi.stores.sqlite import schema
from umi.types import Detector, EvolutionType, OutboxItem

# Never edit: this is what files out there look like. 1 << 40 = 1099511627776.
VERSION_1 = """
PRAGMA journal_mode = WAL;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE namespaces (ns INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, sequence INTEGER NOT NULL,
  next_arrival INTEGER NOT NULL) STRICT;
CREATE TABLE episodes (key INTEGER PRIMARY KEY, ns INTEGER NOT NULL, id TEXT NOT NULL, role TEXT NOT NULL, speaker TEXT,
  session TEXT, at INTEGER NOT NULL, recorded_at INTEGER NOT NULL, message_id TEXT, metadata TEXT, content TEXT NOT NULL,
  UNIQUE (ns, id)) STRICT;
CREATE TABLE terms (key INTEGER PRIMARY KEY, words INTEGER NOT NULL, terms TEXT NOT NULL) STRICT;
CREATE TABLE vectors (key INTEGER PRIMARY KEY, dimensions INTEGER NOT NULL, windows BLOB NOT NULL) STRICT;
CREATE TABLE entities (key INTEGER NOT NULL, place INTEGER NOT NULL, ns INTEGER NOT NULL, id TEXT NOT NULL,
  at INTEGER NOT NULL, type TEXT NOT NULL, subject TEXT NOT NULL, slot TEXT NOT NULL, negated INTEGER NOT NULL,
  confidence REAL NOT NULL, span_start INTEGER, span_end INTEGER, valid_from INTEGER, valid_to INTEGER,
  recorded_at INTEGER, invalidated_at INTEGER, name TEXT NOT NULL, value TEXT NOT NULL, metadata TEXT,
  content TEXT NOT NULL, UNIQUE (key, place), UNIQUE (ns, id)) STRICT;
CREATE INDEX entities_by_slot ON entities (ns, subject, slot, at, key, place);
CREATE INDEX entities_by_subject ON entities (ns, subject, at, key, place);
CREATE TABLE relations (ns INTEGER NOT NULL, id TEXT NOT NULL, source_id TEXT NOT NULL, target_id TEXT NOT NULL,
  type TEXT NOT NULL, reason TEXT NOT NULL, confidence REAL NOT NULL, created_at INTEGER NOT NULL,
  detector TEXT NOT NULL, acted INTEGER NOT NULL, resolved TEXT, resolved_at INTEGER, undone_at INTEGER,
  UNIQUE (ns, id)) STRICT;
CREATE INDEX relations_by_source ON relations (ns, source_id);
CREATE INDEX relations_by_target ON relations (ns, target_id);
CREATE TABLE aliases (ns INTEGER NOT NULL, alias TEXT NOT NULL, subject TEXT NOT NULL, PRIMARY KEY (ns, alias))
  STRICT, WITHOUT ROWID;
CREATE INDEX aliases_by_subject ON aliases (ns, subject);
CREATE TABLE replays (ns INTEGER NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, episode_ids TEXT NOT NULL,
  PRIMARY KEY (ns, key)) STRICT, WITHOUT ROWID;
CREATE TABLE outbox (key INTEGER PRIMARY KEY, attempts INTEGER NOT NULL, reason TEXT NOT NULL,
  derived_from TEXT NOT NULL, extract_entities INTEGER NOT NULL, track_evolution INTEGER NOT NULL) STRICT;
INSERT INTO meta VALUES ('embedder', '{"name":"minilm","dimensions":2,"digest":"abc"}');
INSERT INTO namespaces VALUES (1, 'alice', 5, 3);
INSERT INTO episodes VALUES
  (1099511627776, 1, 'ep_0', 'user', 'Alice', 's', 1772366400000000, 1772366400000001, 'm0', '{"a":[1]}', 'I work at Acme'),
  (1099511627778, 1, 'ep_2', 'user', NULL, NULL, 1772366400000000, 1772366400000002, NULL, NULL, 'I joined StartupX');
INSERT INTO terms VALUES (1099511627776, 4, 'work acm'), (1099511627778, 3, 'join startupx');
INSERT INTO vectors VALUES (1099511627776, 2, x'003c0000');
INSERT INTO entities VALUES
  (1099511627776, 0, 1, 'e0', 1772366400000000, 'person', 'alice', 'works_at', 0, 0.5, 0, 14, 1772366400000000,
   1772366400000000, 1772366400000001, 1772366400000002, 'Alice', 'acme', NULL, 'I work at Acme'),
  (1099511627778, 0, 1, 'e1', 1772366400000000, 'person', 'alice', 'works_at', 0, 1.0, NULL, NULL, 1772366400000000,
   NULL, 1772366400000001, NULL, 'Alice', 'startupx', '{"k":1}', 'I joined StartupX');
INSERT INTO relations VALUES
  (1, 'r', 'e0', 'e1', 'update', 'joined', 0.9, 1772366400000000, 'rules', 1, NULL, NULL, NULL);
INSERT INTO aliases VALUES (1, 'ali', 'alice');
INSERT INTO replays VALUES (1, 'm0', 'digest', '["ep_0"]');
INSERT INTO outbox VALUES (1099511627778, 2, 'no embedder', '["e0"]', 1, 0);
PRAGMA application_id = 0x556D6931;
PRAGMA user_version = 1;
"""


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    db = apsw.Connection(str(path))
    db.execute(VERSION_1).fetchall()
    db.close()
    return path


def _look(s: Snapshot) -> None:
    assert s.sequence == 5
    episodes = s.episodes_at([0, 1, 2])
    assert {key: episode.content for key, episode in episodes.items()} == {0: "I work at Acme", 2: "I joined StartupX"}
    assert episodes[0].at == NOON
    assert episodes[0].metadata == {"a": [1]}
    old, new = s.entities(["e0", "e1"])["e0"], s.entities(["e1"])["e1"]
    assert (old.span, old.valid_to, old.confidence) == ((0, 14), NOON, 0.5)
    assert (new.span, new.valid_to, new.metadata) == (None, None, {"k": 1})
    relation = s.relations_of(["e0"])["e0"][0]
    assert (relation.evolution_type, relation.detector, relation.acted) == (EvolutionType.UPDATE, Detector.RULES, True)
    assert s.subjects_of(["ali"]).get("ali") == "alice"
    assert s.replays(["m0"]) == {"m0": ReplayRow("m0", "digest", ("ep_0",))}
    assert s.outbox(9) == [
        OutboxItem("ep_2", 2, 2, "no embedder", ("e0",), extract_entities=True, track_evolution=False)
    ]
    assert s.text_candidates(["acm"]).keys.tolist() == [0]
    assert s.vector_candidates(np.array([1, 0], np.float32), also=np.array([2]), pool=5).keys.tolist() == [0]


async def test_a_file_of_version_1_is_brought_to_the_newest_and_nothing_is_lost(old_file: Path) -> None:
    for _ in range(2):
        async with opened(old_file) as store:
            await store.namespace("alice").read(_look)
            assert await store.check_integrity() == []
            identity = await store.embedder_identity()
            assert identity is not None
            assert identity.name == "minilm"
        assert sql(old_file, "PRAGMA user_version") == [(schema.VERSION,)]


async def test_a_migrated_file_is_written_and_its_indexes_follow(old_file: Path) -> None:
    async with opened(old_file) as store, opened(old_file) as other:
        space = store.namespace("alice")
        await other.namespace("alice").read(_look)
        await space.write(lambda tx: tx.add_vectors({"ep_2": np.array([[0, 1]], np.float32)}))
        await space.write(lambda tx: tx.delete_episode("ep_0"))
        await add(space, "Acme again")
        assert await texts(space) == ["I joined StartupX", "Acme again"]
        found = await other.namespace("alice").read(
            lambda s: (
                s.text_candidates(["acm"]).keys.tolist(),
                s.vector_candidates(np.array([1, 0], np.float32), also=np.array([2]), pool=5).keys.tolist(),
            )
        )
        assert found == ([3], [2])
        assert await other.check_integrity() == []


async def test_the_tables_of_an_old_file_and_a_new_one_are_the_same(old_file: Path, tmp_path: Path) -> None:
    async with opened(old_file), opened(tmp_path / "new.db"):
        pass

    def tables(path: Path) -> dict[str, list[tuple]]:
        names = [name for (name,) in sql(path, "SELECT name FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")]
        columns = "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_xinfo('{0}') UNION ALL "
        indexed = "SELECT name, seqno, cid, 0, 0 FROM pragma_index_info('{0}')"
        return {name: sql(path, (columns + indexed).format(name)) for name in names}

    assert tables(old_file) == tables(tmp_path / "new.db")
    assert len(tables(old_file)) > 12


async def test_a_migration_that_fails_leaves_the_old_file_as_it_was(
    old_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sql(old_file, "SELECT name, sql FROM sqlite_schema ORDER BY name")
    with monkeypatch.context() as patch:
        broken = (*schema.STEPS[:1], schema.STEPS[1] + "CREATE TABLE episodes (again)")
        patch.setattr("umi.stores.sqlite.opening.STEPS", broken)
        with pytest.raises(StoreError, match="already exists"):
            async with opened(old_file):
                pass
    assert sql(old_file, "PRAGMA user_version") == [(1,)]
    assert sql(old_file, "SELECT name, sql FROM sqlite_schema ORDER BY name") == before
    async with opened(old_file) as store:
        await store.namespace("alice").read(_look)


async def test_two_that_migrate_one_file_at_once_do_it_once(old_file: Path) -> None:
    async def visit() -> None:
        async with opened(old_file) as store:
            await store.namespace("alice").read(_look)

    await asyncio.gather(*(visit() for _ in range(6)))
    assert sql(old_file, "PRAGMA user_version") == [(schema.VERSION,)]


async def test_a_file_of_version_6_opens_with_all_that_it_held(tmp_path: Path) -> None:
    """Written by the build before the model's own columns came, with the real embedder and a model that was down."""
    path = tmp_path / "umi.db"
    path.write_bytes(gzip.decompress((Path(__file__).parents[1] / "data" / "version_6.db.gz").read_bytes()))
    async with umi.Memory.open(str(path), namespace="alice") as memory:
        assert await memory.check() == []
        assert (await memory.recall("Where does Alice live?")).hits[0].content == "I moved to Lisbon."
        then = await memory.recall("Where does Alice live?", as_of=datetime(2026, 1, 15, tzinfo=UTC))
        assert then.hits[0].content == "I live in Berlin."
        steps = (await memory.list()).items
        assert {step.entity.mode for step in steps} == {umi.Mode.ASSERTED}
        moved = next(step.entity for step in steps if step.entity.value == "Lisbon")
        assert moved.notes is not None
        assert all(not {"cues", "ended", "dates", "owner"} & set(step.entity.metadata) for step in steps)
        assert {row.nature for step in steps for row in step.evolutions} == {umi.Nature.NONE}
        assert umi.HitState.DISPUTED in {step.state for step in steps}
        assert [item.again for item in await memory.waiting()] == [False]
        assert (
            await memory.remember("I moved to Lisbon.", idempotency_key="k1", speaker="Alice", session="s")
        ).replayed
        assert (await memory.maintain()).waiting == ()
        assert await memory.check() == []
    async with umi.Memory.open(str(path), namespace="bob") as memory:
        assert (await memory.recall("Where does Bob work?")).hits[0].content == "I work at Acme."


async def test_a_damaged_row_of_version_6_is_still_damaged_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    path.write_bytes(gzip.decompress((Path(__file__).parents[1] / "data" / "version_6.db.gz").read_bytes()))
    sql(path, "UPDATE entities SET value = 'Paris' WHERE value = 'Lisbon'")
    async with umi.Memory.open(str(path), namespace="alice", embedder=None) as memory:
        assert any("a row of entities is damaged" in finding for finding in await memory.check())

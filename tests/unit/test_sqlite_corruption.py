"""Bit flips: what lies in the file is either what was written, or it is reported; a memory never changes silently."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from store_files import NOON, add, opened, sql

from umi._core.text import analyse
from umi.errors import StoreCorrupt, StoreError
from umi.ports import EmbedderIdentity, EpisodeRow, ReplayRow, Snapshot, Transaction
from umi.stores.sqlite.store import SqliteStore
from umi.types import Detector, Entity, EntityType, Episode, EvolutionRelation, EvolutionType, Mode, Nature, OutboxItem
from umi.types.learning_rows import Belief, Share, SignalRow, Total, Trajectory, Version
from umi.types.routing_rows import Decision

SEED = 3
FLIPS = 440  # half anywhere in the file, half where something is written
DIMENSIONS = 16
UNTIL = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=0x7AFF00)  # three bytes, which make no text
SPACES = ("alice", "bob")
TEXTS = (
    "I work at Acme in Berlin", "私は京都に住んでいます。", "Я переехала в Казань в марте", "أعمل في القاهرة منذ سنة", "한국어를 배우고 있어요",
    "Ich heiße Jürgen und mag Käse", "我的狗叫小白", "मैं दिल्ली में रहता हूँ", "🐈 is called Möhre", "Zażółć gęślą jaźń",
)  # fmt: skip
REPORTED_MIN = FLIPS // 2  # flips that hit next to nothing would prove nothing

Answers = dict[str, Any]


def _episode(space: str, n: int) -> EpisodeRow:
    content = f"{TEXTS[n]}, said number {n}. " + "And on and on it went. " * (40 * (n % 5 == 4) * 10)
    at = NOON + timedelta(minutes=n)
    metadata = {"источник": ["chat", n]} if n % 3 == 0 else {}
    speaker = ("Алиса", None, "Bob")[n % 3]
    message_id = f"m{n}" if n % 2 else None
    episode = Episode(
        f"ep_{space}_{n}", content, "user", speaker, f"s{n // 4}" if n % 4 else None, at, at, n, message_id, metadata
    )
    return EpisodeRow(episode, tuple(analyse(content)), len(content.split()))


def _entity(row: EpisodeRow, place: int) -> Entity:
    episode = row.episode
    return Entity(
        EntityType.PERSON, "Алиса", episode.content[:40], id=f"e_{episode.id}_{place}", subject="alice", slot=f"slot{place}",
        value=TEXTS[-place - 1], negated=place == 1, confidence=1 - place / 8, episode_id=episode.id, span=(place, place + 9),
        valid_from=episode.at, recorded_at=episode.recorded_at, metadata={"k": "ключ"} if place else {},
        also=("лампа", "rug") if place else (), mode=Mode.REPORTED if place else Mode.ASSERTED, said_by="Ольга" if place else "",
        valid_until=UNTIL if place else None,
    )  # fmt: skip


def _fill(space: str) -> Callable[[Transaction], None]:
    def work(tx: Transaction) -> None:
        rng = np.random.default_rng(SEED)
        rows = [_episode(space, n) for n in range(10)]
        tx.add_episodes(rows)
        entities = [_entity(row, place) for row in rows for place in range(2)]
        tx.add_entities(entities)
        ids = [row.episode.id for row in rows]
        tx.add_vectors({id_: rng.normal(size=(1 + n % 2, DIMENSIONS)).astype(np.float32) for n, id_ in enumerate(ids)})
        pairs = list(zip(entities[::4], entities[2::4], strict=True))
        for n, (old, new) in enumerate(pairs):
            tx.put_relation(
                EvolutionRelation(
                    f"r_{space}_{n}",
                    old.id,
                    new.id,
                    EvolutionType.UPDATE,
                    "потом сказала иначе",
                    0.75,
                    NOON,
                    Detector.RULES,
                    acted=True,
                    nature=Nature.CHANGED if n % 2 else Nature.NONE,
                    part=(3, 9) if n % 2 else None,
                )
            )
            tx.set_validity(old.id, new.valid_from, NOON + timedelta(days=n))
        for n, id_ in enumerate(ids):
            tx.add_replay(ReplayRow(f"key-{n}", f"{n:064x}", (id_,)))
        for n in (7, 8, 9):
            tx.put_outbox(OutboxItem(ids[n], n, n, "model нет", (entities[0].id,), track_evolution=n == 8))
        shares = tuple(Share(n, entities[2 * n].id, n, used=n == 1) for n in range(2))
        eye = np.eye(1, DIMENSIONS, dtype=np.float32)[0]
        tx.learned.add_trajectories([Trajectory(f"rec_{space}", NOON, "task", 1, shares, eye)])
        said = ("ci", f"s_{space}", "d1", "success", 0.75, 1.0, NOON, "recall")
        tx.learned.add_signals([SignalRow(0, *said, used_only=True, version=1, trajectories=(f"rec_{space}",))])
        tx.learned.put_beliefs([Belief(1, entities[2].id, "ci", 0.5, 0.25, 1)])
        tx.learned.put_version(Version(1, 0, NOON, "run", 1, 1, {"ci": Total(1, 0.5, 0.25)}))
        tx.learned.put_version(Version(2, 1, next_sequence=1))
        judged = {"kind": "k", "explored": True, "quality": 0.5, "actual": 0.25, "judge": "ci", "embedder": "e"}
        tx.routed.put(
            Decision(f"dec_{space}", NOON, "fast", "tiny", 0.5, 0.75, **judged, vector=np.ones(3, np.float32))
        )
        tx.add_alias("Алиса", "alice")
        tx.add_alias("ally", "alice")

    return work


def _change(space: str) -> Callable[[Transaction], None]:
    def work(tx: Transaction) -> None:
        tx.delete_episode(f"ep_{space}_6")
        tx.add_vectors({f"ep_{space}_3": np.eye(1, DIMENSIONS, dtype=np.float32)})

    return work


async def _make(path: Path) -> None:
    async with opened(path) as store:
        await store.set_embedder_identity(EmbedderIdentity("minilm", DIMENSIONS, "digest"))
        for space in SPACES:
            await store.namespace(space).write(_fill(space))
            await store.namespace(space).write(_change(space))


def _look(space: str) -> dict[str, Callable[[Any], Any]]:
    """Every lookup of a snapshot, by name."""
    episodes = [f"ep_{space}_{n}" for n in range(10)]
    entities = [f"e_{id_}_{place}" for id_ in episodes for place in range(2)]
    probe = np.eye(1, DIMENSIONS, dtype=np.float32)[0]
    everything = np.arange(10)

    def hits(s: Snapshot) -> object:
        found = s.vector_candidates(probe, also=everything, pool=9)
        return found.keys.tolist(), found.cosine.tolist()

    def words(s: Snapshot) -> object:
        found = s.text_candidates(["said", "acm", "berlin", "number"])
        return found.keys.tolist(), found.words.tolist(), found.spoken.tolist(), found.session_unit.tolist()

    return {
        "episodes": lambda s: s.episodes(episodes),
        "episodes_at": lambda s: s.episodes_at(range(12)),
        "entities": lambda s: s.entities(entities),
        "entities_of": lambda s: s.entities_of(episodes),
        "statements": lambda s: s.statements("alice", limit=99),
        "slot": lambda s: s.statements_in([("alice", "slot1")], limit=99)["alice", "slot1"],
        "mentions": lambda s: s.statements("лампа", limit=99),
        "list": lambda s: s.list_entities(after=None, limit=99),
        "messages": lambda s: s.list_episodes(after=None, limit=99),
        "newest": lambda s: s.list_entities(after=None, limit=99, newest=True),
        "relations": lambda s: s.relations([f"r_{space}_{n}" for n in range(9)]),
        "relations_of": lambda s: s.relations_of(entities),
        "aliases": lambda s: (s.aliases("alice"), s.subjects_of(["ally"]).get("ally"), s.subjects_of(["Алиса"]).get("Алиса")),
        "replays": lambda s: s.replays([f"key-{n}" for n in range(10)]),
        "outbox": lambda s: s.outbox(99),
        "counts": lambda s: replace(s.counts(), cache_bytes=0),
        "vectors": lambda s: {id_: windows.tobytes() for id_, windows in s.vectors(episodes).items()},
        "by words": words,
        "by vector": hits,
        "head": lambda s: (s.sequence, s.namespace),
    }  # fmt: skip


async def _answers(store: SqliteStore) -> Answers:
    """Every answer of the store, an error where it gives none."""
    answers: Answers = {}

    async def ask(name: str, asking: Awaitable[Any]) -> None:
        try:
            answers[name] = await asking
        except StoreError as error:
            answers[name] = error

    await ask("namespaces", store.namespaces())
    await ask("embedder", store.embedder_identity())
    for space in SPACES:
        await ask(space, store.namespace(space).read(partial(_all_of, space)))
    return answers


def _all_of(space: str, s: Snapshot) -> Answers:
    found: Answers = {}
    for name, look in _look(space).items():
        try:
            found[name] = look(s)
        except (StoreError, apsw.Error, UnicodeDecodeError) as error:  # the store makes each of them a StoreError
            found[name] = error
    return found


def _rows(path: Path) -> dict[str, list[tuple]]:
    """Every value of every table, as SQLite reads it."""
    names = [name for (name,) in sql(path, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    return {name: sql(path, f"SELECT * FROM {name} NOT INDEXED") for name in names}


def _records(value: object) -> Iterator[Episode | Entity | EvolutionRelation]:
    """The episodes, entities and relations that were shown, whatever they were asked for by."""
    if isinstance(value, Episode | Entity | EvolutionRelation):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _records(each)
    elif isinstance(value, tuple | list):
        for each in value:
            if not isinstance(each, int | float):
                yield from _records(each)


def _positions(content: bytes) -> list[tuple[int, int]]:
    rng = random.Random(SEED)
    written = [offset for offset, byte in enumerate(content) if byte]
    anywhere = [rng.randrange(len(content)) for _ in range(FLIPS // 2)]
    return [(offset, rng.randrange(8)) for offset in (*anywhere, *rng.choices(written, k=FLIPS - len(anywhere)))]


def _flipped(content: bytes, offset: int, bit: int) -> bytes:
    damaged = bytearray(content)
    damaged[offset] ^= 1 << bit
    return bytes(damaged)


async def test_a_flipped_bit_is_reported_or_changes_nothing(tmp_path: Path) -> None:
    path, copy = tmp_path / "umi.db", tmp_path / "copy.db"
    await _make(path)
    content, rows = path.read_bytes(), _rows(path)
    async with opened(path) as store:
        right = await _answers(store)
        assert await store.check_integrity() == []
    shown = {each.id: each for each in _records(right)}
    assert len(shown) > 60
    seen: Counter[str] = Counter()
    for offset, bit in _positions(content):
        copy.write_bytes(_flipped(content, offset, bit))
        try:
            async with opened(copy) as store:
                findings = await store.check_integrity()
                answers = await _answers(store)
                # No need to check first: a record that is shown at all is one that was written.
                for each in _records(answers):
                    assert shown.get(each.id) == each, f"byte {offset}, bit {bit} changed a record that was shown"
        except StoreError:
            seen["reported by opening"] += 1
            continue
        if findings:
            seen["reported by the check"] += 1
            continue
        seen["changed nothing"] += 1
        assert answers == right, f"byte {offset}, bit {bit} changed an answer and nobody said so"
        assert _rows(copy) == rows, f"byte {offset}, bit {bit} changed a row and nobody said so"
    assert seen.total() == FLIPS
    assert seen["reported by the check"] >= REPORTED_MIN, seen
    assert seen["changed nothing"] < FLIPS // 2, seen


# One value at a time, so that a column that no sum covers cannot hide behind chance.

ELSEWHERE = {  # seen by the comparison of tables, which says so in other words
    ("episodes", "ns"): "an episode's key is not of its namespace",
    ("entities", "ns"): "an entity is of another namespace",
    ("terms", "key"): "terms belong to no episode",
    ("outbox", "key"): "waiting work belongs to no episode",
    **{("labels", column): "a label is not what its episode says" for column in ("ns", "field", "value", "key")},
    ("entities", "key"): "an entity belongs to no episode",
}


async def test_a_change_of_any_value_of_any_table_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("umi.limits.STORE_BLOCKS_FROM_COUNT", 1)
    monkeypatch.setattr("umi.limits.STORE_BLOCK_COUNT", 2)
    path, copy = tmp_path / "umi.db", tmp_path / "copy.db"
    await _make(path)
    content = path.read_bytes()
    columns = [
        (table, *column)
        for table in _rows(path)
        for column in sql(path, f"SELECT name, type FROM pragma_table_info('{table}')")
    ]
    assert len(columns) > 70
    for table, column, kind in columns:
        copy.write_bytes(content)
        changed = {
            "INTEGER": f"coalesce({column}, 0) + 1000", "REAL": f"{column} / 2", "TEXT": f"coalesce({column}, '') || '!'",
            "BLOB": f"zeroblob(length({column}))", "ANY": f"{column} || '!'",
        }[kind]  # fmt: skip
        sql(copy, f"UPDATE {table} SET {column} = {changed} WHERE {column} IS (SELECT max({column}) FROM {table})")
        async with opened(copy) as store:
            findings = await store.check_integrity()
        expected = ELSEWHERE.get((table, column), f"a row of {table} is damaged: ")
        assert any(finding.startswith(expected) for finding in findings), f"{table}.{column}: {findings}"


DAMAGE = {
    "an episode": ("UPDATE episodes SET content = 'I work at Evil' WHERE id = 'ep_bob_0'", "episodes", "ep_bob_0", "episodes"),
    "where an episode was said": ("UPDATE episodes SET session = 's' WHERE id = 'ep_bob_0'", "terms", "", "by words"),
    "an entity": ("UPDATE entities SET value = 'evil' WHERE id = 'e_ep_bob_2_1'", "entities", "e_ep_bob_2_1", "slot"),
    "its validity": ("UPDATE entities SET valid_to = NULL WHERE id = 'e_ep_bob_0_0'", "entities", "e_ep_bob_0_0", "entities_of"),
    "what a model said of it": ("UPDATE entities SET mode = 'asserted' WHERE id = 'e_ep_bob_2_1'", "entities", "e_ep_bob_2_1", "slot"),
    "a further subject": ("UPDATE mentions SET place = 0 WHERE subject = 'лампа'", "mentions", "", "mentions"),
    "a relation": ("UPDATE relations SET acted = 0 WHERE id = 'r_bob_0'", "relations", "r_bob_0", "relations_of"),
    "a vector": ("UPDATE vectors SET windows = zeroblob(32) WHERE dimensions = 16", "vectors", "", "by vector"),
    "an alias": ("UPDATE aliases SET crc = crc + 1 WHERE alias = 'ally'", "aliases", "ally", "aliases"),
    "waiting work": ("UPDATE outbox SET attempts = 0 WHERE attempts = 8", "outbox", "ep_bob_8", "outbox"),
    "a replay": ("UPDATE replays SET digest = '' WHERE key = 'key-3'", "replays", "key-3", "replays"),
    "a head": ("UPDATE namespaces SET next_arrival = 99", "namespaces", "bob", "head"),
    "the embedder": ("UPDATE meta SET crc = crc + 1 WHERE name = 'embedder'", "meta", "embedder", "head"),
    "a text that is none": (
        "UPDATE episodes SET content = CAST(x'ff41' AS TEXT) WHERE id = 'ep_bob_1'", "episodes", "ep_bob_1", "episodes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", sorted(DAMAGE))
async def test_a_read_refuses_what_is_damaged_and_names_it(tmp_path: Path, what: str) -> None:
    statement, table, id_, lookup = DAMAGE[what]
    path = tmp_path / "umi.db"
    await _make(path)
    sql(path, statement)
    async with opened(path) as store:
        with pytest.raises(
            StoreCorrupt, match=f"a row of {table} is damaged: .*{id_}.*keep a copy.*restore it.*export"
        ):
            await store.namespace("bob").read(_look("bob")[lookup])
        if lookup != "head":  # what is sound can still be read
            assert await store.namespace("bob").read(_look("bob")["head"])
        assert any(f"a row of {table} is damaged: " in finding for finding in await store.check_integrity())


@pytest.mark.parametrize(
    "change",
    [
        "dimensions = 0, crc = umi_crc(key, 0, windows)",
        "windows = x'', crc = umi_crc(key, dimensions, x'')",
        "windows = substr(windows, 1, 7), crc = umi_crc(key, dimensions, substr(windows, 1, 7))",
    ],
)
async def test_what_is_no_whole_number_of_windows_is_refused(tmp_path: Path, change: str) -> None:
    path = tmp_path / "umi.db"
    await _make(path)
    sql(path, f"UPDATE vectors SET {change}")
    async with opened(path) as store:
        with pytest.raises(StoreCorrupt, match=r"a row of vectors is damaged: \d+\..*keep a copy"):
            await store.namespace("bob").read(_look("bob")["by vector"])
        assert any("a vector has the wrong length" in finding for finding in await store.check_integrity())


async def test_a_table_that_is_defined_otherwise_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    await _make(path)
    content = path.read_bytes()
    definition = b"changes_from INTEGER NOT NULL DEFAULT "
    assert content.count(definition + b"0") == 1
    path.write_bytes(content.replace(definition + b"0", definition + b"1"))  # SQLite's own check finds nothing amiss
    async with opened(path) as store:
        findings = await store.check_integrity()
    assert findings == ["the file is damaged: namespaces is not defined as this version defines it"]


def _illegible(path: Path) -> bool:
    try:
        sql(path, "SELECT valid_until FROM entities NOT INDEXED")
    except UnicodeDecodeError:
        return True
    except apsw.Error:
        pass
    return False


async def test_a_number_that_has_become_an_illegible_text_is_reported(tmp_path: Path) -> None:
    path, copy = tmp_path / "umi.db", tmp_path / "copy.db"
    await _make(path)
    content = path.read_bytes()
    tried = 0
    # The types of an entity's last columns: texts of 8 and of 10 bytes, and a number of 3. One more bit makes a text of it, as long.
    for found in re.finditer(rb"\x1d\x21\x03", content):
        copy.write_bytes(_flipped(content, found.end() - 1, 4))
        if not _illegible(copy):
            continue
        tried += 1
        async with opened(copy) as store:
            findings = await store.check_integrity()
        assert any(finding.startswith("a row of entities is damaged: e_ep_") for finding in findings), findings
    assert tried


async def test_a_damaged_message_is_deleted_with_its_labels(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as store:
        space = store.namespace("alice")
        await add(space, "I live in Oslo.", "I like tea.")
        sql(tmp_path / "umi.db", "UPDATE episodes SET role = 'nurse' WHERE id = 'ep_0'")
        await space.write(lambda tx: tx.delete_episode("ep_0"))
        assert await store.check_integrity() == []
        assert sql(tmp_path / "umi.db", "SELECT field, value FROM labels") == [("origin", "user"), ("role", "user")]

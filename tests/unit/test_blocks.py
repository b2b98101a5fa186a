"""Blocks of a large namespace: an index that reads them answers as one that keeps everything, and damage to them is no wrong answer."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import postgres_server
import psycopg
import pytest
from indexing import Document, add, give

import umi
from umi import limits
from umi._core.clock import SystemClock, SystemEntropy
from umi._core.vectors import normalised
from umi.bench.texts import turns
from umi.stores.index import term_counts
from umi.stores.index.quantised_vectors import Windows
from umi.stores.index.search_index import NamespaceIndex
from umi.stores.index.sign_codes import KeyedWindows, SignCodes
from umi.stores.index.stored import PlaceTable
from umi.stores.sql import blocks
from umi.stores.sql.keys import key_of
from umi.stores.sqlite.store import SqliteStore
from umi.types import Message

ALL_COMPACT, NONE_COMPACT = 1 << 40, 0


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Namespaces have blocks from 48 messages on."""
    monkeypatch.setattr(limits, "STORE_BLOCKS_FROM_COUNT", 48)
    monkeypatch.setattr(limits, "STORE_BLOCK_COUNT", 16)
    monkeypatch.setattr(limits, "INDEX_MESSAGE_BYTES", ALL_COMPACT)


def said(count: int) -> list[Message]:
    return list(islice(turns(20, count, 26), count))


async def answers(memory: umi.Memory, questions: list[str]) -> list[list[tuple[str, float]]]:
    receipts = [await memory.recall(question) for question in questions]
    return [[(hit.id, hit.score) for hit in receipt.hits] for receipt in receipts]


async def is_compact(memory: umi.Memory) -> bool:
    """Whether the index of the namespace reads from blocks; all but the last ones are sealed."""
    return await memory._open.storage.read(
        lambda snapshot: snapshot._index().is_compact and snapshot._index()._sealed > 0
    )


async def test_answers_and_scores_are_those_of_an_index_that_keeps_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, talk = str(tmp_path / "umi.db"), said(220)
    questions = [f"{one.content[:60]}?" for one in talk[::11]]
    async with umi.Memory.open(path) as memory:
        for start in range(0, len(talk), 40):
            await memory.remember_many(talk[start : start + 40])
        await memory.recall(questions[0])
        # What follows changes messages of sealed blocks, while the index is there.
        assert await memory.forget(where={"session": talk[30].session}) > 0
        await memory.remember("Alice works at Acme.")
        compact, is_so = await answers(memory, questions), await is_compact(memory)
        assert await memory.check() == []
    async with umi.Memory.open(path) as memory:
        assert await answers(memory, questions) == compact  # an index made from blocks, not by following
        assert await memory.check() == []
    monkeypatch.setattr(limits, "INDEX_MESSAGE_BYTES", NONE_COMPACT)
    async with umi.Memory.open(path) as memory:
        whole = await answers(memory, questions)
        assert not await is_compact(memory)
    assert is_so
    assert compact == whole


async def made(path: str) -> tuple[NamespaceIndex, NamespaceIndex, int]:
    """The index of a namespace as a new process makes it, the one made of rows alone, and how many messages' rows the first needed."""
    store = await SqliteStore.open(path, clock=SystemClock(), entropy=SystemEntropy())
    documents = 0

    def seen(cursor: Any, row: Any) -> Any:
        nonlocal documents
        documents += [name for name, _ in cursor.get_description()][:2] == ["key", "words"]
        return row

    store._db.row_trace = seen
    index = await store.namespace("default").read(lambda snapshot: snapshot._index())  # type: ignore[attr-defined]
    store._db.row_trace = None
    rows = await store.namespace("default").read(
        lambda snapshot: snapshot._cache.rebuilt(snapshot._execute, snapshot._head)  # type: ignore[attr-defined]
    )
    await store.close()
    return index, rows, documents


def content(index: NamespaceIndex) -> list[object]:
    """All that an index keeps, with sessions numbered in the order of their first messages."""
    windows = index._windows
    assert isinstance(windows, Windows)
    assert windows._first is not None
    assert windows._further is not None
    kept = [column for one in (windows._first, windows._further) for column in (one.coarse, one.rest, one.scale)]
    kept += [windows._owner._documents, windows._has, index._speakers._size]
    kept += [column for column in index._per_document() if column is not index._session]
    order = list(dict.fromkeys(index._session.rows.tolist()))
    sessions = [order.index(number) for number in index._session.rows.tolist()]
    by_session = [column.rows[order].tolist() for column in index._columns() if column not in index._per_document()]
    names = {name: order.index(number) for name, number in index._session_names.items()}
    speakers, sums = index._speakers, (index._total_length, index._total_around, index._postings._count)
    columns = [column.rows.tolist() for column in kept]
    return [columns, sessions, by_session, names, speakers._numbers, speakers._by_term, index._postings._of, sums]


async def test_an_index_that_keeps_everything_is_the_same_made_of_blocks_and_made_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INDEX_MESSAGE_BYTES", NONE_COMPACT)
    path, talk = str(tmp_path / "umi.db"), said(200)
    async with umi.Memory.open(path) as memory:
        await memory.remember("Nobody in particular, in no conversation, said this and that and this.")
        await memory.remember(" ".join(one.content for one in talk[:40]))  # of several windows
        receipts = [await memory.remember(one) for one in talk]
        await memory.forget(where={"session": talk[30].session})
        for receipt in receipts[78:94]:  # the sixth block
            await memory.forget(receipt.episode_ids[0])
        assert await memory.check() == []
    index, rows, documents = await made(path)
    assert content(index) == content(rows)
    assert 0 < documents < 48


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE blocks SET documents = zeroblob(length(documents)) WHERE number = 2",
        "UPDATE blocks SET signs = zeroblob(length(signs)) WHERE number = 2",
        "DELETE FROM blocks WHERE number = 2",
        "UPDATE postings SET entries = zeroblob(length(entries)) WHERE number = 2",
        "DELETE FROM postings WHERE number = 2 AND term = (SELECT min(term) FROM postings WHERE number = 2)",
        "a term occurs more often than a posting can say",
    ],
)
async def test_where_a_block_is_of_no_use_an_index_that_keeps_everything_reads_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(limits, "INDEX_MESSAGE_BYTES", NONE_COMPACT)
    if change.startswith("a term"):
        monkeypatch.setattr(blocks, "_COUNT_MAX", 3)
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path) as memory:
        await memory.remember_many(said(100)[:40])
        await memory.remember("The heron, the other heron and a third heron meet a heron.")
        await memory.remember_many(said(100)[40:])
    if not change.startswith("a term"):
        _run(path, change)
    index, rows, documents = await made(path)
    assert content(index) == content(rows)
    assert documents == 101 - 32


async def test_what_another_process_writes_is_found_and_what_it_forgets_is_gone(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path) as writer, umi.Memory.open(path) as reader:
        await writer.remember_many(said(100))
        await reader.recall("Who is there?")
        receipt = await writer.remember("The heron stands by the weir at dawn.")
        assert [hit.content for hit in (await reader.recall("Where does the heron stand?", limit=1)).hits] == [
            "The heron stands by the weir at dawn."
        ]
        await writer.remember_many(said(180)[100:])  # the heron's block is sealed now
        assert (await reader.recall("Where does the heron stand?", limit=1)).hits[0].content.startswith("The heron")
        await writer.forget(receipt.episode_ids[0])
        assert all("heron" not in hit.content for hit in (await reader.recall("Where does the heron stand?")).hits)
        assert await reader.check() == []
        assert await is_compact(reader)


async def test_a_word_that_is_forgotten_leaves_the_blocks(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    async with umi.Memory.open(str(path)) as memory:
        receipt = await memory.remember("My password is xylograph.", speaker="Quintessa", session="vault")
        await memory.remember_many(said(120))
        assert b"xylograph" in path.read_bytes() + Path(f"{path}-wal").read_bytes()
        assert _count(path, "SELECT count(*) FROM postings WHERE term LIKE 'xylograph%'") == 1
        await memory.forget(receipt.episode_ids[0])
        assert _count(path, "SELECT count(*) FROM postings WHERE term LIKE 'xylograph%'") == 0
        assert (
            _count(path, "SELECT count(*) FROM blocks WHERE terms LIKE '%xylograph%' OR names LIKE '%Quintessa%'") == 0
        )
        assert await memory.check() == []
    assert b"xylograph" not in path.read_bytes()


@pytest.mark.parametrize(
    ("change", "said_of_it"),
    [
        ("UPDATE blocks SET documents = zeroblob(length(documents))", "blocks"),
        ("UPDATE blocks SET signs = zeroblob(length(signs))", "blocks"),
        ("DELETE FROM blocks WHERE number = 0", "blocks"),
    ],
)
async def test_damage_is_an_error_and_never_an_answer(tmp_path: Path, change: str, said_of_it: str) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path) as memory:
        await memory.remember_many(said(100))
    _run(path, change)
    async with umi.Memory.open(path) as memory:
        with pytest.raises(umi.StoreCorrupt, match=said_of_it):
            await memory.recall("What did they talk about?")
        # Nothing is lost: blocks are made from rows, which are whole.
        assert len((await memory.list(limit=100)).items) > 0


async def test_damaged_postings_fail_the_search_by_words_alone_and_that_is_said(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path) as memory:
        await memory.remember_many(said(100))
        _run(path, "UPDATE postings SET entries = zeroblob(length(entries))")
        found = await memory.recall("What did they talk about?")
        assert umi.Degradation.TEXT_LEG_FAILED in found.degraded
        assert any("postings" in finding for finding in await memory.check())


async def test_a_damaged_message_keeps_nobody_from_writing(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as memory:
        await memory.remember_many(said(70))
        sealed = _count(path, "SELECT count(*) FROM blocks")
        await memory.recall("What did they talk about?")  # the index has read every row
        # One in a sealed block, and one in a block that is due next.
        _run(path, f"UPDATE terms SET words = words + 1 WHERE key % 4096 IN (3, {16 * sealed + 3})")
        for number in (0, sealed):
            with (
                apsw.Connection(path) as db,
                pytest.raises(umi.StoreCorrupt, match=f"terms is damaged: {key_of(1, 16 * number + 3)}"),
            ):
                blocks.seal(db, 1, number)
        for message in said(140)[70:]:
            await memory.remember(message)
        assert _count(path, "SELECT count(*) FROM blocks") == sealed
        # A change in the damaged block: it is unsealed, and its other messages stay.
        first = (await memory.list(limit=1)).items[0].entity
        assert await memory.forget(first.episode_id) > 0
        assert _count(path, "SELECT count(*) FROM blocks") == 0
        assert len((await memory.list(limit=1_000)).items) > 130


async def test_vectors_that_are_replaced_again_and_again_take_no_more_memory() -> None:
    rng = np.random.default_rng(3)
    rows = normalised(rng.normal(size=(200, 16)))
    codes = SignCodes(
        lambda places: KeyedWindows(places, np.ones(len(places), np.int64), rows[places]),
        lambda places: places % 2 == 0,
    )
    codes.add_documents(200)
    every, one = np.arange(200), np.ones(200, np.int64)
    codes.put(every, one, rows)
    codes.put(every, one, rows)
    before = codes.bytes
    for _ in range(20):
        codes.put(every, one, rows)
    assert codes.bytes <= before
    assert codes.nearest(codes.compare(rows[7]), 1).tolist() == [7]


def test_a_sample_that_is_thinned_out_is_as_one_that_was_never_larger() -> None:
    rows = normalised(np.random.default_rng(3).normal(size=(200, 64)))

    def made(every: list[int]) -> SignCodes:
        codes = SignCodes(
            lambda places: KeyedWindows(places, np.ones(len(places), np.int64), rows[places]),
            lambda places: places % every[0] == 0,
        )
        codes.add_documents(200)
        codes.put(np.arange(200), np.ones(200, np.int64), rows)
        return codes

    every, asked = [2], rows[3]
    larger, sparse = made(every), made([20])
    before = larger.compare(asked)
    every[0] = 20
    larger.thin_out()
    thinned, never = larger.compare(asked), sparse.compare(asked)
    assert (thinned.mean, thinned.deviation) == pytest.approx((never.mean, never.deviation))
    assert thinned.mean != pytest.approx(before.mean)
    assert larger.nearest(larger.compare(rows[7]), 1).tolist() == [7]


def test_a_namespace_that_has_grown_keeps_fewer_of_its_vectors_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SAMPLED_COUNT_MAX", 50)
    index, rows = NamespaceIndex(is_compact=True), normalised(np.random.default_rng(3).normal(size=(200, 64)))
    for key, row in enumerate(rows):
        add(index, [Document(key, ["x"], 1)])
        give(index, key, row[None])
    before, held = index.vector_candidates(rows[3].copy(), pool=0), index.bytes
    assert before.mean == pytest.approx(float((rows @ rows[3]).mean()), abs=1e-4)
    index.sample(50)
    assert index.vector_candidates(rows[3].copy(), pool=0).mean == before.mean, "so many are kept whole"
    index.sample(200)
    assert 25 < len(index._windows._sampled) < 75, "one in four"  # type: ignore[union-attr]
    after = index.vector_candidates(rows[3].copy(), pool=0)
    assert after.mean == pytest.approx(before.mean, abs=0.1)
    assert after.mean != before.mean
    index.sample(201)
    assert 12 < len(index._windows._sampled) < 38, "one in eight"  # type: ignore[union-attr]
    assert index.bytes <= held


async def test_a_block_that_is_not_what_its_messages_say_is_found_by_the_check(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path) as memory:
        await memory.remember_many(said(100))
        assert await memory.check() == []
        _run(
            path,
            "DELETE FROM postings WHERE term = (SELECT min(term) FROM postings) AND number = (SELECT min(number) FROM postings)",
        )
        assert any("is not what its messages say" in finding for finding in await memory.check())


async def test_on_postgresql_a_large_namespace_is_found_and_checked_alike() -> None:
    with postgres_server.database() as url:
        async with umi.Memory.open(url, embedder=None) as memory:
            await memory.remember_many(said(100))
            await memory.remember("The heron stands by the weir at dawn.")
            found = await memory.recall("Where does the heron stand?", limit=1)
            assert [hit.content for hit in found.hits] == ["The heron stands by the weir at dawn."]
            assert await is_compact(memory)
            assert await memory.check() == []
            with psycopg.connect(url) as db:
                db.execute(
                    "DELETE FROM umi.postings WHERE number = 0 AND term = (SELECT min(term) FROM umi.postings WHERE number = 0)"
                )
            assert any("is not what its messages say" in finding for finding in await memory.check())


async def test_another_embedder_makes_the_blocks_again(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as memory:
        await memory.remember_many(said(100))
    await umi.reembed(path, "local")
    async with umi.Memory.open(path) as memory:
        found = await memory.recall("What did they talk about?")
        assert await memory.check() == []
        assert await is_compact(memory)
    assert found.hits
    assert _count(path, "SELECT count(*) FROM blocks WHERE dimensions = 384") > 0


async def test_small_namespaces_have_none(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as memory:
        await memory.remember_many(said(40))
        await memory.recall("What did they talk about?")
    assert _count(path, "SELECT count(*) FROM blocks") == _count(path, "SELECT count(*) FROM postings") == 0


# Signs.


@pytest.mark.parametrize("bare", [0, 600])
def test_few_signs_differ_where_the_cosine_is_high_and_mean_and_deviation_are_near_the_true_ones(
    monkeypatch: pytest.MonkeyPatch, bare: int
) -> None:
    """Some messages may have no vectors yet."""
    monkeypatch.setattr(limits, "SIGNS_ALIKE_COUNT", 600)
    monkeypatch.setattr(limits, "SIGNS_COMPARED_COUNT", 100)
    rng = np.random.default_rng(5)
    middles = normalised(rng.normal(size=(40, 128)))
    rows = normalised(middles[rng.integers(0, 40, 6_000)] + 0.09 * rng.normal(size=(6_000, 128)))
    questions = normalised(middles[:20] + 0.09 * rng.normal(size=(20, 128)))
    read: list[int] = []

    def windows(places: np.ndarray) -> KeyedWindows:
        read.append(len(places))
        return KeyedWindows(places, np.ones(len(places), np.int64), rows[places])

    codes = SignCodes(windows, lambda places: places % 8 == 0)
    codes.add_documents(len(rows) + bare)
    codes.put(np.arange(len(rows)), np.ones(len(rows), np.int64), rows)
    found = 0
    for question in questions:
        cosines = rows @ question
        near = codes.compare(question)
        best = np.argsort(-cosines)[:10]
        found += len(np.intersect1d(codes.nearest(near, 10), best))
        assert read.pop() == 100
        assert near.mean == pytest.approx(float(cosines.mean()), abs=0.1 * float(cosines.std()))
        assert near.deviation == pytest.approx(float(cosines.std()), rel=0.1)
        assert codes.exactly(np.sort(best), question) == pytest.approx(cosines[np.sort(best)], abs=1e-3)
    assert found >= 0.98 * 10 * len(questions)


def _run(path: str | Path, sql: str) -> None:
    with apsw.Connection(str(path)) as db:
        db.execute(sql).fetchall()


def _count(path: str | Path, sql: str) -> int:
    (found,) = next(apsw.Connection(str(path)).execute(sql))
    return int(found)


def test_the_heaviest_turns_are_the_same_whatever_bound_leaves_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    count, terms = 4_000, ["a", "b", "c"]
    before, after = np.arange(-1, count - 1), np.append(np.arange(1, count), -1)
    hits = []
    for share in (0.6, 0.3, 0.02):
        turns = np.flatnonzero(rng.random(count) < share)
        hits.append((turns, rng.integers(1, 5, len(turns)).astype(np.float32)))
    found = {}
    for groups in (16_384, 64):  # as few turns as these are partitioned whole, and by the maxima of groups
        monkeypatch.setattr(term_counts, "_GROUPS_COUNT", groups)
        found[groups] = [
            term_counts.choose(terms, hits, before, after, pool, term_counts.Room(), term_counts.Reaches())
            for pool in (1, 10, 60)
        ]
    for (turns, reach), (others, other_reach) in zip(*found.values(), strict=True):
        assert turns.tolist() == others.tolist()
        assert reach.tolist() == other_reach.tolist()


async def test_windows_that_are_not_there_are_none(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as memory:
        await memory.remember("I live in Rome.")
    with apsw.Connection(path) as db:
        found = blocks.StoredRows(db.execute, 1).windows(np.array([0, 7]))
    assert [len(part) for part in found] == [0, 0, 0]


@pytest.mark.parametrize("keys", [np.arange(6), np.array([0, 1, 3, 5])])
def test_places_are_those_of_the_keys_that_are_there(keys: np.ndarray) -> None:
    asked = np.array([0, 3, 5, 6, 99])
    there = {int(key): place for place, key in enumerate(keys)}
    table = PlaceTable(keys)
    assert table.of(asked).tolist() == [there.get(int(key), -1) for key in asked]
    assert (table.bytes == 0) == (len(keys) == 6), "where none is missing a key is its place"


async def test_a_posting_of_a_common_term_lies_in_its_row_on_postgresql() -> None:
    with postgres_server.database() as url:
        async with umi.Memory.open(url):
            pass
        with psycopg.connect(url) as db:
            options = "SELECT reloptions FROM pg_class WHERE oid = 'umi.postings'::regclass"
            assert db.execute(options).fetchone() == (["toast_tuple_target=8160"],)

"""What deleting leaves in the file, and that cleaning takes it away."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from umi._core.clock import SystemClock, SystemEntropy
from umi.ports import EpisodeRow, Snapshot, Transaction
from umi.stores.sqlite import clean, opening
from umi.stores.sqlite.store import SqliteStore
from umi.types import Entity, EntityType, Episode
from umi.types.erasure_proof import ErasureProof, make_proof

SALT = "0f" * 16
LETTERS = "abcdefghijklmnoprstuvwz"


class Filled:
    """A store with messages of words that nobody else says, some of them lengthened later: rows move from page to page."""

    def __init__(self, path: Path, store: SqliteStore, seed: int) -> None:
        self.path, self.store, self.space = path, store, store.namespace("a")
        self._rng = random.Random(seed)
        self.words: dict[str, str] = {}

    async def fill(self, count: int) -> None:
        """Say so many things."""
        clock = SystemClock()
        for number in range(count):
            word = "".join(self._rng.choice(LETTERS) for _ in range(12))
            self.words[f"ep_{number}"] = word
            said = clock.now()
            episode = Episode(f"ep_{number}", f"{word} was here", "user", word[:6], None, said, said, number)
            entity = Entity(
                EntityType.NOTE, word, word, id=f"ent_{self._rng.random()}", subject=word, episode_id=episode.id
            )

            def work(tx: Transaction, episode: Episode = episode, entity: Entity = entity, word: str = word) -> None:
                tx.add_episodes([EpisodeRow(episode, (word,), 3)])
                tx.add_entities([entity])
                tx.add_alias(f"{word} alias", word)

            await self.space.write(work)
            for other in range(0, number, 37):
                ids = [one.id for one in (await self.space.list(limit=1_000))[other : other + 1]]

                def lengthen(tx: Transaction, ids: list[str] = ids, episode: Episode = episode) -> None:
                    for id_ in ids:
                        tx.set_validity(id_, episode.at, episode.at)

                await self.space.write(lengthen)

    async def delete(self, name: str) -> ErasureProof:
        """Delete a message with its alias; the proof of it."""
        word = self.words.pop(name)

        def work(tx: Transaction) -> None:
            tx.delete_episode(name)
            tx.remove_aliases([f"{word} alias"])

        await self.space.write(work)
        return make_proof(SALT, [], [word])

    def holds(self, word: str) -> bool:
        """Whether any byte of the files has it."""
        files = [self.path, self.path.with_name(self.path.name + "-wal")]
        return any(word.encode() in file.read_bytes().lower() for file in files if file.exists())


@pytest.fixture
async def filled(tmp_path: Path) -> AsyncIterator[Filled]:
    path = tmp_path / "umi.db"
    store = await SqliteStore.open(str(path), clock=SystemClock(), entropy=SystemEntropy())
    made = Filled(path, store, seed=4)
    await made.fill(150)
    yield made
    assert await store.check_integrity() == []
    await store.close()


async def test_every_deletion_is_counted_until_it_is_cleaned(filled: Filled) -> None:
    assert not await filled.store.unclean()
    word = filled.words["ep_3"]
    proof = await filled.delete("ep_3")
    assert await filled.store.unclean()
    assert filled.holds(word), "the log has it still"
    assert (await filled.store.examine(proof)).raw
    assert await filled.store.clean(proof)
    assert not await filled.store.unclean()
    assert filled.path.with_name("umi.db-wal").stat().st_size == 0
    assert not filled.holds(word)
    assert (await filled.store.examine(proof)).raw == frozenset()


async def test_a_hundred_deletions_leave_no_byte(filled: Filled) -> None:
    gone = {}
    for name in sorted(filled.words)[:100]:
        gone[name] = filled.words[name]
        assert await filled.store.clean(await filled.delete(name))
        assert [word for word in gone.values() if filled.holds(word)] == []


@pytest.mark.parametrize("known", [True, False])
async def test_what_secure_delete_would_have_overwritten_is_found_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, known: bool
) -> None:
    settings = opening._SETTINGS.replace("secure_delete = ON", "secure_delete = OFF")
    assert settings != opening._SETTINGS
    monkeypatch.setattr(opening, "_SETTINGS", settings)
    path = tmp_path / "umi.db"
    store = await SqliteStore.open(str(path), clock=SystemClock(), entropy=SystemEntropy())
    made = Filled(path, store, seed=5)
    await made.fill(60)
    words = dict(made.words)
    for name in ("ep_7", "ep_8", "ep_50"):
        proof = await made.delete(name)
        assert await store.clean(proof if known else None)
        assert not made.holds(words[name])
    await store.close()


async def test_two_processes_that_delete_leave_nothing_to_who_cleans_first(filled: Filled) -> None:
    one, other = filled.words["ep_1"], filled.words["ep_2"]
    proof = await filled.delete("ep_1")
    await filled.delete("ep_2")
    assert await filled.store.clean(proof)
    assert not filled.holds(one)
    assert not filled.holds(other)
    assert not await filled.store.unclean()


async def test_a_reader_or_a_writer_makes_it_wait(filled: Filled) -> None:
    proof = await filled.delete("ep_3")
    for statement in ("BEGIN", "BEGIN IMMEDIATE"):
        other = apsw.Connection(str(filled.path))
        other.execute(statement)
        other.execute("SELECT count(*) FROM episodes").fetchall()
        assert not await filled.store.clean(proof)
        assert await filled.store.unclean()
        other.close()
    assert await filled.store.clean(None)


async def test_what_two_columns_spell_side_by_side_is_no_remains(filled: Filled) -> None:
    word = filled.words["ep_9"]
    proof = make_proof(SALT, [], [f"{word}{word}", f"user{word[:6]}"])
    found = await filled.store.examine(proof)
    assert len(found.raw) == 2
    assert found.raw <= found.live


async def test_in_memory_there_is_no_file_to_clean() -> None:
    store = await SqliteStore.open(":memory:", clock=SystemClock(), entropy=SystemEntropy())
    space = store.namespace("a")
    said = SystemClock().now()
    row = EpisodeRow(Episode("ep_0", "gone", "user", None, None, said, said, 0), ("gone",), 1)
    await space.write(lambda tx: tx.add_episodes([row]))
    await space.write(lambda tx: tx.delete_episode("ep_0"))
    assert await store.unclean()
    assert await store.clean(None)
    assert not await store.unclean()
    await store.close()


def test_the_unused_bytes_of_a_page() -> None:
    page = bytearray(1_024)
    page[0], page[3:5], page[5:7], page[1:3] = 13, (1).to_bytes(2), (40).to_bytes(2), (50).to_bytes(2)
    page[8:10] = (40).to_bytes(2)
    page[12:15] = b"gap"
    # Free blocks: the offset of the next one, and the size of each. What lies before, between and behind them is in use.
    for block, following, size in ((50, 600, 300), (600, 700, 10), (700, 1_014, 4), (1_014, 0, 10)):
        page[block : block + size] = following.to_bytes(2) + size.to_bytes(2) + b"f" * (size - 4)
    page[350:600], page[704:1_014] = b"u" * 250, b"u" * 310
    parts = [part.strip(b"\0") for part in clean._unused(bytes(page), 0)]
    assert parts == [b"gap", b"f" * 296, b"f" * 6, b"", b"f" * 6]
    assert list(clean._unused(bytes(64), 0)) == [], "a page of no tree"


def test_what_lies_on_free_pages_is_found_however_many_they_are(tmp_path: Path) -> None:
    """More than one page of the file's own list of them names."""
    db = apsw.Connection(str(tmp_path / "pages.db"))
    db.execute("PRAGMA page_size = 512; PRAGMA secure_delete = OFF").fetchall()
    db.execute("CREATE TABLE kept (text); CREATE TABLE gone (text)")
    words = [b"word%03d" % number for number in range(400)]
    for word in words:
        db.execute("INSERT INTO gone VALUES (?)", (word.decode() + "x" * 400,))
    db.execute("INSERT INTO kept VALUES ('here'); DROP TABLE gone")
    dead = b"".join(clean._dead_bytes(db))
    (listed,) = db.execute("SELECT freelist_count FROM pragma_freelist_count").fetchone()
    db.close()
    assert listed > 3 * 128
    # A page of the list, which names 120 others, is written over.
    assert sum(word in dead for word in words) >= len(words) - listed // 120 - 1
    assert b"here" not in dead


def test_a_row_is_known_as_it_lies_in_the_file_numbers_between_texts_included(tmp_path: Path) -> None:
    """A number behind a text may spell with it a word that was erased: "recall" and a sum that begins with "er"."""
    path = tmp_path / "rows.db"
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE rows (matched TEXT, number INTEGER, share REAL, outcome TEXT)")
    numbers = [0, 1, 2, -1, 40_000, int.from_bytes(b"er\xb7_"), (1 << 63) - 1, -(1 << 63)]
    for bits in (7, 15, 23, 31, 47):  # the largest and the least number of each size, and their neighbours
        numbers += [(1 << bits) - 1, 1 << bits, -(1 << bits), -(1 << bits) - 1]
    for number in numbers:
        db.execute("INSERT INTO rows VALUES ('recall', ?, ?, 'success')", (number, number / 4))
    kept = list(clean.live_bytes(db))[1:]
    db.close()
    assert len(kept) == len(numbers)
    raw = path.read_bytes()
    assert all(row.endswith(b"success") and row in raw for row in kept)
    assert any(b"recaller" in row for row in kept)


async def test_an_error_that_somebody_keeps_is_in_nobodys_way(filled: Filled) -> None:
    """Its traceback holds the frames it came through, and one of them a statement half read (world 501)."""
    proof = await filled.delete("ep_7")

    def fails(snapshot: Snapshot) -> None:
        half_read = iter(snapshot.scan_episodes())
        next(half_read)
        raise ValueError("on the way")

    with pytest.raises(ValueError, match="on the way") as kept:
        await filled.space.read(fails)
    assert await filled.store.clean(proof)
    assert kept.value.__traceback__ is not None

"""What one operation costs, counted: SQL statements, runs of a model, rows. The counts are the same on every machine.

A bound is what the operation costs today. Whoever needs more raises it here, and says why in the commit.
"""

from __future__ import annotations

import shutil
import statistics
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

import umi
from umi import limits
from umi.bench.texts import question, sentence, turns
from umi.providers.answer_reader import LocalAnswerReader
from umi.providers.minilm import MiniLM
from umi.providers.reader import LocalText
from umi.stores.sql import rows
from umi.stores.sqlite.store import SqliteStore
from umi.types import Entity

MEMORIES_COUNT = 600
SAMPLES_COUNT = 40
# Every run of a model's layers in onnxruntime is one call of one of these.
RUNS = ((MiniLM, "states"), (MiniLM, "finish"), (LocalText, "judge"), (LocalAnswerReader, "_run"))


@dataclass
class Counts:
    """What was counted since the last `take`."""

    store: SqliteStore
    statements: list[str] = field(default_factory=list)
    runs_count: int = 0
    runs_locked_count: int = 0  # while a write transaction was open
    rows_before: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def begin(self) -> None:
        """Trace the statements of the store's connection."""

        def trace(_cursor: object, sql: str, _values: object) -> bool:
            self.statements.append(sql)
            return True

        await self.store._run(lambda: setattr(self.store._db, "exec_trace", trace))
        self.take()

    def ran(self) -> None:
        """Count a run of a model."""
        with self._lock:
            self.runs_count += 1
            # A transaction runs in the store's own thread, and whoever infers there holds its lock.
            mine = threading.current_thread().name.startswith("umi-store")
            self.runs_locked_count += mine and self.store._db.in_transaction and "IMMEDIATE" in self._begun()

    def take(self) -> dict[str, int]:
        """The counts; the next begin at nothing."""
        rows = self.store._db.total_changes()
        found = {
            "statements": len(self.statements),
            "runs": self.runs_count,
            "locked": self.runs_locked_count,
            "rows": rows - self.rows_before,
        }
        self.statements.clear()
        self.runs_count, self.runs_locked_count, self.rows_before = 0, 0, rows
        return found

    def _begun(self) -> str:
        return next((sql for sql in reversed(self.statements) if sql.startswith("BEGIN")), "")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in which much is known: told once, and copied by each test."""
    file = tmp_path_factory.mktemp("told") / "m.db"
    with umi.blocking.Memory.open(str(file)) as memory:
        memory.remember_many(turns(1, MEMORIES_COUNT, 26))
    return file


@pytest.fixture
async def counted(
    told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[umi.Memory, Counts]]:
    shutil.copytree(told.parent, tmp_path, dirs_exist_ok=True)
    async with umi.Memory.open(str(tmp_path / "m.db")) as memory:
        for index in range(5):
            await memory.recall(question(2, index))
            await memory.remember(sentence(2, index, 14))
        store = memory._open.store
        assert isinstance(store, SqliteStore)
        counts = Counts(store)
        for owner, name in RUNS:
            monkeypatch.setattr(owner, name, _counting(vars(owner)[name], counts))
        await counts.begin()
        yield memory, counts


def _counting(inner: Any, counts: Counts) -> Any:
    plain: Callable[..., Any] = inner.__func__ if isinstance(inner, staticmethod) else inner

    @wraps(plain)
    def run(*args: Any) -> Any:
        counts.ran()
        return plain(*args)

    return staticmethod(run) if isinstance(inner, staticmethod) else run


async def test_a_recall(counted: tuple[umi.Memory, Counts]) -> None:
    memory, counts = counted
    costs = []
    for index in range(SAMPLES_COUNT):
        await memory.recall(question(3, index))
        costs.append(counts.take())
    assert statistics.median(one["statements"] for one in costs) <= 6
    assert max(one["statements"] for one in costs) <= 21
    assert statistics.median(one["runs"] for one in costs) <= 3  # two of the embedding, one of the first hits
    assert {one["rows"] for one in costs} == {0}


async def test_a_question_that_is_asked_again_runs_no_embedder(counted: tuple[umi.Memory, Counts]) -> None:
    memory, counts = counted
    await memory.recall("bread")
    assert counts.take()["runs"] == 2
    await memory.recall("bread")
    assert counts.take()["runs"] == 0


async def test_a_remember_of_one_sentence(counted: tuple[umi.Memory, Counts]) -> None:
    memory, counts = counted
    costs = []
    for index in range(SAMPLES_COUNT):
        await memory.remember(sentence(3, index, 14))
        costs.append(counts.take())
    assert statistics.median(one["statements"] for one in costs) <= 12
    assert max(one["statements"] for one in costs) <= 24
    assert statistics.median(one["rows"] for one in costs) <= 10
    assert statistics.median(one["runs"] for one in costs) <= 4  # the lower layers once, for embedding and reading
    # What is known of a subject may ask for a judgement more; most messages need none while others wait.
    assert statistics.median(one["locked"] for one in costs) == 0
    assert sum(one["locked"] for one in costs) <= SAMPLES_COUNT / 4


async def test_a_batch_of_an_import(counted: tuple[umi.Memory, Counts]) -> None:
    memory, counts = counted
    await memory.remember_many(turns(3, limits.BULK_BATCH_COUNT, 26))
    each = {name: count / limits.BULK_BATCH_COUNT for name, count in counts.take().items()}
    assert each["statements"] <= 22
    assert each["rows"] <= 15
    assert each["runs"] <= 4.5
    assert each["locked"] <= 0.25


def test_a_message_in_the_file(told: Path) -> None:
    assert told.stat().st_size / MEMORIES_COUNT <= 2_300  # 300 of it for empty tables


async def test_a_note_of_what_is_stored_already_writes_nothing(counted: tuple[umi.Memory, Counts]) -> None:
    memory, counts = counted
    message = umi.Message("The bakery opens at seven.", id="once")
    await memory.remember(message)
    counts.take()
    receipt = await memory.remember(message)
    assert receipt.replayed
    found = counts.take()
    assert (found["rows"], found["locked"]) == (0, 0)


async def test_a_change_reads_no_earlier_changes_of_the_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    plain = rows.to_entity

    def counting(row: tuple[Any, ...]) -> Entity:
        counted.append("read")
        return plain(row)

    monkeypatch.setattr(rows, "to_entity", counting)
    reads: dict[int, int] = {}
    async with umi.Memory.open(":memory:", embedder=None) as memory:
        for number in range(151):
            counted.clear()
            await memory.remember(f"Ana works at Company{number:04d}.", speaker="Ana")
            reads[number] = len(counted)
        (hit,) = (await memory.recall("Where does Ana work?", limit=1)).hits
    assert hit.episode.content == "Ana works at Company0150."
    assert reads[150] == reads[20] <= 4, "the changes before it are not read again"


async def test_a_page_asks_the_database_as_often_however_long_it_is(counted: tuple[umi.Memory, Counts]) -> None:
    memory, counts = counted
    asked = []
    for limit in (2, 60):
        page = await memory.list(limit=limit)
        assert len(page.items) == limit
        asked.append(counts.take()["statements"])
    assert asked[0] == asked[1] <= 12

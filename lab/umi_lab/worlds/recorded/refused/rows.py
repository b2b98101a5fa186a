"""Files with one damaged value: each column of a row of each table in turn, and what a memory says then."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from umi import Router
from umi.config import Config
from umi.memory import Memory
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.embedder import SimEmbedder
from umi.sim.rng import DeterministicRng
from umi.types import Message
from umi_lab.worlds.ledger import portions
from umi_lab.worlds.recorded.listening import note
from umi_lab.worlds.recorded.refused import values
from umi_lab.worlds.recorded.refused.calls import SAID
from umi_lab.worlds.recorded.refused.stores import folder
from umi_lab.worlds.recorded.refused.trying import asked

_SIZES: Final = {"STORE_BLOCKS_FROM_COUNT": 4, "STORE_BLOCK_COUNT": 2, "STORE_BLOCKS_SEALED_COUNT": 2}
_MESSAGES: Final = ("meta", "namespaces", "episodes", "terms", "vectors", "labels")
_SEARCHED: Final = ("blocks", "postings")
_STATEMENTS: Final = ("entities", "relations")
_BESIDE: Final = ("aliases", "mentions", "replays", "outbox", "changes", "events")
_LEARNED: Final = ("versions", "trajectories", "shares", "signals", "matches", "beliefs", "routing")

_Call = tuple[str, tuple[Any, ...], dict[str, Any]]


async def of_messages(clock: SimClock) -> None:
    """Rows of messages."""
    await _damaged(clock, _MESSAGES)


async def of_blocks(clock: SimClock) -> None:
    """Rows of the blocks of a large namespace."""
    await _damaged(clock, _SEARCHED)


async def of_statements(clock: SimClock) -> None:
    """Rows of statements and relations."""
    await _damaged(clock, _STATEMENTS)


async def of_what_is_beside(clock: SimClock) -> None:
    """Rows of other names, keys of calls, waiting work and changes."""
    await _damaged(clock, _BESIDE)


async def of_learned(clock: SimClock) -> None:
    """Rows of outcomes and decisions."""
    await _damaged(clock, _LEARNED)


async def _damaged(clock: SimClock, tables: tuple[str, ...]) -> None:
    with folder() as place, portions.applied(_SIZES):
        ids = await _written(clock, place / "sound.db")
        for number, (table, column, damage) in enumerate(_damages(place / "sound.db", tables)):
            path = place / f"damaged-{number}.db"
            shutil.copyfile(place / "sound.db", path)
            with closing(sqlite3.connect(path)) as db:
                db.execute("PRAGMA synchronous = OFF")
                note(f"damage to {table}.{column}", _try(db, *damage))
                db.commit()
            await asked(SimpleNamespace(look=_look), "look", clock, path, tables, table, ids)


def _memory(clock: SimClock, path: Path) -> Memory:
    rng = DeterministicRng(4)
    embedder = SimEmbedder(clock, rng)
    return Memory.open(f"{path}", embedder=embedder, clock=clock, entropy=SimEntropy(rng), config=Config(learn=True))


async def _written(clock: SimClock, path: Path) -> tuple[str, ...]:
    """A file with rows in every table; ids of a statement and a message in it."""
    ids: Sequence[str] = ()
    async with _memory(clock, path) as memory:
        for place, text in enumerate(SAID):
            one = Message(
                text, speaker="Ada", at=values.DAY, session=f"s{place % 2}", id=f"m{place}", metadata={"n": place}
            )
            ids = (await memory.remember(one, idempotency_key=f"k{place}")).episode_ids
        await memory.remember("Robert (Bob) works at Acme.", derived_from=ids)
        found = await memory.recall("Where does Ada work?", limit=3, task_id="t1")
        await memory.feedback(found.id, outcome="success")
        await memory.learning.run()
        await memory.remember("Ada likes tea.", read="later")
        page = await memory.list()
        ids = (page.items[0].entity.id, found.hits[0].episode.id)
    options = {"embedder": None, "clock": clock, "entropy": SimEntropy(DeterministicRng(6))}
    async with Router.open({"fast": "small", "strong": "large"}, f"{path}", **options) as router:  # type: ignore[arg-type]
        route = await router.choose("Sum two numbers.", kind="sum")
        await router.feedback(route.id, "success")
    return ids


def _damages(path: Path, tables: Sequence[str]) -> Iterator[tuple[str, str, tuple[str, str, tuple[Any, ...]]]]:
    """Each column of the first row of each table, with how to change it."""
    with closing(sqlite3.connect(path)) as db:
        for table in tables:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            rows = db.execute(f"SELECT * FROM {table} ORDER BY {', '.join(columns)} LIMIT 1").fetchall()  # noqa: S608 - names of the schema
            for column in columns if rows else ():
                yield table, column, (table, column, tuple(zip(columns, rows[0], strict=True)))
            if not rows:
                note(f"rows of {table}", 0)


def _try(db: sqlite3.Connection, table: str, column: str, row: tuple[tuple[str, Any], ...]) -> str:
    """Change one value, to another of the same kind; what was done."""
    where = " AND ".join(f"{name} IS ?" for name, _ in row)
    given = [value for _, value in row]
    old = dict(row)[column]
    changes: dict[type, Callable[[], tuple[Any, ...]]] = {
        int: lambda: (old + 1, old + 1_000),  # the next number may be another row's
        float: lambda: (old / 2 + 0.1,),
        str: lambda: (f"{old}x",),
        bytes: lambda: (bytes([old[0] ^ 1]) + old[1:],),
    }
    for new in changes[type(old)]() if type(old) in changes else (5, "x"):
        try:
            changed = db.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (new, *given)).rowcount  # noqa: S608 - as above
        except sqlite3.Error:
            continue
        return f"{changed} changed"
    return "not changed"


def _calls(ids: tuple[str, ...]) -> dict[tuple[str, ...], tuple[_Call, ...]]:
    """What is asked of a memory by which tables are damaged."""
    statement, message = ids
    return {
        _MESSAGES: (
            ("get", (message,), {}), ("recall", ("Where does Ada work?",), {"limit": 2}), ("episodes", (), {"limit": 2}),
            ("recall", ("tea",), {"where": {"metadata": {"n": 0}}}), ("remember", ("I work at Bolt.",), {"speaker": "Ada"}),
        ),
        _SEARCHED: (("recall", ("Where does Ada work?",), {"limit": 2}), ("maintain", (), {})),
        _STATEMENTS: (
            ("get", (statement,), {}), ("recall", ("Where does Ada work?",), {"limit": 2}), ("list", (), {"limit": 3}), ("history", ("Ada",), {"limit": 3}),
            ("why", (statement,), {}), ("undecided", (), {}),
        ),
        _BESIDE: (
            ("recall", ("tea",), {"limit": 2}), ("waiting", (), {}), ("changes", (), {}), ("maintain", (), {}),
            ("remember", ("I work at Acme.",), {"speaker": "Ada", "idempotency_key": "k0"}),
        ),
        _LEARNED: (("recall", ("Where does Ada work?",), {"limit": 2}),),
    }  # fmt: skip


async def _look(clock: SimClock, path: Path, tables: tuple[str, ...], table: str, ids: tuple[str, ...]) -> None:
    if table == "routing":
        options = {"embedder": None, "clock": clock, "entropy": SimEntropy(DeterministicRng(6))}
        async with Router.open({"fast": "small", "strong": "large"}, f"{path}", **options) as router:  # type: ignore[arg-type]
            note("routed", await router.choose("Sum two numbers."))
    async with _memory(clock, path) as memory:
        for method, given, named in (("check", (), {}), *_calls(ids)[tables]):
            await asked(memory, method, *given, **named)
        if tables == _LEARNED and table != "routing":
            for method, given in (("status", ()), ("explain", (ids[0],)), ("rollback", (1,))):
                await asked(memory.learning, method, *given)

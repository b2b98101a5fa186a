"""Stores in use: mem0's Qdrant folder and history file, LangGraph's SqliteStore and PostgresStore. They are opened for reading only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import apsw

from umi.addresses import without_password
from umi.errors import InvalidInput
from umi.faces.importers.inert import Inert, fields_of
from umi.faces.importers.memories import langgraph_item, mem0_item
from umi.faces.importers.records import Defaults, Item, Rejected, Skipped, short

POSTGRES: Final = ("postgresql://", "postgres://")
_MAGIC: Final = b"SQLite format 3\0"
_POINTS: Final = "storage.sqlite"
_DEPTH: Final = ("", "*/", "*/*/", "*/*/*/")  # how deep below a folder a collection of Qdrant may lie
# What mem0 keeps in a point beside the caller's metadata.
_MEM0_OWN: Final = ("data", "hash", "text_lemmatized", "attributed_to", "created_at", "updated_at")
_MEM0_IDS: Final = ("user_id", "agent_id", "run_id", "actor_id", "role", "expiration_date")
_ITEMS: Final = "SELECT prefix, key, value, created_at, updated_at FROM store ORDER BY updated_at, prefix, key"
_VERSIONS: Final = "SELECT memory_id, new_memory, event, created_at, updated_at FROM history ORDER BY coalesce(updated_at, created_at), rowid"


@dataclass(frozen=True, slots=True)
class Store:
    """A store to read: its name, without passwords, the format that its records are in, and what gives them."""

    name: str
    form: str
    items: Callable[[Defaults], Iterator[Item]]


def is_database(path: Path) -> bool:
    """Whether a file is one of SQLite."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


def of_file(path: Path) -> Store:
    """The store in a file of SQLite.

    Raises:
        InvalidInput: When it is none that is known, or cannot be read.
    """
    with _reading(path) as database:
        tables = {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "store" in tables:
        return Store(path.name, "langgraph", partial(_langgraph_file, path))
    if "points" in tables:
        return Store(path.name, "mem0", partial(_mem0, [path], None))
    if "history" in tables:
        return Store(path.name, "mem0", partial(_mem0, [], path))
    raise InvalidInput(
        f"{path} is a database of SQLite, and neither of LangGraph (a table 'store') nor of mem0 (a table 'history' or 'points')"
    )


def of_folder(path: Path) -> Store | None:
    """mem0's store in a folder: collections of Qdrant, and the history file where it lies there too; None where there is none."""
    found = sorted({one for depth in _DEPTH for one in path.glob(f"{depth}{_POINTS}") if is_database(one)})
    points = [one for one in found if not one.parent.name.endswith("_entities")]  # those link names to memories
    history = path / "history.db"
    if not points and not is_database(history):
        return None
    return Store(path.name or str(path), "mem0", partial(_mem0, points, history if is_database(history) else None))


def of_postgres(url: str) -> Store:
    """LangGraph's PostgresStore behind a URL."""
    return Store(without_password(url), "langgraph", partial(_langgraph_postgres, url))


@contextmanager
def _reading(path: Path) -> Iterator[apsw.Connection]:
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as database:
            yield database
    except (apsw.Error, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {short(error)}") from None


def _langgraph_file(path: Path, defaults: Defaults) -> Iterator[Item]:
    with _reading(path) as database:
        for number, row in enumerate(database.execute(_ITEMS), 1):
            prefix, key, value, *times = row
            created, updated = (
                f"{one}+00:00" if isinstance(one, str) else None for one in times
            )  # UTC, without saying so
            yield _langgraph_row(prefix, key, _json(value), created, updated, number, defaults)


def _langgraph_postgres(url: str, defaults: Defaults) -> Iterator[Item]:
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        raise InvalidInput("reading PostgreSQL needs psycopg: pip install 'umi-memory[postgres]'") from None
    try:
        with psycopg.connect(url) as connection:
            connection.read_only = True
            with connection.cursor(name="umi_import") as cursor:
                for number, row in enumerate(cursor.execute(_ITEMS), 1):
                    prefix, key, value, created, updated = row
                    yield _langgraph_row(prefix, key, value, created.isoformat(), updated.isoformat(), number, defaults)
    except psycopg.Error as error:
        # Where libpq cannot read an address it quotes a part, such as the password.
        is_misread = isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None
        said = "the address is wrong; write a % in a password as %25" if is_misread else short(error)
        raise InvalidInput(f"{without_password(url)} cannot be read as a store of LangGraph: {said}") from None


def _langgraph_row(
    prefix: object, key: object, value: object, created: object, updated: object, number: int, defaults: Defaults
) -> Item:
    # As `Item.dict()` writes it, so that a dump and the store give the same ids.
    space = str(prefix).split(".")
    item = {"namespace": space, "key": key, "value": value, "created_at": created, "updated_at": updated}
    return langgraph_item(item, number, defaults)


def _mem0(points: list[Path], history: Path | None, defaults: Defaults) -> Iterator[Item]:
    """Earlier versions, in order of time, then each memory as it stands now, with the ids that a dump of `get_all` gives."""
    known: dict[str, dict[str, Any]] = {}
    if history is not None:
        for path in points:
            known |= {one["id"]: one for one in _points(path) if "id" in one}
        yield from _earlier(history, known, defaults, is_alone=not points)
    number = 0
    for path in points:
        for one in _points(path):
            number += 1
            if "broken" in one:
                yield Rejected(number, path.parent.name, str(one["broken"]))
            else:
                yield mem0_item(one, number, defaults)


def _points(path: Path) -> Iterator[dict[str, Any]]:
    """The memories of a collection as `get_all` shows them; a row that is none has `broken`, with the reason."""
    seen: set[str] = set()
    with _reading(path) as database:
        # Older versions of Qdrant's client may have left several copies of a point: the last one counts.
        for (raw,) in database.execute("SELECT point FROM points ORDER BY rowid DESC"):
            fields = fields_of(raw) if isinstance(raw, bytes) else None
            payload = None if fields is None else fields.get("payload")
            id_ = None if fields is None else fields.get("id")
            if not isinstance(payload, dict) or not isinstance(id_, str | int):
                yield {"broken": "a point of Qdrant that cannot be read"}
            elif str(id_) not in seen:
                seen.add(str(id_))
                yield _memory(str(id_), payload)


def _memory(id_: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: payload.get(name) for name in (*_MEM0_IDS, "created_at", "updated_at")}
    rest = {
        name: value
        for name, value in payload.items()
        if name not in {*_MEM0_OWN, *_MEM0_IDS} and not isinstance(value, Inert)
    }
    return {"id": id_, "memory": payload.get("data"), "metadata": rest, **own}


def _earlier(path: Path, known: Mapping[str, Any], defaults: Defaults, *, is_alone: bool) -> Iterator[Item]:
    """Versions in a history file; without the memories themselves, the newest ones too."""
    with _reading(path) as database:
        deleted = {str(one) for (one,) in database.execute("SELECT memory_id FROM history WHERE event = 'DELETE'")}
        for number, (memory_id, text, event, created, updated) in enumerate(database.execute(_VERSIONS), 1):
            memory = known.get(str(memory_id))
            if event == "DELETE" or memory_id in deleted:
                yield Skipped("a memory that was deleted in mem0")
            elif memory is None and not is_alone:
                yield Skipped("the history of a memory that is in no collection of this folder")
            elif memory is None or text != memory["memory"]:
                version = {"id": memory_id, "memory": text, "created_at": created, "updated_at": updated}
                yield mem0_item({**(memory or {}), **version}, number, defaults)


def _json(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        return None

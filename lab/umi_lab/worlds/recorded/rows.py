"""The rows that a closed memory leaves in its SQLite file: a count and a checksum for each table."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from umi.memory import Memory

_NAMES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"


def left_in(memory: Memory) -> Iterator[str]:
    """A line for each table of the memory's file; none where its store is no file of this machine."""
    path = Path(memory._url.removeprefix("sqlite:///"))  # noqa: SLF001 - nothing public names the file
    if not path.is_file():
        return
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        for (table,) in connection.execute(_NAMES).fetchall():
            found = sorted(repr(row) for row in connection.execute(f'SELECT * FROM "{table}"'))  # noqa: S608 - a name of the schema
            digest = hashlib.sha256("\n".join(found).encode()).hexdigest()
            yield f"rows of {table} -> {len(found)} {digest[:16]}"

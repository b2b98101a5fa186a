"""A copy of a database that is in use, by SQLite's own backup: as of one moment, and never half of it under its final name."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from umi.errors import Closed, StoreUnavailable
from umi.stores.sqlite.errors import mapped

_STEP_PAGES: Final = 1_024


def copy_database(
    source: apsw.Connection,
    path: str,
    progress: Callable[[int, int], None] | None,
    stopped: Callable[[], bool],
) -> int:
    """Copy what `source` sees now into a new file at `path`; the size of the copy in bytes.

    One read transaction holds the moment: what others write meanwhile is not in the copy, and does not make it start over.

    Raises:
        StoreUnavailable: When there is a file at `path`, or none can be made.
        Closed: When it was told to stop.
    """
    final, part = Path(path), Path(f"{path}.part")
    if final.exists():
        raise StoreUnavailable(
            f"{path} is there already: a backup never writes over a file; name another, or move it away"
        )
    with suppress(FileNotFoundError):
        part.unlink()  # of a backup that was broken off
    done = False
    try:
        with mapped(path):
            _copy(source, str(part), progress, stopped)
        part.replace(final)
        done = True
    finally:
        if not done:
            part.unlink(missing_ok=True)
    return final.stat().st_size


def _copy(
    source: apsw.Connection, part: str, progress: Callable[[int, int], None] | None, stopped: Callable[[], bool]
) -> None:
    target = apsw.Connection(part)
    held = not source.in_transaction
    try:
        if held:
            source.execute("BEGIN DEFERRED")
            source.execute("SELECT count(*) FROM meta").fetchall()  # a transaction begins with its first read
        with target.backup("main", source, "main") as copying:
            while not copying.done:
                if stopped():
                    raise Closed(f"the backup to {part} was stopped")
                copying.step(_STEP_PAGES)
                if progress is not None:
                    progress(copying.page_count - copying.remaining, copying.page_count)
    finally:
        if held and source.in_transaction:
            source.execute("ROLLBACK")
        target.close()

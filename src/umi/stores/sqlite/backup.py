"""Copy a database that is in use with SQLite's online backup, as of one moment. The copy appears once it is complete."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from umi.errors import Closed, StoreUnavailable
from umi.stores.sqlite.errors import mapped

_STEP_PAGES: Final = 1_024  # pages between two looks at `stopped` and two calls of `progress`


def copy_database(
    source: apsw.Connection,
    path: str,
    progress: Callable[[int, int], None] | None,
    stopped: Callable[[], bool],
) -> int:
    """Copy what `source` sees now into a new file at `path`.

    A read transaction keeps the moment: what others write meanwhile is not in the copy and does not restart it.

    Returns:
        The size of the copy in bytes.

    Raises:
        StoreUnavailable: When a file at `path` exists, or none can be created.
        Closed: When `stopped` became true.
    """
    final, part = Path(path), Path(f"{path}.part")
    if final.exists():
        raise StoreUnavailable(
            f"{path} is there already: a backup never writes over a file; name another, or move it away"
        )
    with suppress(FileNotFoundError):
        part.unlink()  # left by a backup that was interrupted
    done = False
    try:
        with mapped(path):
            _copy(source, str(part), progress, stopped)
        if stopped():
            raise _stopped(path)
        # Renamed when complete: under its final name there is never half a backup.
        part.replace(final)
        done = True
    finally:
        if not done:
            part.unlink(missing_ok=True)
    return final.stat().st_size


def _stopped(path: str) -> Closed:
    return Closed(f"the backup to {path} was stopped")


def _copy(
    source: apsw.Connection, part: str, progress: Callable[[int, int], None] | None, stopped: Callable[[], bool]
) -> None:
    target = apsw.Connection(part)
    held = not source.in_transaction
    try:
        if held:
            source.execute("BEGIN DEFERRED")
            source.execute("SELECT count(*) FROM meta").fetchall()  # a deferred transaction begins with its first read
        with target.backup("main", source, "main") as copying:
            while not copying.done:
                if stopped():
                    # Only between steps: a step cannot be interrupted.
                    raise _stopped(part)
                copying.step(_STEP_PAGES)
                if progress is not None:
                    progress(copying.page_count - copying.remaining, copying.page_count)
    finally:
        if held and source.in_transaction:
            source.execute("ROLLBACK")
        target.close()

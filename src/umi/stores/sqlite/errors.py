"""Translate SQLite's result codes to Umi's errors, each with advice on what to do."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from umi.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreUnavailable

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})  # disk full, quota used up, file too large


@contextmanager
def mapped(path: str, connection: apsw.Connection | None = None) -> Iterator[None]:
    """Translate what SQLite raises inside. Whatever is raised, its traceback keeps no cursor open.

    Raises:
        StoreError: Or the subclass that fits; the message names `path`.
    """
    try:
        yield
    except apsw.Error as error:
        _let_go(error)
        raise translate(error, path, connection) from error
    except BaseException as error:
        _let_go(error)
        raise


def _let_go(error: BaseException | None) -> None:
    """Clear the local variables in the frames of an exception and of those it was raised from."""
    # An exception keeps its frames alive, and with them any half-read statement, whose read lock would keep the
    # write-ahead log from being truncated.
    # The chain of exceptions holds frames of its own.
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def translate(error: apsw.Error, path: str, connection: apsw.Connection | None) -> StoreError:
    """The error of Umi that says what `error` means for the database at `path`."""
    if isinstance(error, (apsw.FullError, apsw.IOError)) and (
        isinstance(error, apsw.FullError) or _no_room(connection)
    ):
        return StoreFull(
            f"no room left to write {path}: free some disk space and try again; "
            "what was acknowledged before is safe, this write was rolled back"
        )
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return busy(path)
    if isinstance(error, apsw.NotADBError):
        return not_a_database(path)
    if isinstance(error, apsw.CorruptError):
        return StoreCorrupt(
            f"{path} is damaged ({error}): stop writing to it, keep a copy, and restore it from a backup or run `umi doctor`"
        )
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)):
        return StoreUnavailable(
            f"{path} cannot be written: make the file and its folder writable for this user, or open a copy of it"
        )
    if isinstance(error, apsw.CantOpenError):
        return _cannot_open(path)
    return StoreError(f"the database {path} failed ({error}); this transaction was rolled back whole")


def busy(path: str) -> StoreBusy:
    """The error for a lock that another process did not release in time."""
    return StoreBusy(
        f"another process kept the write lock of {path} past the busy timeout: try again, or raise busy_timeout_ms"
    )


def not_a_database(path: str) -> StoreUnavailable:
    """The error for a file that is not a SQLite database."""
    return StoreUnavailable(
        f"{path} is not a SQLite database (or is encrypted): give the path of an Umi database or of a new file"
    )


def _no_room(connection: apsw.Connection | None) -> bool:
    # SQLite reports only ENOSPC as "full". A quota or a file size limit is reported as an I/O error.
    return connection is not None and connection.system_errno in _NO_ROOM


def _cannot_open(path: str) -> StoreUnavailable:
    folder = Path(path).absolute().parent
    if Path(path).is_dir():
        return StoreUnavailable(f"{path} is a folder: give the path of a file in it, such as {path}/umi.db")
    if not folder.is_dir():
        return StoreUnavailable(f"{path} cannot be made, the folder {folder} does not exist: create it first")
    return StoreUnavailable(f"{path} cannot be opened: this user needs leave to read it and to write in its folder")

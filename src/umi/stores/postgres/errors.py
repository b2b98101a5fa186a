"""Translate PostgreSQL's errors to Umi's, each with advice on what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors as found

from umi.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreUnavailable

_BUSY = (
    found.LockNotAvailable, found.SerializationFailure, found.DeadlockDetected, found.QueryCanceled,
    found.IdleInTransactionSessionTimeout,
)  # fmt: skip
_FULL = (found.DiskFull, found.OutOfMemory, found.ConfigurationLimitExceeded)
_NOT_LET_IN = (found.InvalidPassword, found.InvalidAuthorizationSpecification, found.InsufficientPrivilege)
_CORRUPT = (found.DataCorrupted, found.IndexCorrupted)


@contextmanager
def mapped(name: str) -> Iterator[None]:
    """Translate what psycopg raises inside.

    Args:
        name: The database, without a password, for messages.

    Raises:
        StoreError: Or the subclass that fits.
    """
    try:
        yield
    except psycopg.Error as error:
        raise translate(error, name) from error


def translate(error: psycopg.Error, name: str) -> StoreError:
    """The error of Umi that says what `error` means for the database `name`."""
    said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, _FULL):
        return StoreFull(f"no room left to write {name} ({said}): free some space on its server and try again")
    if isinstance(error, _BUSY):
        return StoreBusy(f"others kept {name} locked for too long ({said}): try again")
    if isinstance(error, found.ReadOnlySqlTransaction):
        return StoreUnavailable(f"{name} takes no writes ({said}): give the address of the primary server")
    if isinstance(error, _CORRUPT):
        return StoreCorrupt(f"{name} is damaged ({said}): stop writing to it, and restore it from a backup")
    if isinstance(error, _NOT_LET_IN):
        return StoreUnavailable(f"{name} refused this user ({said}): give a user who may create tables there")
    if isinstance(error, found.TooManyConnections):
        return StoreBusy(f"{name} has no connection left ({said}): try again, or raise max_connections")
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return StoreUnavailable(f"{name} cannot be reached ({said}): see that the server runs and try again")
    return StoreError(f"the database {name} failed ({said}); this transaction was rolled back whole")

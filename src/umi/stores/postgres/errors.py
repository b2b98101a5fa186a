"""Translate PostgreSQL's errors to Umi's, each with advice on what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import errors as found

from umi.errors import InvalidInput, StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreUnavailable, UmiError


class NotReplicated(psycopg.OperationalError):
    """The server has committed, and stopped waiting for its synchronous standby."""


_BUSY = (found.LockNotAvailable, found.SerializationFailure, found.DeadlockDetected)
_TOO_LONG = (found.QueryCanceled, found.IdleInTransactionSessionTimeout)
_FULL = (found.DiskFull, found.OutOfMemory, found.ConfigurationLimitExceeded)
_NOT_LET_IN = (found.InvalidPassword, found.InvalidAuthorizationSpecification, found.InsufficientPrivilege)
_CORRUPT = (found.DataCorrupted, found.IndexCorrupted)
# A server, or a pooler, that refuses a connection says why in words only.
_CROWDED: Final = re.compile("too many (connections|clients)|connection slots|no more connections allowed")
_BOUND: Final = "row-level security policy"
# What an error means, the first that fits.
_MEANINGS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[UmiError], str], ...]] = (
    (found.UniqueViolation, InvalidInput, "a row of this id is in {name} already ({said}): each is written once"),
    (_FULL, StoreFull, "no room left to write {name} ({said}): free some space on its server and try again"),
    (
        NotReplicated,
        StoreUnavailable,
        "{name} has written this, and a standby has not confirmed it ({said}): see that the standby follows, and look what is there",
    ),
    (_TOO_LONG, StoreBusy, "a statement on {name} took too long, or an operator stopped it ({said}): try again"),
    (_BUSY, StoreBusy, "others kept {name} locked for too long ({said}): try again"),
    (
        found.ReadOnlySqlTransaction,
        StoreUnavailable,
        "{name} takes no writes ({said}): give the address of the primary server",
    ),
    (_CORRUPT, StoreCorrupt, "{name} is damaged ({said}): stop writing to it, and restore it from a backup"),
    (
        _NOT_LET_IN,
        StoreUnavailable,
        "{name} refused this user ({said}): give one who may create, read and write Umi's tables",
    ),
    (
        (psycopg.OperationalError, psycopg.InterfaceError),
        StoreUnavailable,
        "{name} cannot be reached ({said}): see that the server runs and try again",
    ),
)


@contextmanager
def mapped(name: str) -> Iterator[None]:
    """Translate what psycopg raises inside.

    Args:
        name: The database, without a password, for messages.

    Raises:
        StoreError: Or the subclass that fits.
        InvalidInput: For a row whose id is taken. It comes here because statements that write are not waited for one by one.
    """
    try:
        yield
    except psycopg.Error as error:
        raise translate(error, name) from error


def translate(error: psycopg.Error, name: str) -> UmiError:
    """The error of Umi that says what `error` means for the database `name`."""
    said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if _CROWDED.search(said):
        return StoreBusy(f"{name} has no connection left ({said}): try again, or let this user have more")
    if _BOUND in said:
        return StoreUnavailable(
            f"{name} keeps this user to a namespace of its own ({said}): what concerns others, or the whole database, is for its owner"
        )
    for kinds, meaning, message in _MEANINGS:
        if isinstance(error, kinds):
            return meaning(message.format(name=name, said=said))
    return StoreError(f"the database {name} failed ({said}); this transaction was rolled back whole")

"""Keys: made once, shown once, kept as digests in a SQLite file of their own beside the memory."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import apsw

from umi import SystemEntropy
from umi.errors import InvalidInput, StoreError, StoreUnavailable
from umi.limits import NAME_BYTES_MAX
from umi.ports import Clock
from umi.server.access import Caller, Grant

PREFIX: Final = "umi"
_ID_BYTES: Final = 8
_SECRET_BYTES: Final = 32
_BUSY_MS: Final = 2_000
_USED_EVERY_S: Final = 60  # the last use is written no more often
_NOBODY: Final = "0" * 64  # the digest that a secret of an unknown id is compared with
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, digest TEXT NOT NULL, name TEXT NOT NULL, grants TEXT NOT NULL,
    created_at TEXT NOT NULL, expires_at TEXT, revoked_at TEXT, used_at TEXT
) STRICT"""
_COLUMNS: Final = "id, name, grants, created_at, expires_at, revoked_at, used_at"


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret. `used_at` is exact to a minute; None is never."""

    id: str
    name: str
    grants: tuple[Grant, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None

    def is_active(self, now: datetime) -> bool:
        """Whether it opens anything at that moment."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class KeyRing:
    """The keys of one file. Changes by other processes count at once.

    Args:
        path: The file.
        clock: The source of time.
        create: Whether a missing file is made, readable by its owner only.

    Raises:
        StoreUnavailable: When the file cannot be opened, or is not there and may not be made.
    """

    def __init__(self, path: str | Path, clock: Clock, *, create: bool = False) -> None:
        self._path = Path(path)
        self._clock = clock
        if not create and not self._path.exists():
            raise StoreUnavailable(f"there are no keys at {self._path}; make one with `umi keys create`")
        try:
            # SQLite would make it readable by others.
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = apsw.Connection(str(self._path))
            self._db.set_busy_timeout(_BUSY_MS)
            self._db.execute(_SCHEMA)
        except (OSError, apsw.Error) as error:
            raise StoreUnavailable(f"the keys at {self._path} cannot be opened: {error}") from error

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def create(
        self, entropy: SystemEntropy, name: str, grants: Sequence[Grant], expires_at: datetime | None = None
    ) -> tuple[Key, str]:
        """Make a key.

        Args:
            entropy: What makes secrets.
            name: What it is for, at most 256 bytes.
            grants: What it may do, at least one.
            expires_at: From when on it opens nothing; None is never.

        Returns:
            The key, and the token to give to its user, which is kept nowhere.

        Raises:
            InvalidInput: Without a grant, or for a name that is too long.
            StoreError: When the file cannot be written.
        """
        if not grants:
            raise InvalidInput("a key needs a grant, such as --grant 'alice=read,write'")
        if len(name.encode()) > NAME_BYTES_MAX:
            raise InvalidInput(
                f"the name of a key has {len(name.encode())} bytes, the limit is {NAME_BYTES_MAX}",
                limit=NAME_BYTES_MAX,
                value=len(name.encode()),
            )
        id_, secret = entropy.new_secret(_ID_BYTES), entropy.new_secret(_SECRET_BYTES)
        key = Key(id_, name, tuple(grants), self._clock.now(), expires_at)
        packed = json.dumps([str(grant) for grant in key.grants], ensure_ascii=False)
        row = (id_, _digest(secret), name, packed, key.created_at.isoformat(), _text(expires_at))
        self._write(
            "INSERT INTO keys (id, digest, name, grants, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)", row
        )
        return key, f"{PREFIX}_{id_}_{secret}"

    def revoke(self, id_: str) -> bool:
        """End a key now; False when there is none of that id, or it was ended before."""
        now = self._clock.now().isoformat()
        return self._write("UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, id_)) > 0

    def all(self) -> list[Key]:
        """Every key, the oldest first."""
        return [_key(row) for row in self._db.execute(f"SELECT {_COLUMNS} FROM keys ORDER BY created_at, id")]  # noqa: S608

    def has_active(self) -> bool:
        """Whether any key opens anything now."""
        now = self._clock.now()
        return any(key.is_active(now) for key in self.all())

    def verify(self, token: str) -> Caller | None:
        """Whose key it is; None for one that is unknown, expired or revoked. The time that it takes does not tell how much of it is right."""
        parts = token.split("_")
        well_formed = len(parts) == 3 and parts[0] == PREFIX
        id_, secret = (parts[1], parts[2]) if well_formed else ("", "")
        with closing(self._db.execute(f"SELECT digest, {_COLUMNS} FROM keys WHERE id = ?", (id_,))) as found:  # noqa: S608
            row = found.fetchone()
        right = hmac.compare_digest(_digest(secret), _NOBODY if row is None else str(row[0]))
        if row is None or not right:
            return None
        key, now = _key(row[1:]), self._clock.now()
        if not key.is_active(now):
            return None
        if key.used_at is None or (now - key.used_at).total_seconds() >= _USED_EVERY_S:
            self._note_use(key.id, now)
        return Caller(key.id, key.grants)

    def _note_use(self, id_: str, now: datetime) -> None:
        try:
            self._db.execute("UPDATE keys SET used_at = ? WHERE id = ?", (now.isoformat(), id_))
        except apsw.Error:  # read-only, full or busy: that is no reason to refuse a good key
            return

    def _write(self, sql: str, values: tuple[str | None, ...]) -> int:
        try:
            self._db.execute(sql, values)
        except apsw.Error as error:
            raise StoreError(f"the keys at {self._path} cannot be written: {error}") from error
        return self._db.changes()


class Keys:
    """The keys of a file that need not be there yet: from the first key on they count, also where it is made while the server runs.

    Args:
        path: The file; None is a memory that has none beside it.
        clock: The source of time.

    Raises:
        StoreUnavailable: When the file is there and cannot be opened.
    """

    def __init__(self, path: str | None, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._ring: KeyRing | None = None
        self._count = False
        self.ring()

    def ring(self) -> KeyRing | None:
        """The keys, or None as long as none was ever made. Keys that ended count: whoever made one meant to keep others out.

        Raises:
            StoreUnavailable: When the file cannot be opened.
        """
        if not self._count:
            if self._ring is None and self._path is not None and Path(self._path).exists():
                self._ring = KeyRing(self._path, self._clock)
            self._count = self._ring is not None and bool(self._ring.all())
        return self._ring if self._count else None

    def made(self) -> KeyRing:
        """The file of keys, made where it is not there.

        Raises:
            InvalidInput: Where no file is named.
            StoreUnavailable: When it cannot be opened.
        """
        if self._path is None:
            raise InvalidInput("this memory has no file, so there are no keys beside it: name their file with --keys")
        if self._ring is None:
            self._ring = KeyRing(self._path, self._clock, create=True)
        return self._ring

    def close(self) -> None:
        """Let go of the file."""
        if self._ring is not None:
            self._ring.close()


def _digest(secret: str) -> str:
    # A fast hash is right here: a secret has 256 random bits, and no guessing gets through that.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _key(row: Sequence[Any]) -> Key:
    id_, name, grants, *moments = row
    created_at, *others = (None if text is None else datetime.fromisoformat(text) for text in moments)
    if created_at is None:
        raise StoreError("a key without the time of its making: the file is damaged")
    return Key(id_, name, tuple(Grant.parse(one) for one in json.loads(grants)), created_at, *others)

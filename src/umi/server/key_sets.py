"""Key sets of an issuer (JWKS, RFC 7517): fetched, cached, and fetched again when a token names an unknown key."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from umi import limits
from umi.errors import InvalidInput
from umi.ports import Clock
from umi.server.problems import Refused

log = logging.getLogger("umi.server")

# The kinds of keys that are used, by type and curve, and the one algorithm of each: never the algorithm that a token asks for.
_ALGORITHMS: Final = {("RSA", None): "RS256", ("EC", "P-256"): "ES256", ("OKP", "Ed25519"): "EdDSA"}
ALGORITHMS: Final = frozenset(_ALGORITHMS.values())
_RSA_BITS_MIN: Final = 2048  # RFC 7518, 3.3
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key with its id and its one algorithm."""

    kid: str | None
    algorithm: str
    public: PyJWK


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys of an issuer that can check a signature."""

    keys: tuple[SigningKey, ...]

    def find(self, kid: str | None, algorithm: str) -> SigningKey | None:
        """The key of an id; without an id the only one of the algorithm."""
        found = [key for key in self.keys if key.algorithm == algorithm and (kid is None or key.kid == kid)]
        return found[0] if len(found) == 1 else None

    @classmethod
    def parse(cls, content: bytes) -> KeySet:
        """Read a JWK set. Keys of other kinds, for encryption, private ones and RSA keys below 2,048 bits are left out.

        Raises:
            ValueError: When it is no set, has more than `JWKS_KEYS_COUNT_MAX` keys, or none that can be used.
        """
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            raise ValueError("it is no JSON") from None
        listed = found.get("keys") if isinstance(found, dict) else None
        if not isinstance(listed, list):
            raise ValueError('it is no JWK set: an object with a list of "keys"')  # noqa: TRY004 - of the content, not of the call
        if len(listed) > limits.JWKS_KEYS_COUNT_MAX:
            raise ValueError(f"it has {len(listed):,} keys, the limit is {limits.JWKS_KEYS_COUNT_MAX}")
        keys = tuple(key for key in map(_usable, listed) if key is not None)
        if not keys:
            raise ValueError("it has no public RSA key of 2,048 bits or more, and none of P-256 or Ed25519")
        return cls(keys)


class KeySets:
    """The newest key set of one source.

    A set is used for `JWKS_REFRESH_S` and then fetched again in the background; where that fails it is used until
    `JWKS_AGE_S_MAX`. There is one fetch at a time, and one in `JWKS_FETCH_INTERVAL_S`, however many tokens name unknown keys.

    Args:
        source: An https URL, a http URL of this machine, or a file.
        clock: The source of time.

    Raises:
        InvalidInput: For a file that cannot be read or is no key set. A URL may come to answer later.
    """

    def __init__(self, source: str, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._held: KeySet | None = None
        self._held_at_s = self._begun_at_s = -math.inf
        self._failed = False
        self._fetching: asyncio.Task[None] | None = None
        self._client: httpx2.AsyncClient | None = None
        if is_url(source):
            # Redirects are not followed: the operator named the place that is trusted.
            self._client = httpx2.AsyncClient(headers={"Accept-Encoding": "identity"}, timeout=limits.JWKS_FETCH_S)
            return
        try:
            self._held = KeySet.parse(_read(source))
        except (OSError, ValueError) as error:
            raise InvalidInput(f"the key set {source} cannot be used: {error}") from error
        self._held_at_s = clock.monotonic_s()

    async def find(self, kid: str | None, algorithm: str) -> SigningKey | None:
        """The key that a token names; None when the issuer has no such key.

        Raises:
            Refused: 503 with `Retry-After`, when the set cannot be fetched and the key is in none that is held.
        """
        if self._age_s() > limits.JWKS_REFRESH_S:
            self._begin()
        if self._age_s() > limits.JWKS_AGE_S_MAX:
            await self._finished()
        found = self._look(kid, algorithm)
        if found is None:
            self._begin()
            await self._finished()
            found = self._look(kid, algorithm)
        if found is None and self._failed:
            wait_s = max(1, math.ceil(limits.JWKS_FETCH_INTERVAL_S - (self._clock.monotonic_s() - self._begun_at_s)))
            raise Refused(
                503, "key_set_unavailable", "the issuer's keys cannot be fetched now", {"Retry-After": str(wait_s)}
            )
        return found

    async def close(self) -> None:
        """End what is under way."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait({self._fetching})
        if self._client is not None:
            await self._client.aclose()

    def _look(self, kid: str | None, algorithm: str) -> SigningKey | None:
        usable = self._held is not None and self._age_s() <= limits.JWKS_AGE_S_MAX
        return self._held.find(kid, algorithm) if self._held is not None and usable else None

    def _age_s(self) -> float:
        return self._clock.monotonic_s() - self._held_at_s

    def _begin(self) -> None:
        """Fetch the set, unless that is under way or was done a moment ago."""
        now_s = self._clock.monotonic_s()
        is_busy = self._fetching is not None and not self._fetching.done()
        if is_busy or now_s - self._begun_at_s < limits.JWKS_FETCH_INTERVAL_S:
            return
        self._begun_at_s = now_s
        self._fetching = asyncio.create_task(self._fetch())

    async def _finished(self) -> None:
        # A request that gives up does not end the fetch that others wait for.
        if self._fetching is not None:
            await asyncio.wait({self._fetching})

    async def _fetch(self) -> None:
        try:
            self._held = KeySet.parse(await self._content())
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:  # TimeoutError is an OSError
            self._failed = True
            log.warning("the key set %s cannot be fetched: %s", self._source, str(error) or type(error).__name__)
        else:
            self._held_at_s, self._failed = self._clock.monotonic_s(), False

    async def _content(self) -> bytes:
        if self._client is None:
            return await asyncio.to_thread(_read, self._source)
        content = b""
        async with asyncio.timeout(limits.JWKS_FETCH_S), self._client.stream("GET", self._source) as answer:
            if answer.status_code != _OK:
                raise ValueError(f"its server answers {answer.status_code}")
            async for part in answer.aiter_raw():
                content += part
                _check_size(len(content))
        return content


def is_url(source: str) -> bool:
    """Whether a key set is at a URL, rather than in a file."""
    return source.lower().startswith(("http://", "https://"))


def _read(path: str) -> bytes:
    with Path(path).open("rb") as file:
        content = file.read(limits.JWKS_BYTES_MAX + 1)
    _check_size(len(content))
    return content


def _check_size(size: int) -> None:
    if size > limits.JWKS_BYTES_MAX:
        raise ValueError(f"it is longer than {limits.JWKS_BYTES_MAX:,} bytes")


def _usable(one: Any) -> SigningKey | None:
    """A key that checks signatures, or None."""
    if not isinstance(one, dict) or "d" in one or one.get("use", "sig") != "sig":
        return None
    kind, curve, kid = one.get("kty"), one.get("crv"), one.get("kid")
    algorithm = _ALGORITHMS.get((kind, curve)) if isinstance(kind, str) and isinstance(curve, str | None) else None
    if algorithm is None or one.get("alg", algorithm) != algorithm or not isinstance(kid, str | None):
        return None
    try:
        public = PyJWK(one, algorithm)
    except (PyJWTError, ValueError, TypeError):
        return None
    is_short = kind == "RSA" and public.key.key_size < _RSA_BITS_MIN
    return None if is_short else SigningKey(kid, algorithm, public)

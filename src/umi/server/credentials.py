"""What a request may show: a key of Umi's own, or a token of an issuer. One verifier for both."""

from __future__ import annotations

from umi.ports import Clock
from umi.server.access import Caller
from umi.server.key_sets import KeySets
from umi.server.keys import PREFIX, KeyRing, Keys
from umi.server.problems import Refused
from umi.server.settings import Settings
from umi.server.tokens import Tokens


class Credentials:
    """Keys and tokens. Satisfies `Verifier`.

    Args:
        keys: The file of keys, which need not be there.
        tokens: The issuer's tokens; None where none count.
    """

    def __init__(self, keys: Keys, tokens: Tokens | None = None) -> None:
        self._keys = keys
        self._tokens = tokens

    @classmethod
    def of(cls, settings: Settings, clock: Clock) -> Credentials:
        """What the settings name.

        Raises:
            StoreUnavailable: When the file of keys cannot be opened.
            InvalidInput: When the file of a key set cannot be used.
        """
        chosen = settings.tokens
        tokens = None if chosen is None else Tokens(chosen, KeySets(chosen.jwks, clock), clock)
        return cls(Keys(settings.keys, clock), tokens)

    @property
    def count(self) -> bool:
        """Whether a request needs any; False as long as no key was ever made and no issuer is named."""
        return self._tokens is not None or self._keys.ring() is not None

    def opens_anything(self) -> bool:
        """Whether anybody can come in: a key that works, or an issuer."""
        ring = self._keys.ring()
        return self._tokens is not None or (ring is not None and ring.has_active())

    async def verify(self, token: str) -> Caller:
        """See `Verifier`."""
        if not token:
            raise Refused(401, "unauthorized", "this needs a key: Authorization: Bearer KEY")
        if self._tokens is not None and not token.startswith(f"{PREFIX}_"):
            return await self._tokens.verify(token)
        ring = self._keys.ring()
        caller = None if ring is None else ring.verify(token)
        if caller is None:
            raise Refused(401, "unauthorized", "the key is unknown, expired or revoked")
        return caller

    def ring(self, *, create: bool = False) -> KeyRing | None:
        """The keys that count; None while there are none. With `create` their file is made.

        Raises:
            InvalidInput: With `create`, where the server has no file for keys.
            StoreUnavailable: When the file cannot be opened.
        """
        return self._keys.made() if create else self._keys.ring()

    async def close(self) -> None:
        """Let go of files and connections."""
        if self._tokens is not None:
            await self._tokens.close()
        self._keys.close()

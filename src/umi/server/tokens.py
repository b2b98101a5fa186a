"""JSON Web Tokens as access tokens: signature, issuer, audience and time are checked (RFC 7519, 8725, 9068); claims are grants."""

from __future__ import annotations

import math
from typing import Any, Final

import jwt
from jwt.exceptions import InvalidAudienceError, InvalidIssuerError, MissingRequiredClaimError, PyJWTError

from umi import limits
from umi.errors import InvalidInput
from umi.ports import Clock
from umi.server.access import Caller, Grant, Right
from umi.server.key_sets import ALGORITHMS, KeySets
from umi.server.problems import Refused
from umi.server.settings import TokenSettings

# Without a type, or these: an issuer signs other things with the same keys (RFC 8725, 3.11).
_TYPES: Final = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
_REQUIRED: Final = ["exp", "iss", "aud", "sub"]
_OWN: Final = (Right.READ, Right.WRITE, Right.ERASE)  # in the namespace of a namespace claim
_MALFORMED: Final = (PyJWTError, ValueError, TypeError, OverflowError, RecursionError)


class Tokens:
    """Tells whose a JWT is. Satisfies `Verifier`.

    Args:
        settings: Whose tokens count, and which claims say what they may do.
        keys: The keys of the issuer.
        clock: The source of time.
    """

    def __init__(self, settings: TokenSettings, keys: KeySets, clock: Clock) -> None:
        self._settings = settings
        self._keys = keys
        self._clock = clock

    async def verify(self, token: str) -> Caller:
        """See `Verifier`. A token says why it is refused only once its signature is known to be right."""
        claims = await self._claims(token)
        subject = claims["sub"]
        if not 0 < len(subject.encode("utf-8", "surrogatepass")) <= limits.NAME_BYTES_MAX:
            raise _refused(f"its sub must have 1 to {limits.NAME_BYTES_MAX} bytes")
        return Caller(f"sub:{subject}", self._grants(claims))

    async def close(self) -> None:
        """End what is under way."""
        await self._keys.close()

    async def _claims(self, token: str) -> dict[str, Any]:
        """The claims of a token that is signed, meant for this server and valid now.

        Raises:
            Refused: For any other.
        """
        kid, algorithm = _head(token)
        key = await self._keys.find(kid, algorithm)
        if key is None:
            raise _refused("the issuer has no such key")
        # Times are checked against the server's own clock.
        options: Any = {"require": _REQUIRED, "verify_exp": False, "verify_nbf": False, "verify_iat": False}
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.public,
                algorithms=[key.algorithm],
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                options=options,
            )
        except (InvalidAudienceError, InvalidIssuerError, MissingRequiredClaimError) as error:
            raise _refused(f"{error}; see --audience and --issuer") from error
        except _MALFORMED as error:
            raise _refused("it is malformed, or its signature is wrong") from error
        self._check_time(claims)
        return claims

    def _check_time(self, claims: dict[str, Any]) -> None:
        now = self._clock.now().timestamp()
        ends, begins = _seconds(claims["exp"]), _seconds(claims.get("nbf", 0))
        if ends is None or begins is None:
            raise _refused("its exp or nbf is no number of seconds")
        if now >= ends + limits.JWT_LEEWAY_S:
            raise _refused("it has expired")
        if now < begins - limits.JWT_LEEWAY_S:
            raise _refused("it is not valid yet")

    def _grants(self, claims: dict[str, Any]) -> tuple[Grant, ...]:
        """What the claims grant.

        Raises:
            Refused: 403, when that is nothing or cannot be read.
        """
        settings = self._settings
        own = None if settings.namespace_claim is None else claims.get(settings.namespace_claim)
        try:
            grants = [*_listed(claims.get(settings.grants_claim)), *_own(own)]
        except InvalidInput as error:
            raise Refused(403, "forbidden", f"the token's claims cannot be read: {error}") from error
        if not grants:
            names = " and ".join(filter(None, (settings.grants_claim, settings.namespace_claim)))
            raise Refused(403, "forbidden", f"the token grants nothing: it has no grant in {names}")
        return tuple(grants)


def _head(token: str) -> tuple[str | None, str]:
    """The id of the key and the algorithm that a token names.

    Raises:
        Refused: When it is too long, no JWT, of another type or of an algorithm that is not used.
    """
    if len(token) > limits.JWT_BYTES_MAX:
        raise _refused(f"it is longer than {limits.JWT_BYTES_MAX:,} bytes")
    try:
        header = jwt.get_unverified_header(token)
    except _MALFORMED as error:
        raise _refused("it is neither a key nor a JWT") from error
    algorithm, kind = header.get("alg"), header.get("typ", "")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise _refused(f"its algorithm is none of {', '.join(sorted(ALGORITHMS))}")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise _refused("its type is not that of an access token")
    return header.get("kid"), algorithm


def _listed(claim: Any) -> list[Grant]:
    """The grants in a claim: a list of texts, or one text with spaces between. Words without "=" are scopes of others.

    Raises:
        InvalidInput: For a grant that cannot be read, or too many.
    """
    words = claim.split() if isinstance(claim, str) else claim if isinstance(claim, list) else []
    found = [word for word in words if isinstance(word, str) and "=" in word]
    if len(found) > limits.JWT_GRANTS_COUNT_MAX:
        raise InvalidInput(f"{len(found):,} grants, the limit is {limits.JWT_GRANTS_COUNT_MAX}")
    return [Grant.parse(word) for word in found]


def _own(claim: Any) -> list[Grant]:
    """The grant of a namespace claim: that one namespace.

    Raises:
        InvalidInput: For a name that would be a prefix: users choose such claims, as their name or address, at many issuers.
    """
    if not isinstance(claim, str) or not claim.strip():
        return []
    if claim.endswith("*") or len(claim.encode("utf-8", "surrogatepass")) > limits.NAME_BYTES_MAX:
        raise InvalidInput(f"a namespace has at most {limits.NAME_BYTES_MAX} bytes, and no '*' at its end")
    return [Grant(claim, _OWN)]


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) else None


def _refused(reason: str) -> Refused:
    return Refused(401, "unauthorized", f"the token is refused: {reason}")

"""Options of `umi serve` about tokens that somebody else issues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from umi.errors import InvalidInput

if TYPE_CHECKING:
    from umi.server.settings import TokenSettings

Jwks = Annotated[
    str | None,
    typer.Option(
        envvar="UMI_JWKS", metavar="URL_OR_FILE", help="Take JSON Web Tokens too, signed by a key of this JWK set."
    ),
]
Issuer = Annotated[
    str | None, typer.Option(envvar="UMI_ISSUER", metavar="URL", help="With --jwks: what their iss must be.")
]
Audience = Annotated[
    str | None, typer.Option(envvar="UMI_AUDIENCE", metavar="TEXT", help="With --jwks: what their aud must have.")
]
GrantsClaim = Annotated[
    str | None,
    typer.Option(
        envvar="UMI_GRANTS_CLAIM",
        metavar="NAME",
        help="The claim with grants such as alice=read,write.  [default: umi_grants]",
    ),
]
NamespaceClaim = Annotated[
    str | None,
    typer.Option(
        envvar="UMI_NAMESPACE_CLAIM",
        metavar="NAME",
        help="A claim that names the one namespace to read, write and erase in, such as sub.",
    ),
]
PublicUrl = Annotated[
    str | None,
    typer.Option(envvar="UMI_PUBLIC_URL", metavar="URL", help="Where clients reach the server, such as a proxy's URL."),
]


def tokens_of(
    jwks: str | None, issuer: str | None, audience: str | None, grants_claim: str | None, namespace_claim: str | None
) -> TokenSettings | None:
    """What the options say of tokens; None when they say nothing.

    Raises:
        InvalidInput: When some of them are there and others missing: a server must not start open by a slip.
    """
    from umi.server.settings import GRANTS_CLAIM_DEFAULT, TokenSettings  # noqa: PLC0415 - an extra

    if jwks is None:
        if issuer or audience or grants_claim or namespace_claim:
            raise InvalidInput("--issuer, --audience and claims need --jwks, the issuer's key set")
        return None
    return TokenSettings(jwks, issuer or "", audience or "", grants_claim or GRANTS_CLAIM_DEFAULT, namespace_claim)

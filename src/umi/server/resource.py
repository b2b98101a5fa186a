"""Where a client without a token finds the issuer: the metadata of a protected resource (RFC 9728) and the 401 that names it."""

from __future__ import annotations

import re
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from umi.server.paths import service_of, use_of
from umi.server.problems import Refused
from umi.server.settings import Settings

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
# What can stand in a quoted header as it is.
_HOST: Final = re.compile(r"\A[\w.:\[\]-]{1,255}\Z", re.ASCII)

router = APIRouter(include_in_schema=False)


@router.get(WELL_KNOWN)
@router.get(WELL_KNOWN + "/{resource:path}")
async def metadata(request: Request) -> Response:
    """Who issues tokens for this server. The same below any path of it, such as /mcp."""
    settings = service_of(request).settings
    use_of(request).action = "metadata"
    origin = _origin(settings, request.scope)
    if settings.tokens is None or origin is None:
        raise Refused(404, "no_such_path", "this server takes no tokens of an issuer; see --jwks")
    return JSONResponse(
        {
            "resource": origin,
            "authorization_servers": [settings.tokens.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "Umi",
        }
    )


def is_metadata(path: str) -> bool:
    """Whether a path is one of the metadata, which is for those who have no token yet."""
    return path == WELL_KNOWN or path.startswith(f"{WELL_KNOWN}/")


def challenge(settings: Settings, scope: Scope, token: str) -> str:
    """The value of `WWW-Authenticate` for a request without a credential, or with a wrong one (RFC 6750, 3; RFC 9728, 5.1)."""
    origin = _origin(settings, scope)
    said = ['error="invalid_token"'] if token else []
    if settings.tokens is not None and origin is not None:
        said.append(f'resource_metadata="{origin}{WELL_KNOWN}"')
    return f"Bearer {', '.join(said)}".strip()


def _origin(settings: Settings, scope: Scope) -> str | None:
    """Where clients reach the server; None when a request does not say it in a way that can be repeated."""
    if settings.public_url is not None:
        return settings.public_url
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    return f"{scope['scheme']}://{host}" if _HOST.match(host) else None

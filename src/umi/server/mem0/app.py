"""The application of both dialects of mem0, with errors as mem0's client reads them: a JSON object with `detail`."""

from __future__ import annotations

import re
from typing import Final

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from umi.errors import InvalidInput, NotFound, UmiError
from umi.server.bare import bare_api
from umi.server.mem0 import platform, selfhosted
from umi.server.problems import MEDIA_TYPE, of_error, problem
from umi.server.service import Service

_PATHS: Final = re.compile(
    r"\A/(v1/(ping|memories|event|entities|batch)|v2/entities|v3/memories|memories|search|entities|reset)(/|\Z)"
)
_UNREADABLE: Final = 422  # for what Umi's own paths answer 400 to: mem0's server is made so


def is_mem0(path: str) -> bool:
    """Whether a path is one of mem0's."""
    return _PATHS.match(path) is not None


def make_mem0(service: Service) -> ASGIApp:
    """The routes, without the gate."""
    api = bare_api(service, {UmiError: _umi_error, RequestValidationError: _invalid, HTTPException: _http_error})
    api.include_router(platform.router)
    api.include_router(selfhosted.router)

    async def without_slash(scope: Scope, receive: Receive, send: Send) -> None:
        await api({**scope, "path": scope["path"].rstrip("/")}, receive, send)

    return without_slash


def with_plain_errors(app: ASGIApp) -> ASGIApp:
    """The same application, whose problems on mem0's paths are said to be plain JSON: its client reads no other."""

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                plain = [
                    (name, b"application/json" if value == MEDIA_TYPE.encode() else value)
                    for name, value in message.get("headers", ())
                ]
                message = {**message, "headers": plain}
            await send(message)

        of_mem0 = scope["type"] == "http" and is_mem0(scope["path"])
        await app(scope, receive, sending if of_mem0 else send)

    return answering


async def _umi_error(_: Request, error: UmiError) -> Response:
    if isinstance(error, InvalidInput) and not isinstance(error, NotFound):
        limit, value = getattr(error, "limit", None), getattr(error, "value", None)
        return problem(_UNREADABLE, error.code, str(error), limit=limit, value=value)
    return of_error(error)


async def _invalid(_: Request, error: RequestValidationError) -> Response:
    detail = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:3])
    return problem(_UNREADABLE, "invalid_input", detail)


async def _http_error(_: Request, error: HTTPException) -> Response:
    status = error.status_code
    return problem(status, "no_such_path" if status == 404 else "bad_request", str(error.detail))

"""What every application of the server begins with: no pages, no telemetry of FastAPI's, and bugs told as such."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.telemetry import TelemetryConfig
from starlette.responses import Response

from umi.server.problems import Refused, bug
from umi.server.service import Service

Handler = Callable[[Request, Any], Awaitable[Response]]  # takes the errors of its kind

# FastAPI's own spans and log records have paths, which name people, and quote what was sent. The gate makes ours.
_SILENT: Final[TelemetryConfig] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def bare_api(service: Service, handlers: Mapping[type[Exception], Handler], **settings: Any) -> FastAPI:
    """An application without routes.

    Args:
        service: What all requests share.
        handlers: How errors are answered, beside bugs and refusals.
        settings: FastAPI's own.
    """
    api = FastAPI(
        docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, telemetry=_SILENT, **settings
    )
    api.state.service = service
    all_of_them: dict[type[Exception], Handler] = {Exception: _bug, Refused: _refused, **handlers}
    for kind, handler in all_of_them.items():
        api.add_exception_handler(kind, handler)
    return api


async def _bug(_: Request, __: Exception) -> Response:
    return bug()  # the gate logs it


async def _refused(_: Request, error: Refused) -> Response:
    return error.response()

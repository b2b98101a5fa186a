"""What every application of the server begins with: no pages, no telemetry of FastAPI's, and bugs told as such."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.telemetry import TelemetryConfig
from starlette.responses import Response

from umi.server.problems import Refused, problem
from umi.server.service import Service

Handler = Callable[[Request, Exception], Awaitable[Response]]

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
    for kind, handler in {Exception: bug, Refused: _refused, **handlers}.items():
        api.add_exception_handler(kind, handler)
    return api


async def bug(_: Request, __: Exception) -> Response:
    """The answer to an error that nobody expected."""
    # The gate logs it.
    return problem(500, "bug", "a bug in Umi, not your fault; the server's log has it")


async def _refused(request: Request, error: Exception) -> Response:
    return error.response() if isinstance(error, Refused) else await bug(request, error)

"""The ASGI application: routes, errors, and the gate around them."""

from __future__ import annotations

from functools import cache, partial
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

import umi
from umi.errors import UmiError
from umi.server import openapi, resource
from umi.server.gate import MCP_PREFIX, Gate
from umi.server.mem0.app import is_mem0, make_mem0, with_plain_errors
from umi.server.problems import Refused, of_error, problem
from umi.server.routes import archiving, correcting, erasing, following, recalling, remembering, surroundings
from umi.server.service import Service

_CODES: Final = {404: "no_such_path", 405: "no_such_method", 413: "body_too_long"}
# FastAPI's own spans and log records have paths, which name people, and quote what was sent. The gate makes ours.
_SILENT: Final[TelemetryConfig] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
_POLICY: Final = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'"


def make_app(service: Service, mcp: ASGIApp) -> ASGIApp:
    """The application of a service: MCP below /mcp, mem0's paths where they are switched on, REST elsewhere."""
    api = make_api(service)
    mem0 = make_mem0(service) if service.settings.mem0 else None

    async def all_of_them(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path == MCP_PREFIX or path.startswith(f"{MCP_PREFIX}/"):
            await mcp(scope, receive, send)
        elif mem0 is not None and is_mem0(path):
            await mem0(scope, receive, send)
        else:
            await api(scope, receive, send)

    gate = Gate(all_of_them, service)
    return gate if mem0 is None else with_plain_errors(gate)


def make_api(service: Service) -> FastAPI:
    """The routes, without the gate."""
    api = FastAPI(
        title="Umi",
        version=umi.__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry=_SILENT,
        generate_unique_id_function=_operation_id,
    )
    api.state.service = service
    spaces = APIRouter(prefix="/v1/namespaces/{namespace}")
    # Routes are tried one after the other: what is asked for most comes first.
    for group in (recalling, remembering, correcting, erasing, following, archiving):
        spaces.include_router(group.router)
    api.include_router(spaces)
    api.include_router(surroundings.router)
    api.include_router(resource.router)
    api.add_exception_handler(Exception, _bug)
    api.add_exception_handler(UmiError, _umi_error)
    api.add_exception_handler(Refused, _refused)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(HTTPException, _http_error)
    document = cache(partial(openapi.document, api))
    api.add_route("/openapi.json", lambda _: JSONResponse(document()), include_in_schema=False)
    api.add_route("/docs", lambda _: _page("docs.html", "text/html"), include_in_schema=False)
    api.add_route("/docs.js", lambda _: _page("docs.js", "text/javascript"), include_in_schema=False)
    return api


def _operation_id(route: APIRoute) -> str:
    """What generated clients call an operation: the route's name, such as `list_episodes`, without the path."""
    return route.name.rstrip("_")


def _page(name: str, kind: str) -> Response:
    content = files("umi.server").joinpath("pages", name).read_text("utf-8")
    return Response(content, media_type=kind, headers={"Content-Security-Policy": _POLICY})


async def _bug(_: Request, __: Exception) -> Response:
    # The gate logs it.
    return problem(500, "bug", "a bug in Umi, not your fault; the server's log has it")


async def _umi_error(_: Request, error: Exception) -> Response:
    return of_error(error) if isinstance(error, UmiError) else await _bug(_, error)


async def _refused(_: Request, error: Exception) -> Response:
    return error.response() if isinstance(error, Refused) else await _bug(_, error)


async def _invalid(_: Request, error: Exception) -> Response:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    faults = [{"at": ".".join(map(str, one["loc"])), "message": one["msg"]} for one in found]
    detail = "; ".join(f"{fault['at']}: {fault['message']}" for fault in faults[:3])
    return problem(400, "invalid_input", detail, errors=faults)


async def _http_error(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = str(error.detail) if isinstance(error, HTTPException) else ""
    headers = error.headers if isinstance(error, HTTPException) else None
    return problem(status, _CODES.get(status, "bad_request"), detail, headers=headers)

"""The ASGI application: routes, errors, and the gate around them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

import umi
from umi.errors import UmiError
from umi.server import openapi, resource, site
from umi.server.bare import bare_api
from umi.server.gate import MCP_PREFIX, Gate
from umi.server.mem0.app import is_mem0, make_mem0, with_plain_errors
from umi.server.paths import only_known
from umi.server.problems import of_error, problem
from umi.server.routes import (
    archiving,
    correcting,
    erasing,
    following,
    keyring,
    looking,
    recalling,
    remembering,
    surroundings,
    uploading,
)
from umi.server.service import Service

_CODES: Final = {404: "no_such_path", 405: "no_such_method", 413: "body_too_long"}
# In place of pydantic's words, which know no media type.
_MESSAGES: Final = {"model_attributes_type": "give a JSON object, with Content-Type: application/json"}
_BOUNDS: Final = ("ge", "le")  # as pydantic calls them
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
    api = bare_api(
        service,
        {UmiError: _umi_error, RequestValidationError: _invalid, HTTPException: _http_error},
        title="Umi",
        version=umi.__version__,
        generate_unique_id_function=_operation_id,
    )
    spaces = APIRouter(prefix="/v1/namespaces/{namespace}")
    # Routes are tried one after the other: what is asked for most comes first.
    for group in (recalling, remembering, correcting, erasing, following, looking, archiving, uploading):
        spaces.include_router(group.router)
    for router in (spaces, surroundings.router, keyring.router):
        api.include_router(router, dependencies=[Depends(only_known)])
    api.include_router(resource.router)
    document = cache(lambda: JSONResponse(openapi.document(api)).body)
    api.add_route(
        "/openapi.json", lambda _: Response(document(), media_type="application/json"), include_in_schema=False
    )
    for path in ("/", f"{site.PREFIX}{{path:path}}"):
        api.add_route(path, site.answer, include_in_schema=False)
    api.add_route("/docs", lambda _: _page("docs.html", "text/html"), include_in_schema=False)
    api.add_route("/docs.js", lambda _: _page("docs.js", "text/javascript"), include_in_schema=False)
    return api


def _operation_id(route: APIRoute) -> str:
    """What generated clients call an operation: the route's name, such as `list_episodes`, without the path."""
    return route.name.rstrip("_")


def _page(name: str, kind: str) -> Response:
    content = files("umi.server").joinpath("pages", name).read_text("utf-8")
    return Response(content, media_type=kind, headers={"Content-Security-Policy": _POLICY})


async def _umi_error(_: Request, error: UmiError) -> Response:
    return of_error(error)


async def _invalid(_: Request, error: RequestValidationError) -> Response:
    found = error.errors()
    faults = [
        {"at": ".".join(map(str, one["loc"])), "message": _MESSAGES.get(one["type"], one["msg"])} for one in found
    ]
    detail = "; ".join(f"{fault['at']}: {fault['message']}" for fault in faults[:3])
    bounds = (
        (bound, one["input"]) for one in found for bound in map(one.get("ctx", {}).get, _BOUNDS) if bound is not None
    )
    limit, value = next(bounds, (None, None))
    return problem(400, "invalid_input", detail, errors=faults, limit=limit, value=value)


async def _http_error(_: Request, error: HTTPException) -> Response:
    status = error.status_code
    return problem(status, _CODES.get(status, "bad_request"), str(error.detail), headers=error.headers)

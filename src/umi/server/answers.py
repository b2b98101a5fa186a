"""Umi's records as answers: the fields of docs/reference.md, as JSON."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import TypeAdapter
from starlette.responses import Response


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """What writes and reads a type as JSON."""
    return TypeAdapter(kind)


def reply(value: Any, kind: Any = None, *, status: int = 200) -> Response:
    """A record as the answer; `kind` is its type where that is no class, such as `tuple[Fact, ...]`."""
    of: Any = kind or type(value)
    return Response(adapter(of).dump_json(value), status, media_type="application/json")


def answers(kind: Any, status: int = 200, *, also: dict[int | str, Any] | None = None) -> dict[str, Any]:
    """The arguments of a route that answers with `reply`, so that OpenAPI knows the shape; `also` are further statuses."""
    return {
        "response_model": None,
        "response_class": Response,
        "status_code": status,
        "responses": {status: {"model": kind}, **(also or {})},
    }

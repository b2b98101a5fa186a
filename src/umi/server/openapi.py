"""The OpenAPI document: what FastAPI derives from the routes, with the problems that every one of them may answer with."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from umi.server.problems import MEDIA_TYPE, Problem

_PROBLEMS: Final = {
    400: "A value is outside its limits, or the request cannot be read.",
    401: "The key is missing, unknown, expired or revoked.",
    403: "The key lacks the right, whether the namespace is there or not.",
    404: "No such id in this namespace.",
    408: "The body did not come in time.",
    409: "It contradicts what is there, or the same is under way.",
    413: "The body is too long.",
    421: "The Host is not this server's.",
    422: "The Idempotency-Key, or a message's id, was used before with other content.",
    429: "Too many requests with this key; see Retry-After.",
    431: "Path and headers are too long.",
    500: "A bug in Umi, or a damaged store.",
    501: "A model is not configured.",
    502: "A model or an embedder failed.",
    503: "Busy, or stopping; see Retry-After.",
    504: "It took too long.",
    507: "The disk is full; what was acknowledged is safe.",
}
_ABOUT: Final = """Memory for AI agents: what was said word for word, what holds now, what held then, and why it changed.

Errors are problem details (RFC 9457) with Umi's `code`. A name in a path may have any sign, percent-encoded, "/" as %2F."""
_METHODS: Final = ("get", "put", "post", "delete")


def document(api: FastAPI) -> dict[str, Any]:
    """The document of these routes."""
    made = get_openapi(title=api.title, version=api.version, description=_ABOUT, routes=api.routes)
    schemas: dict[str, Any] = made["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs", {}) | {"Problem": problem}
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    made["components"]["responses"] = {
        f"Problem{status}": {"description": text, "content": content} for status, text in _PROBLEMS.items()
    }
    made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    made["security"] = [{"key": []}, {}]
    for path in made["paths"].values():
        for method in _METHODS:
            if method in path:
                responses = path[method]["responses"]
                responses.pop("422", None)
                for status in _PROBLEMS:
                    responses.setdefault(str(status), {"$ref": f"#/components/responses/Problem{status}"})
    return made

"""What the routes of both dialects share: the caller's memories, ids in the query, and answers."""

from __future__ import annotations

import ast
import json
from typing import Annotated, Any, Final
from urllib.parse import unquote

from fastapi import Depends, Query, Request
from pydantic import AfterValidator
from starlette.responses import JSONResponse, Response

from umi import limits
from umi._compat.mem0 import access
from umi._compat.mem0.memories import Memories
from umi._compat.mem0.owners import KINDS, Owner
from umi.errors import InvalidInput
from umi.server.access import Right, Use
from umi.server.mem0.bodies import Given
from umi.server.paths import service_of, use_of
from umi.types import Degradation

_IGNORED: Final = "Umi-Ignored"
_SHOWN_COUNT_MAX: Final = 20
_FILTERS_CHARACTERS_MAX: Final = 10_000


def answer(value: Any, body: Given | None = None) -> Response:
    """An answer; what the body had that does nothing here is named in a header."""
    ignored = [name for name in (body.ignored() if body else []) if name.isascii() and name.isidentifier()]
    headers = {_IGNORED: ", ".join(ignored[:_SHOWN_COUNT_MAX])} if ignored else None
    return JSONResponse(value, headers=headers)


def read(value: Any, body: Given | None = None) -> Response:
    """An answer that shows what is stored.

    Raises:
        InvalidInput: When it is longer than `SERVER_ANSWER_BYTES_MAX`.
    """
    made = answer(value, body)
    size = len(made.body)
    if size > limits.SERVER_ANSWER_BYTES_MAX:
        raise InvalidInput(
            f"the answer has {size:,} bytes, the limit is {limits.SERVER_ANSWER_BYTES_MAX:,}: ask for a smaller page_size or top_k, or for fields",
            limit=limits.SERVER_ANSWER_BYTES_MAX,
            value=size,
        )
    return made


def owner_of(kind: str, name: str) -> Owner:
    """The owner that a path names.

    Raises:
        InvalidInput: For a kind that is not known.
    """
    if kind not in KINDS:
        raise InvalidInput(f"type must be one of {', '.join(KINDS)}, got {kind!r:.40}")
    return Owner(kind, name)


class _Access:
    """The rights of a request's caller; what is done is noted for the audit log."""

    def __init__(self, use: Use) -> None:
        self._use = use

    def doing(self, action: str, namespace: str | None = None, right: access.Right | None = None) -> None:
        self._use.action, self._use.namespace = action, namespace
        self._use.right = None if right is None else Right(right)

    def may(self, right: access.Right, namespace: str) -> bool:
        return self._use.caller.may(Right(right), namespace)

    def require(self, right: access.Right, namespace: str) -> None:
        self._use.caller.require(Right(right), namespace)

    def done(self, records: int, degraded: tuple[Degradation, ...] = (), deferred: int = 0) -> None:
        self._use.records, self._use.degraded, self._use.deferred = records, degraded, deferred


def _memories(request: Request) -> Memories:
    service = service_of(request)
    return Memories(service.spaces, service.clock, _Access(use_of(request)))


def _ids(
    user_id: str | None = None,
    agent_id: str | None = None,
    app_id: str | None = None,
    run_id: str | None = None,
    filters: Annotated[str | None, Query(max_length=_FILTERS_CHARACTERS_MAX)] = None,
) -> dict[str, Any]:
    found: dict[str, Any] = {"user_id": user_id, "agent_id": agent_id, "app_id": app_id, "run_id": run_id}
    given = {} if filters is None else _literal(filters)
    for name, value in given.items():
        if name not in found:
            raise InvalidInput(f"filters: {name!r:.40} is none of {', '.join(found)}")
        if found[name] not in (None, value):
            raise InvalidInput(f"filters: {name} is {value!r:.40}, and {found[name]!r:.40} beside them: give one")
    return found | given


def _literal(text: str) -> dict[str, Any]:
    """Filters in a query: JSON, or as mem0's client sends them, the text of a Python dict."""
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, dict):
            return found
    raise InvalidInput("filters must be a JSON object")


Path = Annotated[str, AfterValidator(unquote)]
Mine = Annotated[Memories, Depends(_memories)]
Ids = Annotated[dict[str, Any], Depends(_ids)]

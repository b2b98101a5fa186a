"""Errors as problem details (RFC 9457): a status that a client can act on, and the `code` of the error."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel, Field
from starlette.responses import Response

from umi import errors
from umi.errors import UmiError

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 1
SOON: Final = {"Retry-After": str(RETRY_AFTER_S)}

# The first class that an error is an instance of gives its status.
_STATUSES: Final[tuple[tuple[type[UmiError], int], ...]] = (
    (errors.NotFound, 404),
    (errors.InvalidInput, 400),
    (errors.IdempotencyConflict, 422),
    (errors.EvolutionError, 409),
    (errors.PreviewOutdated, 409),
    (errors.StoreFull, 507),
    (errors.StoreBusy, 503),
    (errors.StoreUnavailable, 503),
    (errors.RestoreConflict, 409),
    (errors.EmbedderBusy, 503),
    (errors.EmbeddingError, 502),
    (errors.LLMError.NotConfigured, 501),
    (errors.LLMError, 502),
    (errors.Closed, 503),
)


class Fault(BaseModel):
    """One field of a request that is not as it should be."""

    at: str = Field(description="Where: body.query, path.id, ...")
    message: str


class Problem(BaseModel):
    """What went wrong, as RFC 9457 has it, and what Umi adds."""

    type: str = Field(default="about:blank", examples=["about:blank"])
    title: str = Field(examples=["Bad Request"])
    status: int = Field(examples=[400])
    detail: str = Field(examples=["limit is 5,000, it must lie in 1..1,000"])
    code: str = Field(description="The kind of error, the same in every version.", examples=["invalid_input"])
    limit: str | float | None = Field(default=None, description="The limit that was passed.", examples=["1..1,000"])
    value: Any = Field(default=None, description="The value that passed it.", examples=[5000])
    errors: list[Fault] | None = Field(default=None, description="Each field that is wrong.")


class Refused(Exception):  # noqa: N818 - it ends a request, and nothing is wrong with Umi
    """Ends a request with this status and code."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})

    def response(self) -> Response:
        """The answer."""
        return problem(self.status, self.code, self.detail, headers=self.headers)


def problem(status: int, code: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """An answer with a problem in it; what is None is left out."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, "code": code}
    body |= {key: value for key, value in more.items() if value is not None}
    # ASCII, because a detail may quote half of a surrogate pair, which no UTF-8 has.
    content = json.dumps(body, ensure_ascii=True, allow_nan=False)
    return Response(content, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def bug() -> Response:
    """The answer to an error that nobody expected."""
    return problem(500, "bug", "a bug in Umi, not your fault; the server's log has it")


def of_error(error: UmiError) -> Response:
    """The answer to an error of Umi."""
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
    wish = getattr(error, "retry_after_s", None)
    headers = {"Retry-After": str(math.ceil(wish or RETRY_AFTER_S))} if status == 503 else {}
    limit, value = getattr(error, "limit", None), getattr(error, "value", None)
    return problem(status, error.code, str(error), headers=headers, limit=limit, value=value)

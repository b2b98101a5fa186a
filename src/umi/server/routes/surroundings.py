"""What is not about one namespace: the list of them, and whether the server is well."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

import umi
from umi.errors import InvalidInput, StoreError
from umi.memory import Memory
from umi.server.access import Right
from umi.server.answers import answers, reply
from umi.server.bounded import check_limit, fitting
from umi.server.paths import LIMIT_DEFAULT, After, Limit, service_of, use_of
from umi.server.problems import Refused
from umi.types import NamespaceInfo

router = APIRouter()
log = logging.getLogger("umi.server")


class Namespaces(BaseModel):
    """A page of namespaces by name; give `next` back as `after` for the following one."""

    items: list[NamespaceInfo]
    next: str | None = None


class Granted(BaseModel):
    """Rights in one namespace, or in all whose names begin as it does before its final "*"."""

    namespace: str
    rights: list[Right]


class Me(BaseModel):
    """Who the key or token is, and what it may do. `needs_key` is false where nobody ever made one: then everybody on this machine may do everything.

    `learns` says whether feedback is taken, `demo` names the namespace of the tour where the server shows it.
    """

    id: str
    grants: list[Granted]
    needs_key: bool
    learns: bool
    demo: str | None
    version: str


class Health(BaseModel):
    """How the server is."""

    status: str


@router.get("/v1/namespaces", tags=["namespaces"], summary="List namespaces", **answers(Namespaces))
async def list_namespaces(request: Request, limit: Limit = LIMIT_DEFAULT, after: After = None) -> Response:
    """The namespaces that the key may read, by name, and how much each holds."""
    service, use = service_of(request), use_of(request)
    use.action = "list_namespaces"
    check_limit(limit)
    found = [
        one
        for one in await service.memory.namespaces()
        if (after is None or one.name > after) and use.caller.may(Right.READ, one.name)
    ]
    shown = fitting(found, NamespaceInfo, limit)
    return reply(Namespaces(items=shown, next=shown[-1].name if len(found) > len(shown) else None))


@router.get("/v1/me", tags=["namespaces"], summary="Who am I?", **answers(Me))
async def me(request: Request) -> Response:
    """What the key of this request may do, so that a client offers only that. `learns` says whether feedback is taken."""
    service, use = service_of(request), use_of(request)
    use.action = "me"
    grants = [Granted(namespace=one.namespace, rights=list(one.rights)) for one in use.caller.grants]
    return reply(
        Me(
            id=use.caller.id,
            grants=grants,
            needs_key=service.verifier is not None,
            learns=_learns(service.memory),
            demo=service.settings.demo,
            version=umi.__version__,
        )
    )


def _learns(memory: Memory) -> bool:
    try:
        return memory.learning is not None
    except InvalidInput:
        return False


@router.get("/healthz", tags=["health"], summary="Is it alive?", **answers(Health))
async def healthz() -> Response:
    """The process answers."""
    return reply(Health(status="ok"))


@router.get(
    "/metrics",
    tags=["health"],
    summary="Metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus text"}},
)
async def metrics(request: Request) -> Response:
    """Counts and times of requests by action and status, and sizes of the store. With keys: for who administers all namespaces."""
    service, use = service_of(request), use_of(request)
    use.action = "metrics"
    use.caller.require_operator()
    stats = await service.memory.stats()
    gauges = {
        "umi_store_bytes": ("Size of the store's files.", stats.store_bytes),
        "umi_cache_bytes": ("Memory that caches take.", stats.cache_bytes),
        "umi_namespaces_ready": ("Namespaces that are kept ready.", len(service.spaces)),
        "umi_streams": ("Streams of changes that are open.", service.streams),
    }
    return Response(service.metrics.text(gauges), media_type="text/plain; version=0.0.4")


@router.get("/readyz", tags=["health"], summary="Can it serve?", **answers(Health))
async def readyz(request: Request) -> Response:
    """The store can be read. A store that cannot: 503."""
    try:
        await service_of(request).memory.waiting(limit=1)
    except StoreError as error:
        # Whoever asks needs no key, and the error may name the store's server and user.
        log.warning("not ready: %s", error)
        raise Refused(503, error.code, "the store cannot be read now; the server's log says why") from error
    return reply(Health(status="ok"))

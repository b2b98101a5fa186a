"""Who may use the server: keys listed, made and revoked by an operator."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from umi import SystemEntropy
from umi.errors import NotFound
from umi.limits import SERVER_KEY_DAYS_MAX
from umi.server.access import ALL, Grant, Right
from umi.server.answers import answers, reply
from umi.server.bodies import Body
from umi.server.keys import Key
from umi.server.paths import service_of, use_of
from umi.server.problems import Refused

router = APIRouter(tags=["keys"])


class KeyInfo(BaseModel):
    """A key without its secret; `used_at` is exact to a minute."""

    id: str
    name: str
    grants: list[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


class KeyList(BaseModel):
    """Every key that was made, the oldest first, those that ended too."""

    items: list[KeyInfo]


class MadeKey(BaseModel):
    """A new key. `token` is what its user sends; it is kept nowhere."""

    token: str
    key: KeyInfo


class KeyBody(Body):
    """What a key may do."""

    name: str = Field(default="", description="What it is for; at most 256 bytes.", examples=["editor"])
    grants: list[str] = Field(
        description="NAMESPACE=RIGHTS: a namespace, or a prefix and '*'; rights of read, write, erase, admin, or all.",
        examples=[["alice=read,write"]],
        min_length=1,
        max_length=100,
    )
    expires_in_days: int | None = Field(default=None, ge=1, le=SERVER_KEY_DAYS_MAX, description="Default: never.")


@router.get("/v1/keys", summary="List keys", **answers(KeyList))
async def list_keys(request: Request) -> Response:
    """Every key, without secrets. Needs the right to admin in '*'."""
    _require_operator(request, "list_keys")
    ring = service_of(request).credentials.ring()
    return reply(KeyList(items=[_info(key) for key in ring.all()] if ring else []))


@router.post("/v1/keys", summary="Make a key", **answers(MadeKey, 201))
async def create_key(request: Request, body: KeyBody) -> Response:
    """Make a key and show its token, once. Needs all rights in '*', since nobody may grant what they have not. From the first key on every request needs one."""
    _require_operator(request, "create_key")
    service, caller = service_of(request), use_of(request).caller
    if not all(any(one.namespace == "*" and right in one.rights for one in caller.grants) for right in ALL):
        raise Refused(403, "forbidden", "this needs all rights in '*': nobody may grant what they have not")
    grants = [Grant.parse(one) for one in body.grants]
    days = body.expires_in_days
    expires_at = None if days is None else service.clock.now() + timedelta(days=days)
    ring = service.credentials.ring(create=True)
    if ring is None:
        raise Refused(501, "no_keys", "this server takes no keys")
    key, token = ring.create(SystemEntropy(), body.name, grants, expires_at)
    return reply(MadeKey(token=token, key=_info(key)), status=201)


@router.delete("/v1/keys/{id}", summary="Revoke a key", **answers(KeyInfo))
async def revoke_key(request: Request, id: Annotated[str, Path(description="The id of a key.")]) -> Response:  # noqa: A002 - the path's name
    """End a key now. Needs the right to admin in '*'. Unknown or ended before: 404."""
    _require_operator(request, "revoke_key")
    ring = service_of(request).credentials.ring()
    if ring is None or not ring.revoke(id):
        raise NotFound(f"no key {id!r:.40} that works")
    return reply(next(_info(key) for key in ring.all() if key.id == id))


def _require_operator(request: Request, action: str) -> None:
    use = use_of(request)
    use.action, use.right = action, Right.ADMIN
    use.caller.require_operator()


def _info(key: Key) -> KeyInfo:
    grants = [str(grant) for grant in key.grants]
    return KeyInfo(
        id=key.id,
        name=key.name,
        grants=grants,
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        used_at=key.used_at,
    )

"""What the caller knows better: relations recorded, settled, taken back."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from umi.server.answers import answers, reply
from umi.server.bodies import RelateBody, ResolveBody
from umi.server.paths import Changing, Id
from umi.types import EvolutionRelation

router = APIRouter(tags=["corrections"])


@router.post("/relate", summary="Relate two statements", **answers(EvolutionRelation, 201))
async def relate(space: Changing, body: RelateBody) -> Response:
    """Record that the newer statement updates, extends, derives from or contradicts the older one, and act on it."""
    return reply(await space.memory.relate(body.old_id, body.new_id, body.type, body.reason), status=201)


@router.post("/relations/{id}/undo", summary="Take a relation back", **answers(EvolutionRelation))
async def undo(space: Changing, id: Id) -> Response:  # noqa: A002 - the path's name
    """What it closed holds again, what it made stale is fresh again. Undone before: 409."""
    return reply(await space.memory.undo(id))


@router.post("/relations/{id}/resolve", summary="Settle a contradiction", **answers(EvolutionRelation))
async def resolve(space: Changing, id: Id, body: ResolveBody) -> Response:  # noqa: A002 - the path's name
    """In favour of the new side, the old one, or both. Not an open contradiction: 409."""
    return reply(await space.memory.resolve(id, body.keep))

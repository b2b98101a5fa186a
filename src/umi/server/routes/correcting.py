"""What the caller knows better: relations recorded, settled, taken back."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from umi.server import bounded
from umi.server.answers import answers, reply
from umi.server.bodies import RelateBody, ResolveBody
from umi.server.paths import LIMIT_DEFAULT, After, Changing, Id, Limit, Reading
from umi.types import EvolutionRelation, Undecided, UndecidedPage, UndoPreview

router = APIRouter(tags=["corrections"])


@router.post("/relate", summary="Relate two statements", **answers(EvolutionRelation, 201))
async def relate(space: Changing, body: RelateBody) -> Response:
    """Record that the newer statement updates, extends, derives from or contradicts the older one, and act on it."""
    return reply(await space.memory.relate(body.old_id, body.new_id, body.type, body.reason), status=201)


@router.post("/relations/{id}/undo", summary="Take a relation back", **answers(EvolutionRelation))
async def undo(space: Changing, id: Id) -> Response:  # noqa: A002 - the path's name
    """What it closed holds again, what it made stale is fresh again. Undone before: 409."""
    return reply(await space.memory.undo(id))


@router.get("/relations/{id}/undo", summary="Preview taking a relation back", **answers(UndoPreview))
async def preview_undo(space: Changing, id: Id) -> Response:  # noqa: A002 - the path's name
    """Which statements would hold again, and which no longer; nothing is changed. Undone before: 409."""
    return bounded.whole(await space.memory.preview_undo(id))


@router.get("/undecided", summary="List what waits for a decision", **answers(UndecidedPage))
async def list_undecided(space: Reading, limit: Limit = LIMIT_DEFAULT, after: After = None) -> Response:
    """Open contradictions, and updates too unsure to act, newest first, a page at a time. `resolve` decides one."""
    return await bounded.page(space.memory.undecided, Undecided, limit, after)


@router.post("/relations/{id}/resolve", summary="Settle a contradiction", **answers(EvolutionRelation))
async def resolve(space: Changing, id: Id, body: ResolveBody) -> Response:  # noqa: A002 - the path's name
    """In favour of the new side, the old one, or both: of a contradiction, or of an update that was too unsure to act. Neither, or settled before: 409."""
    return reply(await space.memory.resolve(id, body.keep))

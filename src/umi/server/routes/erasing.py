"""What goes for good: forget, and erasures, which are previewed first."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any, Final

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from umi import limits
from umi.errors import InvalidInput, PreviewOutdated
from umi.server import bounded
from umi.server.access import Right
from umi.server.answers import answers, reply
from umi.server.bodies import ConfirmBody, ErasureBody, ForgetBody
from umi.server.bounded import LEFT_OUT, fitting_together
from umi.server.paths import Erasing, Id, Previewing, Space, use_of
from umi.types import Episode, ErasureCheck, ErasurePreview, ErasureReceipt, ForgetPreview

router = APIRouter(tags=["erasure"])

_SHOWN: Final = ("deleted", "redacted", "left")


class Forgotten(BaseModel):
    """How many messages, or statements, were deleted."""

    deleted: int


class ErasurePlan(BaseModel):
    """What an erasure would take now. `confirm` is for POST erasures, and holds as long as nothing of it changes."""

    confirm: str
    preview: ErasurePreview


@router.post("/forget", summary="Forget", **answers(Forgotten))
async def forget(space: Erasing, body: ForgetBody) -> Response:
    """Delete one message or statement by its id, or those of a filter, for good. Unknown ones delete nothing."""
    return reply(Forgotten(deleted=await space.memory.forget(body.id, where=body.where, types=body.types)))


@router.get("/forget/{id}", summary="Preview forgetting", **answers(ForgetPreview))
async def preview_forget(space: Previewing, id: Id) -> Response:  # noqa: A002 - the path's name
    """What forgetting a message or a statement would delete, and what was concluded from it; nothing is deleted."""
    return bounded.whole(await space.memory.preview_forget(id))


@router.post("/erasures/preview", summary="Preview an erasure", **answers(ErasurePlan))
async def preview_erasure(space: Previewing, body: ErasureBody) -> Response:
    """Show what an erasure would delete, and what it would leave; nothing is deleted.

    Of each at most 100 messages are shown, and about 8 MiB of all; the header `Umi-Left-Out` says how many more there are.
    """
    found = await _preview(space, body)
    # The digest is of all of it; `counts` says how much that is.
    lists: dict[str, tuple[Episode, ...]] = {name: getattr(found, name) for name in _SHOWN}
    shown = fitting_together(lists, Episode, limits.ERASURE_SHOWN_COUNT_MAX)
    left_out = sum(len(rows) - len(shown[name]) for name, rows in lists.items())
    answer = reply(ErasurePlan(confirm=_token(space, body, found), preview=replace(found, **shown)))  # type: ignore[arg-type]
    if left_out:
        answer.headers[LEFT_OUT] = str(left_out)
    return answer


@router.post("/erasures", summary="Erase", **answers(ErasureReceipt, 201))
async def erase(space: Erasing, body: ConfirmBody) -> Response:
    """Delete what a preview showed, with everything derived from it. Something of it has changed since: 409, preview again.

    The receipt has none of the text; keep it to prove later that the text is gone.
    """
    shown = await _preview(space, body)
    if body.confirm != _token(space, body, shown):
        raise PreviewOutdated("this is not what a preview showed last: preview again, and give its `confirm`")
    if body.everything:
        return reply(await space.memory.erase_namespace(previewed=shown), status=201)
    receipt = await space.memory.erase(
        body.subject, session=body.session, where=body.where, derived=body.derived, previewed=shown
    )
    return reply(receipt, status=201)


@router.post("/erasures/verify", summary="Verify an erasure", **answers(ErasureCheck))
async def verify_erasure(space: Previewing, request: Request, body: ErasureReceipt) -> Response:
    """Search every byte of the store for what a receipt says is gone. Needs the right to admin in '*'.

    A receipt that somebody made up would test a guess about the words of other namespaces.
    """
    use_of(request).caller.require_operator(
        "this searches the whole store, so it needs the right to admin in '*'; `umi doctor` can do it too"
    )
    return reply(await space.memory.verify_erasure(body))


async def _preview(space: Space, body: ErasureBody) -> ErasurePreview:
    """What would go.

    Raises:
        InvalidInput: For none or several of subject, session, where, everything.
        Refused: For everything, without the right to administer.
    """
    if not body.everything:
        return await space.memory.preview_erasure(
            body.subject, session=body.session, where=body.where, derived=body.derived
        )
    if (body.subject, body.session, body.where) != (None, None, None):
        raise InvalidInput("give everything alone: it takes all of the namespace")
    space.caller.require(Right.ADMIN, space.name)
    return await space.memory.preview_namespace_erasure()


def _token(space: Space, body: ErasureBody, found: ErasurePreview) -> str:
    """A digest of what is asked for and of what that would take now."""
    asked: dict[str, Any] = body.model_dump(exclude={"confirm"})
    ids = [[episode.id for episode in some] for some in (found.deleted, found.redacted)]
    packed = json.dumps([space.name, asked, ids, dict(found.counts)], sort_keys=True)
    return hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()

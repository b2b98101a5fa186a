"""What goes in: messages, and facts that a caller knows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from starlette.responses import Response

from umi.errors import InvalidInput, NotFound
from umi.server import bounded
from umi.server.answers import answers, reply
from umi.server.bodies import FactBody, FeedbackBody, RememberBody
from umi.server.paths import (
    LIMIT_DEFAULT,
    After,
    Id,
    KindsOf,
    Limit,
    OrderOf,
    Reading,
    Space,
    Subject,
    WhereText,
    Writing,
    use_of,
    where_of,
)
from umi.server.problems import SOON, Refused
from umi.types import Episode, EpisodePage, FeedbackReceipt, RememberReceipt, SessionInfo, SessionPage

router = APIRouter(tags=["messages"])

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="The same key and body again stores nothing and gives the first receipt, `replayed`.",
    ),
]
_REPLAYED: dict[int | str, Any] = {200: {"model": RememberReceipt, "description": "Known already: nothing was stored."}}


@router.post("/episodes", summary="Remember", **answers(RememberReceipt, 201, also=_REPLAYED))
async def remember(
    space: Writing, body: RememberBody, request: Request, idempotency_key: IdempotencyKey = None
) -> Response:
    """Keep one message, or several as one atomic unit, word for word, and notice what changed.

    The answer comes when everything is durable. The same again, by key or by the messages' ids, stores nothing: status 200, `replayed`.
    """
    with space.service.underway.only(space.name, idempotency_key) as alone:
        if not alone:
            raise Refused(409, "in_progress", "a request with this Idempotency-Key is under way", SOON)
        receipt = await space.memory.remember(
            _messages(body),
            at=body.at,
            speaker=body.speaker,
            role=body.role,
            session=body.session,
            metadata=body.metadata,
            origin=body.origin,
            expires_at=body.expires_at,
            ttl=body.ttl_s,
            idempotency_key=idempotency_key,
            extract_entities=body.extract_entities,
            track_evolution=body.track_evolution,
            derived_from=body.derived_from,
            read=body.read,
        )
    use = use_of(request)
    use.records, use.degraded, use.deferred = len(receipt.episode_ids), receipt.degraded, len(receipt.deferred)
    return _received(space, receipt)


@router.get("/episodes", summary="List messages", **answers(EpisodePage))
async def list_episodes(
    space: Reading,
    limit: Limit = LIMIT_DEFAULT,
    after: After = None,
    order: OrderOf = "oldest",
    where: WhereText = None,
    types: KindsOf = None,
) -> Response:
    """Messages in order of arrival, a page at a time. A page of long messages ends before `limit`; go on from `next`."""
    kept: Any = where_of(where)
    fetch = partial(space.memory.episodes, order=order, where=kept, types=types)
    return await bounded.page(fetch, Episode, limit, after)


@router.get("/episodes/{id}", summary="One message", **answers(Episode))
async def get_episode(space: Reading, id: Id) -> Response:  # noqa: A002 - the path's name
    """A message, by Umi's id or by yours."""
    found = await space.memory.get(id)
    if not isinstance(found, Episode):
        raise NotFound(f"no message {id!r:.80} in this namespace")
    return reply(found)


@router.get("/sessions", summary="List sessions", **answers(SessionPage))
async def list_sessions(space: Reading, limit: Limit = LIMIT_DEFAULT, after: After = None) -> Response:
    """The sessions by name: how many messages, when, by whom."""
    return await bounded.page(space.memory.sessions, SessionInfo, limit, after)


@router.put("/facts/{subject}/{attribute}", summary="Set a fact", **answers(RememberReceipt, 201, also=_REPLAYED))
async def set_fact(space: Writing, subject: Subject, attribute: Subject, body: FactBody) -> Response:
    """Set one attribute of a subject, as you know it. The older value is superseded, and kept in the history."""
    receipt = await space.memory.set_fact(subject, attribute, body.value, at=body.at, reason=body.reason)
    if not space.may_be_read:
        receipt = RememberReceipt((), (), ())  # whether the value was known already is what a guess would learn
    return _received(space, receipt)


@router.post("/feedback", summary="Say how it went", **answers(FeedbackReceipt))
async def feedback(space: Writing, body: FeedbackBody) -> Response:
    """Say how the task ended that a recall served. Needs a server that learns: `umi serve --learn`."""
    return reply(await space.memory.feedback(**body.model_dump()))


def _received(space: Space, receipt: RememberReceipt) -> Response:
    """The receipt; who may not read is not told what was known before."""
    if not space.may_be_read:
        receipt = replace(receipt, entities=(), evolutions=())
    return reply(receipt, status=200 if receipt.replayed else 201)


def _messages(body: RememberBody) -> list[dict[str, Any]] | dict[str, Any]:
    """The messages as `Memory.remember` takes them.

    Raises:
        InvalidInput: For neither `content` nor `messages`, for both, or for an id beside several.
    """
    if (body.content is None) == (body.messages is None):
        raise InvalidInput("give content, for one message, or messages, one of them")
    if body.messages is None:
        return {"content": body.content, "id": body.id}
    if body.id is not None:
        raise InvalidInput("id belongs to each of the messages")
    return [one.model_dump() for one in body.messages]

"""What happened in a namespace: a page of changes, or a stream of them as they come (server-sent events)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from umi import limits
from umi.errors import InvalidInput, UmiError
from umi.server.access import Use
from umi.server.answers import adapter, answers, reply
from umi.server.bounded import check_limit
from umi.server.paths import LIMIT_DEFAULT, Limit, Reading, Space, use_of
from umi.server.problems import SOON, Refused
from umi.types import Change

router = APIRouter(tags=["changes"])
log = logging.getLogger("umi.server")


class Changes(BaseModel):
    """A page of changes; give `next` back as `after` for what follows, or later for what is new."""

    items: list[Change]
    next: int


class Last(BaseModel):
    """The sequence of the last write; 0 before the first."""

    sequence: int


_STREAM: Final = "text/event-stream"
_EVENTS: Final[dict[int | str, Any]] = {
    200: {"model": Changes, "content": {_STREAM: {"schema": {"type": "string"}}}, "description": "A page, or a stream."}
}
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get("/changes", summary="Changes", **answers(Changes, also=_EVENTS))
async def changes(
    space: Reading,
    request: Request,
    after: Annotated[int, Query(description="Only what writes above this sequence did.")] = 0,
    limit: Limit = LIMIT_DEFAULT,
    last_event_id: Annotated[str | None, Header(description="Instead of `after`, as an EventSource sends it.")] = None,
) -> Response:
    """What writes did, oldest first, by ids. A write is never cut in two, so a page may be longer than `limit`.

    With `Accept: text/event-stream` it goes on: each change is an event named by its kind; the last of a write has the write's sequence
    as its `id`, from which a client that comes again goes on by `Last-Event-ID`.
    """
    start = _sequence(last_event_id) if last_event_id is not None else after
    if _STREAM not in request.headers.get("accept", ""):
        return reply(await _page(space, start, limit))
    await anext(space.memory.changes(start), None)  # a wrong `after` is told before the stream begins
    if space.service.streams >= limits.SERVER_STREAMS_COUNT_MAX:
        raise Refused(503, "server_busy", f"{limits.SERVER_STREAMS_COUNT_MAX} streams are open", SOON)
    return StreamingResponse(_stream(space, use_of(request), start), media_type=_STREAM, headers=_HEADERS)


@router.get("/head", summary="Last write", **answers(Last))
async def head(space: Reading) -> Response:
    """The sequence of the last write: give it to `changes` as `after` to be told only what is new."""
    return reply(Last(sequence=await space.memory.sequence()))


async def _page(space: Space, after: int, limit: int) -> Changes:
    check_limit(limit)
    found: list[Change] = []
    async for one in space.memory.changes(after):
        if len(found) >= limit and one.sequence > found[-1].sequence:
            break
        found.append(one)
    return Changes(items=found, next=found[-1].sequence if found else after)


async def _stream(space: Space, use: Use, after: int) -> AsyncIterator[bytes]:
    """Events until the client goes, the server stops, the key ends or the store cannot be read."""
    service = space.service
    service.streams += 1
    try:
        quiet_s = checked_s = 0.0
        yield b": follows\n\n"
        while not service.stopping.is_set():
            held: Change | None = None
            async for one in space.memory.changes(after):
                if held is not None:
                    yield _event(held, is_last=one.sequence > held.sequence)
                held = one
            if held is not None:
                yield _event(held, is_last=True)
                after, quiet_s = held.sequence, 0.0
            elif quiet_s >= limits.SERVER_HEARTBEAT_S:
                quiet_s = 0.0
                yield b": still there\n\n"
            if checked_s >= limits.SERVER_HEARTBEAT_S:
                checked_s = 0.0
                if not await use.is_valid():
                    return
            with suppress(TimeoutError):
                await asyncio.wait_for(service.stopping.wait(), limits.CHANGES_POLL_S)
            quiet_s += limits.CHANGES_POLL_S
            checked_s += limits.CHANGES_POLL_S
    except UmiError as error:
        log.warning("a stream of changes ended: %s", error)  # the client comes again and misses nothing
    finally:
        service.streams -= 1


def _event(change: Change, *, is_last: bool) -> bytes:
    """A change as an event. Only the last of a write has an id: a client that goes on from it has missed nothing."""
    id_ = f"id: {change.sequence}\n" if is_last else ""
    return f"{id_}event: {change.kind}\ndata: ".encode() + adapter(Change).dump_json(change) + b"\n\n"


def _sequence(text: str) -> int:
    if text.isascii() and text.isdecimal() and int(text[:20]) <= limits.SEQUENCE_COUNT_MAX:
        return int(text)
    raise InvalidInput(f"Last-Event-ID {text!r:.40} is no sequence")

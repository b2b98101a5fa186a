"""Files of other programs: a chat export, notes, a table, sent as they are and remembered message by message."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from umi import limits
from umi.errors import InvalidInput, UmiError
from umi.server.answers import adapter
from umi.server.bodies import Moment
from umi.server.file_messages import store
from umi.server.files import FileItem
from umi.server.paths import Space, Writing
from umi.server.problems import Refused

router = APIRouter(tags=["upkeep"])

_MEDIA_TYPE: Final = "application/x-ndjson"
_BINARY: Final[dict[str, Any]] = {"schema": {"type": "string", "format": "binary"}}
_ANSWER: Final[dict[int | str, Any]] = {
    200: {"description": "JSON Lines: `FileProgress`, the last with `done`.", "content": {_MEDIA_TYPE: _BINARY}}
}
_BODY: Final = {"requestBody": {"required": True, "content": {"application/octet-stream": _BINARY}}}
_SHOWN_COUNT: Final = 20  # rejected records that are named
_NAME_DEFAULT: Final = "file"


class RejectedRecord(BaseModel):
    """A record that could not be kept: where it stands, and why."""

    line: int
    where: str
    reason: str


class FileProgress(BaseModel):
    """How far a file is remembered. `known_already` are messages that an earlier run stored; `skipped` counts what is no message, by reason; `error` says why the rest was not read; it is then not `done`.

    Who may not read gets 0 for `known_already`, `statements` and `changes`, which depend on what was known before.
    """

    bytes: int
    bytes_done: int = 0
    messages: int = 0
    known_already: int = 0
    statements: int = 0
    changes: int = 0
    deferred: int = 0
    rejected_count: int = 0
    rejected: list[RejectedRecord] = Field(default_factory=list)
    skipped: dict[str, int] = Field(default_factory=dict)
    done: bool = False
    error: str | None = None


Name = Annotated[str, Query(description="What the file is called; its ending and its first records say what it is.")]
Speaker = Annotated[str | None, Query(description='Who speaks where the file does not say; the "you" of a chat.')]
Modified = Annotated[Moment | None, Query(description="When it was said where the file does not say. Default: now.")]
Zone = Annotated[str, Query(description="Zone of times that name none, such as Europe/Berlin.")]


@router.post(
    "/files", summary="Import a file", response_class=Response, responses=_ANSWER, openapi_extra=_BODY, status_code=200
)
async def import_file(
    space: Writing,
    request: Request,
    name: Name = _NAME_DEFAULT,
    speaker: Speaker = None,
    modified: Modified = None,
    timezone: Zone = "UTC",
) -> Response:
    """Remember a file of another program: ChatGPT's or Claude's export, Markdown, CSV, JSON Lines, mem0, LangGraph, plain text.

    The body is the file as it is. The answer is a line of progress for each batch. A file that is sent again stores nothing twice, so
    an import that broke off goes on when it is repeated.
    """
    reader = space.service.read_file
    if reader is None:
        raise Refused(501, "no_files", "this server takes no files; `umi import` does")
    spooled = tempfile.NamedTemporaryFile()  # noqa: SIM115 - it is closed when it is read
    try:
        async for chunk in request.stream():
            spooled.write(chunk)
        spooled.flush()
        size = spooled.tell()
        items = reader(Path(spooled.name), name, speaker=speaker, at=_moment(modified), zone=timezone)
        # A file that is none is told by the status.
        first = await asyncio.to_thread(_some, items)
    except BaseException:
        spooled.close()
        raise

    async def lines() -> AsyncIterator[bytes]:
        with spooled:
            async for progress in _remembered(space, first, items, FileProgress(bytes=size)):
                yield adapter(FileProgress).dump_json(progress) + b"\n"

    return StreamingResponse(lines(), media_type=_MEDIA_TYPE)


async def _remembered(
    space: Space, batch: list[FileItem], items: Iterator[FileItem], told: FileProgress
) -> AsyncIterator[FileProgress]:
    """Progress after each batch."""
    try:
        while batch:
            for one in batch:
                _note(told, one)
            await _store(space, batch, told)
            told.bytes_done = batch[-1].done_bytes
            yield told
            batch = await asyncio.to_thread(_some, items)
    except UmiError as error:
        told.error = str(error)
        yield told
        return
    if told.error is None:
        told.bytes_done, told.done = told.bytes, True
    yield told


def _some(items: Iterator[FileItem]) -> list[FileItem]:
    return list(islice(items, limits.BULK_BATCH_COUNT))


def _note(told: FileProgress, one: FileItem) -> None:
    if one.is_unread:
        told.error = told.error or f"line {one.line}, {one.where}: {one.reason}"
    elif one.is_rejected:
        told.rejected_count += 1
        if len(told.rejected) < _SHOWN_COUNT:
            told.rejected.append(RejectedRecord(line=one.line, where=one.where, reason=one.reason))
    elif one.message is None:
        told.skipped[one.reason] = told.skipped.get(one.reason, 0) + 1


async def _store(space: Space, batch: list[FileItem], told: FileProgress) -> None:
    kept = [(one, one.message) for one in batch if one.message is not None]
    stored = await store(space.memory, [message for _, message in kept])
    told.messages += stored.messages
    told.deferred += stored.deferred
    if space.may_be_read:
        told.known_already += stored.known_already
        told.statements += stored.statements
        told.changes += stored.changes
    for place, reason in stored.refused.items():
        _note(told, replace(kept[place][0], reason=reason, is_rejected=True))


def _moment(text: str | None) -> datetime | None:
    """A moment with a zone.

    Raises:
        InvalidInput: For a text that is none.
    """
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise InvalidInput(f"modified {text!r:.80} is no moment with a zone; write it as 2026-05-01T09:30Z")
    return found

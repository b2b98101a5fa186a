"""In and out as a whole: export and import, as streams, and upkeep."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from typing import IO, Any, Final

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from umi.errors import EmbedderMismatch, ExportDamaged, StoreVersion
from umi.server.answers import answers, reply
from umi.server.paths import Administering, KindsOf, Reading, WhereText, use_of, where_of
from umi.server.problems import Refused
from umi.types import MaintainReceipt, RestoreReceipt

router = APIRouter(tags=["upkeep"])

MEDIA_TYPE: Final = "application/x-ndjson"
_CHUNK_BYTES: Final = 1 << 18
_HEADER_BYTES_MAX: Final = 1 << 16  # of the first line of an export
_LINES: Final[dict[str, Any]] = {"schema": {"type": "string", "format": "binary"}}
_EXPORTED: Final[dict[int | str, Any]] = {200: {"description": "JSON Lines", "content": {MEDIA_TYPE: _LINES}}}
_IMPORTED: Final = {"requestBody": {"required": True, "content": {MEDIA_TYPE: _LINES}}}


@router.get("/export", summary="Export", response_class=Response, responses=_EXPORTED)
async def export(space: Reading, where: WhereText = None, types: KindsOf = None) -> Response:
    """This namespace as JSON Lines, as of one moment: messages, statements, relations, vectors. `umi restore` reads it too.

    With `where`, or `types`, only such messages and what was made of them.
    """
    kept: Any = where_of(where)
    # Into a file first: a slow client then holds no snapshot of the store, and what fails is told by the status.
    spooled: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when it is sent
    try:
        await space.memory.export(spooled, where=kept, types=types)  # type: ignore[arg-type]
        length = spooled.tell()
        spooled.seek(0)
    except BaseException:
        spooled.close()
        raise
    return StreamingResponse(_sent(spooled), media_type=MEDIA_TYPE, headers={"Content-Length": str(length)})


@router.post("/import", summary="Import", openapi_extra=_IMPORTED, **answers(RestoreReceipt))
async def import_(space: Administering, request: Request) -> Response:
    """Bring an export of a namespace back, into this one. Holds it something else: 409. An import that broke off goes on when it is sent again."""
    with tempfile.TemporaryFile() as spooled:
        async for chunk in request.stream():
            spooled.write(chunk)
        spooled.seek(0)
        # An export of a whole store goes to its own names, and these may be anybody's.
        if _scope(spooled) == "store":
            use_of(request).caller.require_operator(
                "this is an export of a whole store: it needs the right to admin in '*'"
            )
        try:
            return reply(await space.memory.restore(spooled))
        except (StoreVersion, EmbedderMismatch) as error:  # of what was sent, and nothing is wrong here
            raise Refused(409, error.code, str(error)) from error


@router.post("/maintain", summary="Maintain", **answers(MaintainReceipt))
async def maintain(space: Administering) -> Response:
    """Finish what a crash, a failing model or a failing embedder left, and clean the bytes of what was deleted."""
    return reply(await space.memory.maintain())


def _scope(stream: IO[bytes]) -> object:
    """What the first line of an export says that it holds: "namespace" or "store".

    Raises:
        ExportDamaged: When there is no such line.
    """
    line = stream.readline(_HEADER_BYTES_MAX)
    stream.seek(0)
    try:
        return json.loads(line)["umi_export"]["scope"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ExportDamaged("line 1 is not the beginning of an export of Umi") from None


async def _sent(spooled: IO[bytes]) -> AsyncIterator[bytes]:
    with spooled:
        while chunk := await asyncio.to_thread(spooled.read, _CHUNK_BYTES):
            yield chunk

"""MCP over stdin and stdout, for the process that starts it: one namespace, and every right on it."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from umi.errors import InvalidInput
from umi.memory import Memory
from umi.server import profiles
from umi.server.access import ANYBODY, Use
from umi.server.mcp_tools import Bound

CLIENTS: Final = ("claude", "cursor", "vscode")
_STDIN: Final = 0
_READ_BYTES: Final = 65_536


async def run(memory: Memory, namespace: str, *, read_only: bool, profile: str = profiles.UMI) -> None:
    """Answer on stdin and stdout until stdin ends, with the tools of a profile."""

    def bound(_: Context) -> Bound:
        return Bound(namespace, memory, ANYBODY, Use())

    await _serve(profiles.make(profile, bound, read_only=read_only))


async def _serve(server: MCPServer) -> None:
    """As `MCPServer.run_stdio_async`, which leaves what is no message unanswered, and at Ctrl-C waits for a further line."""
    low = server._lowlevel_server  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - it has no public name
    taken, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    unread = cast("anyio.AsyncFile[str]", _nothing())
    async with stdio_server(stdin=unread) as (_, write), anyio.create_task_group() as tasks:
        tasks.start_soon(_read, taken, write)
        await low.run(messages, write, low.create_initialization_options())


async def _nothing() -> AsyncIterator[str]:
    lines: tuple[str, ...] = ()
    for line in lines:
        yield line


async def _read(taken: MemoryObjectSendStream[SessionMessage | Exception], write: WriteStream[SessionMessage]) -> None:
    """Hand on the messages of stdin, and answer a line that is none: who sent it would wait for ever."""
    async with taken:
        async for line in _lines():
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError as error:
                if line.strip():
                    await write.send(SessionMessage(_refused(line, error)))
            else:
                await taken.send(SessionMessage(message))


async def _lines() -> AsyncIterator[str]:
    """The lines of stdin. Whoever waits for one cannot be woken, so it is a thread that the end of the process need not wait for."""
    loop, pieces, rest = asyncio.get_running_loop(), asyncio.Queue[bytes](1), bytearray()

    def read() -> None:
        piece = b"\n"
        with suppress(RuntimeError):  # the loop is closed
            while piece:
                piece = os.read(_STDIN, _READ_BYTES)
                asyncio.run_coroutine_threadsafe(pieces.put(piece), loop).result()

    threading.Thread(target=read, daemon=True).start()
    while piece := await pieces.get():
        rest += piece
        if b"\n" in piece:
            *whole, rest = rest.split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")


def _refused(line: str, error: ValidationError) -> JSONRPCError:
    (first, *_) = error.errors()
    try:
        given = json.loads(line, strict=False)
    except (ValueError, RecursionError):
        given = None
    id_ = given.get("id") if isinstance(given, dict) else None
    is_id = isinstance(id_, int | str) and not isinstance(id_, bool)
    code = PARSE_ERROR if first["type"] == "json_invalid" else INVALID_REQUEST
    return JSONRPCError(jsonrpc="2.0", id=id_ if is_id else None, error=ErrorData(code=code, message=first["msg"]))


def configuration(
    client: str,
    command: str,
    db: str,
    namespace: str,
    *,
    read_only: bool,
    profile: str = profiles.UMI,
    options: Sequence[str] = (),
) -> str:
    """What to put into a client's configuration so that it starts `umi mcp` on this file, as JSON.

    Args:
        client: "claude", "cursor" or "vscode".
        command: The path of `umi`.
        db: The memory's file; it is written as a whole path, since clients start servers anywhere.
        namespace: The namespace.
        read_only: Whether the server shall only read.
        profile: Whose tools it shall offer.
        options: Further options of `umi mcp`, such as those of models.

    Raises:
        InvalidInput: For a client that is not known.
    """
    if client not in CLIENTS:
        raise InvalidInput(f"client must be one of {', '.join(CLIENTS)}, got {client!r:.40}")
    profiles.check_profile(profile)
    is_path = "://" not in db and db != ":memory:"
    place = str(Path(db).absolute()) if is_path else db
    words = ["mcp", "--db", place, "--namespace", namespace, *(["--read-only"] if read_only else [])]
    words += [*([] if profile == profiles.UMI else ["--profile", profile]), *options]
    server: dict[str, Any] = {"command": command, "args": words}
    if client == "vscode":
        return json.dumps({"servers": {"umi": {"type": "stdio", **server}}}, indent=2)
    return json.dumps({"mcpServers": {"umi": server}}, indent=2)

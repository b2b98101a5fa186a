"""MCP clients for tests: over HTTP, over stdio, and calls that must succeed or fail."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import live_server
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


@asynccontextmanager
async def at(url: str, key: str | None = None) -> AsyncIterator[Client]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def by_stdio(db: Path, *words: str) -> Client:
    """A client that starts `umi mcp` itself, as an editor does."""
    command, *rest = live_server.UMI
    options = ["mcp", "--db", str(db), "--embedder", "none", *words]
    return Client(StdioServerParameters(command=command, args=[*rest, *options], env=dict(os.environ)))


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.content[0].text  # type: ignore[union-attr]
    found: dict[str, Any] = result.structured_content  # type: ignore[assignment]
    return found


async def failing(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    text: str = result.content[0].text  # type: ignore[union-attr]
    return text

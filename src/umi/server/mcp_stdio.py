"""MCP over stdin and stdout, for the process that starts it: one namespace, and every right on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from mcp.server.mcpserver import Context

from umi.errors import InvalidInput
from umi.memory import Memory
from umi.server import profiles
from umi.server.access import ANYBODY, Use
from umi.server.mcp_tools import Bound

CLIENTS: Final = ("claude", "cursor", "vscode")


async def run(memory: Memory, namespace: str, *, read_only: bool, profile: str = profiles.UMI) -> None:
    """Answer on stdin and stdout until stdin ends, with the tools of a profile."""

    def bound(_: Context) -> Bound:
        return Bound(namespace, memory, ANYBODY, Use())

    await profiles.make(profile, bound, read_only=read_only).run_stdio_async()


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

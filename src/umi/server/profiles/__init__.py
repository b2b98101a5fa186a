"""Other servers' MCP tools in place of Umi's, for agents whose prompts name them: `--profile`. Never beside ours: a model needs one set.

mem0        those of mem0's MCP server (add_memory, search_memories, ...)
openmemory  those of OpenMemory, mem0's local one (add_memories, search_memory, ...)
reference   those of the protocol's reference server for memory, a graph (create_entities, read_graph, ...)
"""

from __future__ import annotations

from typing import Final

from mcp.server.mcpserver import MCPServer

from umi.errors import InvalidInput
from umi.server.mcp_tools import Binder, make_mcp
from umi.server.profiles import mem0, reference

UMI: Final = "umi"
_OTHERS: Final = {"mem0": mem0.make, "openmemory": mem0.make_openmemory, "reference": reference.make}
PROFILES: Final = (UMI, *_OTHERS)


def make(profile: str, bind: Binder, *, read_only: bool = False) -> MCPServer:
    """The MCP server of a profile.

    Args:
        profile: One of `PROFILES`.
        bind: Gives the namespace of a call.
        read_only: Offer only what changes nothing.

    Raises:
        InvalidInput: For a profile that is not known.
    """
    check_profile(profile)
    return make_mcp(bind, read_only=read_only) if profile == UMI else _OTHERS[profile](bind, read_only=read_only)


def check_profile(profile: str) -> None:
    """Refuse a profile that is not known.

    Raises:
        InvalidInput: For such a one.
    """
    if profile not in PROFILES:
        raise InvalidInput(f"profile must be one of {', '.join(PROFILES)}, got {profile!r:.40}")

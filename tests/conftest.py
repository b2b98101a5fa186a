"""Tests of an adapter need its framework, which has an environment of its own: see `make adapters`. Elsewhere they are left out."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

ADAPTERS = Path(__file__).parent / "adapters"
# What an adapter's tests import; where it is missing, they are not looked at.
FRAMEWORKS = {
    "langgraph": "langgraph",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
    "claude": "anthropic.tools.memory",
    "google_adk": "google.adk",
    "llama_index": "llama_index.core",
    "agent_framework": "agent_framework",
    "autogen": "autogen_core",
    "crewai": "crewai",
    "agno": "agno",
}


def _is_missing(module: str) -> bool:
    try:
        return find_spec(module) is None
    except ImportError:  # of a package around it
        return True


collect_ignore = [str(ADAPTERS / name) for name, module in FRAMEWORKS.items() if _is_missing(module)]

"""Names of models as callers may give them, alone or by tier, and such as name none."""

from __future__ import annotations

from typing import Any, Final

from umi.sim.rng import DeterministicRng

_ASKED: Final = 5
_NAMES: Final = (
    "openai:gpt-5-mini", "openai:ft:gpt:x", "openai:", "openai", "anthropic:claude-x", "anthropic:", "anthropic", "ollama:llama3", "ollama:llama3:8b",
    "ollama:", "http://localhost:8080/v1#small", "http://localhost:8080/v1", "https://host.example/v1#a#b", "https:", "ftp://host#m", "local", "",
    ":x", "Openai:x", "openai :x",
)  # fmt: skip


def drawn(rng: DeterministicRng) -> dict[str, Any]:
    """Names, alone or by tier, and which variables are set meanwhile."""
    return {
        "asked": [_choice(rng) for _ in range(_ASKED)],
        "keys": [rng.chance(0.6) for _ in range(3)],
        "base": rng.choice((None, None, "http://proxy.example")),
        "host": rng.choice((None, "box:9", "http://box:9/", "box/", "https://box")),
    }


def _choice(rng: DeterministicRng) -> Any:
    if rng.chance(0.75):
        return rng.choice(_NAMES)
    tiers = [tier for tier in ("fast", "balanced", "strong", "huge") if rng.chance(0.3)]
    return {tier: rng.choice(("ollama:a", "ollama:b", "nothing")) for tier in tiers}

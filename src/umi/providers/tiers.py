"""Several models as one: each task to the tier that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from umi.ports import Closing, LLMProvider
from umi.types import Completion, CompletionRequest

TIERS: Final = ("fast", "balanced", "strong")
# A wrong rewrite costs a variant of one search, a wrong extraction one message, a wrong verdict what else is known.
_TIER_OF_TASK: Final = {"rewrite": "fast", "extract": "balanced", "evolve": "strong"}


class TieredLLM:
    """Sends each task to its tier; a tier that is not there is stood in for by the next stronger one, else the strongest.

    Args:
        models: By tier; at least one.
    """

    def __init__(self, models: Mapping[str, LLMProvider]) -> None:
        self.models = dict(models)

    async def complete(self, request: CompletionRequest) -> Completion:
        """As the tier's own model."""
        wanted = TIERS.index(_TIER_OF_TASK.get(request.task, "balanced"))
        order = (*TIERS[wanted:], *reversed(TIERS[:wanted]))
        return await next(self.models[tier] for tier in order if tier in self.models).complete(request)

    async def close(self) -> None:
        """Let go of every model's connections."""
        for model in self.models.values():
            if isinstance(model, Closing):
                await model.close()

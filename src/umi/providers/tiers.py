"""Several models as one: each task to the tier that it needs."""

from __future__ import annotations

from collections.abc import Mapping

from umi.ports import LLMProvider, SupportsClose
from umi.types import Completion, CompletionRequest
from umi.types.routing_rows import tier_for


class TieredLLM:
    """Sends each task to its tier; a tier that is not there is stood in for by the next stronger one, else the strongest.

    Args:
        models: By tier; at least one.
    """

    def __init__(self, models: Mapping[str, LLMProvider]) -> None:
        self.models = dict(models)

    async def complete(self, request: CompletionRequest) -> Completion:
        """As the tier's own model."""
        return await self.models[tier_for(request.task, self.models)].complete(request)

    async def close(self) -> None:
        """Let go of every model's connections."""
        for model in self.models.values():
            if isinstance(model, SupportsClose):
                await model.close()

"""Several models behind one interface: each task goes to the tier (model strength) that it needs."""

from __future__ import annotations

from collections.abc import Mapping

from umi.ports import LLMProvider, SupportsClose
from umi.types import Completion, CompletionRequest
from umi.types.routing_rows import tier_for


class TieredLLM:
    """Sends each task to its tier's model; a missing tier is replaced by the next stronger one, else the strongest.

    Args:
        models: By tier; at least one.
    """

    def __init__(self, models: Mapping[str, LLMProvider]) -> None:
        self.models = dict(models)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Let the model of the task's tier answer.

        Raises:
            LLMError: Whatever that model raises.
        """
        return await self.models[tier_for(request.task, self.models)].complete(request)

    async def close(self) -> None:
        """Close the connections of all models."""
        for model in self.models.values():
            # Not every model holds connections.
            if isinstance(model, SupportsClose):
                await model.close()

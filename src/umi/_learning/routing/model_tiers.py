"""Route Umi's own tasks to tiers of models: each task to its own tier, or to a stronger one while that tier's answers fail.

An answer shows only whether it keeps the contract, not whether it is right. So no task goes below its own tier, however
well a cheaper model keeps to the form.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from umi._learning.routing.router import RouteOptions, TierRouter
from umi.errors import UmiError
from umi.ports import Clock, Entropy, LLMProvider, StorageBackend
from umi.types import Completion, CompletionRequest
from umi.types.routing_rows import TIERS, tier_for

log = logging.getLogger("umi")

# About the middle of the range that each tier is meant for; the ranges are thirds of 0..1.
_COMPLEXITY: Final[Mapping[str, float]] = dict(zip(TIERS, (0.15, 0.5, 0.85), strict=True))
_EXPLORE: Final = 0.05  # share of tasks on a stronger tier that try the next cheaper one again


class RoutedLLM:
    """Several models behind one interface. Satisfies `LLMProvider` and `RoutedProvider`.

    Args:
        models: Models by tier, at least two.
        clock: Source of the time of decisions.
        entropy: Source of their ids.
    """

    def __init__(self, models: Mapping[str, LLMProvider], clock: Clock, entropy: Entropy) -> None:
        self._models = dict(models)
        self._clock = clock
        self._entropy = entropy
        self._router: TierRouter | None = None

    def follow(self, storage: StorageBackend) -> None:
        """Keep decisions in this namespace. Only the first call counts: all views of a memory share one router."""
        if self._router is None:
            names = {tier: type(model).__name__ for tier, model in self._models.items()}
            options = RouteOptions(explore=_EXPLORE)
            self._router = TierRouter(names, storage, None, self._clock, self._entropy, options)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Answer with the model of the chosen tier."""
        own = tier_for(request.task, self._models)
        # No namespace is open yet: decisions cannot be kept, so each task goes to its own tier.
        if self._router is None:
            return await self._models[own].complete(request)
        route = await self._router.choose("", kind=request.task, complexity=_COMPLEXITY[own], at_least=own)
        completion = await self._models[route.tier].complete(request)
        return replace(completion, decision_id=route.id)

    async def judged(self, decision_id: str, quality: float) -> None:
        """Note whether an answer kept its contract (1) or not (0)."""
        if self._router is None:
            return
        try:
            await self._router.feedback(decision_id, "success" if quality else "failure")
        except UmiError as error:
            log.warning("how a routed task went could not be kept: %s", error)

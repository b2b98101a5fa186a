"""Umi's own tasks, routed: each to its tier, and to a stronger one while that one's answers cannot be used.

What can be told of an answer is whether it keeps the contract, not whether it is right. So no task goes below its own tier, however
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

_COMPLEXITY: Final[Mapping[str, float]] = dict(
    zip(TIERS, (0.15, 0.5, 0.85), strict=True)
)  # the middle of what each tier is meant for
_EXPLORE: Final = 0.05  # of the tasks that have left their tier try the way back


class RoutedLLM:
    """Several models as one. Satisfies `LLMProvider` and `RoutedProvider`.

    Args:
        models: By tier, at least two.
        clock: For the log of decisions.
        entropy: For their ids.
    """

    def __init__(self, models: Mapping[str, LLMProvider], clock: Clock, entropy: Entropy) -> None:
        self._models = dict(models)
        self._clock = clock
        self._entropy = entropy
        self._router: TierRouter | None = None

    def follow(self, storage: StorageBackend) -> None:
        """Keep decisions there; the first namespace that is opened keeps them for all its views."""
        if self._router is None:
            names = {tier: type(model).__name__ for tier, model in self._models.items()}
            options = RouteOptions(explore=_EXPLORE)
            self._router = TierRouter(names, storage, None, self._clock, self._entropy, options)

    async def complete(self, request: CompletionRequest) -> Completion:
        """As the chosen tier's model."""
        own = tier_for(request.task, self._models)
        if self._router is None:
            return await self._models[own].complete(request)
        route = await self._router.choose("", kind=request.task, complexity=_COMPLEXITY[own], at_least=own)
        completion = await self._models[route.tier].complete(request)
        return replace(completion, decision_id=route.id)

    async def judged(self, decision_id: str, quality: float) -> None:
        """An answer kept its contract (1), or not (0)."""
        if self._router is None:
            return
        try:
            await self._router.feedback(decision_id, "success" if quality else "failure")
        except UmiError as error:
            log.warning("how a routed task went could not be kept: %s", error)

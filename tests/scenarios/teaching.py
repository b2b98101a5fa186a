"""What the scenarios of learning share: two memories of equal relevance, a provider, and what is believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import umi
from umi import Memory, ProviderQualityWeights, QualitySignal
from umi._core.clock import SystemClock

LEARN = umi.Config(learn=True)
QUESTION = "how do I restart the printer"
GREEN = "To restart the printer, hold the green button."
CORD = "To restart the printer, pull the power cord."


class Provider:
    """A provider whose signals a test sets."""

    def __init__(self, name: str = "ci", weights: ProviderQualityWeights | None = None) -> None:
        self.signals: list[Any] = []
        self._name, self.weights = name, weights

    @property
    def name(self) -> str:
        return self._name

    def load_signals(self) -> Sequence[QualitySignal]:
        return self.signals

    def quality_weights(self) -> ProviderQualityWeights | None:
        return self.weights


def judged(number: int, outcome: str = "failure", **more: Any) -> QualitySignal:
    score = {"success": 1.0, "failure": 0.0}.get(outcome, 0.5)
    given = {"completed_at": SystemClock().now().isoformat(), **more}
    return QualitySignal(f"s{number}", given.pop("task_description", ""), outcome, score, **given)


async def two_ways(memory: Memory) -> tuple[str, str]:
    """Two memories of equal relevance; the ids of their episodes."""
    return tuple([(await memory.remember(text)).episode_ids[0] for text in (GREEN, CORD)])  # type: ignore[return-value]


async def first(memory: Memory, **more: Any) -> str:
    return (await memory.recall(QUESTION, min_score=0, **more)).hits[0].content


async def factors(memory: Memory, **more: Any) -> dict[str, float]:
    found = await memory.recall(QUESTION, min_score=0, explain=True, **more)
    return {hit.content: hit.lesson.factor if hit.lesson else 1.0 for hit in found.hits}


async def beliefs(memory: Memory) -> list[Any]:
    return await memory._open.storage.read(lambda s: list(s.learned.scan_beliefs()))

"""What Umi needs from models, embedders, time and sources of quality signals, as Protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from umi.types import (
    Completion,
    CompletionRequest,
    ProviderQualityWeights,
    QualitySignal,
)

Vector = npt.NDArray[np.float32]  # shape (dimensions,), L2-normalised
Matrix = npt.NDArray[np.float32]  # shape (count, dimensions), rows L2-normalised

T = TypeVar("T")


class Clock(Protocol):
    """Time."""

    def now(self) -> datetime: ...
    def monotonic_s(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class Entropy(Protocol):
    """Ids and randomness."""

    def new_id(self, prefix: str, at: datetime) -> str: ...
    def uniform(self) -> float: ...


class LLMProvider(Protocol):
    """A language model. Raises `umi.UmiError` when it fails."""

    async def complete(self, request: CompletionRequest) -> Completion: ...


@runtime_checkable
class RoutedProvider(Protocol):
    """A language model that is one of several, chosen for each task, and told whether its answers could be used."""

    async def judged(self, decision_id: str, quality: float) -> None:
        """What `Completion.decision_id` led to: 1 an answer that keeps the contract, 0 one that does not. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What must agree before two vectors may be compared: `digest` names the weights and the pooling."""

    name: str
    dimensions: int
    digest: str


class IntelligenceProvider(Protocol):
    """Judgements of finished tasks from outside (seed 003). Called in a thread; may raise anything."""

    @property
    def name(self) -> str: ...
    def load_signals(self) -> Sequence[QualitySignal]:
        """All that is there now; what was loaded before counts no second time."""
        ...

    def quality_weights(self) -> ProviderQualityWeights | None:
        """How its factors are weighed; None takes the defaults."""
        ...


@runtime_checkable
class SupportsQuarantine(Protocol):
    """A provider that sets bad records aside: what they are and what is wrong with them, of its last load."""

    @property
    def quarantined(self) -> Sequence[tuple[str, str]]: ...


class EmbeddingProvider(Protocol):
    """Texts to vectors. Raises `umi.errors.EmbeddingError` when it fails."""

    @property
    def identity(self) -> EmbedderIdentity: ...
    async def embed(self, text: str) -> Vector:
        """One query, cut at the model's length."""
        ...

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text its windows, shape (windows >= 1, dimensions); nothing of a long text is cut."""
        ...


class NeighbourIndex(Protocol):
    """Vectors by number, searched for the nearest. Nothing is taken out of one: it is made anew from what is left."""

    def add(self, key: int, vector: Vector) -> None: ...
    def search(self, vector: Vector, count: int) -> list[tuple[int, float]]:
        """Numbers with their cosines, nearest first."""
        ...


@runtime_checkable
class SupportsPrepare(Protocol):
    """An embedder that must load, or ask a server for, something before it is used."""

    async def prepare(self, kept: EmbedderIdentity | None) -> None:
        """Called once when a memory opens; `kept` is the embedder whose vectors the store holds."""
        ...


@runtime_checkable
class SupportsHealthCheck(Protocol):
    """A model at a server that can be looked up without asking it anything."""

    async def visit(self) -> str:
        """In words, that it is there. Raises `umi.LLMError` when it is not."""
        ...


@runtime_checkable
class SupportsClose(Protocol):
    """A model or embedder that holds connections."""

    async def close(self) -> None: ...

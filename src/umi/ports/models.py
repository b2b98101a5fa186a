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
    """Time, as a memory reads it. A simulation gives one whose hours pass in milliseconds."""

    def now(self) -> datetime:
        """The moment, timezone-aware, in UTC."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        ...


class Entropy(Protocol):
    """Ids and randomness, as a memory draws them. A simulation gives one that is a function of its seed."""

    def new_id(self, prefix: str, at: datetime) -> str:
        """An id that nothing else has, `prefix_...`, which sorts by `at`."""
        ...

    def uniform(self) -> float:
        """A number in [0, 1)."""
        ...


class LLMProvider(Protocol):
    """A language model."""

    async def complete(self, request: CompletionRequest) -> Completion:
        """The model's answer to one request.

        Raises:
            LLMError: When there is none; its kind says whether trying again may help. What else is raised counts as one.
        """
        ...


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
    """Texts to vectors."""

    @property
    def identity(self) -> EmbedderIdentity: ...
    async def embed(self, text: str) -> Vector:
        """One query, cut at the model's length.

        Raises:
            EmbeddingError: When the embedder fails. What else is raised counts as one.
        """
        ...

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text its windows, shape (windows >= 1, dimensions); nothing of a long text is cut.

        Raises:
            EmbeddingError: When the embedder fails. What else is raised counts as one.
        """
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

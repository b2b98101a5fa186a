"""The one place where a user's own port is called with everything it may throw or answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from umi.errors import EmbeddingError, UmiError
from umi.limits import EMBED_DIMENSIONS_MAX
from umi.ports import EmbedderIdentity, EmbeddingProvider, Matrix, Vector

T = TypeVar("T")


async def call_port(call: Awaitable[T], failed: Callable[[Exception], UmiError]) -> T:
    """Await a call of the user's own object; whatever it raises that is not Umi's becomes the error that `failed` makes."""
    try:
        return await call
    except (asyncio.CancelledError, UmiError):
        raise
    except Exception as error:  # a user's object may raise anything; it must not take the memory down
        raise failed(error) from error


class GuardedEmbedder:
    """An embedder whose every failure is an `EmbeddingError` and whose every vector is finite, of the right length and unit norm."""

    def __init__(self, inner: EmbeddingProvider) -> None:
        self._inner = inner
        self._identity = inner.identity
        if not 1 <= self._identity.dimensions <= EMBED_DIMENSIONS_MAX:
            raise EmbeddingError(
                f"embedder {self._identity.name} says {self._identity.dimensions} dimensions; 1..{EMBED_DIMENSIONS_MAX} are possible"
            )

    @property
    def identity(self) -> EmbedderIdentity:
        """The inner embedder's."""
        return self._identity

    async def embed(self, text: str) -> Vector:
        """One query, shape (dimensions,).

        Raises:
            EmbeddingError: Whatever went wrong.
        """
        answer = await call_port(self._inner.embed(text), self._failed)
        first: Vector = self._checked(np.atleast_2d(answer), rows=1)[0]
        return first

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text its windows, shape (windows, dimensions).

        Raises:
            EmbeddingError: Whatever went wrong; then no text of the batch has a vector.
        """
        answers = await call_port(self._inner.embed_many(texts), self._failed)
        if len(answers) != len(texts):
            raise EmbeddingError(f"embedder answered {len(answers)} texts of {len(texts)}")
        return [self._checked(np.atleast_2d(answer)) for answer in answers]

    def _failed(self, error: Exception) -> EmbeddingError:
        return EmbeddingError(f"embedder {self._identity.name} failed: {error!r}")

    def _checked(self, answer: Any, rows: int | None = None) -> Matrix:
        try:
            matrix = np.asarray(answer, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise EmbeddingError(f"embedder {self._identity.name} answered no numbers: {error}") from error
        if (
            matrix.ndim != 2
            or matrix.shape[1] != self._identity.dimensions
            or (rows or matrix.shape[0]) != matrix.shape[0]
        ):
            raise EmbeddingError(
                f"embedder {self._identity.name} answered shape {matrix.shape}, not (n, {self._identity.dimensions})"
            )
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or (norms == 0).any() or not len(matrix):
            raise EmbeddingError(f"embedder {self._identity.name} answered a vector without direction")
        unit: Matrix = matrix / norms
        return unit

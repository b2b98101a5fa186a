"""Embedders of the fastembed library. It downloads a model from a hub when it is first used; Umi's own embedder does not."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

import fastembed  # pyright: ignore[reportMissingImports]
import numpy as np

from umi.errors import EmbedderUnavailable
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.providers.windows import windows


class FastembedEmbedder:
    """A model that fastembed runs in this process. Satisfies `umi.ports.EmbeddingProvider` once it is prepared.

    Args:
        model: Its name there, such as "BAAI/bge-small-en-v1.5".
    """

    def __init__(self, model: str) -> None:
        self._name = f"fastembed:{model}"
        self._loaded: Any = None
        try:
            self._dimensions = int(fastembed.TextEmbedding.get_embedding_size(model))
        except ValueError as error:
            raise EmbedderUnavailable(f"fastembed knows no model {model!r}: {error}") from error
        self._model = model

    @property
    def identity(self) -> EmbedderIdentity:
        """Its name stands for its weights, which fastembed checks."""
        return EmbedderIdentity(self._name, self._dimensions, hashlib.sha256(self._name.encode()).hexdigest())

    async def prepare(self, kept: EmbedderIdentity | None) -> None:  # noqa: ARG002 - the port's
        """Load the model, downloading it when it is not in fastembed's cache.

        Raises:
            EmbedderUnavailable: When it cannot be had.
        """
        if self._loaded is None:
            try:
                self._loaded = await asyncio.to_thread(fastembed.TextEmbedding, self._model)
            except (ValueError, OSError, RuntimeError) as error:
                raise EmbedderUnavailable(
                    f"{self._name} could not be loaded ({error}); fastembed downloads it once, then it works offline"
                ) from error

    async def embed(self, text: str) -> Vector:
        """One query, shape (dimensions,); what is beyond the first window is left out."""
        vectors = await asyncio.to_thread(lambda: list(self._loaded.query_embed(windows(text)[:1])))
        vector: Vector = np.asarray(vectors[0], dtype=np.float32)
        return vector

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text its windows, shape (windows, dimensions)."""
        cut = [windows(text) for text in texts]
        flat = [window for pieces in cut for window in pieces]
        rows = await asyncio.to_thread(lambda: list(self._loaded.embed(flat)))
        answers: list[Matrix] = []
        for pieces in cut:
            answers.append(np.asarray(rows[: len(pieces)], dtype=np.float32))
            del rows[: len(pieces)]
        return answers

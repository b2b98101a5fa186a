"""Embedders of the fastembed library, which downloads a model when it is first used; Umi's local embedder does not."""

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
        model: fastembed's name of it, such as "BAAI/bge-small-en-v1.5".

    Raises:
        EmbedderUnavailable: When fastembed does not know the model.
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
        """Identity of the vectors. The digest is that of the name; fastembed checks the weights itself."""
        return EmbedderIdentity(self._name, self._dimensions, hashlib.sha256(self._name.encode()).hexdigest())

    async def prepare(self, kept: EmbedderIdentity | None) -> None:  # noqa: ARG002 - the port
        """Load the model; fastembed downloads it when it is not in its cache.

        Raises:
            EmbedderUnavailable: When it cannot be loaded.
        """
        if self._loaded is None:
            try:
                # In a thread, because loading and downloading take seconds.
                self._loaded = await asyncio.to_thread(fastembed.TextEmbedding, self._model)
            except (ValueError, OSError, RuntimeError) as error:
                raise EmbedderUnavailable(
                    f"{self._name} could not be loaded ({error}); fastembed downloads it once, then it works offline"
                ) from error

    async def embed(self, text: str) -> Vector:
        """Embed one query, shape (dimensions,); only its first window counts."""
        # `query_embed`, because some models prefix queries and documents differently.
        vectors = await asyncio.to_thread(lambda: list(self._loaded.query_embed(windows(text)[:1])))
        vector: Vector = np.asarray(vectors[0], dtype=np.float32)
        return vector

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """Embed texts: one matrix per text, shape (windows, dimensions)."""
        cut = [windows(text) for text in texts]
        flat = [window for pieces in cut for window in pieces]
        rows = await asyncio.to_thread(lambda: list(self._loaded.embed(flat)))
        answers: list[Matrix] = []
        for pieces in cut:
            answers.append(np.asarray(rows[: len(pieces)], dtype=np.float32))
            del rows[: len(pieces)]
        return answers

"""An embedder behind OpenAI's embeddings protocol: OpenAI itself, Ollama, vLLM, llama.cpp and others."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import openai

from umi.errors import EmbedderBusy, EmbedderUnavailable, EmbeddingError, LLMError
from umi.limits import EMBED_QUERY_TIMEOUT_S, EMBED_REQUEST_TEXTS_COUNT_MAX
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.providers import openai_client
from umi.providers.openai_client import Server
from umi.providers.windows import windows

if TYPE_CHECKING:
    import httpx2


class OpenAIEmbedder:
    """A served embedder. Satisfies `umi.ports.EmbeddingProvider` once it is prepared.

    The number of dimensions is learned from the first answer, or from a store that already holds vectors of this
    embedder; in the latter case a memory can be opened while the server is down.

    Args:
        server: Address, key and model.
        transport: Replaces the network, as simulations do.
    """

    def __init__(self, server: Server, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._server = server
        self._client = server.client(transport)
        self._model = server.model
        self._dimensions = 0

    @property
    def identity(self) -> EmbedderIdentity:
        """Identity of the vectors. The digest is that of the name, because only the server knows the weights.

        Raises:
            EmbedderUnavailable: Before it is prepared.
        """
        if not self._dimensions:
            raise EmbedderUnavailable(f"{self._server.name} was never asked for its dimensions")
        name = self._server.name
        return EmbedderIdentity(name, self._dimensions, hashlib.sha256(name.encode()).hexdigest())

    async def prepare(self, kept: EmbedderIdentity | None) -> None:
        """Learn the number of dimensions: from stored vectors of the same name, else from the server.

        Raises:
            EmbeddingError: When the server does not answer.
        """
        if kept is not None and kept.name == self._server.name:
            self._dimensions = kept.dimensions
        elif not self._dimensions:
            # Any text will do: the length of its vector is what counts.
            self._dimensions = len((await self._request(["dimensions"], self._server.call_timeout_s))[0])

    async def embed(self, text: str) -> Vector:
        """Embed one query, shape (dimensions,); only its first window counts.

        Raises:
            EmbeddingError: Whatever went wrong.
        """
        vector: Vector = (await self._request(windows(text)[:1], EMBED_QUERY_TIMEOUT_S))[0]
        return vector

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """Embed texts.

        Returns:
            One matrix per text, shape (windows, dimensions).

        Raises:
            EmbeddingError: Whatever went wrong; then no text of the batch has a vector.
        """
        cut = [windows(text) for text in texts]
        flat = [window for pieces in cut for window in pieces]
        rows: list[Vector] = []
        # Servers limit the number of texts per request.
        for start in range(0, len(flat), EMBED_REQUEST_TEXTS_COUNT_MAX):
            part = flat[start : start + EMBED_REQUEST_TEXTS_COUNT_MAX]
            rows += await self._request(part, self._server.call_timeout_s)
        # The windows of all texts were sent as one flat list; here they go back to their texts.
        answers: list[Matrix] = []
        for pieces in cut:
            answers.append(np.stack(rows[: len(pieces)]))
            del rows[: len(pieces)]
        return answers

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _request(self, texts: Sequence[str], timeout_s: float) -> list[Vector]:
        name = self._server.name
        try:
            async with asyncio.timeout(timeout_s):
                # The name of the first model is asked for once, then kept.
                self._model = self._model or await openai_client.first_model(self._server, self._client)
                answer: Any = await self._client.embeddings.create(
                    model=self._model, input=list(texts), encoding_format="float"
                )
        except (TimeoutError, openai.APITimeoutError) as error:
            raise EmbedderBusy(f"{name} did not answer within {timeout_s:g} s") from error
        except openai.APIConnectionError as error:
            raise EmbedderUnavailable(openai_client.unreachable(self._server, self._client, error)) from error
        except openai.APIStatusError as error:
            raise openai_client.refusal(error).as_embedding_error(name) from error
        except (openai.OpenAIError, LLMError, ValueError) as error:
            raise EmbedderUnavailable(f"{name} answered no embeddings: {error}") from error
        return self._read(answer, len(texts))

    def _read(self, answer: Any, count: int) -> list[Vector]:
        try:
            # Servers may answer in any order; each row carries the index of its text.
            rows = sorted(answer.data, key=lambda row: row.index)
            vectors: list[Vector] = [np.asarray(row.embedding, dtype=np.float32) for row in rows]
        except (AttributeError, TypeError, ValueError) as error:
            raise EmbeddingError(f"{self._server.name} answered no embeddings: {answer!r:.200}") from error
        # The dimensions are checked where all embedders are guarded, in `umi._core.guard`.
        if len(vectors) != count:
            raise EmbeddingError(f"{self._server.name} answered {len(vectors)} vectors for {count} texts")
        if not all(vector.ndim == 1 and vector.size for vector in vectors):
            raise EmbeddingError(f"{self._server.name} answered a vector that is no list of numbers: {answer!r:.200}")
        return vectors

"""Guarded calls of objects that the user supplies (embedders, models): any exception becomes one of Umi's own errors.

`GuardedEmbedder` also checks what an embedder returns, retries busy servers and caches the vectors of recent queries.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import numpy as np

from umi import limits
from umi._core.stages import stage
from umi.errors import EmbedderBusy, EmbedderUnavailable, EmbeddingError, UmiError
from umi.ports import (
    Clock,
    EmbedderIdentity,
    EmbeddingProvider,
    Entropy,
    Matrix,
    SupportsClose,
    SupportsPrepare,
    Vector,
)
from umi.ports.answer_reader import AnswerReader, HasAnswerReader
from umi.ports.text_reader import HasTextReader, TextReader

T = TypeVar("T")
P = ParamSpec("P")

_KEY_BYTES = 16  # of the digest that a cached query is stored under
_BYTES_PER_DEADLINE = 100_000  # bytes of text that add one more deadline to the time allowed for a batch


def _require_possible(inner: EmbeddingProvider) -> None:
    identity: object = getattr(inner, "identity", None)
    if not isinstance(identity, EmbedderIdentity):
        raise EmbeddingError(f"embedder {type(inner).__name__} needs an `identity`, which is a umi.EmbedderIdentity")
    count: object = identity.dimensions
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= limits.EMBED_DIMENSIONS_MAX:
        raise EmbeddingError(
            f"embedder {identity.name} says {count!r:.40} dimensions; 1..{limits.EMBED_DIMENSIONS_MAX} are possible"
        )


async def call_port(
    failed: Callable[[Exception], UmiError], call: Callable[P, Awaitable[T]], *given: P.args, **named: P.kwargs
) -> T:
    """Call a method of a user's object and await it; exceptions are converted as in `guarded`, also those of a plain function."""
    with guarded(failed):
        return await call(*given, **named)


@contextmanager
def guarded(failed: Callable[[Exception], UmiError]) -> Iterator[None]:
    """Convert exceptions raised inside: all but Umi's own errors and cancellation become what `failed` returns."""
    try:
        yield
    except (asyncio.CancelledError, UmiError):
        raise
    except Exception as error:  # user code may raise anything; it must not crash the caller
        raise failed(error) from error


class GuardedEmbedder:
    """An embedder that raises only `EmbeddingError` and returns only finite vectors of the right length and unit norm.

    When a server is busy, a batch is sent again a few times, with exponential backoff, full jitter and the server's own
    `retry_after`; where that is longer than a call may take, the server is left alone until then. A query is not sent again, because
    recall can fall back to words. Every call has a time limit.

    Args:
        inner: The embedder.
        clock: For waiting between attempts.
        entropy: For jitter; without clock and entropy nothing is sent again.
        deadline_s: Time limit of a query or a short batch, retries included; a long batch gets more, by its size.
    """

    def __init__(
        self,
        inner: EmbeddingProvider,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        deadline_s: float = limits.EMBED_DEADLINE_S,
    ) -> None:
        self._inner = inner
        self._clock = clock
        self._entropy = entropy
        self._deadline_s = deadline_s
        self._left_alone_until_s = 0.0  # a server's `retry_after`
        self._asked: dict[bytes, Vector] = {}  # least recently used first; keyed by digest, so no query text is kept
        # An embedder that must be prepared learns its dimensions there, and is checked after it.
        if not isinstance(inner, SupportsPrepare):
            _require_possible(inner)

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the inner embedder."""
        return self._inner.identity

    @property
    def reader(self) -> TextReader | None:
        """The reader of short messages, when the inner embedder's model has one."""
        return self._inner.reader if isinstance(self._inner, HasTextReader) else None

    @property
    def answer_reader(self) -> AnswerReader | None:
        """The reader of first hits, when the inner embedder's model has one."""
        return self._inner.answer_reader if isinstance(self._inner, HasAnswerReader) else None

    async def prepare(self, kept: EmbedderIdentity | None) -> None:
        """Let the inner embedder load what it needs, from disk or from its server.

        Raises:
            EmbeddingError: When it cannot, or reports an impossible number of dimensions.
        """
        if isinstance(self._inner, SupportsPrepare):
            await call_port(
                lambda error: EmbedderUnavailable(f"the embedder failed: {error!r}"), self._inner.prepare, kept
            )
            _require_possible(self._inner)

    async def close(self) -> None:
        """Close the inner embedder's connections, if it has any."""
        if isinstance(self._inner, SupportsClose):
            await self._inner.close()

    @stage("embed")
    async def embed(self, text: str) -> Vector:
        """Embed one query. The vectors of recent queries are cached.

        Returns:
            Shape (dimensions,), read-only.

        Raises:
            EmbeddingError: Whatever went wrong.
        """
        # The embedder's digest is part of the key, so that the vectors of two models are never mixed up.
        named = f"{self.identity.digest}\0{text}".encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(named, digest_size=_KEY_BYTES).digest()
        kept = self._asked.pop(key, None)
        if kept is None:
            await self._leave_alone(0.0)
            answer = await self._within(self._deadline_s, self._inner.embed, text)
            kept = self._checked(answer, rows=1)[0]
            kept.setflags(write=False)
        # Removed and inserted again: dicts keep insertion order, so the first key is the least recently used.
        self._asked[key] = kept
        if len(self._asked) > limits.EMBED_KEPT_COUNT_MAX:
            del self._asked[next(iter(self._asked))]
        return kept

    def forget_questions(self) -> None:
        """Empty the cache of query vectors."""
        self._asked.clear()

    @stage("embed")
    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """Embed texts, each as one or more windows.

        Returns:
            One matrix per text, shape (windows, dimensions).

        Raises:
            EmbeddingError: Whatever went wrong; then no text of the batch has a vector.
        """
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
        patience_s = self._deadline_s * (1 + size / _BYTES_PER_DEADLINE)
        answers = await self._within(patience_s, self._with_retries, texts, patience_s)
        if not isinstance(answers, Sized):
            raise EmbeddingError(
                f"embedder {self.identity.name} answered {type(answers).__name__}, not vectors of {len(texts)} texts"
            )
        if len(answers) != len(texts):
            raise EmbeddingError(f"embedder answered {len(answers)} texts of {len(texts)}")
        return [self._checked(answer) for answer in answers]

    async def _with_retries(self, texts: Sequence[str], patience_s: float) -> list[Matrix]:
        start_s = self._clock.monotonic_s() if self._clock else 0.0
        await self._leave_alone(patience_s)
        for attempt in range(limits.EMBED_RETRIES_COUNT_MAX + 1):
            try:
                return await call_port(self._failed, self._inner.embed_many, texts)
            except EmbedderBusy as error:
                if self._clock is None or self._entropy is None or attempt == limits.EMBED_RETRIES_COUNT_MAX:
                    raise
                # Full jitter: a random share of an exponentially growing bound, but never less than the server asked
                # for.
                wait_s = max(
                    error.retry_after_s or 0.0, self._entropy.uniform() * limits.LLM_BACKOFF_BASE_S * 2**attempt
                )
                # Give up now rather than sleep past the time limit.
                if self._clock.monotonic_s() + wait_s - start_s >= patience_s:
                    raise
                await self._clock.sleep(wait_s)
        raise EmbeddingError("no answer")  # pragma: no cover - the loop returns or raises

    async def _within(self, seconds: float, call: Callable[P, Awaitable[T]], *given: P.args, **named: P.kwargs) -> T:
        try:
            async with asyncio.timeout(seconds):
                return await call_port(self._failed, call, *given, **named)
        except EmbedderBusy as error:
            if self._clock is not None and error.retry_after_s is not None:
                self._left_alone_until_s = self._clock.monotonic_s() + error.retry_after_s
            raise
        except UmiError as error:
            raise error if isinstance(error, EmbeddingError) else self._failed(error) from error
        except TimeoutError:
            raise EmbedderBusy(f"embedder {self.identity.name} did not answer within {seconds:.0f} s") from None

    async def _leave_alone(self, patience_s: float) -> None:
        """Keep away from a server for as long as that asked, or give up where that is longer than the patience."""
        if self._clock is None or (left_s := self._left_alone_until_s - self._clock.monotonic_s()) <= 0:
            return
        if left_s >= patience_s:
            raise EmbedderBusy(f"embedder {self.identity.name} asks to be left alone for {left_s:.0f} s more", left_s)
        await self._clock.sleep(left_s)

    def _failed(self, error: Exception) -> EmbeddingError:
        return EmbeddingError(f"embedder {self.identity.name} failed: {error!r}")

    def _checked(self, answer: Any, rows: int | None = None) -> Matrix:
        try:
            matrix = np.atleast_2d(np.asarray(answer, dtype=np.float32))
        except (TypeError, ValueError) as error:
            raise EmbeddingError(f"embedder {self.identity.name} answered no numbers: {error}") from error
        if (
            matrix.ndim != 2
            or matrix.shape[1] != self.identity.dimensions
            or (rows or matrix.shape[0]) != matrix.shape[0]
        ):
            raise EmbeddingError(
                f"embedder {self.identity.name} answered shape {matrix.shape}, not (n, {self.identity.dimensions})"
            )
        # NaN and infinity show in the norm, so one check covers every entry.
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or (norms == 0).any() or not len(matrix):
            raise EmbeddingError(f"embedder {self.identity.name} answered a vector without direction")
        unit: Matrix = matrix / norms
        return unit

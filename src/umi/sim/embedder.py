"""A simulated embedder: a pure function of the words, with exact arithmetic on every machine.

Each stem has 256 random signs, drawn from its hash. A text's vector is the sign of the sum over its stems (signed
random projection: Charikar, "Similarity estimation techniques from rounding algorithms", 2002). So texts that share
words point in similar directions: the cosine of two texts that share the part s of their words is about 1 - 2 *
arccos(s) / pi; that of unrelated texts is 0 +- 0.06.

Every entry is +1/16 or -1/16. A vector's length is exactly 1 in single and in half precision. Every dot product is a
multiple of 1/256, which no order of summation, no BLAS and no rounding can change, so scores are the same bytes
everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from umi._core.text import analyse
from umi.errors import EmbedderUnavailable, EmbeddingError
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.ports.answer_reader import AnswerReader, Dated, Reading
from umi.ports.text_reader import OpenText, TextReader
from umi.providers.local import LocalEmbedder
from umi.sim.clock import SimClock
from umi.sim.faults import FaultInjector, FaultType
from umi.sim.rng import DeterministicRng

DIMENSIONS: Final = 256
LATENCY_S: Final = (0.001, 0.01)  # bounds of a call's latency
TIMEOUT_S: Final = 10.0
WINDOW_WORDS: Final = 128
OVERLAP_WORDS: Final = 16
_SLOW: Final = (10.0, 100.0)  # factor on the latency under EmbeddingSlow
_WORDS_CACHED_COUNT: Final = 16_384
_TEXTS_CACHED_COUNT: Final = 1_024

IDENTITY: Final = EmbedderIdentity("umi-sim", DIMENSIONS, hashlib.sha256(b"umi-sim signs of stems, 1").hexdigest()[:32])

_FAILURES: Final[dict[FaultType, tuple[type[EmbeddingError], str]]] = {
    FaultType.EmbeddingFail: (EmbeddingError, "the embedder failed (simulated)"),
    FaultType.EmbeddingRateLimit: (EmbeddingError, "the embedder's rate limit is reached (simulated)"),
    FaultType.EmbeddingUnavailable: (EmbedderUnavailable, "the embedder is not there (simulated)"),
}


class SimEmbedder:
    """Satisfies `umi.ports.EmbeddingProvider`. One text has the same vector in every world.

    Args:
        clock: The virtual time of the running loop.
        rng: Source of latencies.
        faults: What may fail; operations `embed` and `embed_many`.
        reads: Whether the local embedder's reader of short messages is offered too; without it rules read them.
        judge: What an answer reader says of a question and statements; None offers no answer reader. Its operation is `read_answers`.
    """

    def __init__(
        self,
        clock: SimClock,
        rng: DeterministicRng,
        *,
        faults: FaultInjector | None = None,
        reads: bool = False,
        judge: Callable[[str, Sequence[Dated]], list[Reading]] | None = None,
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._faults = faults
        self._reads = reads
        self._judge = judge

    @property
    def identity(self) -> EmbedderIdentity:
        """The same for every instance and seed."""
        return IDENTITY

    @property
    def reader(self) -> TextReader | None:
        """The reader of short messages, if there is one; see `umi.ports.text_reader.HasTextReader`."""
        return self if self._reads else None

    def read(self, text: str, before: str = "") -> OpenText:
        """Open a text with the local embedder's reader."""
        return _reader().read(text, before)

    @property
    def answer_reader(self) -> AnswerReader | None:
        """The reader of first hits, if there is one; see `umi.ports.answer_reader.HasAnswerReader`."""
        return self if self._judge is not None else None

    async def read_answers(self, question: str, told: Sequence[Dated]) -> list[Reading]:
        """Read statements as was said when this was made.

        Raises:
            EmbeddingError: By a fault.
        """
        if self._judge is None:
            raise EmbedderUnavailable("this simulated embedder was made without an answer reader")
        await self._arrive("read_answers")
        return self._judge(question, told)

    async def embed(self, text: str) -> Vector:
        """Embed one query; words beyond the first window do not count.

        Returns:
            Shape (256,), L2-normalised; not so under the faults EmbeddingWrongDimensions and EmbeddingNotFinite.

        Raises:
            EmbeddingError: By a fault.
        """
        fault = await self._arrive("embed")
        vector: Vector = _bad(text_vector(_windows(text)[0])[None, :], fault)[0]
        return vector

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """Embed each text as windows of 128 words, overlapping by 16.

        Returns:
            Matrices of shape (windows, 256), as for `embed`.

        Raises:
            EmbeddingError: By a fault; then none of the texts is embedded.
        """
        fault = await self._arrive("embed_many")
        return [_bad(np.stack([text_vector(window) for window in _windows(text)]), fault) for text in texts]

    async def _arrive(self, operation: str) -> FaultType | None:
        """Wait as long as the call takes; raise if it fails."""
        fault = None if self._faults is None else self._faults.should_inject(operation)
        # Drawn before the fault is acted out, so that faults do not shift later latencies.
        latency_s = self._rng.uniform(*LATENCY_S)
        if fault is FaultType.EmbeddingTimeout:
            await self._clock.sleep(TIMEOUT_S)
            raise EmbeddingError(f"the embedder did not answer in {TIMEOUT_S:g} s (simulated)")
        if fault is FaultType.EmbeddingSlow:
            latency_s *= self._rng.uniform(*_SLOW)
        await self._clock.sleep(latency_s)
        if fault is not None and fault in _FAILURES:
            kind, message = _FAILURES[fault]
            raise kind(message)
        return fault


@cache
def _reader() -> TextReader:
    """The local embedder's reader, loaded once per process."""
    return LocalEmbedder().reader


@lru_cache(maxsize=_TEXTS_CACHED_COUNT)
def text_vector(text: str) -> Vector:
    """The vector of one window; read-only, because it is cached.

    Args:
        text: Any text. A text without meaningful words counts as one word itself.

    Returns:
        Shape (256,), each entry +1/16 or -1/16.
    """
    stems = list(dict.fromkeys(analyse(text))) or [text]
    summed = np.sum([_signs(stem) for stem in stems], axis=0, dtype=np.int64)
    # Ties are broken differently for each text; one fixed rule would make texts of two words similar to each other.
    ties = _drawn(" ".join(sorted(stems)))
    vector: Vector = np.where(2 * summed + ties > 0, np.float32(1 / 16), np.float32(-1 / 16)).astype(np.float32)
    vector.flags.writeable = False
    return vector


@lru_cache(maxsize=_WORDS_CACHED_COUNT)
def _signs(stem: str) -> npt.NDArray[np.int64]:
    """The signs of a stem, shape (256,), +1 or -1."""
    return _drawn(stem)


def _drawn(text: str) -> npt.NDArray[np.int64]:
    """Random signs that are a function of a text, shape (256,)."""
    # An extendable hash gives as many bits as there are dimensions.
    digest = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(DIMENSIONS // 8)
    return np.unpackbits(np.frombuffer(digest, np.uint8)).astype(np.int64) * 2 - 1


def _windows(text: str) -> list[str]:
    words = text.split()
    if len(words) <= WINDOW_WORDS:
        return [text]
    # The last window may be shorter; no word is left out.
    starts = range(0, len(words) - OVERLAP_WORDS, WINDOW_WORDS - OVERLAP_WORDS)
    return [" ".join(words[start : start + WINDOW_WORDS]) for start in starts]


def _bad(matrix: Matrix, fault: FaultType | None) -> Matrix:
    """The answer of an embedder that is broken without reporting it."""
    if fault is FaultType.EmbeddingWrongDimensions:
        return matrix[:, : DIMENSIONS // 2]
    if fault is FaultType.EmbeddingNotFinite:
        return np.full_like(matrix, np.nan)
    return matrix

"""Large stores in little time: rows as `remember` would leave them, written through the port.

The model would take minutes to embed 100,000 turns and an hour for a million. So only some are embedded; the others' vectors are those
of a like turn, moved a little, which leaves a scan as much to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Final

import numpy as np

from umi._core.validate import when
from umi._core.vectors import normalised
from umi._reading.extract import said_in
from umi._remember.admission import episode_row
from umi.bench.texts import turns
from umi.ports import EmbeddingProvider, Matrix, StorageBackend, Transaction
from umi.types import EntityType, Episode, Message

_EMBEDDED_COUNT: Final = 2_000
_PORTION_COUNT: Final = 2_000
_UNDATED_AT: Final = datetime(2024, 1, 1, tzinfo=UTC)
_STRIDE: Final = 7_919  # a prime: neighbours are like different turns
_MOVED: Final = np.float32(0.035)  # at most, each of 384 numbers: a cosine of about .93 to where it was


async def fill(
    storage: StorageBackend,
    embedder: EmbeddingProvider,
    messages: Iterator[Message],
    count: int,
    progress: Callable[[int], None],
) -> None:
    """Store the first of some messages, with their words, a note each, and vectors.

    Args:
        storage: Where to.
        embedder: Of the store.
        messages: With a speaker, a session and a time each.
        count: How many of them.
        progress: Told how many are stored.
    """
    await fill_like(storage, await likely_vectors(embedder), messages, count, progress)


async def likely_vectors(embedder: EmbeddingProvider, count: int = _EMBEDDED_COUNT) -> Matrix:
    """Vectors of some talk, shape (texts, dimensions)."""
    sample = [f"{one.speaker}: {one.content}" for one in turns(0, min(count, _EMBEDDED_COUNT), 26)]
    return np.concatenate(await embedder.embed_many(sample))


async def fill_like(
    storage: StorageBackend, likely: Matrix, messages: Iterator[Message], count: int, progress: Callable[[int], None]
) -> None:
    """As `fill`, with vectors near to those given."""
    for start in range(0, count, _PORTION_COUNT):
        portion = list(islice(messages, min(_PORTION_COUNT, count - start)))
        near = likely[(start + np.arange(len(portion))) * _STRIDE % len(likely)]
        vectors = normalised(near + _MOVED * _scatter(start, near.shape))
        await storage.write(partial(_write, messages=portion, first=start, vectors=vectors))
        progress(start + len(portion))


def _scatter(seed: int, shape: tuple[int, ...]) -> Matrix:
    """Numbers between -1 and 1 without a pattern that matters: the last digits of a sine."""
    steps = np.arange(int(np.prod(shape)), dtype=np.float64) + seed
    spread: Matrix = (2 * np.modf(np.abs(np.sin(steps) * 43_758.5453))[0] - 1).astype(np.float32).reshape(shape)
    return spread


def _write(tx: Transaction, messages: Sequence[Message], first: int, vectors: Matrix) -> None:
    arrival = tx.next_arrival()
    episodes = [
        _episode(message, f"epi_filled_{first + place}", arrival + place) for place, message in enumerate(messages)
    ]
    tx.add_episodes([episode_row(episode) for episode in episodes])
    whole = [(0, len(episode.content)) for episode in episodes]
    notes = [
        said_in(episode, span, EntityType.NOTE, episode.speaker or "", confidence=0.5)
        for episode, span in zip(episodes, whole, strict=True)
    ]
    tx.add_entities(notes)
    tx.add_vectors({episode.id: vectors[place : place + 1] for place, episode in enumerate(episodes)})


def _episode(message: Message, id_: str, arrival: int) -> Episode:
    at = _UNDATED_AT if message.at is None else when(message.at)
    return Episode(
        id_, message.content, message.role, message.speaker, message.session, at, at, arrival, message.id,
        message.metadata,
    )  # fmt: skip

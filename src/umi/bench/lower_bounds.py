"""The least that the parts of Umi's work could cost on this machine, with nothing of Umi around them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
import simsimd

from umi._core.clock import SystemClock
from umi.bench.report import quantile
from umi.ports import EmbeddingProvider

_SCAN_DIMENSIONS = 384
_SCAN_RUNS_COUNT = 50
_STRIDE = 7_919  # a prime
_TOP_COUNT = 10
_DIFFERENT_COUNT = 1_000  # vectors to scan; the others are the same again


def commit_s(folder: Path, texts: Sequence[str]) -> float:
    """Median seconds to insert one text into a bare SQLite table and commit it to disk (WAL, synchronous=FULL)."""
    clock = SystemClock()
    path = folder / "floor.db"
    connection = apsw.Connection(str(path))
    try:
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, text TEXT)")
        samples = []
        for text in texts:
            start = clock.monotonic_s()
            with connection:
                connection.execute("INSERT INTO t (text) VALUES (?)", (text,))
            samples.append(clock.monotonic_s() - start)
    finally:
        connection.close()
    return quantile(samples, 0.5)


async def embedding_s(embedder: EmbeddingProvider, texts: Sequence[str]) -> float:
    """Median seconds to embed one text on its own."""
    clock = SystemClock()
    samples = []
    for text in texts:
        start = clock.monotonic_s()
        await embedder.embed(text)
        samples.append(clock.monotonic_s() - start)
    return quantile(samples, 0.5)


async def batch_per_s(embedder: EmbeddingProvider, texts: Sequence[str]) -> float:
    """Texts embedded per second when all are given at once."""
    clock = SystemClock()
    start = clock.monotonic_s()
    await embedder.embed_many(texts)
    return len(texts) / (clock.monotonic_s() - start)


def scan_s(count: int) -> float:
    """Median seconds for numpy to compare one vector with `count` others and pick the nearest ten."""
    clock = SystemClock()
    few = np.sin(np.arange(min(count, _DIFFERENT_COUNT) * _SCAN_DIMENSIONS, dtype=np.float32))
    matrix = np.resize(few, (count, _SCAN_DIMENSIONS))
    query = matrix[count // 2].copy()
    samples = []
    for _ in range(_SCAN_RUNS_COUNT):
        start = clock.monotonic_s()
        scores = matrix @ query
        np.argpartition(scores, max(count - _TOP_COUNT, 0))
        samples.append(clock.monotonic_s() - start)
    return quantile(samples, 0.5)


def bytes_scan_s(count: int) -> float:
    """Median seconds to compare one vector in 8 bits with `count` others, and nothing else: what memory allows."""
    clock = SystemClock()
    few = np.arange(min(count, _DIFFERENT_COUNT) * _SCAN_DIMENSIONS, dtype=np.int64) * _STRIDE % 255 - 127
    matrix = np.resize(few.astype(np.int8), (count, _SCAN_DIMENSIONS))
    samples = []
    for _ in range(_SCAN_RUNS_COUNT):
        start = clock.monotonic_s()
        simsimd.cdist(matrix[:1], matrix, metric="dot")
        samples.append(clock.monotonic_s() - start)
    return quantile(samples, 0.5)

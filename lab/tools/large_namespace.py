"""A large namespace searched with everything in memory, and with the compact index that reads blocks from the store (ADR 26).

    python lab/tools/large_namespace.py [--size 1000000] [--db postgresql://...] [--questions 100]

Messages and vectors are those of `umi bench speed`: of 2,000 embedded texts, each a little moved for every message. A database that is named
is written to, in a namespace of its own that is erased at the end; without one a SQLite file is made and deleted. Printed are, for
both indexes, memory, the first recall of an open store and the median recall; and how many of the ten nearest messages by an exact scan
the compact index found.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np

import umi
from umi import limits
from umi._core.vectors import normalised
from umi.bench.filling import fill
from umi.bench.texts import turns
from umi.ports import Snapshot, StorageBackend, Vector
from umi.providers.local import LocalEmbedder

SEED = 20
WORDS = 26
QUESTION_CHARACTERS = 70
NEAREST = 10
COMPACT, WHOLE = 1 << 20, 1 << 40  # bytes that indexes may take


async def measured(url: str, namespace: str, questions: list[str], bytes_max: int) -> tuple[list[set[int]], str]:
    """The nearest messages of each question, and what was measured, in words."""
    embedder = LocalEmbedder()
    vectors = [await embedder.embed(question) for question in questions]
    config = umi.Config(cache_bytes_max=bytes_max)
    async with umi.Memory.open(url, namespace=namespace, embedder=embedder, config=config) as memory:
        first_s = await spent(memory, questions[0])
        recall_s = statistics.median([await spent(memory, question) for question in questions])
        held = (await memory.stats()).cache_bytes
        storage = storage_of(memory)
        found = [await storage.read(lambda snapshot, asked=asked: nearest(snapshot, asked)) for asked in vectors]
    return found, f"{held / 1e6:,.0f} MB, first recall {first_s:.2f} s, recall p50 {recall_s * 1e3:.1f} ms"


def storage_of(memory: umi.Memory) -> StorageBackend:
    """The store beneath a memory."""
    return memory._open.storage  # noqa: SLF001 - rows are written and searched beneath the facade


async def spent(memory: umi.Memory, question: str) -> float:
    """Seconds of a recall."""
    start = time.perf_counter()
    await memory.recall(question)
    return time.perf_counter() - start


def nearest(snapshot: Snapshot, asked: Vector) -> set[int]:
    """The first messages of the vector leg."""
    candidates = snapshot.vector_candidates(asked, pool=limits.CANDIDATE_POOL_COUNT)
    return {int(key) for key in candidates.keys[np.argsort(-candidates.cosine, kind="stable")[:NEAREST]]}


def exact(snapshot: Snapshot, asked: list[Vector]) -> list[set[int]]:
    """The nearest messages by a scan of every stored vector."""
    cosines: list[list[float]] = [[] for _ in asked]
    arrivals = []
    for row, packed in snapshot.scan_episodes():
        if packed is not None:
            arrivals.append(row.episode.arrival)
            windows = normalised(np.frombuffer(packed.blob, dtype="<f2").reshape(-1, packed.dimensions))
            for kept, one in zip(cosines, asked, strict=True):
                kept.append(float(np.vecdot(windows, one).max()))
    return [{arrivals[place] for place in np.argsort(-np.array(one), kind="stable")[:NEAREST]} for one in cosines]


async def run(url: str, namespace: str, size: int, count: int) -> None:
    embedder = LocalEmbedder()
    async with umi.Memory.open(url, namespace=namespace, embedder=embedder) as memory:
        await fill(
            storage_of(memory),
            embedder,
            turns(SEED, size, WORDS),
            size,
            lambda done: print(f"{done:,}", end="\r", file=sys.stderr),
        )
    said = islice(turns(SEED, size, WORDS), 0, size, max(1, size // count))
    questions = [f"{one.content[:QUESTION_CHARACTERS]}?" for one in said][:count]
    compact, words = await measured(url, namespace, questions, COMPACT)
    print(f"compact, {size:,} messages: {words}")
    _, words = await measured(url, namespace, questions, WHOLE)
    print(f"everything in memory: {words}")
    vectors = [await embedder.embed(question) for question in questions[:20]]
    async with umi.Memory.open(url, namespace=namespace, embedder=embedder) as memory:
        true = await storage_of(memory).read(lambda snapshot: exact(snapshot, vectors))
        here = [len(one & other) for one, other in zip(true, compact, strict=False)]
        print(f"of the {NEAREST} nearest by an exact scan the compact index has {statistics.mean(here):.2f}")
        await memory.erase_namespace()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--db", help="address of a PostgreSQL database")
    parser.add_argument("--questions", type=int, default=100)
    given = parser.parse_args()
    if given.size < limits.STORE_BLOCKS_FROM_COUNT + 2 * limits.STORE_BLOCK_COUNT:
        parser.error(
            f"--size is at least {limits.STORE_BLOCKS_FROM_COUNT + 2 * limits.STORE_BLOCK_COUNT}: smaller namespaces have no blocks"
        )
    with tempfile.TemporaryDirectory(prefix="umi-large-") as folder:
        url = given.db or str(Path(folder) / "large.db")
        asyncio.run(run(url, f"umi-large-{time.time_ns()}", given.size, given.questions))


if __name__ == "__main__":
    main()

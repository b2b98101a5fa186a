"""What export and restore take of memory: `python tests/unit/copy_memory.py 100000` builds a store of so many messages, exports and
restores it, each in a process of its own, and prints seconds and the peak of the process in MB.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

import umi
from umi._core.clock import SystemClock, SystemEntropy
from umi._core.vectors import normalised
from umi.ports import EmbedderIdentity, EpisodeRow, ReplayRow, Transaction
from umi.stores.sqlite.store import SqliteStore
from umi.types import Entity, EntityType, Episode

DIMENSIONS = 384
BATCH = 500
START = datetime(2026, 1, 1, tzinfo=UTC)
STEPS = ("build", "export", "restore", "again")


async def build(folder: Path, count: int) -> None:
    """Rows as remember would leave them, but for the model that would embed 100,000 texts."""
    store = await SqliteStore.open(str(folder / "a.db"), clock=SystemClock(), entropy=SystemEntropy())
    await store.set_embedder_identity(EmbedderIdentity("random", DIMENSIONS, "0" * 32))
    rng = np.random.default_rng(7)
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        vectors = normalised(rng.standard_normal((len(numbers), DIMENSIONS)))

        def work(tx: Transaction, numbers: range = numbers, vectors: np.ndarray = vectors) -> None:
            tx.add_episodes([_episode(number) for number in numbers])
            tx.add_entities([_entity(number) for number in numbers])
            tx.add_vectors({f"epi_{n}": vectors[i : i + 1] for i, n in enumerate(numbers)})
            for number in numbers:
                tx.add_replay(ReplayRow(f"message:{number}", "0" * 64, (f"epi_{number}",)))

        await store.namespace("default").write(work)
    await store.close()


def _episode(number: int) -> EpisodeRow:
    said = (
        f"On day {number} we talked about the weather, the harbour and what to cook; {number % 97} people came along."
    )
    at = START + timedelta(minutes=number)
    one = Episode(f"epi_{number}", said, "user", "Alice", f"s{number // 40}", at, at, number, f"m{number}")
    return EpisodeRow(one, tuple(said.lower().split()), 18)


def _entity(number: int) -> Entity:
    said = f"On day {number} we talked about the weather"
    return Entity(EntityType.NOTE, "Alice", said, subject="alice", episode_id=f"epi_{number}", span=(0, len(said)))


async def export(folder: Path, database: str, file: str) -> None:
    async with umi.Memory.open(str(folder / database), embedder=None) as memory:
        await memory.export(folder / file)


async def restore(folder: Path) -> None:
    async with umi.Memory.open(str(folder / "b.db"), embedder=None) as memory:
        await memory.restore(folder / "a.jsonl")


async def step(name: str, folder: Path, count: int) -> None:
    match name:
        case "build":
            await build(folder, count)
        case "export":
            await export(folder, "a.db", "a.jsonl")
        case "restore":
            await restore(folder)
        case _:
            await export(folder, "b.db", "b.jsonl")


def measured(folder: Path, count: int) -> dict[str, dict[str, float]]:
    """Seconds and peak MB of each step, each in its own process."""
    found = {}
    for name in STEPS:
        command = [sys.executable, __file__, name, str(folder), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[name] = json.loads(done.stdout)
    return found


def main() -> None:
    if sys.argv[1] in STEPS:
        start = time.perf_counter()
        asyncio.run(step(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        print(json.dumps({"seconds": round(time.perf_counter() - start, 1), "peak_mb": round(peak, 1)}))
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, numbers in measured(Path(folder), int(sys.argv[1])).items():
            print(f"{name:8} {numbers['seconds']:7.1f} s {numbers['peak_mb']:7.1f} MB")
        same = (Path(folder) / "a.jsonl").read_bytes() == (Path(folder) / "b.jsonl").read_bytes()
        print("byte-identical:", same, f"{(Path(folder) / 'a.jsonl').stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()

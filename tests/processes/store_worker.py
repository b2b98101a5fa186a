"""What a process of the process tests does: `python store_worker.py write|read PATH NAME BATCH`.

A writer stores batches for as long as it is told to and prints the number of each once it is acknowledged. A reader looks
over and over for half-written batches, and answers "see BATCH" on its standard input with whether a new read finds it.
Both stop when their standard input ends.
"""

from __future__ import annotations

import asyncio
import select
import sys
from collections import Counter
from datetime import UTC, datetime

from umi._core.clock import SystemClock, SystemEntropy
from umi.ports import EpisodeRow, Snapshot, StorageBackend, Transaction
from umi.stores.sqlite.store import SqliteStore
from umi.types import Entity, EntityType, Episode

NAMESPACE = "shared"
BUSY_TIMEOUT_MS = 60_000  # writers that never pause, on a machine that may be loaded: waiting long is right here
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def open_store(path: str) -> SqliteStore:
    return await SqliteStore.open(path, clock=SystemClock(), entropy=SystemEntropy(), busy_timeout_ms=BUSY_TIMEOUT_MS)


def add_batch(tx: Transaction, name: str, number: int, size: int) -> None:
    """`size` episodes with two entities each; the second one counts all batches of all processes."""
    latest = tx.statements_in([("counter", "value")], limit=1)["counter", "value"]
    count = int(latest[0].value) + 1 if latest else 1
    first = tx.next_arrival()
    for place in range(size):
        arrival = first + place
        id_ = f"{name}-{number}-{place}"
        episode = Episode(id_, f"batch {name}-{number} of {size}", "user", None, None, NOON, NOON, arrival)
        tx.add_episodes([EpisodeRow(episode, ("batch", f"{name}-{number}"), 4)])
        tx.add_entities(
            [
                Entity(EntityType.NOTE, "note", episode.content, id=f"{id_}-a", subject="note", episode_id=id_),
                Entity(
                    EntityType.NOTE,
                    "counter",
                    episode.content,
                    id=f"{id_}-b",
                    subject="counter",
                    slot="value",
                    value=str(count),
                    episode_id=id_,
                ),
            ]
        )


def problems(s: Snapshot) -> list[str]:
    """What no reader may ever see."""
    episodes = s.episodes_at(s.text_candidates(["batch"]).keys.tolist())
    count = s.counts()
    found = []
    if count.episodes != len(episodes):
        found.append(f"{count.episodes} episodes, {len(episodes)} found by their words")
    entities = s.entities_of([episode.id for episode in episodes.values()])
    found += [f"{episode.id} is half there" for episode in episodes.values() if len(entities.get(episode.id, ())) != 2]
    sizes = Counter(episode.content for episode in episodes.values())
    found += [f"{n} of {content}" for content, n in sizes.items() if n != int(content.rpartition(" ")[2])]
    latest = s.statements_in([("counter", "value")], limit=1)["counter", "value"]
    if int(latest[0].value if latest else 0) != len(sizes):
        found.append(f"{len(sizes)} batches counted as {latest}")
    if s.sequence != len(sizes):
        found.append(f"{len(sizes)} batches in {s.sequence} transactions")
    return found


def sees(batch: str) -> object:
    return lambda s: bool(s.episodes([f"{batch}-0"])) and len(s.text_candidates([batch]).keys) > 0


async def write(space: StorageBackend, name: str, size: int) -> None:
    number = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        await space.write(lambda tx: add_batch(tx, name, number, size))  # noqa: B023 - awaited at once
        print(number, flush=True)
        number += 1


async def read(space: StorageBackend) -> None:
    looks = 0
    while True:
        if select.select([sys.stdin], [], [], 0)[0]:
            line = sys.stdin.readline()
            if not line:
                print("looked", looks, flush=True)
                return
            batch = line.split()[1]
            print("seen" if await space.read(sees(batch)) else "unseen", batch, flush=True)
            continue
        for problem in await space.read(problems):
            print("problem", problem, flush=True)
        looks += 1


async def main() -> None:
    role, path, name, size = sys.argv[1:]
    store = await open_store(path)
    space = store.namespace(NAMESPACE)
    if role == "write":
        await write(space, name, int(size))
    else:
        await read(space)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main())

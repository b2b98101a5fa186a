"""The real store on the simulated disk and loop: what it acknowledged is there after any power cut."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from umi.errors import StoreError, StoreFull
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.disk import SimDisk
from umi.sim.embedder import SimEmbedder
from umi.sim.faults import FaultConfig, FaultInjector, FaultType
from umi.sim.loop import run
from umi.sim.rng import DeterministicRng
from umi.stores.sqlite.store import SqliteStore
from umi.types import Entity, EntityType

WRITERS = 2
TEXTS = 4  # of each writer
CHANGES_MAX = 1_000


class World:
    """A disk and everything a store needs, from one seed."""

    def __init__(self, seed: int, *configs: FaultConfig) -> None:
        self.seed = seed
        self.rng = DeterministicRng(seed)
        self.clock = SimClock()
        self.entropy = SimEntropy(self.rng.fork("ids"))
        self.faults = FaultInjector(self.rng.fork("faults"), configs)
        self.disk = SimDisk(self.rng.fork("disk"), clock=self.clock, faults=self.faults)
        self.embedder = SimEmbedder(self.clock, self.rng.fork("embedder"))
        self.acknowledged: dict[str, str] = {}
        self.failures: list[StoreError] = []

    async def open(self) -> SqliteStore:
        return await SqliteStore.open("umi.db", clock=self.clock, entropy=self.entropy, vfs=self.disk.vfs)

    async def write(self, store: SqliteStore, writer: int) -> None:
        bound = store.namespace(f"writer-{writer}")
        for number in range(TEXTS):
            content = f"Person {writer} likes colour {number} " + "very " * (number * 300) + "much."
            try:
                id_ = await bound.store_entity(Entity(EntityType.NOTE, "note", content))
                self.acknowledged[id_] = f"writer-{writer}"
                await bound.store(id_, await self.embedder.embed(content))
            except StoreError as error:
                self.failures.append(error)

    async def live(self) -> None:
        """Open, write from several tasks at once, and close, whatever happens."""
        store = await self.open()
        try:
            await asyncio.gather(*(self.write(store, writer) for writer in range(WRITERS)))
        finally:
            await store.close()

    async def verify(self) -> None:
        """Everything acknowledged is there, and nothing is wrong with the file."""
        store = await self.open()
        for id_, name in self.acknowledged.items():
            bound = store.namespace(name)
            entity = await bound.get_entity(id_)
            assert entity is not None, f"{id_} was acknowledged and is gone"
            episode = (await bound.read(lambda snapshot, e=entity: snapshot.episodes([e.episode_id])))[
                entity.episode_id
            ]
            assert episode.content == entity.content
            assert any(hit.id == id_ for hit in await bound.search(entity.content, limit=10))
            vector = await bound.get(id_)
            if vector is not None:
                assert np.array_equal(vector, await self.embedder.embed(entity.content))
        assert await store.check_integrity() == []
        await store.close()

    def run_live(self) -> bool:
        """Whether the store could be opened at all."""
        try:
            run(self.live(), seed=self.seed, order="seeded", clock=self.clock)
        except StoreError as error:
            self.failures.append(error)
            return False
        return True


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_everything_acknowledged_survives_a_power_cut_at_any_change(every: int) -> None:
    kept = 0
    for change in range(1, CHANGES_MAX, every):
        world = World(change)
        with world.disk:
            world.disk.arm_power_cut(change)
            world.run_live()
            cut = not world.disk.powered
            world.disk.cut_power()
            world.disk.restart()
            run(world.verify(), seed=change, order="seeded", clock=world.clock)
            kept += len(world.acknowledged)
            if not cut:
                assert not world.failures
                break
            assert world.failures or change < 20 or len(world.acknowledged) == WRITERS * TEXTS
    assert not cut, "every change was cut"
    assert change > 100
    assert kept > 500 // every


@pytest.mark.parametrize(
    "fault",
    [
        FaultType.StorageReadFail,
        FaultType.StorageWriteFail,
        FaultType.StorageSyncFail,
        FaultType.StorageFull,
        FaultType.TornWrite,
    ],
)
def test_everything_acknowledged_survives_a_faulty_disk(fault: FaultType) -> None:
    fired = failed = 0
    for seed in range(40):
        world = World(seed, FaultConfig(fault, 0.02))
        with world.disk:
            world.run_live()
            world.faults.stop()
            world.disk.cut_power()
            world.disk.restart()
            run(world.verify(), clock=world.clock)
            fired += world.faults.fired[fault]
            failed += bool(world.failures)
            assert fault is not FaultType.StorageFull or all(isinstance(each, StoreFull) for each in world.failures)
    assert fired > 5
    assert fault is FaultType.StorageReadFail or failed > 5


def test_a_store_whose_power_went_closes_in_peace() -> None:
    world = World(1)

    async def main() -> None:
        store = await world.open()
        await world.write(store, 0)
        world.disk.cut_power()
        with pytest.raises(StoreError, match="simulated disk: the power is off"):
            await store.namespace("writer-0").store_entity(Entity(EntityType.NOTE, "note", "too late"))
        await store.close()

    with world.disk:
        run(main(), clock=world.clock)
        world.disk.restart()
        run(world.verify(), clock=world.clock)
        assert len(world.acknowledged) == TEXTS


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from test_store import World, run
for seed in range(3):
    world = World(seed)
    with world.disk:
        world.disk.arm_power_cut(150 + 30 * seed)
        world.run_live()
        world.disk.restart()
        run(world.verify(), clock=world.clock)
        print(world.disk.image_hash(), sorted(world.acknowledged), world.clock.now())
"""


def test_the_store_writes_the_same_bytes_in_every_process() -> None:
    printed = set()
    for hash_seed in ("0", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        printed.add(done.stdout)
    assert len(printed) == 1
    assert len(set(printed.pop().split())) > 6

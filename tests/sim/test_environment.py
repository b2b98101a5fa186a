"""One seed, every part: what SimEnvironment wires, and the storage that fails as it is told to (seed 002)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import umi
import umi.sim
from umi import DetectionOptions, Entity, EntityType, EvolutionTracker, EvolutionType, InvalidInput
from umi._reading.extract import EntityExtractor
from umi.errors import EmbedderMismatch, NotFound, StoreError, StoreFull
from umi.ports import NamespaceStore, StorageBackend, VectorBackend
from umi.sim import FaultConfig, FaultType, SimConfig, SimEnvironment, SimStorage, SimVectorBackend, Temper
from umi.sim.clock import EPOCH
from umi.sim.embedder import text_vector
from umi.sim.storage import LATENCY_S, TIMEOUT_S

OLD = Entity(EntityType.PERSON, "Alice", "Works at Acme")
NEW = Entity(EntityType.PERSON, "Alice", "Left Acme, now at StartupX")


def world(seed: int = 42, *faults: FaultConfig) -> SimEnvironment:
    return SimEnvironment(SimConfig(seed, faults))


# The wiring.


def test_with_seed_is_the_default_of_everything_but_the_seed() -> None:
    config = SimConfig.with_seed(42)
    assert config == SimConfig(42)
    assert (config.faults, config.temper, config.order) == ((), Temper(), "fifo")


@pytest.mark.parametrize(
    "wrong",
    [{"seed": "42"}, {"seed": True}, {"seed": 1, "start": EPOCH.replace(tzinfo=None)}, {"seed": 1, "order": "lifo"},
     {"seed": 1, "faults": FaultConfig(FaultType.LlmTimeout)}, {"seed": 1, "temper": 0.5}],
)  # fmt: skip
def test_a_config_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        SimConfig(**wrong)  # type: ignore[arg-type]


def test_the_seeds_architecture() -> None:
    env = world()
    kinds = {
        "config": umi.sim.SimConfig, "clock": umi.sim.SimClock, "rng": umi.sim.DeterministicRng, "entropy": umi.sim.SimEntropy,
        "faults": umi.sim.FaultInjector, "storage": umi.sim.SimStorage, "vector": umi.sim.SimVectorBackend,
        "network": umi.sim.SimNetwork, "embedder": umi.sim.SimEmbedder, "llm": umi.sim.SimLLM,
    }  # fmt: skip
    assert {name: type(getattr(env, name)) for name in kinds} == kinds
    assert vars(env).keys() == kinds.keys()
    storage: StorageBackend = env.storage
    both: NamespaceStore = env.storage
    vector: VectorBackend = env.vector
    assert storage is both
    assert vector is env.vector


def test_time_starts_where_the_config_says_and_moves_only_virtually() -> None:
    env = SimEnvironment(SimConfig(1, start=datetime(2026, 11, 20, tzinfo=UTC)))
    env.run(env.clock.sleep(7_200))
    assert env.clock.now() == datetime(2026, 11, 20, 2, tzinfo=UTC)


def test_every_part_meets_the_environments_faults() -> None:
    kinds = (
        FaultType.LlmRateLimit, FaultType.EmbeddingFail, FaultType.NetworkRefused, FaultType.StorageReadFail,
        FaultType.VectorSearchFail,
    )  # fmt: skip
    env = world(1, *(FaultConfig(kind) for kind in kinds))

    async def main() -> list[str]:
        calls: list[Awaitable[object]] = [
            env.llm.complete("Hello"), env.embedder.embed("Hello"), env.network.request("a", "b", None),
            env.storage.count(), env.vector.search(np.ones(256, np.float32), 3),
        ]  # fmt: skip
        caught = []
        for call in calls:
            with pytest.raises((umi.UmiError, OSError)) as error:
                await call
            caught.append(type(error.value).__name__)
        return caught

    assert env.run(main()) == ["LLMRateLimit", "EmbeddingError", "ConnectionRefusedError", "StoreError", "StoreError"]
    assert env.faults.fired == dict.fromkeys(kinds, 1)


async def life(env: SimEnvironment) -> list[str]:
    """A bit of everything, as text."""
    told = []
    async with umi.Memory.open(
        "dict:", llm=env.llm, embedder=env.embedder, clock=env.clock, entropy=env.entropy
    ) as memory:
        for text in ("Alice works at Acme.", "Alice left Acme and joined StartupX.", "Bob likes tea."):
            receipt = await memory.remember(text)
            told += [repr(receipt)]
        told.append(repr(await memory.recall("Where does Alice work?", deep=True)))
    await env.storage.store_entity(OLD)
    await env.vector.store(OLD.id, text_vector(OLD.content))
    told.append(repr(await env.vector.search(text_vector("Acme"), 3)))
    return [*told, repr(env.clock.monotonic_s()), repr(sorted(env.faults.fired.items()))]


FAULTS = (
    FaultConfig(FaultType.LlmTimeout, 0.2), FaultConfig(FaultType.EmbeddingFail, 0.2), FaultConfig(FaultType.StorageSlow, 0.5),
)  # fmt: skip


def test_the_same_seed_lives_the_same_life_and_another_does_not() -> None:
    lives = [(env := SimEnvironment(SimConfig(seed, FAULTS, order="seeded"))).run(life(env)) for seed in (42, 42, 43)]
    assert lives[0] == lives[1]
    assert lives[0] != lives[2]


def test_the_same_life_in_processes_with_other_hash_seeds() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_environment import *\n"
        "env = SimEnvironment(SimConfig(42, FAULTS, order='seeded'))\nprint(env.run(life(env)))"
    )
    outputs = {
        subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(outputs) == 1
    assert "StartupX" in outputs.pop()


def test_one_parts_use_moves_nothing_in_the_others() -> None:
    def ids(busy: bool) -> list[str]:
        env = world()

        async def main() -> list[str]:
            if busy:
                await env.storage.count()
                await env.embedder.embed("Hello")
                await env.llm.complete("Hello")
            return [env.entropy.new_id("ent", env.config.start) for _ in range(3)]

        return env.run(main())

    assert ids(busy=True) == ids(busy=False)


# The storage.


def test_the_storage_is_a_store() -> None:
    env = world()

    async def main() -> None:
        id_ = await env.storage.store_entity(OLD)
        assert (await env.storage.get_entity(id_)).content == OLD.content  # type: ignore[union-attr]
        assert [entity.id for entity in await env.storage.search("Acme", limit=3)] == [id_]
        assert [entity.id for entity in await env.storage.list(limit=3)] == [id_]
        assert await env.storage.count() == 1
        embedding = await env.embedder.embed("Acme")
        await env.vector.store(id_, embedding)
        for backend in (env.vector, env.storage):
            ((hit),) = await backend.search(await env.embedder.embed("Acme"), 3)
            assert (hit.id, hit.score) == (id_, 1.0)  # type: ignore[union-attr]
            assert await backend.exists(id_)
        assert np.array_equal(await env.vector.get(id_), embedding)  # type: ignore[arg-type]
        assert await env.vector.count() == 1
        assert await env.vector.delete(id_)
        assert (await env.vector.count(), await env.storage.count()) == (0, 1), "the text stays"
        with pytest.raises(NotFound):
            await env.vector.store("nobody", embedding)
        assert await env.storage.delete(id_)
        assert await env.storage.count() == 0

    env.run(main())


def test_every_call_takes_virtual_time() -> None:
    env = world()

    async def main() -> list[float]:
        took = []
        for _ in range(50):
            before = env.clock.monotonic_s()
            await env.storage.count()
            took.append(env.clock.monotonic_s() - before)
        return took

    took = env.run(main())
    assert LATENCY_S[0] <= min(took) < max(took) <= LATENCY_S[1]
    env = world(42, FaultConfig(FaultType.StorageSlow))
    assert max(env.run(main())) > 10 * LATENCY_S[1]


Call = Callable[[SimEnvironment], Awaitable[object]]
READS: dict[str, Call] = {
    "get_entity": lambda env: env.storage.get_entity(OLD.id),
    "search": lambda env: env.storage.search("Acme", limit=3),
    "list": lambda env: env.storage.list(limit=3),
    "count": lambda env: env.storage.count(),
    "read": lambda env: env.storage.read(lambda snapshot: snapshot.counts()),
}
WRITES: dict[str, Call] = {
    "store_entity": lambda env: env.storage.store_entity(NEW),
    "delete": lambda env: env.storage.delete(OLD.id),
    "write": lambda env: env.storage.write(lambda tx: tx.add_alias("al", "alice")),
}


async def state(env: SimEnvironment) -> object:
    def look(snapshot: umi.ports.Snapshot) -> object:
        entities = snapshot.list_entities(after=None, limit=100)
        return snapshot.sequence, entities, snapshot.counts().vectors, snapshot.subjects_of(["al"]).get("al")

    return await env.storage.read(look)


@pytest.mark.parametrize("name", READS)
def test_a_failing_read_says_so_and_the_next_one_works(name: str) -> None:
    env = world()

    async def main() -> None:
        await env.storage.store_entity(OLD)
        env.faults.register(FaultConfig(FaultType.StorageReadFail, count_max=1))
        with pytest.raises(StoreError, match="read"):
            await READS[name](env)
        await READS[name](env)

    env.run(main())
    assert env.faults.fired_at == {("storage_read", FaultType.StorageReadFail): 1}


@pytest.mark.parametrize(
    ("fault", "error"), [(FaultType.StorageWriteFail, StoreError), (FaultType.StorageFull, StoreFull)]
)
@pytest.mark.parametrize("name", WRITES)
def test_a_failing_write_leaves_nothing_and_the_next_one_works(
    name: str, fault: FaultType, error: type[StoreError]
) -> None:
    env = world()

    async def main() -> None:
        await env.storage.store_entity(OLD)
        before = await state(env)
        env.faults.register(FaultConfig(fault, operations=("storage_write",), count_max=1))
        with pytest.raises(error):
            await WRITES[name](env)
        assert await state(env) == before
        await WRITES[name](env)
        assert await state(env) != before

    env.run(main())
    assert env.faults.fired_at == {("storage_write", fault): 1}


def test_vectors_fail_apart_from_rows() -> None:
    env = world()

    async def main() -> None:
        await env.storage.store_entity(OLD)
        embedding = await env.embedder.embed("Acme")
        env.faults.register(FaultConfig(FaultType.VectorStoreFail, count_max=2))
        env.faults.register(FaultConfig(FaultType.VectorSearchFail, count_max=2))
        for backend in (env.vector, env.storage):
            with pytest.raises(StoreError, match="stored"):
                await backend.store(OLD.id, embedding)
            with pytest.raises(StoreError, match="searched"):
                await backend.search(embedding, 3)
        assert await env.vector.count() == 0
        await env.vector.store(OLD.id, embedding)
        assert len(await env.vector.search(embedding, 3)) == 1

        env.faults.register(FaultConfig(FaultType.StorageReadFail))
        env.faults.register(FaultConfig(FaultType.StorageWriteFail, operations=("storage_write",)))
        await env.vector.store(OLD.id, embedding)
        assert len(await env.vector.search(embedding, 3)) == 1, "the vectors' service is another one"
        with pytest.raises(StoreError):
            await env.storage.store(OLD.id, embedding)

    env.run(main())


def test_a_vector_search_that_times_out_takes_its_time() -> None:
    env = world(1, FaultConfig(FaultType.VectorSearchTimeout))

    async def main() -> None:
        with pytest.raises(StoreError, match="10 s"):
            await env.vector.search(np.ones(256, np.float32), 3)

    env.run(main())
    assert TIMEOUT_S <= env.clock.monotonic_s() < TIMEOUT_S + 0.1


def test_vectors_of_other_dimensions_are_refused() -> None:
    env = world()

    async def main() -> None:
        ids = [await env.storage.store_entity(entity) for entity in (OLD, NEW)]
        await env.vector.store(ids[0], await env.embedder.embed("Acme"))
        with pytest.raises(EmbedderMismatch):
            await env.vector.store(ids[1], np.ones(7, np.float32))
        assert await env.vector.count() == 1

    env.run(main())


def test_a_storage_alone_needs_no_environment() -> None:
    clock = umi.sim.SimClock()
    storage = SimStorage(clock, umi.sim.DeterministicRng(1), namespace="mine")
    assert umi.sim.run(storage.store_entity(OLD), clock=clock) == OLD.id
    assert storage.namespace == storage.vectors.namespace == "mine"
    assert isinstance(storage.vectors, SimVectorBackend)


# The seeds' parts on it, unchanged.


def detect(seed: int, *, model: bool) -> umi.DetectionResult | None:
    env = world(seed)
    tracker = EvolutionTracker(env.llm if model else None, env.storage)
    result = env.run(tracker.detect(NEW, [OLD], DetectionOptions()))
    assert tracker.failures == 0
    return result


@pytest.mark.parametrize("model", [True, False])
def test_detect_update(model: bool) -> None:
    result = detect(42, model=model)
    assert result is not None
    assert result.relation.evolution_type is EvolutionType.UPDATE
    assert (result.relation.source_id, result.relation.target_id) == (OLD.id, NEW.id)
    assert result.relation.confidence >= 0.3
    assert result.relation.reason
    assert result.llm_used is model


@pytest.mark.parametrize("model", [True, False])
def test_same_seed_same_detections(model: bool) -> None:
    assert [detect(seed, model=model) for seed in range(10)] == [detect(seed, model=model) for seed in range(10)]
    if model:
        assert len({str(detect(seed, model=True)) for seed in range(10)}) == 10


@pytest.mark.parametrize("model", [True, False])
def test_find_and_detect_on_simulated_storage(model: bool) -> None:
    env = world()
    tracker = EvolutionTracker(env.llm if model else None, env.storage)

    async def main() -> umi.DetectionResult | None:
        for entity in (OLD, Entity(EntityType.PERSON, "Bob", "Plays the cello"), NEW):
            await env.storage.store_entity(entity)
        return await tracker.find_and_detect(NEW)

    found = env.run(main())
    assert found is not None
    assert (found.relation.source_id, found.relation.evolution_type) == (OLD.id, EvolutionType.UPDATE)


def test_the_extractor_with_a_simulated_model() -> None:
    env = world()
    extractor = EntityExtractor(env.llm)
    result = env.run(extractor.extract("Alice works at Acme."))
    assert [entity.name for entity in result.entities] == ["Alice", "Acme"]
    assert extractor.failures == 0


# The names.

PUBLIC = [
    "BoundExceeded", "Deadlock", "DeterministicRng", "FaultConfig", "FaultInjector", "FaultType", "Forbidden", "Hostility",
    "InvalidFault", "OPERATIONS", "Order", "SimClock", "SimConfig", "SimDisk", "SimEmbedder", "SimEntropy", "SimEnvironment", "SimLLM",
    "SimLLMProvider", "SimLoop", "SimNetwork", "SimStorage", "SimVectorBackend", "SimulationError", "Temper", "run",
]  # fmt: skip


def test_the_public_names_are_frozen() -> None:
    assert sorted(umi.sim.__all__) == PUBLIC


def test_importing_it_brings_in_no_more_than_it_needs() -> None:
    code = "import json, sys, umi.sim; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = ("umi_lab.worlds.world", "onnxruntime", "tokenizers", "typer", "rich", "_pytest")
    assert [name for name in heavy if name in json.loads(done.stdout)] == []


def test_the_names_for_testing_agents_are_frozen() -> None:
    from umi import testing

    assert sorted(testing.__all__) == [
        "Deadlock", "DeterministicRng", "FaultConfig", "FaultInjector", "FaultType", "Forbidden", "Hostility", "SimClock", "SimDisk",
        "SimEmbedder", "SimLLM", "SimNetwork", "SimulationError", "Temper", "World", "simulate",
    ]  # fmt: skip
    assert [name for name in testing.__all__ if not hasattr(testing, name)] == []

"""Faults fire where they can, as often as they should, and stay where they were when another one is taken away."""

from __future__ import annotations

import pytest

from umi.errors import InvalidInput
from umi.sim.errors import InvalidFault
from umi.sim.faults import OPERATIONS, FaultConfig, FaultInjector, FaultType
from umi.sim.rng import DeterministicRng


def injector(*configs: FaultConfig, seed: int = 1) -> FaultInjector:
    return FaultInjector(DeterministicRng(seed).fork("faults"), configs)


def test_certain_and_impossible_faults() -> None:
    faults = injector(FaultConfig(FaultType.LlmTimeout, 1.0), FaultConfig(FaultType.VectorSearchFail, 0.0))
    assert [faults.should_inject("llm_complete") for _ in range(3)] == [FaultType.LlmTimeout] * 3
    assert [faults.should_inject("vector_search") for _ in range(3)] == [None] * 3
    assert faults.should_inject("embed") is None


def test_a_fault_fires_about_as_often_as_its_probability_says() -> None:
    faults = injector(FaultConfig(FaultType.EmbeddingFail, 0.5))
    fired = sum(faults.should_inject("embed") is not None for _ in range(2_000))
    assert 900 < fired < 1_100


@pytest.mark.parametrize("fault", list(FaultType))
def test_every_fault_fires_in_each_of_its_operations_and_in_no_other(fault: FaultType) -> None:
    faults = injector(FaultConfig(fault))
    for operation in sorted({name for names in OPERATIONS.values() for name in names}):
        assert faults.should_inject(operation) == (fault if operation in OPERATIONS[fault] else None)


def test_a_fault_where_it_cannot_happen_is_refused() -> None:
    with pytest.raises(InvalidFault, match="LlmTimeout can happen in llm_complete, not in disk_write"):
        FaultConfig(FaultType.LlmTimeout, 0.1, operations=("llm_complete", "disk_write"))
    assert issubclass(InvalidFault, InvalidInput)
    for wrong in ({"probability": 1.1}, {"probability": -0.1}, {"after": -1}, {"count_max": -1}, {"operations": ()}):
        with pytest.raises(InvalidFault):
            FaultConfig(FaultType.LlmTimeout, **{"probability": 0.5, **wrong})
    with pytest.raises(InvalidFault, match="'llm_compleet' is no operation"):
        injector().should_inject("llm_compleet")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"fault_type": "LlmTimeuot"}, "'LlmTimeuot' is no fault; there are LlmTimeout, LlmRateLimit"),
        ({"probability": "0.3"}, "the probability of LlmTimeout is 0..1, not '0.3'"),
        ({"after": 2.5}, "after of LlmTimeout is a whole number of at least 0, not 2.5"),
        ({"count_max": 0.5}, "count_max of LlmTimeout is a whole number"),
    ],
)
def test_a_wrong_value_is_named(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidFault, match=said):
        FaultConfig(**{"fault_type": FaultType.LlmTimeout, **wrong})  # type: ignore[arg-type]


def test_a_fault_by_its_name_is_the_fault() -> None:
    """What is hit asks whether it `is` a certain fault."""
    fault = injector(FaultConfig("StorageFull")).should_inject("disk_write")  # type: ignore[arg-type]
    assert fault is FaultType.StorageFull


def test_after_and_count_max() -> None:
    faults = injector(FaultConfig(FaultType.StorageFull, 1.0, ("disk_write",), after=2, count_max=3))
    fired = [faults.should_inject("disk_write") is not None for _ in range(8)]
    assert fired == [False, False, True, True, True, False, False, False]
    assert faults.should_inject("storage_write") is None


def test_counters_by_type_and_operation() -> None:
    faults = injector(FaultConfig(FaultType.StorageSlow))
    for operation in ("disk_read", "disk_read", "disk_sync", "embed"):
        faults.should_inject(operation)
    assert faults.fired == {FaultType.StorageSlow: 3}
    assert faults.fired_at == {("disk_read", FaultType.StorageSlow): 2, ("disk_sync", FaultType.StorageSlow): 1}
    assert faults.calls == {"disk_read": 2, "disk_sync": 1, "embed": 1}


def test_stopped_nothing_fires() -> None:
    faults = injector(FaultConfig(FaultType.NetworkReset))
    assert faults.should_inject("network_request") is FaultType.NetworkReset
    faults.stop()
    assert faults.should_inject("network_request") is None


def schedule(*configs: FaultConfig, seed: int = 1) -> list[FaultType | None]:
    faults = injector(*configs, seed=seed)
    return [faults.should_inject("llm_complete") for _ in range(200)]


def test_a_seed_is_one_schedule_and_faults_do_not_move_each_other() -> None:
    rate, timeout = FaultConfig(FaultType.LlmRateLimit, 0.1), FaultConfig(FaultType.LlmTimeout, 0.1)
    both, alone = schedule(timeout, rate), schedule(rate)
    assert both == schedule(timeout, rate)
    assert both != schedule(timeout, rate, seed=2)
    kept = [at for at, fault in enumerate(both) if fault is FaultType.LlmRateLimit]
    assert kept
    assert set(kept) <= {at for at, fault in enumerate(alone) if fault is not None}
    twice = schedule(timeout, timeout)
    assert twice.count(FaultType.LlmTimeout) > schedule(timeout).count(FaultType.LlmTimeout), "own streams"


def test_calls_of_one_operation_do_not_move_the_faults_of_another() -> None:
    def embedded(others: int) -> list[bool]:
        faults, fired = injector(FaultConfig(FaultType.EmbeddingFail, 0.3)), list[bool]()
        for _ in range(50):
            fired.append(faults.should_inject("embed") is not None)
            for _ in range(others):
                faults.should_inject("embed_many")
        return fired

    assert embedded(0) == embedded(3)

"""Test an agent that uses Umi: `@umi.testing.simulate` runs a test once per seed, under faults and in virtual time.

    @umi.testing.simulate(seeds=200, faults=[FaultConfig(FaultType.LlmTimeout, 0.3)])
    async def test_my_agent(world: umi.testing.World) -> None:
        agent = MyAgent(world.memory, world.llm)
        ...

`World` is what a test gets: a memory on a simulated machine, with its disk, network, model, embedder and clock. `simulate` says what may
fail, with `FaultConfig`, `FaultType` and `Temper`. docs/test-your-agent.md shows it at work. The parts can be used alone too: see `umi.sim`.
"""

from __future__ import annotations

from umi.sim import (
    Deadlock,
    DeterministicRng,
    FaultConfig,
    FaultInjector,
    FaultType,
    Forbidden,
    Hostility,
    SimClock,
    SimDisk,
    SimEmbedder,
    SimLLM,
    SimNetwork,
    SimulationError,
    Temper,
)
from umi.sim._worlds import World, simulate

__all__ = [
    "Deadlock",
    "DeterministicRng",
    "FaultConfig",
    "FaultInjector",
    "FaultType",
    "Forbidden",
    "Hostility",
    "SimClock",
    "SimDisk",
    "SimEmbedder",
    "SimLLM",
    "SimNetwork",
    "SimulationError",
    "Temper",
    "World",
    "simulate",
]

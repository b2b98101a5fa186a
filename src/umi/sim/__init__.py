"""Deterministic simulation in virtual time, driven by one seed: test agents, and Umi itself, against injected faults.

    import umi.sim

    async def main():
        ...                                       # hours of sleeps, timeouts and retries

    umi.sim.run(main(), seed=7, order="seeded")   # milliseconds; the same steps every time

`umi.testing.simulate` runs a test of an agent in a world made of these parts. `SimEnvironment` wires all parts to one
seed; each part can also be used alone. `run` drives asyncio in virtual time. `SimDisk` is a disk under the real SQLite
that can lose power at any write, `SimNetwork` a network that can lose messages, `SimStorage` and `SimVectorBackend`
stores that can fail, `SimEmbedder` and `SimLLM` models that can fail. A `FaultInjector` decides when, from the seed.
"""

from __future__ import annotations

from umi.sim.clock import SimClock, SimEntropy
from umi.sim.disk import SimDisk
from umi.sim.embedder import SimEmbedder
from umi.sim.environment import SimConfig, SimEnvironment
from umi.sim.errors import BoundExceeded, Deadlock, Forbidden, InvalidFault, SimulationError
from umi.sim.faults import OPERATIONS, FaultConfig, FaultInjector, FaultType
from umi.sim.llm import Hostility, SimLLM, SimLLMProvider, Temper
from umi.sim.loop import Order, SimLoop, run
from umi.sim.network import SimNetwork
from umi.sim.rng import DeterministicRng
from umi.sim.storage import SimStorage, SimVectorBackend

__all__ = [
    "OPERATIONS",
    "BoundExceeded",
    "Deadlock",
    "DeterministicRng",
    "FaultConfig",
    "FaultInjector",
    "FaultType",
    "Forbidden",
    "Hostility",
    "InvalidFault",
    "Order",
    "SimClock",
    "SimConfig",
    "SimDisk",
    "SimEmbedder",
    "SimEntropy",
    "SimEnvironment",
    "SimLLM",
    "SimLLMProvider",
    "SimLoop",
    "SimNetwork",
    "SimStorage",
    "SimVectorBackend",
    "SimulationError",
    "Temper",
    "run",
]

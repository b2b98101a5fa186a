"""A world in virtual time, from one seed: test agents, and Umi itself, against everything that can go wrong.

    import umi.sim

    async def main():
        ...                                       # hours of sleeps, timeouts and retries

    umi.sim.run(main(), seed=7, order="seeded")   # milliseconds; the same steps every time

`run` drives asyncio in virtual time. `SimDisk` is a disk under real SQLite that can lose power at any write, `SimNetwork` a
network that can lose messages, `SimEmbedder` and `SimLLM` models that can fail; a `FaultInjector` says when, from the seed.
"""

from __future__ import annotations

from umi.sim.clock import SimClock, SimEntropy
from umi.sim.disk import SimDisk
from umi.sim.embedder import SimEmbedder
from umi.sim.errors import BoundExceeded, Deadlock, Forbidden, InvalidFault, SimulationError
from umi.sim.faults import OPERATIONS, FaultConfig, FaultInjector, FaultType
from umi.sim.llm import SimLLM
from umi.sim.loop import SimLoop, run
from umi.sim.network import SimNetwork
from umi.sim.rng import DeterministicRng

__all__ = [
    "OPERATIONS",
    "BoundExceeded",
    "Deadlock",
    "DeterministicRng",
    "FaultConfig",
    "FaultInjector",
    "FaultType",
    "Forbidden",
    "InvalidFault",
    "SimClock",
    "SimDisk",
    "SimEmbedder",
    "SimEntropy",
    "SimLLM",
    "SimLoop",
    "SimNetwork",
    "SimulationError",
    "run",
]

"""All simulated parts, wired to one seed (seed 002).

env = umi.sim.SimEnvironment(umi.sim.SimConfig.with_seed(42))

async def main():
    async with umi.Memory.open("dict:", llm=env.llm, embedder=env.embedder, clock=env.clock, entropy=env.entropy) as memory:
        ...

env.run(main())
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self, TypeVar

from umi.errors import InvalidInput
from umi.sim.clock import EPOCH, SimClock, SimEntropy
from umi.sim.embedder import SimEmbedder
from umi.sim.faults import FaultConfig, FaultInjector, listed
from umi.sim.llm import SimLLM, Temper
from umi.sim.loop import Order, run
from umi.sim.network import SimNetwork
from umi.sim.rng import DeterministicRng
from umi.sim.storage import SimStorage, SimVectorBackend

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SimConfig:
    """The settings of a simulated environment.

    Args:
        seed: Determines everything that happens; any integer.
        faults: Faults that may happen from the start; `SimEnvironment.faults.register` adds more.
        temper: How hostile and how slow the model is.
        start: The time of day at virtual second 0; timezone-aware.
        order: The order of ready callbacks: `fifo`, or `seeded`, where any of them may be next.

    Raises:
        InvalidInput: When the seed is no integer, `start` has no timezone, the order is unknown, or a fault or the temper is
            something else.
    """

    seed: int
    faults: tuple[FaultConfig, ...] = ()
    temper: Temper = field(default_factory=Temper)
    start: datetime = EPOCH
    order: Order = "fifo"

    def __post_init__(self) -> None:
        # `bool` is a subclass of `int`.
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise InvalidInput(f"SimConfig.seed is an integer, not {self.seed!r}")
        if self.start.tzinfo is None:
            raise InvalidInput(f"SimConfig.start needs a timezone, got {self.start!r}")
        if self.order not in {"fifo", "seeded"}:
            raise InvalidInput(f"SimConfig.order is 'fifo' or 'seeded', not {self.order!r}")
        if not isinstance(self.temper, Temper):
            raise InvalidInput(f"SimConfig.temper is a Temper, not {self.temper!r}")
        object.__setattr__(self, "faults", listed(self.faults))

    @classmethod
    def with_seed(cls, seed: int) -> Self:
        """Default settings with this seed: nothing fails, and the model is never hostile."""
        return cls(seed)


class SimEnvironment:
    """The simulated parts, each with its own random stream, so that using one does not change the others.

    Args:
        config: Seed, faults and the model's temper.
    """

    config: SimConfig
    clock: SimClock
    rng: DeterministicRng
    entropy: SimEntropy
    faults: FaultInjector
    storage: SimStorage
    vector: SimVectorBackend
    network: SimNetwork
    embedder: SimEmbedder
    llm: SimLLM

    def __init__(self, config: SimConfig) -> None:
        self.config = config
        self.clock = SimClock(config.start)
        self.rng = DeterministicRng(config.seed)
        self.entropy = SimEntropy(self.rng.fork("ids"))
        self.faults = FaultInjector(self.rng.fork("faults"), config.faults)
        # Streams are named, so a new part leaves the draws of the others as they are.
        self.storage = SimStorage(self.clock, self.rng.fork("storage"), faults=self.faults)
        self.vector = self.storage.vectors
        self.network = SimNetwork(self.clock, self.rng.fork("network"), faults=self.faults)
        self.embedder = SimEmbedder(self.clock, self.rng.fork("embedder"), faults=self.faults)
        self.llm = SimLLM(config.seed, faults=self.faults, clock=self.clock, temper=config.temper)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end in this environment's virtual time. See `umi.sim.run`."""
        return run(main, seed=self.config.seed, order=self.config.order, clock=self.clock)

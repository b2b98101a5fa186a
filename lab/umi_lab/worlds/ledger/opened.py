"""The memory of a small world: opened with parts of the world, and what its calls were given is counted."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from umi.config import Config
from umi.memory import Memory
from umi.ports import LLMProvider
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.embedder import SimEmbedder
from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.confirmed import Tally
from umi_lab.worlds.ledger.expected import Wrong
from umi_lab.worlds.ledger.model import ScriptedModel
from umi_lab.worlds.ledger.moments import spelled
from umi_lab.worlds.ledger.plan import SmallPlan

SPACE: Final = "ledger"
# What the second memory of a file may be asked: nothing that changes anything.
_QUESTIONS: Final = frozenset(
    [
        "recall",
        "list",
        "episodes",
        "history",
        "history_counts",
        "why",
        "facts",
        "profile",
        "undecided",
        "activity",
        "sessions",
        "get",
    ]
)
# What the second may do as well: what it has deleted the first must not show, nor take for known.
_DELETIONS: Final = frozenset(["forget", "erase"])
# What a call means that leaves an argument out.
_DEFAULTS: Final = {
    name: {
        one.name: one.default
        for one in inspect.signature(method).parameters.values()
        if one.default is not inspect.Parameter.empty
    }
    for name, method in inspect.getmembers(Memory, inspect.isfunction)
    if not name.startswith("_")
}


class OpenedMemory:
    """The memory of one small world.

    `address` is that of an empty PostgreSQL database, which takes the place of the world's store; None uses the plan's.
    """

    def __init__(
        self, plan: SmallPlan, clock: SimClock, folder: Path, tally: Tally, rng: DeterministicRng, address: str | None
    ) -> None:
        self.plan = plan
        self.clock = clock
        self.folder = folder
        self.address = address
        self.tally = tally
        self.model = ScriptedModel()
        self._entropy = SimEntropy(rng)
        self._rng = rng
        self._memory: Memory | None = None
        self._second: Memory | None = None
        self._asked = 0
        self._calls = 0

    @property
    def file(self) -> Path | None:
        """The file of the memory, if it has one."""
        return None if self.address or self.plan.store == "dict" else self.folder / "ledger.db"

    @property
    def memory(self) -> Memory:
        """The open memory."""
        if self._memory is None:
            raise Wrong("the small world is not open")
        return self._memory

    @property
    def beside(self) -> Memory:
        """The second memory on the file, where there is one."""
        return self.memory if self._second is None else self._second

    @property
    def parts(self) -> dict[str, Any]:
        """The clock and the source of ids, for a store that is opened without a memory."""
        return {"clock": self.clock, "entropy": self._entropy}

    @asynccontextmanager
    async def elsewhere(self) -> AsyncIterator[Memory]:
        """Another memory with the same parts, in RAM. What the model judges in it is forgotten: it is no answer for the book."""
        noted = list(self.model.verdicts)
        try:
            async with self._memory_at("dict:") as memory:
                yield memory
        finally:
            self.model.verdicts = noted

    def _memory_at(self, url: str) -> Memory:
        config = Config(act_from=self.plan.act_from, learn=self.plan.learn, trust=self.plan.trust)
        return Memory.open(
            url, namespace=SPACE, llm=self.model, embedder=None, config=config, clock=self.clock, entropy=self._entropy
        )

    def without_model(self, name: str | None, **parts: Any) -> Memory:
        """A memory that reads by rules, with the same parts otherwise, not yet open: in RAM, or in a file of this name."""
        url = "dict:" if name is None or self.plan.store == "dict" else f"sqlite:///{self.folder / name}"
        parts = {"embedder": None, **parts}
        return Memory.open(url, namespace=SPACE, llm=None, clock=self.clock, entropy=self._entropy, **parts)

    def embedded(self, name: str | None) -> Memory:
        """As `without_model`, with vectors, which are made after a message is stored."""
        return self.without_model(name, embedder=SimEmbedder(self.clock, self._rng.fork("embedder")))

    def with_model(self, model: LLMProvider) -> Memory:
        """A memory in RAM that a model reads for, with the same parts otherwise, not yet open."""
        return Memory.open("dict:", namespace=SPACE, llm=model, embedder=None, clock=self.clock, entropy=self._entropy)

    async def call(self, method: str, *given: Any, **arguments: Any) -> Any:
        """Call a method of the memory and count its arguments."""
        self.count(method, arguments)
        self._calls += 1
        arguments = spelled(arguments, self._calls)
        memory = self.memory
        if method in (*_QUESTIONS, *_DELETIONS) and self._second is not None:
            self._asked += 1
            memory = self._second if self._asked % 2 else memory
        return await getattr(memory, method)(*given, **arguments)

    async def call_of(self, memory: Memory, method: str, *given: Any, **arguments: Any) -> Any:
        """As `call`, of a memory beside this one."""
        self.count(method, arguments)
        return await getattr(memory, method)(*given, **arguments)

    async def paged(self, method: str, size: int, pages: int, **arguments: Any) -> list[Any]:
        """What at most so many pages of a listing give, each of a size."""
        found: list[Any] = []
        after = None
        for _ in range(pages):
            page = await self.call(method, limit=size, after=after, **arguments)
            found += page.items
            after = page.next
            if after is None:
                break
        return found

    def count(self, method: str, arguments: Mapping[str, Any]) -> None:
        """Count a call."""
        defaults = _DEFAULTS.get(method, {})
        self.tally.called(method, {**defaults, **arguments})

    async def open(self) -> None:
        """Open the memory, or open it again."""
        if self._memory is not None:
            await self._memory.close()
        url = self.address or ("dict:" if self.file is None else f"sqlite:///{self.file}")
        self._memory = await self._memory_at(url)
        # It stays open when the first is opened again, and follows what that writes.
        if self.plan.beside and self._second is None:
            self._second = await self._memory_at(url)

    async def close(self) -> None:
        """Close the memory, and the second one."""
        if self._second is not None:
            await self._second.close()
        await self.memory.close()


def part_of(count: int, rng: DeterministicRng) -> int:
    """A size of pages for so many rows: mostly one that makes several pages, at times all or one more."""
    if rng.chance(0.2):
        return max(1, count + rng.next_int(0, 1))
    return rng.next_int(1, max(1, count // 2))

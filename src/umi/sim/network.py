"""A network in virtual time: named endpoints that answer requests, and everything that can go wrong between them.

The fault model. A request travels to the endpoint, is handled there, and the response travels back; each way takes a latency
drawn from the seed.
- NetworkRefused: nobody listens; the handler never ran. Also when the endpoint is not served.
- NetworkReset: the connection breaks before the handler ran, or after it: the caller cannot know which.
- NetworkTimeout, and a partition between two endpoints: the request or the response is lost; the caller waits until its timeout.
- NetworkSlow: each way takes 10 to 100 times as long.

Errors are those of real sockets (`ConnectionRefusedError`, `ConnectionResetError`, `TimeoutError`), so that an adapter's own
handling of them is what is tested. Not modelled: bandwidth, streams, TLS, names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from umi._core.invariants import check
from umi.ports import LLMProvider
from umi.sim.clock import SimClock
from umi.sim.faults import FaultInjector, FaultType
from umi.sim.rng import DeterministicRng
from umi.types import Completion, CompletionRequest

Handler = Callable[[Any], Awaitable[Any]]

LATENCY_S: Final = (0.001, 0.02)  # one way
TIMEOUT_S: Final = 30.0  # of a request that names none
_SLOW: Final = (10.0, 100.0)


MODEL_TIMEOUT_S: Final = 300.0  # beyond any patience of the asker's


class SimNetwork:
    """Endpoints, and the ways between them.

    Args:
        clock: The virtual time of the running loop.
        rng: Where latencies and the moments of breaks are drawn from.
        faults: What may go wrong by itself; operation `network_request`.
        latency_s: Bounds of one way's latency, seconds.
    """

    def __init__(
        self,
        clock: SimClock,
        rng: DeterministicRng,
        *,
        faults: FaultInjector | None = None,
        latency_s: tuple[float, float] = LATENCY_S,
    ) -> None:
        self._clock = clock
        self._latency = rng.fork("latency")
        self._breaks = rng.fork("breaks")
        self._faults = faults
        self._latency_s = latency_s
        self._handlers: dict[str, Handler] = {}
        self._partitions: list[tuple[frozenset[str], frozenset[str]]] = []

    def serve(self, endpoint: str, handler: Handler) -> None:
        """Let `handler` answer requests to `endpoint`: an async callable of the request, whose errors reach the caller."""
        self._handlers[endpoint] = handler

    def stop(self, endpoint: str) -> None:
        """Let nobody listen at `endpoint` any more; requests under way are still answered."""
        check(endpoint in self._handlers, f"nobody serves {endpoint!r}")
        del self._handlers[endpoint]

    def partition(self, one: Iterable[str], other: Iterable[str]) -> None:
        """Cut every way between two groups of endpoints: what is sent from now on is lost, both ways."""
        self._partitions.append((frozenset(one), frozenset(other)))

    def heal(self) -> None:
        """End every partition."""
        self._partitions.clear()

    async def request(self, source: str, target: str, payload: Any, *, timeout_s: float = TIMEOUT_S) -> Any:
        """Send `payload` from `source` to `target`, and wait for the answer.

        Returns:
            What the target's handler returned.

        Raises:
            ConnectionRefusedError: When nobody listens.
            ConnectionResetError: When the connection broke, before or after the handler ran.
            TimeoutError: When no answer came within `timeout_s` virtual seconds, whether the handler ran or not.
        """
        fault = None if self._faults is None else self._faults.should_inject("network_request")
        async with asyncio.timeout(timeout_s):
            slowness = self._breaks.uniform(*_SLOW) if fault is FaultType.NetworkSlow else 1.0
            after_handling = fault is not None and self._breaks.chance(0.5)
            await self._travel(source, target, slowness, lost=fault is FaultType.NetworkTimeout and not after_handling)
            handler = self._handlers.get(target)
            if handler is None or fault is FaultType.NetworkRefused:
                raise ConnectionRefusedError(f"{target} refused the connection from {source}")
            if fault is FaultType.NetworkReset and not after_handling:
                raise ConnectionResetError(f"{target} reset the connection from {source}")
            answer = await handler(payload)
            await self._travel(target, source, slowness, lost=fault is FaultType.NetworkTimeout)
            if fault is FaultType.NetworkReset:
                raise ConnectionResetError(f"{target} reset the connection from {source}")
            return answer

    async def _travel(self, source: str, target: str, slowness: float, *, lost: bool) -> None:
        if lost or self._parted(source, target):
            await asyncio.Event().wait()  # for ever: the caller's timeout ends it
        await self._clock.sleep(self._latency.uniform(*self._latency_s) * slowness)

    def _parted(self, source: str, target: str) -> bool:
        return any(
            (source in one and target in other) or (source in other and target in one)
            for one, other in self._partitions
        )


class RemoteModel:
    """A model at the other end of a network: what `SimLLM` answers, when the network lets it through."""

    def __init__(self, network: SimNetwork, model: LLMProvider, name: str = "model") -> None:
        self._network = network
        self._name = name
        network.serve(name, model.complete)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Ask over the network; its errors are what a real client's socket would raise."""
        answer: Completion = await self._network.request("umi", self._name, request, timeout_s=MODEL_TIMEOUT_S)
        return answer

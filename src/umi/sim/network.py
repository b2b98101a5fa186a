"""A network in virtual time: named endpoints that answer requests, and the faults between them.

The fault model. A request travels to the endpoint, is handled there, and the response travels back. Each way takes a
latency drawn from the seed.

- NetworkRefused: nobody listens, and the handler did not run. Also raised when the endpoint is not served.
- NetworkReset: the connection breaks before or after the handler ran; the caller cannot know which.
- NetworkTimeout, and a partition between two endpoints: the request or the response is lost, and the caller waits for its timeout.
- NetworkSlow: each way takes 10 to 100 times as long.

Errors are those of real sockets (`ConnectionRefusedError`, `ConnectionResetError`, `TimeoutError`), so that an
adapter's own handling of them is tested. Not modelled: bandwidth, streams, TLS, name resolution.
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
TIMEOUT_S: Final = 30.0  # of a request without a timeout of its own
_SLOW: Final = (10.0, 100.0)  # factor on the latency under NetworkSlow


MODEL_TIMEOUT_S: Final = 300.0  # longer than Umi waits for a model, so that Umi's own timeout fires first


class SimNetwork:
    """Endpoints, and the connections between them.

    Args:
        clock: The virtual time of the running loop.
        rng: Source of latencies and of the moments of breaks.
        faults: What may fail; operation `network_request`.
        latency_s: Bounds of the latency of one way, in seconds.
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
        """Let `handler`, an async callable, answer requests to `endpoint`. Its errors reach the caller."""
        self._handlers[endpoint] = handler

    def stop(self, endpoint: str) -> None:
        """Stop serving `endpoint`. Requests in progress are still answered."""
        check(endpoint in self._handlers, f"nobody serves {endpoint!r}")
        del self._handlers[endpoint]

    def partition(self, one: Iterable[str], other: Iterable[str]) -> None:
        """Cut all connections between two groups of endpoints: what is sent from now on is lost, both ways."""
        self._partitions.append((frozenset(one), frozenset(other)))

    def heal(self) -> None:
        """End every partition."""
        self._partitions.clear()

    async def request(self, source: str, target: str, payload: Any, *, timeout_s: float = TIMEOUT_S) -> Any:
        """Send `payload` from `source` to `target` and wait for the answer.

        Returns:
            What the target's handler returned.

        Raises:
            ConnectionRefusedError: When nobody listens.
            ConnectionResetError: When the connection broke, before or after the handler ran.
            TimeoutError: When no answer came within `timeout_s` virtual seconds, whether or not the handler ran.
        """
        fault = None if self._faults is None else self._faults.should_inject("network_request")
        # Covers both ways and the handler, as a client's timeout does.
        async with asyncio.timeout(timeout_s):
            slowness = self._breaks.uniform(*_SLOW) if fault is FaultType.NetworkSlow else 1.0
            # Drawn for every fault: before or after the handler ran.
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
            await asyncio.Event().wait()  # never set; the caller's timeout ends the wait
        await self._clock.sleep(self._latency.uniform(*self._latency_s) * slowness)

    def _parted(self, source: str, target: str) -> bool:
        return any(
            (source in one and target in other) or (source in other and target in one)
            for one, other in self._partitions
        )


class RemoteModel:
    """A model reached over the simulated network."""

    def __init__(self, network: SimNetwork, model: LLMProvider, name: str = "model") -> None:
        self._network = network
        self._name = name
        network.serve(name, model.complete)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Ask over the network. Its errors are those of a real client's socket."""
        answer: Completion = await self._network.request("umi", self._name, request, timeout_s=MODEL_TIMEOUT_S)
        return answer

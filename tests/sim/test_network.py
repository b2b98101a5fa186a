"""Requests in virtual time, and what may happen to them on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from umi._core.invariants import InvariantError
from umi.sim.clock import SimClock
from umi.sim.faults import FaultConfig, FaultInjector, FaultType
from umi.sim.loop import run
from umi.sim.network import LATENCY_S, SimNetwork
from umi.sim.rng import DeterministicRng


class World:
    """A network with an echo behind "server" that counts what it handled."""

    def __init__(self, seed: int = 1, *configs: FaultConfig) -> None:
        rng = DeterministicRng(seed)
        self.clock = SimClock()
        self.faults = FaultInjector(rng.fork("faults"), configs)
        self.network = SimNetwork(self.clock, rng.fork("network"), faults=self.faults)
        self.network.serve("server", self.echo)
        self.handled: list[object] = []

    async def echo(self, payload: object) -> object:
        self.handled.append(payload)
        await self.clock.sleep(1)
        return {"echo": payload}

    def run(self, main: Callable[[], Awaitable[object]]) -> object:
        async def wrapped() -> object:
            return await main()

        return run(wrapped(), clock=self.clock)


def test_a_request_is_answered_after_both_ways() -> None:
    world = World()
    assert world.run(lambda: world.network.request("client", "server", 7)) == {"echo": 7}
    assert 1 + 2 * LATENCY_S[0] <= world.clock.monotonic_s() <= 1 + 2 * LATENCY_S[1]


def test_requests_overlap_and_a_seed_repeats_their_times() -> None:
    def times(seed: int) -> list[float]:
        world, done = World(seed), list[float]()

        async def one(number: int) -> None:
            await world.network.request("client", "server", number)
            done.append(world.clock.monotonic_s())

        world.run(lambda: asyncio.gather(*(one(number) for number in range(5))))
        assert world.clock.monotonic_s() < 2
        return done

    assert times(1) == times(1) != times(2)


def test_nobody_listens() -> None:
    world = World()
    with pytest.raises(ConnectionRefusedError, match="nowhere refused"):
        world.run(lambda: world.network.request("client", "nowhere", 1))
    world.network.stop("server")
    with pytest.raises(ConnectionRefusedError):
        world.run(lambda: world.network.request("client", "server", 1))
    with pytest.raises(InvariantError, match="nobody serves"):
        world.network.stop("server")


def test_what_the_handler_raises_reaches_the_caller() -> None:
    world = World()

    async def broken(_payload: object) -> object:
        raise LookupError("planned")

    world.network.serve("server", broken)
    with pytest.raises(LookupError, match="planned"):
        world.run(lambda: world.network.request("client", "server", 1))


def test_refused_never_reaches_the_handler() -> None:
    world = World(1, FaultConfig(FaultType.NetworkRefused))
    with pytest.raises(ConnectionRefusedError):
        world.run(lambda: world.network.request("client", "server", 1))
    assert world.handled == []


@pytest.mark.parametrize(
    ("fault", "error"), [(FaultType.NetworkReset, ConnectionResetError), (FaultType.NetworkTimeout, TimeoutError)]
)
def test_after_a_break_the_caller_cannot_know_whether_it_was_handled(fault: FaultType, error: type[OSError]) -> None:
    handled = set()
    for seed in range(20):
        world = World(seed, FaultConfig(fault))
        with pytest.raises(error):
            world.run(lambda world=world: world.network.request("client", "server", 1, timeout_s=5))
        handled.add(len(world.handled))
        assert (world.clock.monotonic_s() == 5) == (fault is FaultType.NetworkTimeout)
    assert handled == {0, 1}


def test_slow_takes_longer_and_may_time_out() -> None:
    world = World(1, FaultConfig(FaultType.NetworkSlow))
    world.run(lambda: world.network.request("client", "server", 1))
    assert world.clock.monotonic_s() > 1 + 20 * LATENCY_S[0]
    with pytest.raises(TimeoutError):
        world.run(lambda: world.network.request("client", "server", 1, timeout_s=0.5))


def test_a_partition_loses_requests_until_it_is_healed() -> None:
    world = World()
    world.network.partition(("client", "other"), ("server",))

    async def main() -> None:
        for source in ("client", "other"):
            with pytest.raises(TimeoutError):
                await world.network.request(source, "server", 1, timeout_s=2)
        assert await world.network.request("third", "server", 2) == {"echo": 2}
        world.network.heal()
        assert await world.network.request("client", "server", 3) == {"echo": 3}

    world.run(main)
    assert world.handled == [2, 3]


def test_a_partition_in_the_middle_loses_the_answer() -> None:
    world = World()

    async def main() -> None:
        request = asyncio.create_task(world.network.request("client", "server", 1, timeout_s=10))
        await world.clock.sleep(0.5)
        world.network.partition(("client",), ("server",))
        with pytest.raises(TimeoutError):
            await request

    world.run(main)
    assert world.handled == [1]

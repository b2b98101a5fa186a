"""Test your own agent under faults: `@umi.testing.simulate` runs a test once per seed, in virtual time.

    @umi.testing.simulate(seeds=200, faults=[FaultConfig(FaultType.LlmTimeout, 0.3)])
    async def test_my_agent(world: umi.testing.World) -> None:
        agent = MyAgent(world.memory, world.llm)
        ...
        await world.cut_power()                   # what was acknowledged is still there
        await world.sleep(7200)                   # takes no time

A seed determines everything: answers, faults, what a power cut leaves, and the order in which concurrent tasks
continue. A failure names its seed and the command that runs only that seed. Works under pytest with
`umi.pytest_plugin`, and as a plain call.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import shlex
import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from umi._core import validate
from umi._core.invariants import check
from umi.config import Config
from umi.errors import InvalidInput, StoreError, StoreUnavailable
from umi.limits import SIM_STEPS_COUNT_MAX, SIM_VIRTUAL_S_MAX
from umi.memory import Memory
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.disk import SimDisk
from umi.sim.embedder import SimEmbedder
from umi.sim.faults import FaultConfig, FaultInjector, listed
from umi.sim.llm import SimLLM, Temper
from umi.sim.loop import RUNNING, Order, SimLoop, run
from umi.sim.network import SimNetwork
from umi.sim.outside import sockets_refused
from umi.sim.rng import DeterministicRng

OPEN_TRIES_COUNT: Final = 60  # before a world gives up opening its store
MAKING_CALLS_COUNT: Final = 200  # more than the calls of any one operation that making a store takes
LOG_TAIL_COUNT: Final = 12  # lines of the log in a failure's report
WORLD: Final = "world"  # the argument through which a test gets its world


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of every world of a test.

    Raises:
        InvalidInput: When one of them is something else than it should be.
    """

    faults: tuple[FaultConfig, ...] = ()
    temper: Temper | None = None
    config: Config | None = None
    embedder: bool = True
    model: bool = True
    order: Order = "seeded"
    virtual_s_max: float = SIM_VIRTUAL_S_MAX
    steps_count_max: int = SIM_STEPS_COUNT_MAX

    def __post_init__(self) -> None:
        for name, value, kind in (("temper", self.temper, Temper), ("config", self.config, Config)):
            if value is not None and not isinstance(value, kind):
                raise InvalidInput(f"{name} is a {kind.__name__} or None, not {value!r}")
        if self.order not in {"seeded", "fifo"}:
            raise InvalidInput(f"order is 'seeded' or 'fifo', not {self.order!r}")
        validate.flag(self.embedder, "embedder")
        validate.flag(self.model, "model")
        validate.seconds(self.virtual_s_max, "virtual_s_max")
        validate.count(self.steps_count_max, "steps_count_max", low=1, high=sys.maxsize)


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line chose: a number of seeds instead of the test's own, or one seed; and the test's name there."""

    count: int | None = None
    only: int | None = None
    node: str | None = None


# A context variable, because the plugin cannot pass arguments through the test function.
CHOICE: Final[ContextVar[Choice]] = ContextVar("umi_sim_choice", default=Choice())  # noqa: B039 - it is frozen


class World:
    """One simulated machine with a memory on it.

    Attributes:
        seed: Determines everything that happens.
        clock: Virtual time.
        rng: Random numbers for the test's own use.
        faults: The faults; `register` adds more, `stop` ends them all.
        disk: The disk under the memory; `arm_power_cut(n)` cuts the power in the middle of an operation.
        network: Endpoints that the test may serve and its agent may call.
        embedder: The memory's embedder.
        llm: A model for the memory and for the agent.
    """

    def __init__(self, seed: int, settings: Settings | None = None) -> None:
        self._settings = settings = settings or Settings()
        rng = DeterministicRng(seed)
        self.seed = seed
        self.clock = SimClock()
        self.rng = rng.fork("test")
        self.faults = FaultInjector(rng.fork("faults"), settings.faults)
        self.disk = SimDisk(rng.fork("disk"), clock=self.clock, faults=self.faults)
        self.network = SimNetwork(self.clock, rng.fork("network"), faults=self.faults)
        self.embedder = SimEmbedder(self.clock, rng.fork("embedder"), faults=self.faults)
        self.llm = SimLLM(seed, faults=self.faults, clock=self.clock, temper=settings.temper)
        self.log: list[str] = []
        self._entropy = SimEntropy(rng.fork("ids"))
        self._memory: Memory | None = None
        self._was_open = False
        self._restarting = asyncio.Lock()  # the disk takes one memory at a time
        self._loop: SimLoop | None = None

    def __repr__(self) -> str:
        return f"World(seed={self.seed})"

    @property
    def memory(self) -> Memory:
        """The open memory; a new object after each restart, as in a new process."""
        if self._memory is None:
            raise StoreUnavailable("this world's memory is not open: it is between a power cut and a restart")
        return self._memory

    async def sleep(self, seconds: float) -> None:
        """Let virtual time pass.

        Raises:
            InvalidInput: When that is no finite number of seconds, 0 or more.
        """
        await self.clock.sleep(validate.seconds(seconds, "seconds"))

    async def restart(self) -> Memory:
        """Close the memory and open it again, as a new process would; turn the power on if it was off.

        Raises:
            StoreUnavailable: When the store could not be opened in 60 tries because of faults.
        """
        async with self._restarting:
            await self._close()
            if self._loop is not None:
                self._loop.crashes.expect()
            return await self._open()

    async def kill(self) -> Memory:
        """End the process without closing the memory, keep the operating system's cache, and open the memory again."""
        self.disk.kill()
        self.tell("process killed")
        return await self.restart()

    async def cut_power(self) -> Memory:
        """Lose what no fsync has made durable, turn the power on and open the memory again. Acknowledged writes must survive."""
        self.disk.cut_power()
        self.tell("power cut")
        return await self.restart()

    def tell(self, line: str) -> None:
        """Add a line to the report of a failure."""
        self.log.append(f"{self.clock.monotonic_s():.3f} {line}")

    async def live(self, test: Callable[[], Any]) -> None:
        """Open the memory, run the test, close the memory, whatever the test raised.

        A task that crashed, and that nobody awaited, fails the test with its error.
        """
        # pytest leaves this frame out of tracebacks.
        __tracebackhide__ = True
        self._loop = RUNNING.get()
        await self._open()
        try:
            result = test()
            if inspect.isawaitable(result):
                await result
            if crashes := self._crashes():
                raise crashes[0][1]
        except GeneratorExit:
            # The loop has given up a test that resists its end: nothing can be awaited any more.
            self._memory = None
            raise
        finally:
            await self._close()

    def end(self) -> None:
        """Release the disk."""
        if self._loop is not None:
            self._loop.crashes.settle()
        self.disk.close(force=True)

    def account(self) -> str:
        """What happened here, for the report of a failure."""
        fired = ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.fired.items()) if count)
        lines = [f"after {self.clock.monotonic_s():,.3f} virtual seconds; faults: {fired or 'none'}"]
        lines += [f"    {line}" for line in self.log[-LOG_TAIL_COUNT:]]
        lines += [f"    nobody awaited {name}, which ended with {error!r}" for name, error in self._crashes()]
        return "\n".join(lines)

    def _crashes(self) -> list[tuple[str, BaseException]]:
        """Names and errors of the tasks that crashed in this process; without power, and before a restart, a task may."""
        return self._loop.crashes.found() if self._loop is not None and self.disk.powered else []

    async def _open(self) -> Memory:
        last: StoreError | None = None
        for _ in range(OPEN_TRIES_COUNT):
            # The power may go again while the store is opened.
            if not self.disk.powered:
                self.disk.restart()
                self.tell("power is back")
            try:
                self._memory = await Memory.open(
                    f"sqlite:///umi.db?vfs={self.disk.vfs}",
                    embedder=self.embedder if self._settings.embedder else None,
                    llm=self.llm if self._settings.model else None,
                    config=self._settings.config,
                    clock=self.clock,
                    entropy=self._entropy,
                )
            except StoreError as error:
                last = error
                self.tell(f"the memory did not open: {error}")
            else:
                self._was_open = True
                self.tell("memory open")
                return self._memory
        raise StoreUnavailable(
            f"the store could not be opened in {OPEN_TRIES_COUNT} tries: {last}. {self._way_out()}"
        ) from last

    def _way_out(self) -> str:
        """What to do where a store does not open."""
        if self._was_open:
            return "Make the faults rarer, or end them before it is opened again: world.faults.stop()"
        return (
            "Faults of the disk hit the making of the store too: register them inside the test,"
            f" world.faults.register(...), or give them after={MAKING_CALLS_COUNT}"
        )

    async def _close(self) -> None:
        memory, self._memory = self._memory, None
        if memory is None:
            return
        try:
            await memory.close()
        except StoreError as error:  # expected without power, or with faults of the disk
            self.tell(f"the memory did not close cleanly: {error}")


def simulate(
    seeds: int = 200,
    *,
    first: int = 0,
    also: Iterable[int] = (),
    faults: Iterable[FaultConfig] = (),
    temper: Temper | None = None,
    config: Config | None = None,
    embedder: bool = True,
    model: bool = True,
    order: Order = "seeded",
    virtual_s_max: float = SIM_VIRTUAL_S_MAX,
    steps_count_max: int = SIM_STEPS_COUNT_MAX,
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Run a test once per seed, each time in a new world, in virtual time. Stops at the first seed that fails.

    The test gets the world as its argument `world`. Under pytest its other arguments are fixtures, which all seeds
    share. An async test may await anything in the world; a plain one can use its disk, random numbers and clock.

    Args:
        seeds: How many seeds; `pytest --umi-seeds=N` overrides it.
        first: The first seed.
        also: Seeds that failed before; they always run, and first.
        faults: What may fail.
        temper: How hostile and how slow the model is.
        config: The memory's settings, also after each restart; `Config(learn=True)` for an agent that gives feedback.
        embedder: False gives the memory no embedder, so that only words are searched.
        model: False lets rules read what the memory is told, for tests that assert what it concludes: the world's own model draws its
            verdicts from the seed. `world.llm` is still there for the agent.
        order: `seeded` lets any ready task be next, by the seed; `fifo` keeps asyncio's order.
        virtual_s_max: Virtual seconds after which a world is stopped.
        steps_count_max: Callbacks after which a world is stopped.

    Raises:
        InvalidInput: When `seeds` is less than 1, another argument is not what it should be, or the test has no argument `world` or is a
            generator.
    """
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise InvalidInput(f"seeds is a number of at least 1, not {seeds!r}; write @umi.testing.simulate(seeds=200)")
    settings = Settings(listed(faults), temper, config, embedder, model, order, virtual_s_max, steps_count_max)
    past = tuple(also) if isinstance(also, Iterable) else (also,)
    if not isinstance(also, Iterable) or not all(isinstance(seed, int) for seed in (first, *past)):
        raise InvalidInput(f"first is a seed and also a list of seeds, whole numbers, not {first!r} and {also!r}")

    def decorate(test: Callable[..., Any]) -> Callable[..., None]:
        signature = inspect.signature(test)
        # Checked when the test is decorated, not when it runs.
        if WORLD not in signature.parameters:
            raise InvalidInput(f"{test.__qualname__} has no argument {WORLD!r}: that is how a test reaches its world")
        if inspect.isgeneratorfunction(test) or inspect.isasyncgenfunction(test):
            raise InvalidInput(f"{test.__qualname__} has a `yield`, so nobody would run its body: take it out")

        @functools.wraps(test)
        def simulated(*args: Any, **kwargs: Any) -> None:
            __tracebackhide__ = True
            choice = CHOICE.get()
            for seed in _seeds(choice, past, range(first, first + (choice.count or seeds))):
                world = World(seed, settings)
                _live(
                    world, settings, functools.partial(test, *args, **{**kwargs, WORLD: world}), _command(test, choice)
                )

        others = [parameter for name, parameter in signature.parameters.items() if name != WORLD]
        simulated.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined] # hides `world` from pytest's fixtures
        return simulated

    return decorate


def _seeds(choice: Choice, past: tuple[int, ...], fresh: range) -> Iterable[int]:
    return (choice.only,) if choice.only is not None else dict.fromkeys([*past, *fresh])


def _live(world: World, settings: Settings, test: Callable[[], Any], command: str) -> None:
    """Run one world in virtual time; a failure gets a note with its seed and the command that repeats it."""
    __tracebackhide__ = True
    try:
        with sockets_refused():
            run(
                world.live(test),
                seed=world.seed,
                order=settings.order,
                clock=world.clock,
                virtual_s_max=settings.virtual_s_max,
                steps_count_max=settings.steps_count_max,
            )
        # An error inside the simulated disk would otherwise look like one of SQLite.
        check(not world.disk.unexpected, f"the simulated disk itself failed: {world.disk.unexpected}")
    except BaseException as error:
        error.add_note(
            f"umi: seed {world.seed} {world.account()}\numi: just this one: {command} --umi-seed={world.seed}"
        )
        raise
    finally:
        world.end()


def _command(test: Callable[..., Any], choice: Choice) -> str:
    """The pytest command for one test."""
    code = inspect.unwrap(test).__code__
    return f"pytest {shlex.quote(choice.node or f'{code.co_filename}::{test.__name__}')}"

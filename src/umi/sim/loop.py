"""An asyncio event loop in virtual time: two hours of sleeping take milliseconds, and a seed repeats a run step by step.

Every source of nondeterminism in asyncio is removed:
- Time jumps to the next timer when nothing is ready. Timers of the same moment run in the order they were set.
- Ready callbacks run in the order they came (`fifo`), or in an order drawn from the seed (`seeded`): with threads and sockets
  any of them could be next. Each callback still runs as a whole.
- Tasks and futures are hashed by creation number, so a set of them (TaskGroup, `asyncio.wait`) has the same order in every
  process. An unnamed task is named by that number.
- Jobs of an executor run on the loop, one at a time, in the order they were submitted, with other callbacks in between.
- Async generators are shut down in the order of their first iteration, and the cyclic garbage collector runs only at fixed
  steps.

Sockets, subprocesses, signals, and calls from other threads are refused. What a callback does between two awaits is not
interleaved with anything, as on a real loop. Preemption of real threads is not simulated.
"""

# ruff: noqa: SLF001 - asyncio has no public way to write a loop: these few private names are the same in 3.11 to 3.13
from __future__ import annotations

import asyncio
import gc
import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import Context, ContextVar
from functools import partial
from typing import Any, Final, Literal, NoReturn, TypeVar, TypeVarTuple

from umi._core.invariants import check
from umi.limits import SIM_STEPS_COUNT_MAX, SIM_VIRTUAL_S_MAX
from umi.sim.clock import SimClock
from umi.sim.errors import BoundExceeded, Deadlock, Forbidden
from umi.sim.rng import DeterministicRng
from umi.sim.tasks import Crashes, OrderedWeakSet, SimFuture, SimTask
from umi.sim.waiting import unfinished

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Order = Literal["fifo", "seeded"]

_COLLECT_STEPS: Final = 65_536  # steps between two runs of the garbage collector
_PURGE_COUNT: Final = 256  # cancelled timers that are kept before they are purged
_CLEANUP_S: Final = 3_600.0  # virtual time for cancelled tasks to clean up, whatever the run has used
_CLEANUP_STEPS: Final = 100_000  # and callbacks
# A run that failed looks this often, for this long, whether threads that it started talk to the loop.
_THREAD_LOOKS: Final = 20
_THREAD_LOOK_S: Final = 0.05


class SimLoop(asyncio.BaseEventLoop):
    """The event loop. `run` creates one, and most users need no more.

    Args:
        clock: The virtual time that it drives.
        rng: Source of the seeded order.
        order: `fifo` or `seeded`.
        virtual_s_max: Virtual seconds after which the run is stopped.
        steps_count_max: Callbacks after which the run is stopped.
        on_step: Called before each callback with the virtual second and the name of the task or callback.
        in_threads: See `run`.
    """

    def __init__(
        self,
        clock: SimClock,
        rng: DeterministicRng,
        *,
        order: Order = "fifo",
        virtual_s_max: float = SIM_VIRTUAL_S_MAX,
        steps_count_max: int = SIM_STEPS_COUNT_MAX,
        on_step: Callable[[float, str], None] | None = None,
        in_threads: bool = False,
    ) -> None:
        super().__init__()
        check(order in {"fifo", "seeded"}, f"the order is fifo or seeded, not {order!r}")
        self.clock = clock
        self.steps_count = 0
        self.refused: list[Forbidden] = []
        self.crashes = Crashes()
        self._rng = rng
        self._seeded = order == "seeded"
        # The clock may have been used by an earlier run.
        self._give_up_s = clock.monotonic_s() + virtual_s_max
        self._virtual_s_max = virtual_s_max
        self._steps_count_max = steps_count_max
        self._on_step = on_step
        self._in_threads = in_threads
        self._owner = threading.get_ident()
        self._numbers = itertools.count(1)
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, Any]] = []
        self._timers_cancelled = 0
        self._jobs: dict[int, tuple[Executor | None, deque[tuple[asyncio.Future[Any], Callable[[], Any]]]]] = {}
        self._asyncgens: Any = OrderedWeakSet()

    def time(self) -> float:
        """The virtual second."""
        return self.clock.monotonic_s()

    def create_future(self) -> SimFuture[Any]:
        """A future hashed by its creation number."""
        return SimFuture(next(self._numbers), loop=self)

    def create_task(self, coro: Any, *, name: object = None, context: Context | None = None, **kwargs: Any) -> Any:
        """A task hashed by its creation number, and named by it unless `name` is given."""
        # A factory makes tasks of its own kind, which this loop cannot number.
        if self.get_task_factory() is not None:
            return super().create_task(coro, name=name, context=context, **kwargs)
        self._check_open()
        number = next(self._numbers)
        label = f"Task-{number}" if name is None else str(name)
        task: SimTask[Any] = SimTask(number, coro, loop=self, name=label, context=context, **kwargs)
        self.crashes.watch(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """As asyncio's own, which logs it; and keep the error of a task."""
        self.crashes.note(context)
        super().call_exception_handler(context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> Any:
        """Set a timer. Timers of the same moment run in the order they were set."""
        self._check_open()
        timer: Any = asyncio.TimerHandle(when, callback, args, self, context)
        # The creation number breaks ties: timers of one moment run in the order they were set.
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        timer._scheduled = True
        return timer

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As `call_soon`, from the loop's own thread only.

        Raises:
            Forbidden: From another thread, whose timing no seed controls.
        """
        if threading.get_ident() != self._owner:
            self.refuse(f"call_soon_threadsafe from another thread ({threading.current_thread().name!r})")
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Run `func` on the loop, after earlier jobs of the same executor.

        A job that was cancelled before it began still runs (fifo), or runs if the seed says so: a real worker may or
        may not have started it.
        """
        self._check_open()
        future: asyncio.Future[T] = self.create_future()
        _, queue = self._jobs.setdefault(id(executor), (executor, deque()))
        queue.append((future, partial(func, *args)))
        self.call_soon(self._run_job, id(executor))
        return future

    def _run_job(self, executor_id: int) -> None:
        """Run the oldest job of an executor."""
        executor, queue = self._jobs[executor_id]  # held there, so that its id is not reused
        future, job = queue.popleft()
        if not queue:
            del self._jobs[executor_id]
        # Whether a real worker would have started the job is decided by the seed.
        if future.cancelled() and self._seeded and self._rng.chance(0.5):
            return
        asyncio._set_running_loop(None)  # a worker thread has no running loop
        try:
            result = executor.submit(job).result() if executor is not None and self._in_threads else job()
        except Exception as error:  # noqa: BLE001 - an executor passes any error of a job to its waiter
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(result)
        finally:
            asyncio._set_running_loop(self)

    def extend(self, *, virtual_s: float, steps_count: int) -> None:
        """Allow the run this much more from now on, whatever it has used."""
        self._virtual_s_max, self._give_up_s = virtual_s, self.time() + virtual_s
        self._steps_count_max = self.steps_count + steps_count

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - asyncio's own
        """Nothing to shut down: no thread was started."""

    def _check_open(self) -> None:
        if self.is_closed():
            raise RuntimeError("the simulated loop is closed")

    def _timer_handle_cancelled(self, _handle: asyncio.TimerHandle) -> None:
        self._timers_cancelled += 1
        # Cancelled timers stay in the heap until more than half of it is dead.
        if self._timers_cancelled > _PURGE_COUNT and self._timers_cancelled * 2 > len(self._timers):
            self._timers = [timer for timer in self._timers if not timer[2].cancelled()]
            heapq.heapify(self._timers)
            self._timers_cancelled = 0

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As asyncio's own, but skips its checks for debug mode when that is off."""
        if self.get_debug():
            return super().call_soon(callback, *args, context=context)
        self._check_open()
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def _run_once(self) -> None:
        """Run one callback. When nothing is ready, jump to the next timer first.

        Raises:
            Deadlock: When nothing is ready and no timer is left.
            BoundExceeded: When the virtual time is used up.
        """
        if self._timers:
            self._wake(self.time())
        while not self._ready:
            if not self._timers:
                raise Deadlock(
                    f"at virtual second {self.time():g} nothing is ready and no timer is left. {unfinished(self)}"
                )
            # Nothing is ready, so time jumps to the next timer, but not beyond the bound of the run.
            self.clock.advance_to(min(self._timers[0][0], self._give_up_s))
            if self.time() >= self._give_up_s:
                raise BoundExceeded(
                    f"{self._virtual_s_max:g} virtual seconds are over: raise virtual_s_max. {unfinished(self)}"
                )
            self._wake(self.time())
        handle = self._next()
        if handle.cancelled():
            return
        self.steps_count += 1
        if self.steps_count > self._steps_count_max or self.steps_count % _COLLECT_STEPS == 0:
            self._pause(handle)
        if self._on_step is not None:
            self._on_step(self.time(), _label(handle))
        handle._run()

    def _wake(self, now_s: float) -> None:
        """Make due timers ready, and drop cancelled ones at the head, so that none of them advances time."""
        while self._timers and (self._timers[0][0] <= now_s or self._timers[0][2].cancelled()):
            handle = heapq.heappop(self._timers)[2]
            handle._scheduled = False
            if handle.cancelled():
                self._timers_cancelled -= 1
            else:
                self._ready.append(handle)

    def _next(self) -> asyncio.Handle:
        if self._seeded and len(self._ready) > 1:
            # Any ready handle may be next; the others keep their order.
            self._ready.rotate(-self._rng.next_int(0, len(self._ready) - 1))
        return self._ready.popleft()

    def _pause(self, handle: asyncio.Handle) -> None:
        """Check the bound on steps before one more, and collect garbage.

        Raises:
            BoundExceeded: When the steps are used up.
        """
        if self.steps_count > self._steps_count_max:
            # Its task would otherwise never go on, not even to be cancelled.
            self._ready.appendleft(handle)
            raise BoundExceeded(
                f"{self._steps_count_max:,} steps are over at virtual second {self.time():g}: a task may be spinning"
                f" (`sleep(0)` in a loop lets no time pass), or raise steps_count_max. {unfinished(self)}"
            )
        gc.collect()

    def refuse(self, what: str) -> NoReturn:
        """Refuse what would leave the simulation.

        Raises:
            Forbidden: Always.
        """
        # Also kept: if the caller swallows the error, `run` raises it at the end.
        error = Forbidden(f"{what} would leave the simulation: use umi.sim's parts, or hand in a port of your own")
        self.refused.append(error)
        raise error

    def _process_events(self, event_list: object) -> None:
        """There is no selector, so there are no events."""

    def _write_to_self(self) -> None:
        """No selector has to be woken."""


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(self: SimLoop, *_args: object, **_kwargs: object) -> NoReturn:
        self.refuse(f"{name}()")

    return refuse


# Methods of a loop that do real input or output; refused in a simulation.
for _name in (
    "add_reader", "add_writer", "add_signal_handler", "connect_accepted_socket", "connect_read_pipe", "connect_write_pipe",
    "create_connection", "create_datagram_endpoint", "create_server", "create_unix_connection", "create_unix_server",
    "getaddrinfo", "getnameinfo", "remove_reader", "remove_signal_handler", "remove_writer", "sendfile", "sock_accept",
    "sock_connect", "sock_recv", "sock_recv_into", "sock_recvfrom", "sock_recvfrom_into", "sock_sendall", "sock_sendfile",
    "sock_sendto", "start_tls", "subprocess_exec", "subprocess_shell",
):  # fmt: skip
    setattr(SimLoop, _name, _refusal(_name))


# The loop whose run this is, in its tasks and in their jobs; nothing in other threads.
RUNNING: Final[ContextVar[SimLoop | None]] = ContextVar("umi_sim_loop", default=None)


def run(
    main: Coroutine[Any, Any, T],
    *,
    seed: int = 0,
    order: Order = "fifo",
    clock: SimClock | None = None,
    virtual_s_max: float = SIM_VIRTUAL_S_MAX,
    steps_count_max: int = SIM_STEPS_COUNT_MAX,
    on_step: Callable[[float, str], None] | None = None,
    in_threads: bool = False,
) -> T:
    """Run a coroutine to its end in virtual time, as `asyncio.run` does in real time.

    Args:
        main: What to run.
        seed: Determines the order of ready callbacks when `order` is `seeded`.
        order: `fifo` or `seeded`.
        clock: The virtual time; a new one by default.
        virtual_s_max: Virtual seconds after which the run is stopped.
        steps_count_max: Callbacks after which the run is stopped.
        on_step: Called before each callback with the virtual second and the name of the task or callback.
        in_threads: Jobs of an executor run in its own thread, one at a time, and the loop waits for each. Stores that keep a
            connection for each thread need it, as on PostgreSQL; it is slower.

    Returns:
        What `main` returned. Tasks that it left running are cancelled and awaited in the order of their creation.

    Raises:
        Deadlock: When every task waits and no timer is left.
        BoundExceeded: When the run takes more virtual time or steps than allowed.
        Forbidden: When something tried to leave the simulation, even if `main` swallowed the error.
    """
    loop = SimLoop(
        clock or SimClock(), DeterministicRng(seed).fork("loop"), order=order,
        virtual_s_max=virtual_s_max, steps_count_max=steps_count_max, on_step=on_step, in_threads=in_threads,
    )  # fmt: skip
    token, threads = RUNNING.set(loop), threading.enumerate()
    with _collector_held():
        try:
            result = loop.run_until_complete(main)
        except BaseException as error:
            _blame_what_was_refused(loop, error, threads)
            raise
        finally:
            _shut_down(loop)
            RUNNING.reset(token)
    # Also when `main` swallowed the error: the run has not been a simulation.
    if loop.refused:
        raise loop.refused[0]
    return result


@contextmanager
def _collector_held() -> Iterator[None]:
    """Disable the cyclic garbage collector: its timing, and that of finalisers, depends on what ran before in this process."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _blame_what_was_refused(loop: SimLoop, error: BaseException, threads: list[threading.Thread]) -> None:
    """Name what was refused during a run that failed. `threads` are those that were there before it.

    Raises:
        Forbidden: In place of a deadlock or a bound: what waits for an answer from outside never gets one.
    """
    # A thread that the run started may be about to talk to the loop, in real time.
    for _ in range(_THREAD_LOOKS):
        started = [thread for thread in threading.enumerate() if thread not in threads]
        if loop.refused or not started:
            break
        started[0].join(_THREAD_LOOK_S)
    if not loop.refused or error is loop.refused[0]:
        return
    if isinstance(error, Deadlock | BoundExceeded):
        raise loop.refused[0] from error
    error.add_note(f"umi: before that, {loop.refused[0]}")


def _shut_down(loop: SimLoop) -> None:
    """Cancel what is left, shut down async generators, and close the loop."""
    loop.extend(virtual_s=_CLEANUP_S, steps_count=_CLEANUP_STEPS)
    try:
        _cancel_all(loop)
        # In the order of their first iteration, see `OrderedWeakSet`.
        loop.run_until_complete(loop.shutdown_asyncgens())
    except (Deadlock, BoundExceeded):
        # The run has raised this already, or a task resists cancellation. There is nothing more to wait for.
        left: list[Any] = sorted(asyncio.all_tasks(loop), key=hash)
        for task in left:
            # Keeps asyncio from warning about tasks that are given up on purpose.
            task._log_destroy_pending = False
    finally:
        loop.close()


def _cancel_all(loop: SimLoop) -> None:
    """Cancel all tasks and run the loop until they are done; report the errors of those that fail."""
    tasks = sorted(asyncio.all_tasks(loop), key=hash)
    if not tasks:
        return
    for task in tasks:
        task.cancel()
    waiting = len(tasks)

    def settled(_task: object) -> None:
        nonlocal waiting
        waiting -= 1
        if not waiting:
            loop.stop()

    for task in tasks:
        task.add_done_callback(settled)
    loop.run_forever()
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            loop.call_exception_handler(
                {"message": "error while a task was cancelled", "exception": error, "task": task}
            )


def _label(handle: Any) -> str:
    """The name of the task or callback behind a handle."""
    callback = handle._callback
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return str(owner.get_name())
    # The function behind any number of partials.
    while isinstance(callback, partial):
        callback = callback.func
    return str(getattr(callback, "__qualname__", type(callback).__name__))

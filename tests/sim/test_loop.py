"""asyncio in virtual time: everything works, nothing takes time, and a seed is a run."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from umi.sim.clock import EPOCH, SimClock, SimEntropy
from umi.sim.errors import BoundExceeded, Deadlock, Forbidden
from umi.sim.loop import Order, run
from umi.sim.rng import DeterministicRng

ORDERS: tuple[Order, ...] = ("fifo", "seeded")


async def after(seconds: float, value: object, log: list[object] | None = None) -> object:
    await asyncio.sleep(seconds)
    if log is not None:
        log.append(value)
    return value


def test_two_hours_of_sleep_take_no_time() -> None:
    clock = SimClock()

    async def main() -> None:
        for _ in range(7_200):
            await clock.sleep(1)

    began = time.perf_counter()
    run(main(), clock=clock)
    assert time.perf_counter() - began < 1
    assert clock.monotonic_s() == 7_200
    assert clock.now() == EPOCH + timedelta(hours=2)


@pytest.mark.parametrize("order", ORDERS)
def test_gather_keeps_its_order_and_timers_theirs(order: Order) -> None:
    log: list[object] = []

    async def main() -> list[object]:
        return list(await asyncio.gather(after(3, "c", log), after(1, "a", log), after(2, "b", log)))

    assert run(main(), order=order, seed=1) == ["c", "a", "b"]
    assert log == ["a", "b", "c"]


@pytest.mark.parametrize("order", ORDERS)
def test_a_task_group_cancels_the_others_when_one_fails(order: Order) -> None:
    cancelled: list[str] = []

    async def patient() -> None:
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            cancelled.append("patient")
            raise

    async def failing() -> None:
        await asyncio.sleep(1)
        raise ValueError("planned")

    async def main() -> float:
        with pytest.raises(ExceptionGroup) as caught:  # noqa: PT012 - the group raises where it ends
            async with asyncio.TaskGroup() as group:
                group.create_task(patient())
                group.create_task(failing())
        assert isinstance(caught.value.exceptions[0], ValueError)
        return asyncio.get_running_loop().time()

    assert run(main(), order=order, seed=3) == 1
    assert cancelled == ["patient"]


@pytest.mark.parametrize("order", ORDERS)
def test_timeouts_wait_for_and_wait(order: Order) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.sleep(6)
        assert loop.time() == 5
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 2)
        assert loop.time() == 7
        assert await asyncio.wait_for(after(1, "in time"), 2) == "in time"
        slow, quick = asyncio.create_task(after(9, "slow")), asyncio.create_task(after(1, "quick"))
        done, pending = await asyncio.wait({slow, quick}, return_when=asyncio.FIRST_COMPLETED)
        assert (done, pending) == ({quick}, {slow})
        assert [await each for each in asyncio.as_completed([slow, after(1, "first")])] == ["first", "slow"]

    run(main(), order=order, seed=4)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(20))
def test_queues_locks_semaphores_and_conditions(order: Order, seed: int) -> None:
    async def main() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue(2)
        lock, gate, turn = asyncio.Lock(), asyncio.Semaphore(2), asyncio.Condition()
        inside, most, taken = 0, 0, []

        async def produce() -> None:
            for number in range(10):
                await queue.put(number)

        async def consume() -> None:
            nonlocal inside, most
            while True:
                number = await queue.get()
                async with gate:
                    inside += 1
                    most = max(most, inside)
                    await asyncio.sleep(0.1)
                    inside -= 1
                async with lock:
                    taken.append(number)
                async with turn:
                    turn.notify_all()
                queue.task_done()

        consumers = [asyncio.create_task(consume()) for _ in range(3)]
        await produce()
        async with turn:
            await turn.wait_for(lambda: len(taken) == 10)
        await queue.join()
        for consumer in consumers:
            consumer.cancel()
        await asyncio.gather(*consumers, return_exceptions=True)
        assert sorted(taken) == list(range(10))
        assert most == 2

    run(main(), order=order, seed=seed)


def test_timers_of_one_moment_run_in_the_order_they_were_set() -> None:
    async def main() -> list[int]:
        log: list[int] = []
        loop = asyncio.get_running_loop()
        for number in range(50):
            loop.call_at(10.0, log.append, number)
        await asyncio.sleep(11)
        return log

    assert run(main()) == list(range(50))


def test_a_cancelled_timer_does_not_move_time() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        handles = [loop.call_later(1_000 + number, print, "never") for number in range(1_000)]
        for handle in handles:
            handle.cancel()
        await asyncio.sleep(1)
        return loop.time()

    clock = SimClock()
    assert run(main(), clock=clock) == 1
    assert clock.monotonic_s() == 1


def test_a_cancelled_timer_does_not_hide_a_deadlock() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_later(1_000, print, "never").cancel()
        await asyncio.Event().wait()

    clock = SimClock()
    with pytest.raises(Deadlock, match="at virtual second 0"):
        run(main(), clock=clock)
    assert clock.monotonic_s() == 0


def test_a_second_run_in_one_process_has_the_names_of_the_first() -> None:
    def names() -> list[str]:
        seen: list[str] = []
        run(gathered(), on_step=lambda _at, name: seen.append(name))
        return seen

    async def gathered() -> None:
        await asyncio.gather(after(1, "a"), after(1, "b"))

    assert names() == names()
    assert {"Task-1", "Task-2"} <= set(names())


def racy(log: list[int]) -> list[asyncio.Future[None]]:
    balance = [0]

    async def deposit() -> None:
        await asyncio.sleep(0)
        seen = balance[0]
        await asyncio.sleep(0)
        balance[0] = seen + 1
        log[:] = balance

    return [asyncio.ensure_future(each) for each in (deposit(), late_reader(balance, log))]


async def late_reader(balance: list[int], log: list[int]) -> None:
    for _ in range(3):
        await asyncio.sleep(0)
    balance[0] += 10
    log[:] = balance


def outcome(order: Order, seed: int) -> int:
    log: list[int] = []

    async def main() -> None:
        await asyncio.gather(*racy(log))

    run(main(), order=order, seed=seed)
    return log[0]


def test_seeds_find_a_race_that_fifo_never_shows_and_repeat_it() -> None:
    assert {outcome("fifo", seed) for seed in range(30)} == {11}
    seeded = [outcome("seeded", seed) for seed in range(30)]
    assert 11 in seeded
    assert 1 in seeded, "the deposit read before the other and wrote after it: ten are lost"
    assert seeded == [outcome("seeded", seed) for seed in range(30)]


def test_a_deadlock_names_who_waits_and_where() -> None:
    async def stuck_reader() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        await asyncio.create_task(stuck_reader(), name="reader")

    with pytest.raises(Deadlock, match=r"2 unfinished tasks.*Event\.wait") as caught:
        run(main())
    assert "reader" in str(caught.value)


def test_virtual_time_and_steps_are_bounded() -> None:
    async def spin() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(BoundExceeded, match=r"1,000 steps.*spinning"):
        run(spin(), steps_count_max=1_000)
    clock = SimClock()
    with pytest.raises(BoundExceeded, match="60 virtual seconds"):
        run(after(61, None), virtual_s_max=60, clock=clock)
    assert clock.monotonic_s() == 60
    assert run(after(59, "done"), virtual_s_max=60) == "done"


def test_jobs_run_in_order_on_the_loop_without_threads() -> None:
    ran: list[object] = []

    def job(number: int) -> int:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        ran.append((number, threading.current_thread() is threading.main_thread()))
        return number

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as executor:
            jobs = [loop.run_in_executor(executor, job, number) for number in range(20)]
            assert ran == [], "a job does not run before its caller awaits"
            assert await asyncio.gather(*jobs) == list(range(20))
        assert await asyncio.to_thread(job, 99) == 99

    for seed in range(10):
        ran.clear()
        run(main(), order="seeded", seed=seed)
        assert ran == [*((number, True) for number in range(20)), (99, True)]


def test_others_run_between_a_jobs_submission_and_its_result() -> None:
    async def main() -> list[str]:
        log: list[str] = []

        async def other() -> None:
            log.append("other")

        task = asyncio.create_task(other())
        await asyncio.to_thread(log.append, "job")
        await task
        return log

    assert {tuple(run(main(), order="seeded", seed=seed)) for seed in range(20)} == {("job", "other"), ("other", "job")}


def test_what_a_job_raises_reaches_its_waiter() -> None:
    def fail() -> None:
        raise LookupError("planned")

    async def main() -> None:
        with pytest.raises(LookupError, match="planned"):
            await asyncio.to_thread(fail)

    run(main())


def test_a_job_whose_waiter_left_may_or_may_not_run() -> None:
    async def main() -> bool:
        ran: list[int] = []
        job = asyncio.get_running_loop().run_in_executor(None, ran.append, 1)
        job.cancel()
        await asyncio.sleep(1)
        return bool(ran)

    assert run(main())
    assert {run(main(), order="seeded", seed=seed) for seed in range(20)} == {True, False}


def test_calls_from_other_threads_are_refused_even_when_swallowed() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        thread = threading.Thread(target=swallowing, args=(loop,))
        thread.start()
        thread.join()

    def swallowing(loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.call_soon_threadsafe(print)
        except RuntimeError:
            return

    with pytest.raises(Forbidden, match="another thread"):
        run(main())


def test_sockets_processes_and_signals_are_refused() -> None:
    async def connect() -> None:
        await asyncio.open_connection("localhost", 1)

    async def spawn() -> None:
        await asyncio.create_subprocess_exec("true")

    for leaving in (connect, spawn):
        with pytest.raises(Forbidden, match="leave the simulation"):
            run(leaving())


def test_a_clock_of_another_loop_does_not_really_sleep() -> None:
    with pytest.raises(Forbidden, match="does not drive"):
        run(SimClock().sleep(1))
    with pytest.raises(Forbidden, match="does not drive"):
        asyncio.run(SimClock().sleep(1))


def test_async_generators_are_shut_down_in_order() -> None:
    closed: list[int] = []

    async def numbers(name: int):
        try:
            while True:
                yield name
        finally:
            await asyncio.sleep(1)
            closed.append(name)

    async def main() -> list[object]:
        kept = [numbers(name) for name in range(8)]
        return [await anext(each) for each in kept] + [kept]

    kept = run(main())
    assert kept[:-1] == list(range(8))
    assert closed == list(range(8))


def test_left_behind_tasks_are_cancelled_and_waited_for() -> None:
    log: list[str] = []

    async def guest() -> None:
        try:
            await asyncio.sleep(1_000)
        finally:
            await asyncio.sleep(1)
            log.append("cleaned up")

    async def main() -> None:
        main.task = asyncio.create_task(guest())
        await asyncio.sleep(1)

    clock = SimClock()
    run(main(), clock=clock)
    assert log == ["cleaned up"]
    assert clock.monotonic_s() == 2


def test_a_failing_main_fails_the_run_and_leaves_the_collector_on() -> None:
    async def main() -> None:
        assert not gc.isenabled()
        raise KeyError("planned")

    with pytest.raises(KeyError, match="planned"):
        run(main())
    assert gc.isenabled()


def test_a_slow_part_moves_time_without_waiting() -> None:
    async def main() -> list[object]:
        log: list[object] = []
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(after(1, "timer", log))
        await asyncio.sleep(0)
        loop.clock.advance(5)
        log.append(loop.time())
        await task
        return log

    assert run(main()) == [5, "timer"]


def test_ids_look_like_real_ones_and_follow_the_seed() -> None:
    one, other = (SimEntropy(DeterministicRng(1).fork("ids")) for _ in range(2))
    identifier = one.new_id("epi", EPOCH)
    assert identifier == other.new_id("epi", EPOCH)
    assert identifier.startswith("epi_")
    assert len(identifier) == len("epi_") + 12 + 16
    assert identifier < one.new_id("epi", EPOCH + timedelta(milliseconds=1))
    assert 0 <= one.uniform() < 1

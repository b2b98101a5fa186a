"""One seed is one run: the same steps in processes whose strings hash differently."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import asyncio, hashlib, sys
from umi.sim.loop import run

trace = []

async def worker(number, queue, lock, log):
    async for item in items(queue):
        async with lock:
            await asyncio.sleep(item / 10)
        log.append((number, item, await asyncio.to_thread(str, item)))

async def items(queue):
    while (item := await queue.get()) is not None:
        yield item

async def main():
    queue, lock, log = asyncio.Queue(3), asyncio.Lock(), []
    names = {"alpha", "beta", "gamma", "delta"}  # a set of strings: its order is the process's own, so it is sorted
    async with asyncio.TaskGroup() as group:
        for number, name in enumerate(sorted(names)):
            group.create_task(worker(number, queue, lock, log))
        for item in [3, 1, 2, 5, 4, 1, 2, 3, None, None, None, None]:
            await queue.put(item)
    sleepers = {asyncio.create_task(asyncio.sleep(1)) for _ in range(20)}
    done, pending = await asyncio.wait(sleepers)
    log.append([task.get_name() for task in done])  # in the set's own order
    async def failing(number):
        await asyncio.sleep(1)
        raise ValueError(number)
    try:
        async with asyncio.TaskGroup() as group:
            for number in range(5):
                group.create_task(failing(number))
    except* ValueError as errors:
        log.append([str(error) for error in errors.exceptions])
    return log

log = run(main(), seed=int(sys.argv[1]), order=sys.argv[2], on_step=lambda at, name: trace.append((at, name)))
print(hashlib.sha256(repr((log, trace)).encode()).hexdigest(), len(trace))
"""


def traced(seed: int, order: str, hash_seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(seed), order],
        env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_a_seed_is_one_trace_whatever_the_hash_seed() -> None:
    for order in ("fifo", "seeded"):
        assert len({traced(7, order, hash_seed) for hash_seed in ("0", "1", "4711")}) == 1


def test_seeds_differ() -> None:
    assert len({traced(seed, "seeded", "0") for seed in range(3)}) == 3

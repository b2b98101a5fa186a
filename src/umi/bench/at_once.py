"""What several tasks and processes do on one store at a time, and what a new process or a second memory waits for."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO, Any, Final

from umi._core.clock import SystemClock
from umi._core.invariants import InvariantError
from umi.bench.places import Place
from umi.bench.report import quantile
from umi.bench.texts import question
from umi.bench.worker import ADDRESS, recall_for
from umi.memory import Memory
from umi.ports import EmbeddingProvider

_SEED: Final = 20
_READY: Final = "go\n"


async def by_tasks(
    place: Place, size: int, embedder: EmbeddingProvider, count: int, rounds: int, seconds: float
) -> tuple[float, int]:
    """Recalls a second by so many tasks of one memory, the median of some rounds, and how many failed."""
    clock = SystemClock()
    rates, failed = [], 0
    async with Memory.open(place.url, namespace=place.namespace(size), embedder=embedder) as memory:
        await memory.recall(question(_SEED, 1))
        for round_ in range(rounds):
            start = clock.monotonic_s()
            seeds = [100 * round_ + worker for worker in range(count)]
            done = await asyncio.gather(*(recall_for(memory, seconds, seed) for seed in seeds))
            rates.append(sum(one["answered"] for one in done) / (clock.monotonic_s() - start))
            failed += sum(one["failed"] for one in done)
    return quantile(rates, 0.5), failed


async def by_processes(place: Place, size: int, count: int, rounds: int, seconds: float) -> tuple[float, int]:
    """Recalls a second by so many processes, the median of some rounds, and how many failed."""
    rates, failed = [], 0
    for round_ in range(rounds):
        seeds = [1000 + 100 * round_ + worker for worker in range(count)]
        answers = await asyncio.to_thread(_together, "recall", place, size, seconds, seeds)
        rates.append(sum(one["answered"] for one in answers) / seconds)
        failed += sum(one["failed"] for one in answers)
    return quantile(rates, 0.5), failed


async def remembering(place: Place, size: int, count: int, rounds: int, seconds: float) -> tuple[list[float], int]:
    """Seconds of every remember of so many processes that write at once, and how many failed."""
    took: list[float] = []
    failed = 0
    for round_ in range(rounds):
        seeds = [2000 + 100 * round_ + worker for worker in range(count)]
        answers = await asyncio.to_thread(_together, "remember", place, size, seconds, seeds)
        took += [one for answer in answers for one in answer["took"]]
        failed += sum(one["failed"] for one in answers)
    return took, failed


async def second_memory(place: Place, size: int, embedder: EmbeddingProvider, rounds: int) -> list[float]:
    """Seconds until a memory is open and has answered, in a process that has another one open on the same store."""
    clock = SystemClock()
    took = []
    async with Memory.open(place.url, namespace=place.namespace(size), embedder=embedder) as first:
        await first.recall(question(_SEED, 2))
        for round_ in range(rounds):
            start = clock.monotonic_s()
            async with Memory.open(place.url, namespace=place.namespace(size)) as second:
                await second.recall(question(_SEED, 3 + round_))
                took.append(clock.monotonic_s() - start)
    return took


async def cold_start(place: Place, size: int, rounds: int) -> dict[str, float]:
    """Median seconds of new processes, each with one answer: `open_s`, `recall_s`, `model_s` and `process_s`."""
    clock = SystemClock()
    command = [*_WORKER, "cold", place.namespace(size)]
    answers = []
    for round_ in range(rounds):
        start = clock.monotonic_s()
        done = await asyncio.to_thread(
            subprocess.run,
            [*command, str(round_)],
            capture_output=True,
            text=True,
            check=True,
            env=_environment(place),
        )
        answers.append({**json.loads(done.stdout), "process_s": clock.monotonic_s() - start})
    return {
        part: quantile([one[part] for one in answers], 0.5) for part in ("open_s", "recall_s", "model_s", "process_s")
    }


_WORKER: Final = (sys.executable, "-m", "umi.bench.worker")


def _environment(place: Place) -> dict[str, str]:
    return {**os.environ, ADDRESS: place.url}


def _together(job: str, place: Place, size: int, seconds: float, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """A process for each seed. All are ready before the first starts, and each works for the same time."""
    command = [*_WORKER, job, place.namespace(size), str(seconds)]
    pipe = subprocess.PIPE
    with ExitStack() as ended:
        workers = []
        for seed in seeds:
            worker = subprocess.Popen(
                [*command, str(seed)], stdin=pipe, stdout=pipe, text=True, env=_environment(place)
            )
            ended.callback(worker.wait)
            ended.callback(worker.kill)
            workers.append(worker)
        for worker in workers:
            _piped(worker.stdout).readline()
        for worker in workers:
            _piped(worker.stdin).write(_READY)
            _piped(worker.stdin).flush()
        return [json.loads(worker.communicate()[0]) for worker in workers]


def _piped(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise InvariantError("a worker was started without its pipes")
    return stream

"""One process of a benchmark, run as `python -m umi.bench.worker`: it asks or tells a store, and counts.

`recall NAMESPACE SECONDS SEED` says "ready", waits for a line, recalls for so long and reports; `remember` likewise. `cold NAMESPACE SEED` opens
a store, asks one question and reports; its caller measures the process as a whole. The store's address is in the environment,
`UMI_DB`: it may have a password, and every user of a machine sees the arguments of its processes.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final

from umi._core.clock import SystemClock
from umi.bench.texts import question, sentence
from umi.errors import UmiError
from umi.memory import Memory
from umi.providers.local import LocalEmbedder

ADDRESS = "UMI_DB"
SENTENCE_WORDS = 14  # 19 tokens of the local model
_WARM_UP_COUNT = 3


async def recall_for(memory: Memory, seconds: float, seed: int) -> dict[str, Any]:
    """Ask questions one after the other for `seconds`; how many were answered, how many failed."""
    clock = SystemClock()
    answered = failed = 0
    errors: list[str] = []
    end = clock.monotonic_s() + seconds
    while clock.monotonic_s() < end:
        try:
            await memory.recall(question(seed, answered + failed))
            answered += 1
        except UmiError as error:
            failed += 1
            errors = [*errors[:4], str(error)]
    return {"answered": answered, "failed": failed, "errors": errors}


async def _recall(namespace: str, seconds: str, seed: str) -> None:
    async with Memory.open(os.environ[ADDRESS], namespace=namespace) as memory:
        for index in range(_WARM_UP_COUNT):
            await memory.recall(question(int(seed) + 1, index))
        _say("ready")
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        _say(await recall_for(memory, float(seconds), int(seed)))


async def _remember(namespace: str, seconds: str, seed: str) -> None:
    clock = SystemClock()
    took: list[float] = []
    failed = 0
    async with Memory.open(os.environ[ADDRESS], namespace=namespace) as memory:
        for index in range(_WARM_UP_COUNT):
            await memory.remember(sentence(int(seed) + 1, index, SENTENCE_WORDS))
        _say("ready")
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        end = clock.monotonic_s() + float(seconds)
        while (start := clock.monotonic_s()) < end:
            try:
                await memory.remember(sentence(int(seed), len(took) + failed, SENTENCE_WORDS))
                took.append(clock.monotonic_s() - start)
            except UmiError:
                failed += 1
        _say({"took": took, "failed": failed})


async def _cold(namespace: str, seed: str) -> None:
    clock = SystemClock()
    start = clock.monotonic_s()
    async with Memory.open(os.environ[ADDRESS], namespace=namespace) as memory:
        opened = clock.monotonic_s()
        found = await memory.recall(question(int(seed), 0))
        answered = clock.monotonic_s()
    # Closed, so that the model is loaded again, from files that are read by now.
    closed = clock.monotonic_s()
    await LocalEmbedder().embed("warm up")
    model_s = clock.monotonic_s() - closed
    _say({"open_s": opened - start, "recall_s": answered - opened, "model_s": model_s, "hits": len(found.hits)})


def _say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


_JOBS: Final[dict[str, Callable[..., Coroutine[Any, Any, None]]]] = {
    "recall": _recall,
    "remember": _remember,
    "cold": _cold,
}


def main(arguments: list[str]) -> None:
    """Run the job that the arguments name."""
    job, *rest = arguments
    asyncio.run(_JOBS[job](*rest))


if __name__ == "__main__":
    main(sys.argv[1:])

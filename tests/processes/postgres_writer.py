"""An app that writes to PostgreSQL and never gives up: `python postgres_writer.py URL NAME FIRST COUNT`.

It tells COUNT changes of one fact, from number FIRST on, each under an idempotency key, and makes a call that failed again until it is
acknowledged; then it prints the number. At the end it prints how often a call failed, by the name of the error. An error that
is none of Umi's ends it.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter

import umi
from umi.errors import StoreError

PAUSE_S = 0.01


async def opened(url: str) -> umi.Memory:
    while True:
        try:
            return await umi.Memory.open(url, embedder=None)
        except StoreError:
            await asyncio.sleep(PAUSE_S)


async def main(url: str, name: str, first: str, count: str) -> None:
    failed: Counter[str] = Counter()
    memory = await opened(url)
    print("ready", flush=True)
    for number in range(int(first), int(first) + int(count)):
        while True:
            try:
                await memory.remember(f"{name} now works at Firm{number}.", idempotency_key=f"{name}-{number}")
                break
            except StoreError as error:
                failed[type(error).__name__] += 1
                await asyncio.sleep(PAUSE_S)
        print(number, flush=True)
    await memory.close()
    print("failed", *(f"{kind}={times}" for kind, times in sorted(failed.items())), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

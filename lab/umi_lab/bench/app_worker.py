"""One app process of `umi bench apps` and `umi bench tenants`: `python -m umi_lab.bench.app_worker URL NUMBER` does what each line on its standard input says.

A line is a JSON object with "job" and its arguments; the answer is a line too. Times are those of the clock that all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any, Final

from umi._core.clock import SystemClock
from umi.bench.texts import question, sentence
from umi.memory import Memory
from umi_lab.bench.tenant_calls import make_indexes, visit

ASKED: Final = "Where does Alice work?"
_TOLD: Final = "Alice now works at Firm{}."
_FIRM: Final = re.compile(r"Firm(\d+)")
_WORDS_COUNT: Final = 14
_PAUSE_S: Final = 0.02  # between two writes that others watch
_WATCHING_S_MAX: Final = 300.0
_clock = SystemClock()


async def recall(memory: Memory, number: int, namespaces: list[str], seconds: float) -> int:
    """Ask one namespace after the other; how many questions were answered."""
    done, end = 0, _clock.monotonic_s() + seconds
    while _clock.monotonic_s() < end:
        await memory.switch(namespaces[(number + done) % len(namespaces)]).recall(question(number, done))
        done += 1
    return done


async def remember(memory: Memory, number: int, namespaces: list[str], seconds: float) -> int:
    """Tell one namespace after the other; how many messages were acknowledged."""
    done, end = 0, _clock.monotonic_s() + seconds
    while _clock.monotonic_s() < end:
        told = sentence(1_000 + number, done, _WORDS_COUNT)
        await memory.switch(namespaces[(number + done) % len(namespaces)]).remember(told)
        done += 1
    return done


async def write(memory: Memory, namespace: str, count: int) -> list[float]:
    """Change one fact so often; when each change was acknowledged."""
    acknowledged = []
    mine = memory.switch(namespace)
    for turn in range(count):
        await mine.remember(_TOLD.format(turn))
        acknowledged.append(_clock.monotonic_s())
        await asyncio.sleep(_PAUSE_S)
    return acknowledged


async def watch(memory: Memory, namespace: str, count: int) -> list[tuple[float, float, int]]:
    """Ask for that fact until the last change is shown; when each recall began and ended, and which change it showed, -1 for none."""
    seen: list[tuple[float, float, int]] = []
    theirs = memory.switch(namespace)
    start = _clock.monotonic_s()
    while not seen or seen[-1][2] < count - 1:
        begun = _clock.monotonic_s()
        receipt = await theirs.recall(ASKED, min_score=0, limit=1)
        found = _FIRM.search(receipt.hits[0].content) if receipt.hits else None
        seen.append((begun, _clock.monotonic_s(), int(found[1]) if found else -1))
        if seen[-1][1] - start > _WATCHING_S_MAX:
            break
    return seen


async def _do(memory: Memory, number: int, order: dict[str, Any]) -> object:
    match order.pop("job"):
        case "recall" | "remember" as job:
            clients, call = order.pop("clients"), recall if job == "recall" else remember
            first = number * clients
            return sum(await asyncio.gather(*(call(memory, first + client, **order) for client in range(clients))))
        case "make_indexes":
            return await make_indexes(memory, **order)
        case "visit":
            return await visit(memory, **order)
        case "write":
            return await write(memory, **order)
        case _:
            return await watch(memory, **order)


async def main(url: str, number: str) -> None:
    """Open the memory, make the model warm, and do what is asked until the input ends."""
    async with Memory.open(url) as memory:
        await memory.recall(ASKED)
        _say("ready")
        while line := await asyncio.to_thread(sys.stdin.readline):
            _say(await _do(memory, int(number), json.loads(line)))


def _say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

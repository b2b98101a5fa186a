"""The step in which several threads call the memory that blocks: each call gives what the awaited one gives, whichever thread makes it.

The threads take turns, so that a world is the same every time; that many may call at once is tested with real threads (`tests/unit/test_blocking.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, Final

import umi.blocking
from umi.errors import UmiError
from umi.sim.clock import EPOCH, SimClock, SimEntropy
from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.apart.callers import THREADS
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_PARTS: Final[dict[str, Any]] = {
    "llm": None,
    "embedder": None,
}  # without learning, whose notes are written when there is time
_LONG_AGO: Final = EPOCH - timedelta(days=9)


class BlockingCalls(Journal):
    """Calls a memory of its own from several threads, and another one from here."""

    async def _blocked(self, step: Step) -> None:
        given = step.arguments
        awaited = umi.Memory.open("dict:", clock=SimClock(), entropy=_entropy(step), **_PARTS)
        async with awaited as mine:
            with ExitStack() as stack:
                threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(THREADS)]
                theirs = threads[0].submit(_opened, step).result()
                try:
                    for place, one in enumerate(given["calls"]):
                        name = "all" if given["together"] else f"of{one['thread']}"
                        right = await _awaited(mine.switch(name), one, place)
                        found = threads[one["thread"]].submit(_blocking, theirs.switch(name), one, place).result()
                        same(f"what {one} gives, number {place} of {given['calls']}", found, right)
                finally:
                    threads[-1].submit(theirs.close).result()
                same("a call of what is closed", threads[0].submit(_attempt, theirs.stats).result(), "Closed")


def _entropy(step: Step) -> SimEntropy:
    return SimEntropy(DeterministicRng(step.number).fork("blocking"))


def _opened(step: Step) -> umi.blocking.Memory:
    return umi.blocking.Memory.open("dict:", clock=SimClock(), entropy=_entropy(step), **_PARTS)


def _arguments(one: dict[str, Any], place: int) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """The method and the arguments of a call."""
    name, word = one["name"], one["word"]
    at = _LONG_AGO + timedelta(hours=place)
    return {
        "say": ("remember", (f"{name} owns a {word}. {name} lives in Rome{place}.",), {"at": at, "speaker": name}),
        "fact": ("set_fact", (name, "shelf", word), {"at": at}),
        "recall": ("recall", (f"{name} {word}",), {"min_score": 0.0, "explain": True}),
        "list": ("list", (), {"limit": 2, "order": "newest"}),
        "forget": ("forget", (), {"where": {"speaker": name}}),
        "context": ("context", (f"who owns a {word}",), {"max_tokens": 60}),
        "history": ("history", (name,), {}),
        "refused": ("recall", ("",), {}),
        "follow": ("changes", (0,), {}),
        "why": ("why", ("nobody",), {}),
    }[one["call"]]


async def _awaited(memory: umi.Memory, one: dict[str, Any], place: int) -> Any:
    method, given, named = _arguments(one, place)
    try:
        if one["call"] == "follow":
            return [each async for each in memory.changes(*given)]
        found = await getattr(memory, method)(*given, **named)
    except UmiError as refused:
        return type(refused).__name__, str(refused)
    return found


def _blocking(memory: umi.blocking.Memory, one: dict[str, Any], place: int) -> Any:
    method, given, named = _arguments(one, place)
    try:
        if one["call"] == "follow":
            return list(memory.changes(*given))
        found = getattr(memory, method)(*given, **named)
    except UmiError as refused:
        return type(refused).__name__, str(refused)
    return found


def _attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except UmiError as refused:
        return type(refused).__name__

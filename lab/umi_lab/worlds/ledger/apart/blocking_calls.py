"""The step in which several threads call the memory that blocks: each call gives what the awaited one gives, whichever thread makes it.

The threads take turns, so that a world is the same every time; that many may call at once is tested with real threads (`tests/unit/test_blocking.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Final

import umi.blocking
from umi.errors import UmiError
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.rng import DeterministicRng
from umi_lab.worlds.ledger.apart.callers import THREADS
from umi_lab.worlds.ledger.expected import same
from umi_lab.worlds.ledger.journal import Journal
from umi_lab.worlds.ledger.plan import Step

_PARTS: Final[dict[str, Any]] = {
    "llm": None,
    "embedder": None,
}  # without learning, whose notes are written when there is time
_Made = dict[str, list[str]]


class BlockingCalls(Journal):
    """Calls a memory of its own from several threads, and another one from here."""

    async def _blocked(self, step: Step) -> None:
        given = step.arguments
        awaited = umi.Memory.open("dict:", clock=SimClock(), entropy=_entropy(step), **_PARTS)
        async with awaited as mine:
            made: _Made = {"episode": [], "entity": [], "relation": []}
            with ExitStack() as stack:
                threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(THREADS)]
                theirs = threads[0].submit(_opened, step).result()
                try:
                    for place, one in enumerate(given["calls"]):
                        name = "all" if given["together"] else f"of{one['thread']}"
                        arguments = [_meant(part, made) for part in one["given"]]
                        named = {key: _meant(part, made) for key, part in one["named"].items()} | _always(one["method"])
                        right = await _awaited(mine.switch(name), one["method"], arguments, named)
                        view = theirs.switch(name)
                        found = threads[one["thread"]].submit(_blocking, view, one["method"], arguments, named).result()
                        same(f"what {one} gives, number {place} of {given['calls']}", found, right)
                        _note(made, right)
                finally:
                    threads[-1].submit(theirs.close).result()
                same("a call of what is closed", threads[0].submit(_attempt, theirs.stats).result(), "Closed")


def _entropy(step: Step) -> SimEntropy:
    return SimEntropy(DeterministicRng(step.number).fork("blocking"))


def _opened(step: Step) -> umi.blocking.Memory:
    return umi.blocking.Memory.open("dict:", clock=SimClock(), entropy=_entropy(step), **_PARTS)


def _always(method: str) -> dict[str, Any]:
    """What a method cannot be called without."""
    return {"max_tokens": 60} if method == "context" else {}


def _meant(given: Any, made: _Made) -> Any:
    """An argument; where it names something that was stored, the id of that."""
    if isinstance(given, list):
        return [_meant(part, made) for part in given]
    kind, place = next(iter(given.items())) if isinstance(given, dict) else ("", 0)
    if kind not in made:
        return given
    return made[kind][place] if len(made[kind]) >= -place else "nobody"


def _note(made: _Made, found: Any) -> None:
    """Keep the ids of what a call has stored."""
    if isinstance(found, umi.RememberReceipt):
        made["episode"] += found.episode_ids
        made["entity"] += [one.id for one in found.entities]
        made["relation"] += [one.id for one in found.evolutions]
    elif isinstance(found, umi.EvolutionRelation):
        made["relation"].append(found.id)


async def _awaited(memory: umi.Memory, method: str, given: list[Any], named: dict[str, Any]) -> Any:
    try:
        if method == "changes":
            return [each async for each in memory.changes(*given)]
        return await getattr(memory, method)(*given, **named)
    except UmiError as refused:
        return type(refused).__name__, str(refused)


def _blocking(memory: umi.blocking.Memory, method: str, given: list[Any], named: dict[str, Any]) -> Any:
    try:
        found = getattr(memory, method)(*given, **named)
        return list(found) if method == "changes" else found
    except UmiError as refused:
        return type(refused).__name__, str(refused)


def _attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except UmiError as refused:
        return type(refused).__name__

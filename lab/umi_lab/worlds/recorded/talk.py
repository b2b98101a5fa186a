"""Ordinary talk, told to a memory that reads by rules and asked of it: histories by many authors, and those of the state benchmark.

Nothing here knows what is right. Words find what is asked for, in every third history vectors of the simulated embedder as well; those of the
local embedder differ between machines. Every third history is told to a file.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from umi.limits import LIST_LIMIT_MAX
from umi.memory import Memory
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.embedder import SimEmbedder
from umi.sim.loop import run as run_virtually
from umi.sim.rng import DeterministicRng
from umi.types import Message
from umi_lab.bench import phrases, state_histories, state_run

HISTORIES: Final = Path(__file__).parents[4] / "data/reader/histories"
BANK: Final = "development"
_TOLD_COUNT: Final = 6  # histories of each author
_MESSAGES_MAX: Final = 60  # of one history; a few go on for weeks
_SUBJECTS_COUNT: Final = 5  # of whom more is asked
_PARTS: Final[tuple[Callable[[str, SimClock], tuple[str, SimEmbedder | None]], ...]] = (
    lambda _folder, _clock: ("dict:", None),
    lambda _folder, clock: ("dict:", SimEmbedder(clock, DeterministicRng(0))),
    lambda folder, _clock: (f"sqlite:///{folder}/told.db", None),
)
_WAYS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"explain": True},
    {"deep": True},
    {"min_score": 0.0, "limit": 50},
    {"include_superseded": True},
    {"max_tokens": 60},
)
_TOKENS: Final = (25, 60, 150, 400)


def authors() -> list[str]:
    """Those whose talk is there, by name."""
    return sorted(file.stem for file in HISTORIES.glob("*.jsonl"))


def tell_author(author: str) -> None:
    """Tell some histories of an author, each to a memory of its own, and ask what its author asks."""
    for number, line in enumerate((HISTORIES / f"{author}.jsonl").read_text("utf-8").splitlines()[:_TOLD_COUNT]):
        clock = SimClock()
        with tempfile.TemporaryDirectory(prefix="umi-recorded-") as folder:
            memory = _memory(number, clock, *_PARTS[number % len(_PARTS)](folder, clock))
            run_virtually(_history(memory, json.loads(line)), seed=number, clock=clock)


def tell_bank(number: str) -> None:
    """Tell a history of the state benchmark, and ask what it asks."""
    clock = SimClock()
    run_virtually(_state(int(number), clock), seed=int(number), clock=clock)


async def _history(opened: Memory, told: dict[str, Any]) -> None:
    async with opened as memory:
        for said in told["messages"][:_MESSAGES_MAX]:
            at = datetime.fromisoformat(said["at"])
            await memory.remember([Message(said["text"], role=said["role"], speaker=said["speaker"], at=at)])
        await _look(memory)
        for place, asked in enumerate(told["questions"]):
            at = asked["as_of"] and datetime.fromisoformat(asked["as_of"])
            await memory.recall(asked["text"], as_of=at, **_WAYS[place % len(_WAYS)])
            if at is None:
                await memory.context(asked["text"], max_tokens=_TOKENS[place % len(_TOKENS)])


async def _state(number: int, clock: SimClock) -> None:
    async with _memory(number, clock, "dict:", None) as memory:
        await state_run.run(memory, state_histories.make(_bank(), 0, number))
        await _look(memory)


async def _look(memory: Memory) -> None:
    page = await memory.list(limit=LIST_LIMIT_MAX)
    for subject in sorted({step.entity.subject for step in page.items} - {""})[:_SUBJECTS_COUNT]:
        await memory.profile(subject)


@cache
def _bank() -> phrases.Bank:
    return phrases.load(BANK)


def _memory(number: int, clock: SimClock, url: str, embedder: SimEmbedder | None) -> Memory:
    return Memory.open(url, embedder=embedder, clock=clock, entropy=SimEntropy(DeterministicRng(number)))

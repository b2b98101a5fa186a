"""Talk of several authors in one file, with the simulated embedder, whose arithmetic is exact: found, judged, learned from, embedded anew, and moved.

Portions are small, so that the index of the file is a compact one and reads blocks.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from datetime import datetime
from functools import partial
from io import BytesIO
from itertools import islice
from typing import Any, Final

from umi import reembed
from umi.config import Config
from umi.memory import Memory
from umi.ports import EmbedderIdentity
from umi.sim.clock import SimClock, SimEntropy
from umi.sim.embedder import IDENTITY, SimEmbedder
from umi.sim.loop import run as run_virtually
from umi.sim.rng import DeterministicRng
from umi.types import Message, OutcomeLike
from umi_lab.worlds.ledger import portions
from umi_lab.worlds.recorded import talk

_TOLD_COUNT: Final = 6  # histories of each of two authors
_MESSAGES_MAX: Final = 30  # of one history
_OUTCOMES: Final[tuple[OutcomeLike, ...]] = ("success", "failure", "partial_success")
_SIZES: Final = {
    "STORE_BLOCKS_FROM_COUNT": 16,
    "STORE_BLOCK_COUNT": 8,
    "STORE_BLOCKS_SEALED_COUNT": 2,
    "INDEX_MESSAGE_BYTES": 1_200,
    "SAMPLED_COUNT_MAX": 64,
    "BULK_BATCH_COUNT": 5,
}


class _Renamed(SimEmbedder):
    """The same vectors under another name, as of another model."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Not the one that the file was written with."""
        return EmbedderIdentity("umi-sim-2", IDENTITY.dimensions, IDENTITY.digest)


def tell_together(number: str) -> None:
    """Tell histories of the authors number and number + 1 to one file, and go through what can be done with vectors."""
    place = int(number)
    clock = SimClock()
    told = [line for author in talk.authors()[2 * place : 2 * place + 2] for line in _histories(author)]
    with tempfile.TemporaryDirectory(prefix="umi-recorded-") as folder, portions.applied(_SIZES if place % 2 else {}):
        run_virtually(_story(told, f"sqlite:///{folder}/told.db", place, clock), seed=place, clock=clock)


def _histories(author: str) -> list[dict[str, Any]]:
    with (talk.HISTORIES / f"{author}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in islice(lines, _TOLD_COUNT)]


async def _story(told: list[dict[str, Any]], url: str, number: int, clock: SimClock) -> None:
    rng = DeterministicRng(number)
    opened = partial(Memory.open, llm=None, clock=clock, entropy=SimEntropy(rng.fork("ids")), config=Config(learn=True))
    saved = BytesIO()
    async with opened(url, embedder=SimEmbedder(clock, rng)) as memory:
        await _tell(memory, told)
        await _judge(memory, told)
        await _look_again(memory, told)
        await memory.export(saved)
    await reembed(url, _Renamed(clock, rng))
    async with opened(url, embedder=_Renamed(clock, rng)) as memory:
        await _ask(memory, told)
        await memory.check()
    saved.seek(0)
    async with opened("dict:", embedder=SimEmbedder(clock, rng)) as memory:
        await memory.restore(saved)
        await _ask(memory, told)


async def _judge(memory: Memory, told: list[dict[str, Any]]) -> None:
    for place, asked in enumerate(_questions(told)):
        found = await memory.recall(asked, deep=place % 3 == 0, limit=5 + place % 7, explain=True)
        await memory.feedback(found.id, outcome=_OUTCOMES[place % 3])
    await memory.learning.run()
    await memory.maintain()


async def _look_again(memory: Memory, told: list[dict[str, Any]]) -> None:
    for asked in _questions(told):
        found = await memory.recall(asked, include_superseded=True)
        for hit in found.hits[:2]:
            await memory.learning.explain(hit.episode.id)
    await memory.learning.status()


async def _tell(memory: Memory, told: list[dict[str, Any]]) -> None:
    messages = [
        Message(
            said["text"],
            role=said["role"],
            speaker=said["speaker"],
            at=datetime.fromisoformat(said["at"]),
            session=one["id"],
        )
        for one in told
        for said in one["messages"][:_MESSAGES_MAX]
    ]
    half = len(messages) // 2
    await memory.remember_many(messages[:half])
    await asyncio.gather(*(memory.remember([one]) for one in messages[half:]))


async def _ask(memory: Memory, told: list[dict[str, Any]]) -> None:
    for asked in _questions(told):
        await memory.recall(asked, explain=True)


def _questions(told: list[dict[str, Any]]) -> list[str]:
    return [asked["text"] for one in told for asked in one["questions"]]

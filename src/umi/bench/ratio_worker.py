"""One run of the ratchet, run by `umi.bench.ratchet` as a file of its own, also on the library of an earlier commit.

`fill URL COUNT` imports some talk. `measure URL SEED` answers JSON: recall and remember as times of their floor, measured right
beside them, and bulk import as times of the embedder alone; `measure URL SEED SAMPLES IMPORTED` does so by fewer samples. Only names
that earlier commits have are used here.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from umi._core.clock import SystemClock
from umi.bench import lower_bounds
from umi.bench.report import quantile
from umi.bench.texts import question, sentence, turns
from umi.memory import Memory
from umi.providers.local import LocalEmbedder

_SAMPLES = "120"
_IMPORTED = "384"
_WARM_COUNT = 10
_TURN_WORDS = 26
_SENTENCE_WORDS = 14


async def fill(url: str, count: str) -> None:
    """Import talk, so that there is something to search."""
    async with Memory.open(url, embedder=LocalEmbedder()) as memory:
        await memory.remember_many(turns(1, int(count), _TURN_WORDS))


async def measure(url: str, seed: str, samples: str = _SAMPLES, imported: str = _IMPORTED) -> None:
    """Write the ratios of this run to standard output."""
    samples_count, imported_count = int(samples), int(imported)
    embedder = LocalEmbedder()
    asked = [question(100 + int(seed), index) for index in range(samples_count)]
    told = [sentence(100 + int(seed), index, _SENTENCE_WORDS) for index in range(samples_count)]
    said = [turn.content for turn in turns(100 + int(seed), imported_count, _TURN_WORDS)]
    async with Memory.open(url, embedder=embedder) as memory:
        for index in range(_WARM_COUNT):
            await memory.recall(question(0, index))
            await memory.remember(sentence(0, index, _SENTENCE_WORDS))
        size = (await memory.stats()).episodes
        embed_s = await lower_bounds.embedding_s(embedder, asked)
        recall_s = await _p50(memory.recall, asked)
        embed_s = (embed_s + await lower_bounds.embedding_s(embedder, asked)) / 2
        remember_s = await _p50(memory.remember, told)
        commit_s = lower_bounds.commit_s(Path(url).parent, told)
        keep_s = await lower_bounds.embedding_s(embedder, told) + commit_s
        bare_per_s = await lower_bounds.batch_per_s(embedder, said)
        clock = SystemClock()
        start = clock.monotonic_s()
        await memory.remember_many(turns(100 + int(seed), imported_count, _TURN_WORDS))
        per_s = imported_count / (clock.monotonic_s() - start)
        bare_per_s = (bare_per_s + await lower_bounds.batch_per_s(embedder, said)) / 2
    ratios = {
        "recall": recall_s / (embed_s + lower_bounds.scan_s(size)),
        "remember": remember_s / keep_s,
        "import": bare_per_s / per_s,
    }
    sys.stdout.write(json.dumps(ratios) + "\n")


async def _p50(call: Callable[[str], Awaitable[object]], texts: Sequence[str]) -> float:
    clock = SystemClock()
    spent = []
    for text in texts:
        start = clock.monotonic_s()
        await call(text)
        spent.append(clock.monotonic_s() - start)
    return quantile(spent, 0.5)


if __name__ == "__main__":
    job, *rest = sys.argv[1:]
    asyncio.run(fill(*rest) if job == "fill" else measure(*rest))

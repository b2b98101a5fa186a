"""A worker that is killed while a slow model thinks loses nothing: the next one reads the rest, in order."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import umi
from umi import Completion, CompletionRequest, HitState

COUNT = 8
WORKER = """
import asyncio, json, re, sys, umi

class Slow:
    async def complete(self, request):
        await asyncio.sleep(0.25)
        if request.task == "extract":
            text = re.findall(r"<data>(.*?)</data>", request.prompt, re.DOTALL)[-1]
            print(text, flush=True)
            row = {"content": text, "name": "the rent", "also": ["Ann"], "type": "topic", "mode": "asserted", "confidence": 0.9}
            return umi.Completion(json.dumps({"entities": [row], "relations": []}))
        blocks = re.findall(r"<data>\\n?(.*?)\\n?</data>", request.prompt, re.DOTALL)
        new, old = ([json.loads(line) for line in block.splitlines()] for block in blocks[-2:])
        rows = [{"new_id": new[0]["id"], "related_id": one["id"], "type": "update", "reason": "new rent", "confidence": 0.9} for one in old]
        return umi.Completion(json.dumps({"relations": rows}))

async def main(path):
    async with umi.Memory.open(path, embedder=None, llm=Slow()) as memory:
        print("ready", flush=True)
        await memory.work(idle_s=0)

asyncio.run(main(sys.argv[1]))
"""


def _start(path: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", WORKER, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


async def test_what_a_killed_worker_left_is_read_in_order(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    texts = [f"The rent is {number}00 from now on." for number in range(1, COUNT + 1)]
    async with umi.Memory.open(path, embedder=None) as memory:
        for text in texts:
            receipt = await memory.remember(text, speaker="Ann", read="later")
            assert receipt.deferred == receipt.episode_ids
    first = _start(path)
    assert first.stdout is not None
    begun = [first.stdout.readline().strip() for _ in range(3)]
    first.kill()
    first.wait()
    first.stdout.close()
    second = _start(path)
    rest, _ = second.communicate(timeout=60)
    assert second.returncode == 0
    read = [*begun, *rest.splitlines()]
    assert list(dict.fromkeys(read)) == texts, "all of it, in order"
    assert len(read) <= COUNT + 1, "and only what was under way twice"
    async with umi.Memory.open(path, embedder=None) as memory:
        steps = await memory.history("the rent")
        assert [step.entity.content for step in steps] == texts
        assert [step.state for step in steps] == [HitState.SUPERSEDED] * (COUNT - 1) + [HitState.CURRENT]
        assert await memory.check() == []


class _Slow:
    """A model of three seconds a call, until it is told to hurry."""

    pause_s = 3.0

    async def complete(self, request: CompletionRequest) -> Completion:
        await asyncio.sleep(self.pause_s)
        text = re.findall(r"<data>(.*?)</data>", request.prompt, re.DOTALL)[-1]
        row = {"content": text, "name": "news", "type": "topic", "confidence": 0.9}
        return Completion(
            json.dumps({"entities": [row], "relations": []} if request.task == "extract" else {"relations": []})
        )


async def test_a_model_of_three_seconds_a_call_stands_in_nobodys_way() -> None:
    model = _Slow()
    async with umi.Memory.open(":memory:", llm=model) as memory:
        begun = time.perf_counter()
        for number in range(16):
            await memory.remember(f"News number {number} came in.", read="later")
        took_s = time.perf_counter() - begun
        assert took_s < 3, "sixteen texts are kept before the model has answered once"
        assert len(await memory.waiting()) >= 15
        assert (await memory.recall("News number 7")).hits[0].content == "News number 7 came in."
        model.pause_s = 0.0
        assert (await memory.work(idle_s=0)).waiting == ()

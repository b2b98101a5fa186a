"""`umi reembed` as a process of its own, against an embedding server on loopback: done, broken off, and run again."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import umi
from umi.bench.model_server import ModelServer
from umi.sim import SimClock, SimEmbedder, SimLLM
from umi.sim.rng import DeterministicRng
from umi.sim.service import ModelService, refused

pytestmark = [pytest.mark.models, pytest.mark.skipif(find_spec("openai") is None, reason="the extra openai is missing")]

UMI = [sys.executable, "-m", "umi"]
SAID = ["Alice works at Acme.", "Bob lives in Oslo.", "Cleo collects stamps."]


class Still(SimClock):
    async def sleep(self, seconds: float) -> None:
        """An embedder that answers at once."""


def served() -> ModelServer:
    return ModelServer(ModelService(SimLLM(42), SimEmbedder(Still(), DeterministicRng(42))))


async def command(*arguments: str) -> tuple[int, Any]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*UMI, *arguments, "--json", stdout=pipe, stderr=pipe)
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, json.loads(out)


async def test_a_file_gets_the_vectors_of_a_served_embedder(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path) as memory:  # vectors of the local embedder
        for text in SAID:
            await memory.remember(text)
    async with served() as server:
        name = f"{server.url}/v1#sim-model"
        code, answer = await command("reembed", "--embedder", name, "--db", path)
        assert (code, answer["status"]) == (0, "ok")
        assert answer["data"] == {"embedder": name, "completed": 3, "waiting": 0}
        code, found = await command("recall", "Where does Bob live?", "--embedder", name, "--db", path)
        assert code == 0
        assert found["data"]["hits"][0]["content"] == SAID[1]
        assert not found["data"]["degraded"]
        code, answer = await command("recall", "Where does Bob live?", "--db", path)
        assert code == 3, "the local embedder's vectors are gone: never a silent mix"
        assert "umi reembed" in json.dumps(answer)


async def test_broken_off_it_says_what_waits_and_goes_on_when_run_again(tmp_path: Path) -> None:
    path = str(tmp_path / "umi.db")
    async with umi.Memory.open(path, embedder=None) as memory:
        for text in SAID:
            await memory.remember(text)
    async with served() as server:
        name = f"{server.url}/v1#sim-model"
        server.service.faults = [None]  # it says its dimensions, and nothing after
        server.service.always = refused(500, "out of memory")
        code, answer = await command("reembed", "--embedder", name, "--db", path)
        assert code != 0
        async with umi.Memory.open(path, embedder=None) as memory:
            assert (await memory.recall("Where does Bob live?")).hits[0].content == SAID[1], "words find it meanwhile"
        server.service.always = None
        code, answer = await command("reembed", "--embedder", name, "--db", path)
        assert (code, answer["data"]["waiting"]) == (0, 0)
        async with umi.Memory.open(path, embedder=name) as memory:
            assert (await memory.stats()).vectors == 3

"""Umi without await: the same as with it, from many threads, inside a running loop, and closed without a trace."""

from __future__ import annotations

import asyncio
import gc
import inspect
import runpy
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import umi
import umi.blocking

SCRIPT = Path(__file__).resolve().parents[2] / "lab" / "tools" / "make_blocking.py"
SCRIPTED = runpy.run_path(str(SCRIPT))


def opened(folder: Path, **more: Any) -> umi.blocking.Memory:
    return umi.blocking.Memory.open(str(folder / "umi.db"), **{"embedder": None, **more})


def loops() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "umi-loop"]


class Hanging:
    """An embedder that answers nothing until it is cancelled."""

    identity = umi.EmbedderIdentity("hanging", 2, "0" * 32)

    def __init__(self) -> None:
        self.asked = threading.Event()

    async def embed(self, text: str) -> NDArray[np.float32]:
        await self.embed_many([text])
        return np.ones(2, np.float32)

    async def embed_many(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        self.asked.set()
        await asyncio.sleep(3600)
        return [np.ones((1, 2), np.float32) for _ in texts]


class TestGenerated:
    def test_the_file_is_what_the_script_writes(self) -> None:
        assert SCRIPTED["TARGET"].read_text("utf-8") == SCRIPTED["made"](), "run python lab/tools/make_blocking.py"

    @pytest.mark.parametrize("name", ["Memory", "Learning"])
    def test_every_method_is_there_with_its_parameters_and_its_words(self, name: str) -> None:
        twin, mine = SCRIPTED["TWINS"][name][1], getattr(umi.blocking, name)
        for each, one in SCRIPTED["methods"](twin):
            if (name, each) == ("Learning", "feedback"):
                continue
            here = inspect.getattr_static(mine, each)
            assert inspect.getdoc(here) == SCRIPTED["spoken"](inspect.getdoc(one)), each
            if not isinstance(one, property):
                signature = str(inspect.signature(getattr(twin, each))).replace("'AsyncIterator[", "'Iterator[")
                assert str(inspect.signature(getattr(mine, each))) == signature, each
                assert not inspect.iscoroutinefunction(getattr(mine, each))
        assert "async" not in (mine.__doc__ or "")


class TestUse:
    def test_remember_recall_and_correct(self, tmp_path: Path) -> None:
        with opened(tmp_path, embedder="local") as memory:
            memory.remember("I work at Acme.", speaker="Alice")
            done = memory.remember("I left Acme and joined StartupX.", speaker="Alice")
            assert "StartupX" in memory.recall("Where does Alice work?").hits[0].content
            memory.undo(done.evolutions[0].id)
            assert memory.history("Alice")[0].state is umi.HitState.CURRENT
            memory.switch("bob").remember("I live in Rome.", speaker="Bob")
            assert [space.name for space in memory.namespaces()] == ["bob", "default"]
            memory.export(tmp_path / "out.jsonl")
        with umi.blocking.Memory.open(":memory:", embedder=None) as other:
            with pytest.raises(umi.NotFound):
                other.why("nobody")
            assert other.restore(tmp_path / "out.jsonl").episodes == 2
        assert loops() == []

    def test_errors_are_the_same(self, tmp_path: Path) -> None:
        with opened(tmp_path) as memory:
            with pytest.raises(umi.InvalidInput, match="blank"):
                memory.remember(" ")
            with pytest.raises(umi.NotFound):
                memory.why("nobody")
        with pytest.raises(umi.Closed):
            memory.remember("too late")
        memory.close()
        with pytest.raises(umi.StoreUnavailable):
            umi.blocking.Memory.open(str(tmp_path / "nowhere" / "umi.db"), embedder=None)
        assert loops() == []

    def test_a_view_ends_with_its_memory(self, tmp_path: Path) -> None:
        memory = opened(tmp_path)
        with memory.switch("bob") as view:
            view.remember("One.")
        memory.remember("Two.")  # the view closed nothing
        memory.close()
        with pytest.raises(umi.Closed):
            view.remember("Three.")

    async def test_inside_a_running_loop_as_in_a_notebook(self, tmp_path: Path) -> None:
        assert asyncio.get_running_loop().is_running()
        with opened(tmp_path) as memory:
            memory.remember("I live in Rome.", speaker="Bob")
            assert memory.recall("Where does Bob live?").hits

    def test_many_threads_share_one(self, tmp_path: Path) -> None:
        with opened(tmp_path) as memory, ThreadPoolExecutor(8) as pool:
            said = [f"Note {n % 40}." for n in range(80)]
            receipts = list(pool.map(lambda text: memory.remember(text, idempotency_key=text), said))
            assert sum(receipt.replayed for receipt in receipts) == 40
            assert memory.stats().episodes == 40
            found = list(pool.map(lambda n: memory.recall(f"Note {n}", min_score=0).hits, range(40)))
        assert all(found)

    def test_learning_is_there_too(self, tmp_path: Path) -> None:
        with opened(tmp_path, config=umi.Config(learn=True)) as memory:
            assert isinstance(memory.learning, umi.blocking.Learning)
            assert memory.learning.status() is not None
        with opened(tmp_path) as memory, pytest.raises(umi.InvalidInput, match="learning is off"):
            _ = memory.learning


class TestEnds:
    def test_calling_it_from_its_own_work_is_refused_and_not_waited_for(self, tmp_path: Path) -> None:
        said: list[str] = []
        with opened(tmp_path) as memory:

            def progress(_: int) -> None:
                for call in (memory.stats, memory.close):
                    try:
                        call()
                    except umi.InvalidInput as error:
                        said.append(str(error))

            assert memory.remember_many(["One.", "Two."], progress=progress).messages == 2
        assert ["own work" in one for one in said] == [True, True]

    def test_what_other_threads_wait_for_when_it_is_closed_is_closed_for_them_too(self, tmp_path: Path) -> None:
        embedder, seen = Hanging(), threading.Event()

        def follow(memory: umi.blocking.Memory) -> None:
            for _ in memory.changes(follow=True):
                seen.set()

        with opened(tmp_path) as memory:
            memory.remember("One.")
        with ThreadPoolExecutor(2) as pool:
            with opened(tmp_path, embedder=embedder) as memory:
                following, saying = pool.submit(follow, memory), pool.submit(memory.remember, "Two.")
                assert seen.wait(30)
                assert embedder.asked.wait(30)
            with pytest.raises(umi.Closed):
                following.result(30)
            with pytest.raises(umi.Closed):
                saying.result(30)
        assert loops() == []

    def test_many_threads_may_close_it(self, tmp_path: Path) -> None:
        def close(memory: umi.blocking.Memory, together: threading.Barrier) -> None:
            together.wait(30)
            memory.close()

        for _ in range(20):
            memory, together = opened(tmp_path), threading.Barrier(6)
            with ThreadPoolExecutor(6) as pool:
                for done in [pool.submit(close, memory, together) for _ in range(6)]:
                    done.result(30)

    def test_one_that_nobody_closed_ends_with_the_process_and_keeps_what_it_acknowledged(self, tmp_path: Path) -> None:
        program = (
            "import umi.blocking\n"
            "memory = umi.blocking.Memory.open('umi.db', embedder=None)\n"
            "memory.remember('Kept.')\n"
            "print(memory.stats().episodes)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout) == (0, "1\n")
        assert done.stderr == "degraded: no_embedder\n"
        with opened(tmp_path) as memory:
            assert memory.stats().episodes == 1

    def test_one_that_is_dropped_lets_its_thread_go(self, tmp_path: Path) -> None:
        memory = opened(tmp_path)
        (mine,) = [thread for thread in threading.enumerate() if thread.name == "umi-loop"]
        del memory
        gc.collect()
        mine.join(10)
        assert not mine.is_alive()

    def test_an_interrupt_cancels_the_work(self, tmp_path: Path) -> None:
        program = (
            "import asyncio, os, signal, sys, threading, umi.blocking\n"
            "from umi.ports import EmbedderIdentity\n"
            "class Slow:\n"
            "    identity = EmbedderIdentity('slow', 2, '0' * 32)\n"
            "    async def embed(self, text): ...\n"
            "    async def embed_many(self, texts):\n"
            "        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
            "        try:\n"
            "            await asyncio.sleep(3600)\n"
            "        except asyncio.CancelledError:\n"
            "            print('cancelled', flush=True)\n"
            "            raise\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # who starts us in the background ignores it
            "with umi.blocking.Memory.open('umi.db', embedder=Slow()) as memory:\n"
            "    try:\n"
            "        memory.remember('One.')\n"
            "    except KeyboardInterrupt:\n"
            "        print('interrupted', memory.stats().episodes)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.split()) == ["1", "cancelled", "interrupted"]

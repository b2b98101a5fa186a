"""Marks of stages: in order, on the thread that does the work, and nothing to speak of while nobody looks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import pytest

import umi
from umi._core.stages import observe_stages, stage
from umi.bench.stages import marks_share

DEPTH: ContextVar[int] = ContextVar("DEPTH", default=0)


class Observer:
    """What began and ended, how deep, and where."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, str]] = []
        self.open = 0

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self.seen.append((name, DEPTH.get(), threading.current_thread().name.partition("_")[0]))
        token = DEPTH.set(DEPTH.get() + 1)
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            DEPTH.reset(token)


@pytest.fixture
def observer() -> Iterator[Observer]:
    made = Observer()
    before = observe_stages(made)
    yield made
    assert observe_stages(before) is made


async def test_stages_nest_across_the_threads_of_the_store(tmp_path: Path, observer: Observer) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        await memory.remember("I live in Oslo.", speaker="Ann")
        observer.seen.clear()
        await memory.recall("Where does Ann live?")
        assert ("store read", 0, "MainThread") in observer.seen
        assert ("search", 1, "umi-store-0") in observer.seen
        assert ("rank", 2, "umi-store-0") in observer.seen
        observer.seen.clear()
        await memory.remember("I moved to Rome.", speaker="Ann")
        names = [name for name, *_ in observer.seen]
        assert names[0] == "store write"
        assert {"admit", "write", "read statements", "judge"} <= {*names}
        with pytest.raises(umi.errors.InvalidInput):
            await memory.remember("")
    assert observer.open == 0


async def test_what_raises_or_is_cancelled_ends_its_stage(observer: Observer) -> None:
    @stage("fails")
    def fails() -> None:
        raise ValueError

    @stage("waits")
    async def waits() -> None:
        await asyncio.Event().wait()

    with pytest.raises(ValueError):
        fails()
    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [name for name, *_ in observer.seen] == ["fails", "waits"]
    assert observer.open == 0


async def test_the_cost_of_unobserved_marks_is_measured(tmp_path: Path) -> None:
    """The bound is generous here, for machines that do other things too; `umi bench speed --stages` holds it to 1%."""
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as memory:
        await memory.remember("I live in Oslo.", speaker="Ann")
        found = await marks_share(memory, 0.003)
    assert found.detail["marks"] >= 4
    assert found.value < 10
    assert observe_stages(None) is None

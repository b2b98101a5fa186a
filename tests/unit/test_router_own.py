"""Umi's own model tasks: nothing between with one model, the static tiers by default, and the way up and back when routing is on."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest
from test_router import Words

import umi
from umi._learning.routing import RoutedLLM
from umi.providers.tiers import TieredLLM
from umi.types import CompletionRequest
from umi.types.routing_rows import TIERS, Decision


class Model:
    """A user's own model, which answers in its contract unless it is told not to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = False

    async def complete(self, request: CompletionRequest) -> umi.Completion:
        self.asked.append(request.task)
        await asyncio.sleep(0)
        if self.broken:
            return umi.Completion("no idea")
        answers = {"extract": {"entities": [], "relations": []}, "rewrite": {"queries": ["umbrella"]}}
        return umi.Completion(json.dumps(answers.get(request.task, {"relations": []})))


def three() -> dict[str, Model]:
    return {tier: Model() for tier in TIERS}


def opened(path: Path, llm: object, *, route: bool = True) -> umi.Memory:
    config = umi.Config(route=route)
    return umi.Memory.open(str(path / "umi.db"), llm=llm, embedder=Words(), config=config)  # type: ignore[arg-type]


async def rows(memory: umi.Memory) -> list[Decision]:
    return await memory._open.storage.read(lambda s: s.routed.since(0))


async def ask(memory: umi.Memory, times: int) -> None:
    for _ in range(times):
        await memory.recall("Where did I put the umbrella?", deep=True)


@pytest.mark.parametrize("tiered", [False, True])
async def test_with_one_model_nothing_is_between_and_nothing_is_kept(tmp_path: Path, tiered: bool) -> None:
    model = Model()
    async with opened(tmp_path, {"strong": model} if tiered else model) as memory:
        parts = memory._open.parts
        assert parts.asker is not None
        assert parts.asker._llm is model
        assert parts.routed is None
        await memory.remember("The umbrella is in the hall.")
        await ask(memory, 1)
        assert "rewrite" in model.asked
        assert await rows(memory) == []


async def test_routing_is_off_by_default_and_tasks_go_to_their_tiers(tmp_path: Path) -> None:
    models = three()
    models["fast"].broken = True
    async with opened(tmp_path, models, route=False) as memory:
        parts = memory._open.parts
        assert parts.asker is not None
        assert isinstance(parts.asker._llm, TieredLLM)
        await memory.remember("The umbrella is in the hall.")
        await ask(memory, 30)
        assert await rows(memory) == []
    assert {tier: set(model.asked) for tier, model in models.items()} == {
        "fast": {"rewrite"},
        "balanced": {"extract"},
        "strong": set(),
    }
    assert umi.Config().route is False


async def test_a_tier_whose_answers_cannot_be_used_is_left_and_come_back_to(tmp_path: Path) -> None:
    models = three()
    async with opened(tmp_path, models) as memory:
        await memory.remember("The umbrella is in the hall.")
        assert [(row.kind, row.tier, row.quality) for row in await rows(memory)] == [("extract", "balanced", 1.0)]
        await ask(memory, 3)
        assert models["balanced"].asked == ["extract"]
        models["fast"].broken = True
        await ask(memory, 20)
        assert "rewrite" in models["balanced"].asked
        judged = Counter((row.tier, row.quality) for row in await rows(memory))
        assert judged["fast", 0.0] >= 3
        assert judged["balanced", 1.0] >= 10
        assert None not in {row.quality for row in await rows(memory)}
    before = len(models["balanced"].asked)
    async with opened(tmp_path, models) as memory:  # what was learned is there after a restart
        await ask(memory, 3)
        assert len(models["balanced"].asked) >= before + 2
        models["fast"].broken = False
        await ask(memory, 400)
        asked = len(models["fast"].asked)
        await ask(memory, 5)
        assert len(models["fast"].asked) == asked + 5


async def test_no_task_goes_below_its_own_tier(tmp_path: Path) -> None:
    models = three()
    async with opened(tmp_path, models) as memory:
        llm = memory._open.parts.asker._llm  # type: ignore[union-attr]
        assert isinstance(llm, RoutedLLM)
        for _ in range(60):
            done = await llm.complete(CompletionRequest("p", "evolve"))
            await llm.judged(done.decision_id, 1.0)
    assert models["strong"].asked == ["evolve"] * 60


async def test_concurrent_answers_are_credited_to_their_own_decisions(tmp_path: Path) -> None:
    models = three()
    async with opened(tmp_path, models) as memory:
        llm = memory._open.parts.asker._llm  # type: ignore[union-attr]
        assert isinstance(llm, RoutedLLM)
        tasks = ["rewrite", "extract", "evolve"] * 4
        done = await asyncio.gather(*(llm.complete(CompletionRequest("p", task)) for task in tasks))
        tell = [llm.judged(each.decision_id, float(task != "extract")) for task, each in zip(tasks, done, strict=True)]
        await asyncio.gather(*reversed(tell))
        assert Counter((row.kind, row.quality) for row in await rows(memory)) == {
            ("rewrite", 1.0): 4,
            ("extract", 0.0): 4,
            ("evolve", 1.0): 4,
        }

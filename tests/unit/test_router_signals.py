"""Signals that name a decision judge it, from the background loop of a memory to the router's next choice."""

from __future__ import annotations

import json
from pathlib import Path

from test_router import TRANSLATE, Words, opened

import umi


def signal(number: int, decision_id: str, outcome: str = "failure", **more: object) -> dict[str, object]:
    score = {"success": 1.0, "partial_success": 0.5, "failure": 0.0}[outcome]
    given = {"task_description": "", "outcome": outcome, "quality_score": score, "completed_at": "2026-01-31T12:00:00Z"}
    return {"id": f"s{number}", "decision_id": decision_id, **given, **more}


async def run(path: Path, signals: list[dict[str, object]]) -> umi.RunReceipt:
    (path / "signals.json").write_text(json.dumps(signals), "utf-8")
    loader = umi.IntelligenceLoader([umi.FileSignalProvider(path / "signals.json")])
    async with umi.Memory.open(str(path / "umi.db"), embedder=Words(), intelligence=loader) as memory:
        return await memory.learning.run()


async def test_signals_of_a_run_move_a_route_and_count_once(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as router:
        routes = [await router.choose(TRANSLATE, tier="fast") for _ in range(20)]
        given = [signal(number, route.id) for number, route in enumerate(routes)]
        receipt = await run(tmp_path, given)
        assert (receipt.loaded, receipt.new, receipt.known, receipt.unmatched, receipt.faults) == (20, 20, 0, 0, ())
        assert (await router.choose(TRANSLATE)).tier == "balanced"
        expected = (await router.choose(TRANSLATE)).expected
        again = await run(tmp_path, given)
        assert (again.new, again.known) == (0, 20)
        assert (await router.choose(TRANSLATE)).expected == expected
    async with opened(tmp_path / "umi.db") as router:
        assert (await router.choose(TRANSLATE)).tier == "balanced"


async def test_each_signal_is_credited_to_the_decision_it_names(tmp_path: Path) -> None:
    async with opened(tmp_path / "umi.db") as router:
        fast, strong = await router.choose("Task one", tier="fast"), await router.choose("Task two", tier="strong")
        receipt = await run(
            tmp_path,
            [
                signal(1, strong.id, "success"),
                signal(2, fast.id, "failure"),
                signal(3, "dec_nobody"),
                signal(4, fast.id, "success"),
            ],
        )
        assert (receipt.new, receipt.unmatched) == (2, 1)
        assert [fault.record for fault in receipt.faults] == ["s4"]
        assert (await router.status()).mean_quality == {"fast": 0.0, "strong": 1.0}


async def test_a_signal_may_judge_a_recall_and_a_decision(tmp_path: Path) -> None:
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=Words(), config=umi.Config(learn=True)) as memory:
        await memory.remember("The release notes are translated by Ada.")
        found = await memory.recall("Who translates the release notes?", min_score=0)
    async with opened(tmp_path / "umi.db") as router:
        route = await router.choose(TRANSLATE, tier="fast")
        receipt = await run(tmp_path, [signal(1, route.id, recall_id=found.id)])
        assert (receipt.loaded, receipt.new, receipt.faults) == (1, 1, ())
        assert (await router.status()).judged == 1
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=Words(), config=umi.Config(learn=True)) as memory:
        assert (await memory.learning.status()).counts.signals == 1


async def test_no_signal_about_a_decision_writes_nothing_about_routing(tmp_path: Path) -> None:
    receipt = await run(tmp_path, [])
    assert receipt.new == 0
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=Words(), config=umi.Config(learn=True)) as memory:
        assert (await memory.learning.status()).routing is None

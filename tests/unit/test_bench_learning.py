"""The benchmark of learning: its stream is what it says, its figures are right, and it can fail."""

from __future__ import annotations

import numpy as np
import pytest

from umi._learning import credit
from umi_lab.bench import learning, learning_tasks
from umi_lab.bench.learning import ARMS, LearningReport, measure
from umi_lab.bench.learning_tasks import (
    ADVICE_COUNT,
    CLUSTERS_COUNT,
    MISLEADING_COUNT,
    TASKS_COUNT,
    all_texts,
    pool,
    stream,
)


def test_a_stream_is_thirty_clusters_of_which_a_third_of_the_advice_misleads() -> None:
    drawn = stream(3, 3)
    assert len(drawn.clusters) == CLUSTERS_COUNT
    assert len(drawn.tasks) == TASKS_COUNT
    advice = [text for cluster in drawn.clusters for text in cluster.advice]
    assert len(set(advice)) == len(advice) == CLUSTERS_COUNT * ADVICE_COUNT
    assert len(drawn.misleading) == CLUSTERS_COUNT * MISLEADING_COUNT
    assert all(len(drawn.misleading.intersection(cluster.advice)) == MISLEADING_COUNT for cluster in drawn.clusters)
    luck = np.array([task.luck for task in drawn.tasks])
    assert luck.shape == (TASKS_COUNT, 3)
    assert 0.1 < (luck < learning_tasks.NOISE).mean() < 0.2
    assert stream(3, 3) == drawn != stream(4, 3)
    assert len(set(all_texts(pool()))) == len(all_texts(pool()))


def _report(**rates: list[float]) -> LearningReport:
    """Three seeds, windows of a constant rate each."""
    made = {arm: rates.get(arm, rates["without"]) for arm in ARMS}
    windows = TASKS_COUNT // learning.WINDOW_COUNT
    arrays = {}
    for arm, parts in made.items():
        blocks = [np.arange(learning.WINDOW_COUNT) < part * learning.WINDOW_COUNT for part in parts]
        arrays[arm] = np.tile(np.concatenate(blocks).astype(float), (3, 1))
        assert len(parts) == windows
    return LearningReport((0, 1, 2), arrays)


def test_the_targets_hold_and_fail_where_they_should() -> None:
    flat = [0.6] * 10
    well = _report(without=flat, learning=[0.6] * 4 + [0.8] * 6, three=[0.8] * 10, poisoned=[0.78] * 10)
    assert {name: ok for name, (_, _, ok) in well.checks().items()} == dict.fromkeys(well.checks(), True)
    assert well.gain("learning", "without").value == pytest.approx(20)
    assert [round(point.value) for point in well.curve("learning")] == [60] * 4 + [80] * 6
    weak = _report(without=flat, learning=[0.8] * 4 + [0.68] * 6)
    assert [ok for _, _, ok in weak.checks().values()] == [False, True, True]
    dip = _report(without=flat, learning=[0.56] + [0.8] * 9)
    assert [ok for _, _, ok in dip.checks().values()] == [True, False, True]
    lied = _report(without=flat, learning=[0.8] * 10, three=[0.8] * 10, poisoned=[0.74] * 10)
    assert [ok for _, _, ok in lied.checks().values()] == [True, True, False]


@pytest.mark.slow
async def test_a_short_run_learns_and_without_factors_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_tasks, "CLUSTERS_COUNT", 3)
    monkeypatch.setattr(learning_tasks, "TASKS_COUNT", 50)
    monkeypatch.setattr(learning, "_THREES", (("poisoned", True, False),))
    monkeypatch.setattr(learning, "ARMS", ("without", "learning", "poisoned", "rule", "oracle"))
    report = await measure([1, 2])
    assert report.gain("learning", "without", 15).value > 5
    assert report.gain("poisoned", "without", 15).value > 5
    assert report.rate("oracle", 0).value == 100
    monkeypatch.setattr(credit, "FACTOR_REACH", 1.0)
    idle = await measure([1, 2])
    assert idle.gain("learning", "without", 0).value == 0

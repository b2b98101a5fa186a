"""Intervals: they cover what is true as often as they say, and are the same on every run."""

from __future__ import annotations

import numpy as np
import pytest

from umi.sim.rng import DeterministicRng
from umi_lab.bench.intervals import RESAMPLES_COUNT, auc, draws, interval, means, share


def test_each_resample_draws_as_many_as_there_are() -> None:
    drawn = draws(50)
    assert drawn.shape == (RESAMPLES_COUNT, 50)
    assert np.allclose(drawn.sum(axis=1), 1)
    counts = drawn * 50
    assert np.allclose(counts, np.round(counts))
    assert 0.35 < (counts < 0.5).mean() < 0.39  # a bootstrap leaves out 1/e
    assert np.allclose(counts.mean(axis=0), 1, atol=0.2)  # no question is favoured
    assert np.array_equal(drawn, draws(50))
    assert not np.array_equal(drawn, draws(50, seed=2))


def test_a_mean_is_covered_about_95_times_of_100() -> None:
    numbers = DeterministicRng(7)
    truth, covered = 0.7, 0
    for _ in range(200):
        answers = np.array([[float(numbers.uniform(0, 1) < truth)] for _ in range(120)])
        mean, resampled = means(answers)
        found = interval(mean[0], resampled[:, 0])
        assert found.low <= found.value <= found.high
        covered += found.low <= truth <= found.high
    assert 180 <= covered <= 198


def test_differences_of_pairs_are_narrower_than_those_of_strangers() -> None:
    base = np.arange(100) % 10 / 10
    mean, resampled = means(np.column_stack([base + 0.05, base]))
    paired = interval(mean[0] - mean[1], resampled[:, 0] - resampled[:, 1])
    assert paired.low == pytest.approx(0.05)
    assert paired.high == pytest.approx(0.05)
    alone = interval(mean[0], resampled[:, 0])
    assert alone.high - alone.low > 0.08


@pytest.mark.parametrize(
    ("positive", "negative", "value"),
    [
        ([0.9, 0.8], [0.1, 0.2], 1.0),
        ([0.1], [0.9, 0.8], 0.0),
        ([0.5, 0.5], [0.5], 0.5),
        ([0.9, 0.3], [0.5, 0.1], 0.75),
        ([0.9, 0.5], [0.5, 0.1], 0.875),
    ],
)
def test_auc_of_scores_by_hand(positive: list[float], negative: list[float], value: float) -> None:
    found = auc(np.array(positive), np.array(negative))
    assert found.value == pytest.approx(value)
    assert found.low <= found.value <= found.high


def test_auc_of_few_is_less_certain_than_of_many() -> None:
    few, many = (auc(np.arange(n) % 7 + 2.0, np.arange(n) % 7 + 0.5) for n in (14, 280))
    assert few.value == pytest.approx(many.value)
    assert few.high - few.low > 3 * (many.high - many.low)


def test_a_share_of_none_or_all_still_has_a_width() -> None:
    assert share(0, 100) == pytest.approx((0.0, 0.0, 0.0370), abs=1e-4)
    assert share(100, 100) == pytest.approx((1.0, 0.9630, 1.0), abs=1e-4)
    assert share(8, 10) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)
